"""The loader over the corpus, and what can't lie in a file: hostile objects, limits, and undoing."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable

import pytest
import torch
from loading import BANNED, CORPUS, ENTRY, files_at, loading, texts_as_files

from grader.entry import Unit
from grader.sandbox import loader

WORKS = [
    "notebooks/bom_crlf.ipynb",
    "notebooks/colab.ipynb",
    "notebooks/duplicate_ids.ipynb",
    "notebooks/glued_lines.ipynb",
    "notebooks/hostile_metadata.ipynb",
    "notebooks/indented_cell.ipynb",
    "notebooks/instance.ipynb",
    "notebooks/lone_surrogate.ipynb",
    "notebooks/magics.ipynb",
    "notebooks/missing_keys.ipynb",
    "notebooks/nbgrader.ipynb",
    "notebooks/no_version.ipynb",
    "notebooks/one_line_strings.ipynb",
    "notebooks/otter.ipynb",
    "notebooks/overwritten_by_result.ipynb",
    "notebooks/prompts.ipynb",
    "notebooks/python_source.ipynb",
    "notebooks/redefined.ipynb",
    "notebooks/top_level_await.ipynb",
    "notebooks/training_loop.ipynb",
    "notebooks/unneeded_package.ipynb",
    "notebooks/uses_global.ipynb",
    "notebooks/utf16.ipynb",
    "notebooks/version2.ipynb",
    "sources/bom.py",
    "sources/both",
    "sources/caches.py",
    "sources/colab_export.py",
    "sources/conditional.py",
    "sources/cp1252_undeclared.py",
    "sources/crlf.py",
    "sources/decorated.py",
    "sources/dynamic_names.py",
    "sources/future_annotations.py",
    "sources/imports_itself",
    "sources/lambda.py",
    "sources/latin1_declared.py",
    "sources/library_in_demo.py",
    "sources/main_guard.py",
    "sources/nbconvert_export.py",
    "sources/needs_main_guard.py",
    "sources/notebook_and_py",
    "sources/notebook_inside.py",
    "sources/notebook_only_imports",
    "sources/nul.py",
    "sources/odd_cookie.py",
    "sources/old_mac.py",
    "sources/package",
    "sources/return_outside.py",
    "sources/several",
    "sources/siblings",
    "sources/star_imports.py",
    "sources/text_file.txt",
    "sources/unimported_annotation.py",
    "sources/unknown_decorator.py",
    "sources/utf16.py",
    "sources/utf16_no_bom.py",
]

WORKS_WITH_A_PROBLEM = [
    ("notebooks/broken_cell.ipynb", "syntax", 3, 1, "was never closed"),
    ("notebooks/version3.ipynb", "syntax", 5, 1, "print needs brackets"),
]

# path, kind, cell, line (0: no place), words that the message must have
EXPLAINED = [
    ("notebooks/broken_function.ipynb", "syntax", 3, 1, "missing colon"),
    ("notebooks/empty.ipynb", "unreadable", None, 0, "is empty"),
    ("notebooks/imports_its_py.ipynb", "missing_package", 2, 1, "hand it in as well"),
    ("notebooks/inside_function.ipynb", "no_function", 1, 7, "stands inside the function `main`"),
    ("notebooks/json_list.ipynb", "unreadable", None, 0, "is not a notebook"),
    ("notebooks/markdown_function.ipynb", "no_code", None, 0, "Cell 2 of markdown_function.ipynb has the function"),
    ("notebooks/merge_conflict.ipynb", "unreadable", None, 0, "merge conflict"),
    ("notebooks/method.ipynb", "no_function", 1, 7, "is a method of the class `Attention`"),
    ("notebooks/no_cells.ipynb", "unreadable", None, 0, "has no cells"),
    ("notebooks/only_comments.ipynb", "no_code", None, 0, "has no code in it"),
    ("notebooks/raw_function.ipynb", "no_code", None, 0, "raw cell"),
    ("notebooks/truncated.ipynb", "unreadable", None, 0, "is damaged"),
    ("notebooks/web_page.ipynb", "unreadable", None, 0, "web page"),
    ("sources/binary.py", "unreadable", None, 0, "binary data"),
    ("sources/comments.py", "no_code", None, 0, "has no code in it"),
    ("sources/curly_quotes.py", "syntax", None, 12, "plain one on the keyboard"),
    ("sources/empty.py", "no_code", None, 0, "has no code in it"),
    ("sources/indent.py", "syntax", None, 10, "Remove the extra spaces"),
    ("sources/no_break_space.py", "syntax", None, 9, "invisible character"),
    ("sources/office.py", "unreadable", None, 0, "zip archive or an office document"),
    ("sources/open_bracket.py", "syntax", None, 10, "closing bracket"),
    ("sources/pdf.py", "unreadable", None, 0, "PDF document"),
    ("sources/picture.py", "unreadable", None, 0, "a picture"),
    ("sources/print_statement.py", "syntax", None, 16, "print(...)"),
    ("sources/tabs.py", "tabs", None, 10, "mixes tabs and spaces"),
    ("sources/web_page.py", "unreadable", None, 0, "web page"),
]

# path, type of the exception, cell, line of the student's own code
FAILS_WHEN_CALLED = [
    ("notebooks/missing_import.ipynb", "NameError", 2, 4),
    ("notebooks/missing_package.ipynb", "ModuleNotFoundError", 3, 7),
    ("notebooks/stub.ipynb", "NotImplementedError", 2, 4),
    ("notebooks/stub_left_over.ipynb", "NotImplementedError", 2, 3),
    ("sources/broken_sibling", "ModuleNotFoundError", None, 12),
]


def raised_by(call: Callable[[], object]) -> BaseException:
    """What a call ends with, whatever kind of exception that is."""
    try:
        call()
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def test_every_corpus_file_has_an_expectation() -> None:
    """No file of the corpus lies there without an outcome that is checked."""
    named = {
        *WORKS,
        *(row[0] for row in (*WORKS_WITH_A_PROBLEM, *EXPLAINED, *FAILS_WHEN_CALLED)),
        "notebooks/module.ipynb",
        "notebooks/other_name.ipynb",
        "sources/library.py",
        "sources/library_hidden.py",
    }
    parts = [CORPUS / "notebooks", CORPUS / "sources"]
    there = {path.relative_to(CORPUS).as_posix() for part in parts for path in part.glob("*")}
    assert named == there


@pytest.mark.parametrize("path", WORKS)
def test_a_correct_function_works_in_this_wrapping(path: str) -> None:
    """A correct function loads, computes the right numbers, and nothing is held against it."""
    with loading(files_at(CORPUS / path)) as outcome:
        assert outcome.problems == []
        assert outcome.loaded is not None
        assert outcome.loaded.entry is not None
        assert outcome.loaded.banned == []
        assert not outcome.loaded.entry.stub
        assert outcome.works()


@pytest.mark.parametrize(("path", "kind", "cell", "line", "words"), WORKS_WITH_A_PROBLEM)
def test_one_bad_cell_does_not_lose_the_rest(path: str, kind: str, cell: int | None, line: int, words: str) -> None:
    """The function works, and the bad cell is named with its line."""
    with loading(files_at(CORPUS / path)) as outcome:
        [problem] = outcome.problems
        assert problem.place is not None
        assert (problem.kind, problem.place.cell, problem.place.line) == (kind, cell, line)
        assert words in problem.message
        assert outcome.works()


@pytest.mark.parametrize(("path", "kind", "cell", "line", "words"), EXPLAINED)
def test_what_cannot_be_graded_is_explained(path: str, kind: str, cell: int | None, line: int, words: str) -> None:
    """One problem with its kind, the student's own line where there is one, and how to mend it."""
    with loading(files_at(CORPUS / path)) as outcome:
        [problem] = outcome.problems
        assert problem.kind == kind
        assert words in problem.message
        if line:
            assert problem.place is not None
            assert (problem.place.cell, problem.place.line) == (cell, line)
        assert outcome.loaded is None or outcome.loaded.entry is None


