from __future__ import annotations

import os
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader.sandbox import accelerator, ops

NAMES = ["scaled_dot_product_attention", "multi_head_attention_forward", "MultiheadAttention"]


def in_child(function: Callable[[], Any]) -> Any:
    """What the function returns in a forked child: blocking can't be undone, so it must not happen here."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python warns of forks beside threads; the child starts none and uses none
        pid = os.fork()
    if pid == 0:
        try:
            torch.set_num_threads(1)
            warnings.simplefilter("ignore")  # nested tensors announce themselves as a prototype
            data = pickle.dumps(function())
        except BaseException as error:
            data = pickle.dumps(f"{type(error).__name__}: {error}")
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(data)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        data = pipe.read()
    os.waitpid(pid, 0)
    return pickle.loads(data)


def said(use: Callable[[], Any]) -> str:
    """ "refused" when the library's attention is refused, else what happened."""
    try:
        made = use()
    except ops.Forbidden as error:
        return "refused" if "not allowed here" in str(error) else str(error)
    except Exception as error:
        # TorchScript and the compiler pass our exception on as text.
        return "refused" if "not allowed here" in str(error) or "fake tensor" in str(error) else repr(error)
    return f"reached: {type(made).__name__}"


def routes() -> dict[str, Callable[[], Any]]:
    """Ways to the library's own attention, prepared before anything is blocked."""
    q = torch.randn(2, 2, 5, 4)
    asks = q.clone().requires_grad_()
    x = torch.randn(2, 5, 8)
    aten = torch.ops.aten
    mha = nn.MultiheadAttention(8, 2, batch_first=True)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    quick = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    held = F.multi_head_attention_forward
    settings = (8, 2, mha.in_proj_weight, mha.in_proj_bias, None, None, False, 0.0, mha.out_proj.weight, None)
    nested = torch.nested.nested_tensor([torch.randn(3, 2, 4), torch.randn(5, 2, 4)]).transpose(1, 2).contiguous()
    keys = torch._C.DispatchKeySet

    def under(context: Any, use: Callable[[], Any]) -> Callable[[], Any]:
        def run() -> Any:
            with context:
                return use()

        return run

    def there() -> Any:
        with accelerator.emulate():
            return F.scaled_dot_product_attention(*(accelerator.to_device(asks) for _ in range(3)))

    def redispatched(key: str) -> Callable[[], Any]:
        chosen = keys(getattr(torch._C.DispatchKey, key))
        return lambda: aten.scaled_dot_product_attention.default.redispatch(chosen, q, q, q)

    return {
        "function": lambda: F.scaled_dot_product_attention(q, q, q),
        "with gradients": lambda: F.scaled_dot_product_attention(asks, asks, asks),
        "no_grad": under(torch.no_grad(), lambda: F.scaled_dot_product_attention(asks, q, q)),
        "inference_mode": under(torch.inference_mode(), lambda: F.scaled_dot_product_attention(q, q, q)),
        "recorded": under(ops.Recorder(), lambda: F.scaled_dot_product_attention(q, q, q)),
        "autocast": under(torch.autocast("cpu"), lambda: F.scaled_dot_product_attention(q, q, q)),
        "torch._C._nn": lambda: torch._C._nn.scaled_dot_product_attention(q, q, q),
        "torch.ops packet": lambda: aten.scaled_dot_product_attention(q, q, q),
        "torch.ops overload": lambda: aten.scaled_dot_product_attention.default(q, q, q),
        "decompose": lambda: aten.scaled_dot_product_attention.default.decompose(q, q, q),
        "redispatch to a device that is not here": redispatched("AutogradXLA"),
        "redispatch to the CPU": redispatched("CPU"),
        "name built from strings": lambda: getattr(F, "_".join(["scaled", "dot", "product", "attention"]))(q, q, q),
        "private math": lambda: torch._scaled_dot_product_attention_math(q, q, q),
        "private flash": lambda: aten._scaled_dot_product_flash_attention_for_cpu(q, q, q),
        "private flash with gradients": lambda: aten._scaled_dot_product_flash_attention_for_cpu(asks, asks, asks),
        "MultiheadAttention": lambda: mha(x, x, x),
        "MultiheadAttention, fast": under(torch.no_grad(), lambda: mha.eval()(x, x, x, need_weights=False)),
        "multi_head_attention_forward, held before": lambda: held(x, x, x, *settings),
        "TransformerEncoderLayer": lambda: layer(x),
        "TransformerEncoderLayer, fast": under(torch.no_grad(), lambda: quick(x)),
        "vmap": lambda: torch.vmap(F.scaled_dot_product_attention)(q, q, q),
        "vmap of private math": lambda: torch.vmap(lambda a: torch._scaled_dot_product_attention_math(a, a, a)[0])(q),
        "func.grad": lambda: torch.func.grad(lambda a: F.scaled_dot_product_attention(a, a, a).sum())(q),
        "meta tensors": lambda: F.scaled_dot_product_attention(*[q.to("meta")] * 3),
        "nested tensors": lambda: F.scaled_dot_product_attention(nested, nested, nested),
        "jit operator": lambda: torch._C._jit_get_operation("aten::scaled_dot_product_attention")[0](q, q, q),
        "kernel by key": lambda: torch.library.get_kernel("aten::scaled_dot_product_attention", "CPU").call_boxed(
            keys(torch._C.DispatchKey.CPU), q, q, q
        ),
        "on the emulated device": there,
    }


