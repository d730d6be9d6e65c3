"""How often would a right answer be marked wrong? Run: python -m bench false_alarms

Right answers by other routes (solutions/attention/alternatives.py) are held against the attention assignment's
tolerances on random inputs, a fifth of the routes on each: all four dtypes, all kinds and dtypes of masks, rows
without any key, sizes from 1, no to two leading dimensions, now and then large scores. Gradients are judged in
float32 and float64, as the checks judge them. Prints the number of false alarms, and how close the answers come.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "solutions" / "attention")]

import alternatives  # noqa: E402 - the staff half lies outside any package
from bounds import bounds, gradient_bounds, row_sum_bound  # noqa: E402
from inputs import Sizes, large  # noqa: E402

from grader.assignment import load  # noqa: E402
from grader.authoring.master import load_reference  # noqa: E402

DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
MASKS = ("none", "causal", "random", "padding")
EVERY = 8
"""Gradients cost several times the rest: they are judged on two of eight inputs."""
TURNS = 5
"""Each route answers every fifth question."""

Function = Callable[..., tuple[Tensor, Tensor]]


@dataclass
class Tally:
    """Counts of one process."""

    inputs: int = 0
    answers: int = 0
    alarms: list[str] = field(default_factory=list)
    closest: dict[str, float] = field(default_factory=dict)
    """What and dtype -> the largest error in units of its tolerance."""

    def note(self, what: str, dtype: torch.dtype, excess: Tensor, who: str) -> None:
        key = f"{what}, {str(dtype).removeprefix('torch.')}"
        largest = float(excess.nan_to_num(torch.inf).max()) if excess.numel() else 0.0
        self.closest[key] = max(self.closest.get(key, 0.0), largest)
        if largest > 1.0:
            self.alarms.append(f"{who}: {key}: {largest:.3g} times the tolerance")


def main(total: int = 10_000) -> None:
    processes = os.cpu_count() or 1
    torch.set_num_threads(1)
    started = time.perf_counter()
    shares = [(number, total // processes + (number < total % processes)) for number in range(processes)]
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        tallies = pool.starmap(run, shares)
    inputs, answers = sum(t.inputs for t in tallies), sum(t.answers for t in tallies)
    alarms = [alarm for tally in tallies for alarm in tally.alarms]
    for alarm in alarms[:20]:
        print(alarm)
    for key in sorted({key for tally in tallies for key in tally.closest}):
        print(f"{key:34} at most {max(t.closest.get(key, 0.0) for t in tallies):.3f} of the tolerance")
    print(f"{inputs} inputs, {answers} answers by {len(routes())} routes, {time.perf_counter() - started:.0f} s")
    print(f"false alarms: {len(alarms)} of {answers}")
    sys.exit(1 if alarms else 0)


def routes() -> dict[str, Function]:
    found = vars(alternatives).items()
    return {name: f for name, f in found if callable(f) and getattr(f, "__module__", "") == "alternatives"}


def run(number: int, inputs: int) -> Tally:
    torch.default_generator.manual_seed(1000 + number)
    reference = load_reference(load("attention", ROOT))
    tally = Tally()
    for index in range(inputs):
        dtype = DTYPES[index % 4]
        Q, K, V, mask = draw(dtype, index)
        turn = dict(list(routes().items())[(index // 4) % TURNS :: TURNS])
        judge(tally, reference, turn, Q, K, V, mask, gradients=index % EVERY < 2)
        tally.inputs += 1
    return tally


def pick(low: int, high: int) -> int:
    return int(torch.randint(low, high + 1, ()))


def draw(dtype: torch.dtype, index: int) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Random sizes, numbers and mask. Large scores come without a mask, as they do in the checks."""
    lead = [(2, 3), (), (3,), (pick(1, 4), pick(1, 4))][index // 4 % 4]
    Tq, Tk, d_k, d_v = pick(1, 12), pick(1, 14), pick(1, 24), pick(1, 12)
    if index % 50 == 1 and dtype == torch.float32:
        return (*large(Sizes(Tq=Tq, Tk=Tk, d_k=d_k + 1, d_v=d_v), 10.0 ** pick(1, 3)), None)
    # float16 has no exp below e^-17: scores must be ordinary there for a shift by the largest of all to be right
    spread = 1.0 if dtype == torch.float16 else 0.5 + 2 * float(torch.rand(()))
    Q, K, V = (torch.randn(*lead, *sizes) for sizes in ((Tq, d_k), (Tk, d_k), (Tk, d_v)))
    kind = MASKS[index // 16 % 4]
    if kind == "none":
        mask = None
    elif kind == "causal":
        mask = torch.ones(Tq, Tk, dtype=torch.bool).tril()
    elif kind == "random":
        mask = torch.rand(*lead, Tq, Tk) < 0.5  # now and then a row without a key
    else:
        mask = (torch.arange(Tk) < pick(1, Tk)).expand(*[1 for _ in lead], 1, Tk)
    if mask is not None:
        mask = mask.to((torch.bool, torch.int64, torch.int32, dtype)[pick(0, 3)])
    return (spread * Q).to(dtype), K.to(dtype), V.to(dtype), mask


def judge(
    tally: Tally,
    reference: Function,
    turn: dict[str, Function],
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    mask: Tensor | None,
    *,
    gradients: bool,
) -> None:
    """The answers of some routes to one question."""
    output, weights = reference(Q.double(), K.double(), V.double(), mask)
    limits, row_limit = bounds(Q, K, V, mask), row_sum_bound(Q, K, mask)
    has_keys = ~weights.isnan().any(-1)  # (..., Tq)
    hidden = None if mask is None else (mask == 0).expand(weights.shape) & has_keys[..., None]
    given: tuple[Tensor, ...] = ()
    wanted: tuple[Tensor, ...] = ()
    slack: tuple[Tensor, ...] = ()
    if gradients and Q.dtype in (torch.float32, torch.float64) and bool(has_keys.all()):
        given = tuple(torch.randn_like(part).to(Q.dtype) for part in (output, weights))
        wanted = slopes(reference, *(x.double() for x in (Q, K, V)), mask, [x.double() for x in given])
        slack = gradient_bounds(Q, K, V, mask, *given)
    for name, route in turn.items():
        tally.answers += 1
        answer = route(Q, K, V, mask)
        if any(part.dtype != Q.dtype for part in answer):
            tally.alarms.append(f"{name}: dtype {Q.dtype} is not kept")
        for what, part, want, limit in zip(("output", "weights"), answer, (output, weights), limits, strict=True):
            tally.note(what, Q.dtype, excess(part, want, limit)[has_keys], name)
        tally.note("row sum", Q.dtype, excess(answer[1].double().sum(-1), torch.ones(()), row_limit)[has_keys], name)
        if hidden is not None and bool((answer[1][hidden] != 0).any()):
            tally.alarms.append(f"{name}: a masked weight is not 0")
        if not given:
            continue
        for what, part, want, limit in zip("QKV", slopes(route, Q, K, V, mask, given), wanted, slack, strict=True):
            tally.note(f"gradient of {what}", Q.dtype, excess(part, want, limit), name)


def excess(got: Tensor, want: Tensor, limit: Tensor) -> Tensor:
    error = (got.double() - want).abs()
    return torch.where(error == 0, 0.0, error / limit.clamp_min(torch.finfo(torch.float64).tiny))


def slopes(
    function: Function, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None, given: Sequence[Tensor]
) -> tuple[Tensor, ...]:
    """Gradients with respect to Q, K and V of the answer's product with what is given."""
    sources = [x.clone().requires_grad_() for x in (Q, K, V)]
    return torch.autograd.grad(function(*sources, mask), sources, given)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