@pytest.mark.parametrize(("path", "type_name", "cell", "line"), FAILS_WHEN_CALLED)
def test_a_failing_call_points_at_the_students_line(path: str, type_name: str, cell: int | None, line: int) -> None:
    """The place is the innermost line of theirs, and the trace has no frame of ours."""
    with loading(files_at(CORPUS / path)) as outcome:
        assert outcome.namespace is not None
        attend = outcome.namespace.function(ENTRY.function)
        failure = loader.describe(raised_by(lambda: attend(*torch.randn(3, 2, 2), torch.ones(2, 2))))
        assert failure.place is not None
        assert (failure.kind, failure.type) == ("exception", type_name)
        assert (failure.place.cell, failure.place.line) == (cell, line)
        assert "grader" not in failure.trace


def test_use_of_the_library_is_reported_only_in_the_function() -> None:
    """Lines that name the library's attention, also by a hidden name; a student's own test may compare with it."""
    with loading(files_at(CORPUS / "sources/library.py")) as outcome:
        assert outcome.loaded is not None
        assert [spot.line for spot in outcome.loaded.banned] == [8]
    with loading(files_at(CORPUS / "sources/library_hidden.py")) as outcome:
        assert outcome.loaded is not None
        assert [spot.line for spot in outcome.loaded.banned] == [8, 11, 12, 13, 14]