def test_the_librarys_attention_is_out_of_reach() -> None:
    """When an assignment is from scratch, no route leads to the library's attention, and each says why."""

    def attack() -> dict[str, str]:
        accelerator.install()
        prepared = routes()
        ops.block(NAMES)
        return {name: said(use) for name, use in prepared.items()}

    result = in_child(attack)
    assert {name: outcome for name, outcome in result.items() if outcome != "refused"} == {}
    assert len(result) > 25


def test_the_routes_work_when_nothing_is_blocked() -> None:
    """The routes above do lead to the library's attention in a process where it is not blocked, such as a marker."""

    def control() -> dict[str, str]:
        accelerator.install()
        quick = {name: use for name, use in routes().items() if name != "func.grad"}  # it imports the compiler
        return {name: said(use) for name, use in quick.items()}

    result = in_child(control)
    assert {name: outcome for name, outcome in result.items() if not outcome.startswith("reached")} == {}


def test_what_the_exercise_needs_stays() -> None:
    """Softmax, products and their gradients still work, and blocking warns of nothing."""

    def work() -> str:
        warnings.simplefilter("error")
        ops.block(NAMES)
        q = torch.randn(2, 3, 5, 4, requires_grad=True)
        weights = torch.softmax(torch.einsum("bhqd,bhkd->bhqk", q, q), -1)
        weights = torch.baddbmm(weights[0], weights[0], weights[0]).softmax(-1)
        torch.bmm(weights, q[0]).sum().backward()
        nn.TransformerEncoderLayer(8, 2, 16)  # making one does not compute anything
        return "fine"

    assert in_child(work) == "fine"


def test_removing_the_block_from_inside() -> None:
    """Student code finds no object whose end would bring the library's attention back."""

    def attack() -> str:
        import gc

        ops.block(NAMES)
        for found in gc.get_objects():
            if type(found).__name__ in {"Library", "_DispatchModule"}:
                getattr(found, "_destroy", getattr(found, "reset", None))()
        gc.collect()
        q = torch.randn(1, 1, 3, 2)
        return said(lambda: F.scaled_dot_product_attention(q, q, q))

    assert in_child(attack) == "refused"


def test_the_message_is_for_a_student() -> None:
    """The refusal names what was used and says what to do instead."""
    with pytest.raises(ops.Forbidden, match=r"uses MultiheadAttention of the PyTorch library.*write it yourself"):
        ops.refuse("MultiheadAttention")


@pytest.mark.parametrize(
    ("name", "operator", "same"),
    [
        ("scaled_dot_product_attention", "aten::_scaled_dot_product_flash_attention_for_cpu", True),
        ("MultiheadAttention", "aten::_native_multi_head_attention.out", True),
        ("softmax", "aten::_softmax", True),
        ("softmax", "aten::max", False),
        ("linear", "aten::bilinear", False),
        ("torch.nn.functional.linear", "aten::linear", True),
    ],
)
def test_names_lead_to_operators(name: str, operator: str, same: bool) -> None:
    """An assignment gives public names; the private operators that do the same are found from them."""
    assert (operator in ops._operators([name])) == same


def test_other_assignments_block_their_own() -> None:
    """Nothing in the mechanism is about attention: a course on layers can forbid linear layers."""

    def attack() -> list[str]:
        ops.block(["linear"])
        x = torch.randn(3, 4)
        return [said(lambda: F.linear(x, x)), said(lambda: nn.Linear(4, 2)(x)), said(lambda: x @ x.T)]

    assert in_child(attack) == ["refused", "refused", "reached: Tensor"]


def test_operators_are_counted() -> None:
    """Operators are counted by name, forward and backward, and the largest tensor that one made is known."""
    a, b = torch.randn(4, 5, 6), torch.randn(4, 6, 7, requires_grad=True)
    with ops.Recorder() as recorder:
        product = torch.bmm(a, b)
        product.transpose(1, 2).expand(10, 4, 7, 5).size()
        product.sum().backward()
    assert recorder.ops["bmm"] == 2
    assert recorder.ops["sum"] == 1
    assert recorder.largest == 4 * 6 * 7


def test_work_in_loops_shows() -> None:
    """A loop over the batch runs more operators for a larger batch; one batched product does not."""

    def count(function: Callable[[Tensor], Any], batch: int) -> int:
        tensor = torch.randn(batch, 3, 3)
        with ops.Recorder() as recorder:
            function(tensor)
        return sum(recorder.ops.values())

    assert count(lambda t: t @ t, 2) == count(lambda t: t @ t, 9)
    assert count(lambda t: [m @ m for m in t], 2) < count(lambda t: [m @ m for m in t], 9)
