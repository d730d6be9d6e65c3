"""The ways to make a hostile submission out of an honest one. The same draw gives the same bytes."""

from __future__ import annotations

import ast
import json
import random
from collections.abc import Callable, Iterator

ENTRY = "scaled_dot_product_attention"
HEAD = f"import math\nimport torch\n\n\ndef {ENTRY}(Q, K, V, mask=None):\n"

Draw = random.Random


# --- bytes ---


def mutated_bytes(draw: Draw, base: str) -> bytes:
    """The honest source with bytes flipped, cut, repeated, moved, or put in another encoding."""
    data = bytearray(base.encode())
    for _ in range(draw.choice((1, 1, 2, 5, 40))):
        at, length = draw.randrange(len(data)), draw.choice((1, 1, 2, 8, 64))
        kind = draw.randrange(6)
        if kind == 0:
            data[at] = draw.randrange(256)
        elif kind == 1:
            del data[at : at + length]
        elif kind == 2:
            data[at:at] = draw.randbytes(length)
        elif kind == 3:
            data[at:at] = data[at : at + length] * draw.choice((1, 3, 50))
        elif kind == 4:
            data[at:at] = draw.choice((b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\f", b"\x1a", b"\t", b"\xc2\xa0"))
        else:
            other = draw.randrange(len(data))
            data[at : at + length], data[other : other + length] = data[other : other + length], data[at : at + length]
        data = data or bytearray(b"x")
    wrapped = bytes(data)
    if draw.random() < 0.2:
        encoding = draw.choice(("utf-16", "utf-32", "latin-1", "utf-7", "utf-8-sig"))
        wrapped = wrapped.decode("utf-8", "replace").encode(encoding, "replace")
    return draw.choice((b"", b"", b"# -*- coding: rot13 -*-\n", b"#!/bin/sh\n", b"# coding: nonsense\n")) + wrapped


# --- syntax trees ---


class Mutation(ast.NodeTransformer):
    """Changes about one node in `rarity`."""

    def __init__(self, draw: Draw, rarity: int) -> None:
        self.draw = draw
        self.rarity = rarity

    def visit(self, node: ast.AST) -> ast.AST:
        node = self.generic_visit(node)
        if self.draw.randrange(self.rarity):
            return node
        if isinstance(node, ast.Constant):
            return ast.Constant(self.draw.choice((0, -1, 1e308, None, True, "x" * 99, b"", 10**400, 2**63, ...)))
        if isinstance(node, ast.BinOp):
            operators = (ast.MatMult, ast.Pow, ast.Div, ast.Mult, ast.Sub, ast.LShift, ast.FloorDiv, ast.Mod)
            node.op = self.draw.choice(operators)()
            if self.draw.random() < 0.5:
                node.left, node.right = node.right, node.left
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            node.id = self.draw.choice(("Q", "K", "V", "mask", "torch", "math", "print", "nobody", "__builtins__"))
        elif isinstance(node, ast.Attribute):
            node.attr = self.draw.choice(("transpose", "sum", "T", "softmax", "zero_", "data", "grad", "__class__"))
        elif isinstance(node, ast.Call):
            node.args = node.args * 2 if self.draw.random() < 0.5 else node.args[:-1]
        elif isinstance(node, ast.If):
            node.test = ast.Constant(self.draw.random() < 0.5)
        elif isinstance(node, ast.FunctionDef):
            self._function(node)
        return node

    def _function(self, node: ast.FunctionDef) -> None:
        body = node.body
        kind = self.draw.randrange(5)
        if kind == 0:
            node.body = [ast.While(ast.Constant(True), body, [])]
        elif kind == 1:
            node.body = [ast.Try(body, [ast.ExceptHandler(None, None, [ast.Pass()])], [], [])]
        elif kind == 2:
            self.draw.shuffle(body)
        elif kind == 3:
            node.body = [ast.Expr(ast.Yield(None)), *body]
        else:
            node.name = self.draw.choice(("attention", "forward", "f", "__init__", ENTRY + "_"))


def mutated_tree(draw: Draw, base: str) -> bytes:
    """The honest source with its syntax tree changed here and there: it compiles, most of the time."""
    tree = Mutation(draw, draw.choice((6, 15, 40))).visit(ast.parse(base))
    try:
        return ast.unparse(ast.fix_missing_locations(tree)).encode("utf-8", "replace")
    except (ValueError, TypeError, AttributeError):
        return base.encode()


# --- notebooks ---


def hostile_notebook(draw: Draw, base: str) -> bytes:
    """A notebook around the honest source, with odd cells, odd metadata, magics, or broken JSON."""

    def junk(depth: int = 0) -> object:
        plain: tuple[object, ...] = (None, True, -1, 1e300, "x", "\ud800", "", "<script>", 2**70, float("nan"))
        if depth > 4 or draw.random() < 0.6:
            return draw.choice(plain)
        if draw.random() < 0.5:
            return [junk(depth + 1) for _ in range(draw.randrange(4))]
        return {draw.choice(("source", "cell_type", "a", "metadata")): junk(depth + 1) for _ in range(3)}

    lines = base.splitlines(keepends=True)
    cut = draw.randrange(1, len(lines))
    cut = draw.choice((cut, len(lines)))
    cells: list[object] = [
        {"cell_type": "code", "metadata": junk(), "source": lines[:cut], "outputs": junk(), "execution_count": junk()},
        {"cell_type": draw.choice(("code", "markdown", "raw", "heading", 7)), "source": "".join(lines[cut:])},
        {"cell_type": "code", "source": draw.choice(MAGICS), "metadata": {}},
        {"cell_type": "code", "source": junk()},
        junk(),
    ]
    if draw.random() < 0.3:
        draw.shuffle(cells)
    book: dict[str, object] = {"cells": cells, "metadata": junk(), "nbformat": draw.choice((3, 4, 4, 4, 5, "4", None))}
    if draw.random() < 0.2:
        book = {"worksheets": [{"cells": cells}], "nbformat": 3, "metadata": {}}
    text = json.dumps(book)
    if draw.random() < 0.2:
        at = draw.randrange(len(text))
        text = text[:at] + draw.choice(("", "{", "]", "\0", "\ud800", '"', "[" * 2000)) + text[at + draw.randrange(3) :]
    return text.encode("utf-8", "surrogatepass")


MAGICS = (
    "!rm -rf / --no-preserve-root",
    "%load_ext x\n%matplotlib inline\n?torch\nx = !ls",
    "%%bash\ntouch /tmp/x",
    "%%writefile attention.py\nraise SystemExit",
    "%%javascript\nalert(1)",
    "%%time\nimport torch",
    "get_ipython().run_cell('x')",
    "from google.colab import drive; drive.mount('/content')",
    "await something\n",
    "while True: pass",
)


# --- random control flow ---

VALUES = (
    "Q", "K", "V", "mask", "None", "0", "1e400", "float('nan')", "'x' * 10**6", "b'\\0'", "torch.empty(0)", "...",
    "torch.zeros(1).expand(10**12)", "torch.ones(3, device='meta')", "Q @ K.transpose(-2, -1)",
    "torch.softmax(Q, 0)", "[Q] * 1000", "{'output': Q}", "(V, Q)", "(V, torch.softmax(Q @ K.mT, -1))", "lambda: Q",
    "object()", "type", "torch.sparse_coo_tensor([[0]], [1.0], (9,))", "Q.numpy()", "Q.long()", "Q.half()",
    "Q.to(torch.complex64)", "iter(Q)", "torch.nn.Parameter(Q)", "Q.storage()", "open", "__import__('sys')",
    "scaled_dot_product_attention(Q, K, V, mask)",
)  # fmt: skip
EFFECTS = (
    "print('x' * 10**5)", "Q.zero_()", "K.resize_(0)", "V.data = Q", "del Q", "raise ValueError('\\x1b[31m' * 99)",
    "raise KeyboardInterrupt", "raise SystemExit(0)", "raise MemoryError", "raise GeneratorExit", "exit()",
    "input()", "import os; os._exit(0)", "import os; os.abort()", "import os; os.kill(os.getpid(), 9)",
    "import os; os.fork()", "import os; os.close(1); os.close(2)", "import os; os.closerange(3, 99)",
    "import ctypes; ctypes.string_at(0)", "import sys; sys.stdout = None", "import sys; sys.modules.clear()",
    "import sys; sys.setrecursionlimit(10**9)", "import sys; sys.meta_path.clear()",
    "import builtins; builtins.len = None", "import gc; gc.collect()",
    "import threading; threading.Thread(target=print).start()", "import time; time.sleep(9)",
    "import socket; socket.socket()", "import subprocess; subprocess.run(['ls'])", "open('/tmp/x', 'w')",
    "import warnings; warnings.warn('x')", "import signal; signal.raise_signal(15)", "torch.manual_seed(0)",
    "torch.set_default_dtype(torch.float64)", "torch.set_grad_enabled(False)", "torch.set_num_threads(8)",
    "torch.softmax = None", "torch.Tensor.__matmul__ = None", "torch.Tensor.shape = 7",
    "torch.use_deterministic_algorithms(True)", "torch.set_default_device('meta')",
    "x = [bytearray(1 << 20) for _ in range(10**4)]", "x = torch.ones(10**10)", "torch.autograd.backward(Q.sum())",
    "math.pi = 3", "globals().clear()", "locals()['Q'] = 1", "breakpoint()", "exec('def f(): return f()\\nf()')",
    "eval('(' * 500 + ')' * 500)", "import torch.utils.data", "import nothing_of_this_name", "from helper import *",
    "import attention", "class A(torch.Tensor): pass", "Q.register_hook(lambda g: 1 / 0)",
    "import faulthandler; faulthandler.enable()", "import atexit; atexit.register(exit)",
    "import pickle; pickle.dumps(Q)", "import asyncio; asyncio.run(asyncio.sleep(0))",
    "import multiprocessing; multiprocessing.Pool(2)", "import random",
)  # fmt: skip


def statements(draw: Draw, depth: int, indent: str) -> Iterator[str]:
    for _ in range(draw.randrange(1, 4)):
        kind = draw.randrange(9 if depth < 3 else 4)
        value, effect = draw.choice(VALUES), draw.choice(EFFECTS)
        if kind < 2:
            yield f"{indent}{effect}"
        elif kind == 2:
            yield f"{indent}{draw.choice(('Q', 'K', 'x', 'V', 'scores'))} = {value}"
        elif kind == 3:
            yield f"{indent}{draw.choice(('return', 'yield', 'raise', 'assert', 'x ='))} {value}"
        else:
            heads = (
                "for x in Q:",
                "while Q is not None:",
                "if mask is None:",
                "try:",
                "with torch.no_grad():",
                "def f(x):",
            )
            head = draw.choice(
                (*heads, "class A:", "async def g():", "for x in iter(int, 1):", "match Q:\n{i}    case _:")
            )
            yield f"{indent}{head.format(i=indent) if head.startswith('match') else head}"
            deeper = indent + ("        " if head.startswith("match") else "    ")
            yield from statements(draw, depth + 1, deeper)
            if head == "try:":
                handler = draw.choice(("except Exception:", "except BaseException:", "finally:"))
                yield f"{indent}{handler}\n{deeper}{draw.choice(('pass', 'return Q, K', 'continue_ = 1', 'raise'))}"


def random_flow(draw: Draw, base: str) -> bytes:
    """A function of random statements, around the honest one or instead of it, and effects while loading."""
    top = [f"{draw.choice(EFFECTS)}\n" for _ in range(draw.choice((0, 0, 0, 1, 2)))]
    body = "\n".join(statements(draw, 0, "    "))
    wrapper = draw.choice(("", "", "", "", "", "@staticmethod\n", "async ", "class Attention:\n "))
    if wrapper.startswith("class"):
        return (
            base + "\n" + "".join(top) + "class Attention:\n    def forward(self, Q, K, V, mask=None):\n        pass\n"
        ).encode()
    head = HEAD.replace("def ", f"{wrapper}def ") if wrapper else HEAD
    after = f"\n\n_inner = {ENTRY}\n" + base if draw.random() < 0.3 else ""
    return ("".join(top) + head + body + "\n" + after).encode("utf-8", "replace")


WAYS: dict[str, Callable[[Draw, str], bytes]] = {
    "bytes": mutated_bytes,
    "tree": mutated_tree,
    "notebook": hostile_notebook,
    "flow": random_flow,
}