def test_a_stub_is_told_from_a_left_over_raise() -> None:
    """ "Not written yet" and "delete this line" are different mends."""
    with loading(files_at(CORPUS / "notebooks/stub.ipynb")) as outcome:
        [problem] = outcome.problems
        assert problem.kind == "stub"
        assert "not written yet" in problem.message
    with loading(files_at(CORPUS / "notebooks/stub_left_over.ipynb")) as outcome:
        [problem] = outcome.problems
        assert "Delete that line" in problem.message


@pytest.mark.parametrize(
    ("path", "name", "kind", "line"),
    [("other_name", "attention", "function", 1), ("module", "ScaledDotProductAttention", "class", 1)],
)
def test_what_may_have_been_meant_is_found(path: str, name: str, kind: str, line: int) -> None:
    """Another name, or a Module: the likeliest comes first, can be called, and a training function is none."""
    with loading(files_at(CORPUS / f"notebooks/{path}.ipynb")) as outcome:
        assert outcome.loaded is not None
        assert outcome.namespace is not None
        assert outcome.loaded.entry is None
        assert outcome.problems == []
        [found] = outcome.loaded.others
        assert found.place is not None
        assert (found.name, found.kind, found.place.cell, found.place.line) == (name, kind, 2, line)
        assert found.parameters == ["Q", "K", "V", "mask=None"]
        output, weights = outcome.namespace.function(found.name)(*torch.randn(3, 1, 2, 2))
        assert output.shape == weights.shape == (1, 2, 2)


def test_methods_and_instances_can_be_called_by_name() -> None:
    """ "Attention.score" instantiates the class once and binds the method; a class that needs arguments says so."""
    text = """
class Attention:
    def __init__(self): self.calls = 0
    def score(self, Q): self.calls += 1; return Q, self.calls
    def forward(self, Q): return Q
class Sized:
    def __init__(self, d_model): pass
    def __call__(self, Q): return Q
made = Sized(3)
number = 3
"""
    with loading(texts_as_files({"attention.py": text})) as outcome:
        assert outcome.namespace is not None
        function = outcome.namespace.function
        assert [function("Attention.score")(5), function("Attention.score")(6)] == [(5, 1), (6, 2)]
        assert function("Attention")(7) == 7
        assert function("made")(8) == 8
        with pytest.raises(TypeError, match="d_model"):
            function("Sized")
        with pytest.raises(TypeError, match="'number' is a int, not a function"):
            function("number")
        with pytest.raises(NameError, match="'nothing' is not defined"):
            function("nothing")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("def train(model, data, epochs): pass\ndef test(a, b, c): pass", []),
        ("def f(x, y, z): pass", ["f"]),
        ("def f(x): pass", []),
        ("def helper(x): pass\ndef calc(q, k, v): pass", ["calc"]),
        ("def Scaled_Dot_Product_Attention(a, b, c): 1\ndef sdpa(a, b): 1", ["sdpa", "Scaled_Dot_Product_Attention"]),
        ("def attention(): pass\ndef multi_head_attention(q, k, v): ...", ["attention", "multi_head_attention"]),
        (
            "import torch.nn as nn\nclass Head(nn.Module):\n    def forward(self, x): 1\nh = Head()",
            ["Head", "h"],
        ),
        ("f = lambda q, k, v: q", ["f"]),
    ],
)
def test_candidates_are_likeliest_first(text: str, names: list[str]) -> None:
    """A name in common, then the parameters; what has nothing in common is never proposed beside others."""
    with loading(texts_as_files({"attention.py": text})) as outcome:
        assert outcome.loaded is not None
        assert [found.name for found in outcome.loaded.others] == names


@pytest.mark.parametrize(
    ("body", "stub", "told"),
    [
        ("return None, None", True, True),
        ("output = None\n    weights = ...\n    return output, weights", True, True),
        ("'''Doc.'''\n    pass", True, True),
        ("raise NotImplementedError\n    pass", True, True),
        ("x = Q\n    raise NotImplementedError\n    return x, x", False, True),
        ("if mask is None:\n        return Q, K\n    raise NotImplementedError\n    return K, Q", False, False),
        ("return Q, K\n    raise NotImplementedError\n    pass", False, False),
        ("scores = Q\n    raise NotImplementedError", False, False),
        ("return None, Q", False, False),
    ],
)
def test_stubs_and_left_over_raises(body: str, stub: bool, told: bool) -> None:
    """A stub has nothing of the student's; a `raise` is called left over only when it must stop the function."""
    text = f"def scaled_dot_product_attention(Q, K, V, mask=None):\n    {body}\n"
    with loading(texts_as_files({"attention.py": text})) as outcome:
        assert outcome.loaded is not None
        assert outcome.loaded.entry is not None
        assert outcome.loaded.entry.stub == stub
        assert [problem.kind for problem in outcome.problems] == ["stub"] * told


@pytest.mark.parametrize(
    "head", ["def scaled_dot_product_attention(Q)", "@1 / 0\ndef scaled_dot_product_attention(Q):"]
)
def test_a_function_that_failed_is_not_called_missing(head: str) -> None:
    """When the definition itself could not be read or run, no other name is proposed: the problem says why."""
    units = [Unit("a.ipynb", 1, "def attention(Q, K, V): return Q"), Unit("a.ipynb", 2, f"{head}\n    return Q")]
    loaded, namespace = loader.load(units, {}, ENTRY, [])
    namespace.release()
    assert (loaded.entry, loaded.others) == (None, [])
    assert len(loaded.problems) == 1


def test_parameters_are_given_as_written() -> None:
    """Keyword-only, positional-only, starred and defaulted parameters keep their marks."""
    head = "def scaled_dot_product_attention(Q, K, /, V, *rest, mask=None, scale=2 ** 0.5, **options):"
    with loading(texts_as_files({"attention.py": f"{head}\n    return Q, rest\n"})) as outcome:
        assert outcome.loaded is not None
        assert outcome.loaded.entry is not None
        assert outcome.loaded.entry.parameters == [
            "Q", "K", "/", "V", "*rest", "mask=None", "scale=2 ** 0.5", "**options",
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "type_name", "words"),
    [
        ("scale = input('scale? ')", "EOFError", "instead of asking for it"),
        ("scale = 1 / 0", "ZeroDivisionError", "line 2 of attention.py"),
        ("scale = nn.Parameter()", "NameError", "import torch.nn as nn"),
        ("scale = exit()", "SystemExit", "Remove the call that ends the program"),
        ("scale = open('weights.json')", "FileNotFoundError", "Only the files that were handed in"),
        ("from torch.nn import scale", "ImportError", "Check the spelling of what is imported"),
    ],
)
def test_a_needed_line_that_fails_is_explained(line: str, type_name: str, words: str) -> None:
    """Top-level code that the function needs and that fails: which line, why, and how to mend it."""
    text = f"import torch\n{line}\ndef scaled_dot_product_attention(Q, K, V, mask=None):\n    return Q * scale, K\n"
    with loading(texts_as_files({"attention.py": text})) as outcome:
        [problem] = outcome.problems
        assert problem.kind == "exception"
        assert type_name in problem.message
        assert words in problem.message
        assert problem.place is not None
        assert problem.place.line == 2
        assert outcome.loaded is not None
        assert outcome.loaded.entry is not None


HOSTILE = {
    "str raises": "class E(Exception):\n    def __str__(self):\n        raise SystemExit\ndef f(): raise E",
    "huge text": "def f(): raise ValueError('x' * 10**6)",
    "surrogate": "def f(): raise ValueError('\\ud800')",
    "text with methods": """
class T(str):
    def encode(self, *a): raise SystemExit
    def __getitem__(self, k): raise SystemExit
    def __len__(self): return -5
class E(Exception):
    def __str__(self): return T('x')
def f(): raise E""",
    "exit": "def f(): raise SystemExit(3)",
    "interrupt": "def f(): raise KeyboardInterrupt",
    "recursion": "def f(): return f()",
    "memory": "def f(): raise MemoryError",
    "allocation": "import torch\ndef f(): return torch.empty(1 << 60, dtype=torch.uint8)",
    "odd name": "def f(): raise type('E\\ud800' + 'x' * 999, (Exception,), {})()",
    "group": "def f():\n    try:\n        1 / 0\n    except Exception as e:\n        raise ValueError('outer') from e",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_describe_survives_any_exception(name: str) -> None:
    """Whatever is raised becomes bounded, encodable data with a place in the student's file."""
    with loading(texts_as_files({"attention.py": HOSTILE[name]})) as outcome:
        assert outcome.namespace is not None
        failure = loader.describe(raised_by(outcome.namespace.function("f")))
        assert failure.kind == ("memory" if name in ("memory", "allocation") else "exception")
        assert failure.place is not None
        assert failure.place.file == "attention.py"
        assert len(failure.trace) < 5_000
        assert len(failure.message) < 2_100
        (failure.trace + failure.message + failure.type).encode()


@pytest.mark.parametrize(
    "value",
    [
        "type('T', (), {'__getattr__': lambda self, name: 1 / 0})()",
        "type('T', (), {'__call__': 3})()",
        "type('T', (), {'__wrapped__': property(lambda self: exit()), '__call__': print})()",
        "3",
        "type('T', (type,), {})",
        "lambda Q=" + "+".join("1" for _ in range(400)) + ": Q",
        "(" * 80 + "1" + ")" * 80,
        "+".join("1" for _ in range(30_000)),
    ],
)
def test_loading_never_raises(value: str) -> None:
    """An object that misbehaves when looked at, or an expression of absurd depth, is a problem of its own only."""
    text = f"def other(): pass\nscaled_dot_product_attention = {value}"
    with loading(texts_as_files({"attention.py": text})) as outcome:
        assert outcome.loaded is not None


def test_student_files_never_replace_libraries() -> None:
    """A file of theirs called torch.py, numpy.py or random.py is not what their imports find."""
    text = "import torch, numpy, random\ndef scaled_dot_product_attention(Q, K, V):\n    return torch, numpy, random\n"
    bad = "raise RuntimeError"
    with loading(texts_as_files({"attention.py": text, "torch.py": bad, "numpy.py": bad, "random.py": bad})) as outcome:
        assert outcome.namespace is not None
        import random

        import numpy as np

        assert outcome.namespace.function(ENTRY.function)(0, 0, 0) == (torch, np, random)


HARMLESS = {
    "pyplot": """
import matplotlib.pyplot as plt
fig, ax = plt.subplots(1, 2)
line, = ax[0].plot([1])
with plt.style.context("x"):
    plt.show()""",
    "seaborn": """
import seaborn as sns
sns.heatmap([[1]], ax=None).set_title("t")""",
    "colab": """
from google.colab import drive, files
from google.colab.patches import cv2_imshow
drive.mount("/content")
for name in files.upload(): pass
cv2_imshow(1)""",
    "display": """
from IPython.display import display, HTML, clear_output
display(HTML("<b>"))
clear_output(wait=True)""",
    "progress": """
from tqdm.auto import tqdm, trange
assert list(tqdm([1, 2], desc="x")) == [1, 2] and len(trange(3)) == 3
with tqdm(total=3) as bar:
    bar.update(1)
    bar.set_postfix(loss=1)""",
    "progress module": """
import tqdm
assert [*tqdm.tqdm(range(2))] == [0, 1]""",
    "widgets": """
import ipywidgets as w
@w.interact(x=(0, 1))
def g(x): return x
assert g(2) == 2""",
    "logging": """
from torch.utils.tensorboard import SummaryWriter
import wandb
class C(wandb.Callback): pass
C()
SummaryWriter("runs").add_scalar("a", 1, 2)""",
    "notebook names": """
get_ipython().run_line_magic("matplotlib", "inline")
display(3)""",
    "submodules": """
from mpl_toolkits.mplot3d import Axes3D
import matplotlib
matplotlib.use("Agg")""",
}


@pytest.mark.parametrize("name", HARMLESS)
def test_plots_and_notebook_helpers_do_no_harm(name: str) -> None:
    """Stand-ins take what plots, progress bars and Colab are asked to do, even inside the function."""
    body = HARMLESS[name].replace("\n", "\n    ")
    source = f"from matplotlib import *\ndef scaled_dot_product_attention(Q, K, V):\n    {body}\n    return Q, K\n"
    with loading(texts_as_files({"attention.py": source})) as outcome:
        assert outcome.problems == []
        assert outcome.namespace is not None
        assert outcome.namespace.function(ENTRY.function)(1, 2, 3) == (1, 2)


def test_loading_can_be_undone() -> None:
    """After `release` no import hook, module or source line of a submission is left in the process."""
    before = (list(sys.meta_path), set(sys.modules))
    with loading(files_at(CORPUS / "sources/siblings")) as outcome:
        assert outcome.works()
        assert "attention" in sys.modules
    assert (list(sys.meta_path), set(sys.modules)) == before
    assert not any(name.startswith(("attention.py", "helpers.py")) for name in linecache.cache)


def test_nothing_at_all_is_explained() -> None:
    """No units is no reason to fail."""
    loaded, namespace = loader.load([], {}, ENTRY, BANNED)
    namespace.release()
    assert loaded.entry is None
    assert loaded.problems == loaded.others == []


def test_cells_that_print_a_traceback_show_their_own_lines() -> None:
    """A traceback that the student's code prints itself shows cell, line and text as well."""
    source = """import traceback
def scaled_dot_product_attention():
    try:
        1 / 0
    except Exception:
        return traceback.format_exc()
"""
    _, namespace = loader.load([Unit("a.ipynb", 3, source)], {}, ENTRY, [])
    text = namespace.function(ENTRY.function)()
    namespace.release()
    assert 'File "a.ipynb, cell 3", line 4' in text
    assert "1 / 0" in text
