"""Reports as the marker makes them, for the tests of everything that shows them: same arguments, same report."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

import msgspec

from grader.causes import EXPLAINED
from grader.results import (
    NOTHING,
    Adjustment,
    CheckResult,
    DiagnosisResult,
    EnvironmentInfo,
    Flag,
    Person,
    Picture,
    Place,
    Report,
    RunInfo,
    SandboxInfo,
    SourceText,
    SubmissionInfo,
)

INVERTED = (
    "Your function hides the keys where the mask is True or 1. In this assignment True or 1 means that the query "
    "may look at the key. Turn your test of the mask round."
)

Table = list[list[float]]

SOURCE = '''"""Scaled dot-product attention."""

import math

import torch


def scaled_dot_product_attention(Q, K, V, mask=None):
    """Q: (..., Tq, d_k), K: (..., Tk, d_k), V: (..., Tk, d_v)."""
    d_k = Q.size(-1)
    scores = Q @ K.transpose(-2, -1) / math.sqrt(d_k)   # (..., Tq, Tk)
    if mask is not None:
        scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ V, weights
'''

CHECKS = [
    ("shape", "The output and the weights have the right shapes", 8, ""),
    ("shape[gpu]", "The output and the weights have the right shapes", 2, "gpu"),
    ("rows_sum_to_one", "Each row of the attention weights sums to 1", 12, ""),
    ("rows_sum_to_one[gpu]", "Each row of the attention weights sums to 1", 3, "gpu"),
    ("causal_zero", "With a causal mask, no query looks at a later key", 15, ""),
    ("causal_zero[gpu]", "With a causal mask, no query looks at a later key", 5, "gpu"),
    ("parity", "The numbers agree with PyTorch's own attention", 20, ""),
    ("parity[gpu]", "The numbers agree with PyTorch's own attention", 5, "gpu"),
    ("no_mask", "The function works without a mask", 4, ""),
    ("other_masks", "Padding and random masks work too, as bool, int and float", 6, ""),
    ("inputs_unchanged", "The inputs and the mask stay as they were", 4, ""),
    ("gradients", "Gradients reach Q, K and V and are right", 6, ""),
    ("large_scores", "Large scores give no NaN and no infinity", 4, ""),
    ("dtypes", "float64, float32, bfloat16 and float16 keep their type", 3, ""),
    ("past_stays", "Changing the future leaves the past bit for bit the same", 3, ""),
]
TRIED = {
    "shape": "Q of 2 × 3 × 5 × 8, K of 2 × 3 × 7 × 8, V of 2 × 3 × 7 × 6, float32, no mask",
    "rows_sum_to_one": "Q, K and V of 2 × 2 × 6 × 8, float32, causal mask",
    "causal_zero": "Q, K and V of 2 × 2 × 6 × 8, float32, causal mask as bool, int and float",
    "parity": "Q, K and V of 2 × 2 × 6 × 8, float32, causal mask",
}


def softmax(row: list[float]) -> list[float]:
    top = max(row)
    powers = [math.exp(score - top) for score in row]
    return [power / sum(powers) for power in powers]


def attention_weights(size: int = 6, seed: int = 1) -> tuple[Table, Table]:
    """(expected, without the mask): causal attention weights of random scores, and what forgetting the mask gives."""
    draw = random.Random(seed)
    scores = [[draw.gauss(0, 1.2) for _ in range(size)] for _ in range(size)]
    expected = [softmax(row[: i + 1]) + [0.0] * (size - i - 1) for i, row in enumerate(scores)]
    return expected, [softmax(row) for row in scores]


def _rounded(table: Table) -> list[list[float | str]]:
    return [[float(f"{cell:.4g}") for cell in row] for row in table]


def weights_picture(size: int = 6, seed: int = 1, title: str = "Attention weights [0, 1]") -> Picture:
    """Weights of a function that never applies the causal mask, beside the right ones."""
    expected, yours = attention_weights(size, seed)
    masked = [[i, j] for i in range(size) for j in range(i + 1, size)]
    return Picture(
        title=title,
        rows="query",
        columns="key",
        yours=_rounded(yours),
        expected=_rounded(expected),
        difference=_rounded([[a - b for a, b in zip(m, e, strict=True)] for m, e in zip(yours, expected, strict=True)]),
        marked=sorted(masked, key=lambda place: -yours[place[0]][place[1]]),
        masked=masked,
    )


def nan_picture() -> Picture:
    """Output values with NaN and infinities, above and below zero."""
    return Picture(
        title="Output",
        rows="query",
        columns="feature",
        yours=[["nan", 0.25, -1.5], [0.0, "inf", 2.25], [1e-7, "-inf", 0.5]],
        expected=[[0.5, 0.25, -1.5], [0.0, -0.75, 2.25], [0.0, 1.0, 0.5]],
        difference=[["nan", 0.0, 0.0], [0.0, "inf", 0.0], [1e-7, "-inf", 0.0]],
        marked=[[0, 0], [1, 1], [2, 1]],
    )


def check(at: int, *, passed: bool = True, visibility: str = "visible", **fields: object) -> CheckResult:
    """The check number `at` of CHECKS."""
    name, title, points, device = CHECKS[at]
    made: dict[str, object] = {
        "id": name,
        "title": title,
        "status": "passed" if passed else "failed",
        "score": float(points) if passed else 0.0,
        "max_score": float(points),
        "visibility": visibility,
        "device": device or "cpu",
        "emulated": bool(device),
        "tried": TRIED.get(name.partition("[")[0], "Q, K and V of 1 × 2 × 5 × 4, float32"),
        "seconds": 0.004,
    }
    return CheckResult(**{**made, **fields})  # type: ignore[arg-type]


def report(
    checks: list[CheckResult], *, id: str = "s001", name: str = "Ada Byron", source: str = SOURCE, **fields: object
) -> Report:
    """A report of one person with one file around these checks."""
    adjustments: list[Adjustment] = list(fields.get("adjustments", []))  # type: ignore[call-overload]
    made: dict[str, object] = {
        "assignment": "attention",
        "title": "Self-attention from scratch",
        "submission": SubmissionInfo(
            id=id,
            files=["attention.py"],
            digest=f"{random.Random(id).getrandbits(256):064x}",
            people=[Person(id=id, name=name, email=f"{id}@example.org", section="A")],
            submitted_at="2026-03-02T21:14:00+01:00",
        ),
        "status": "graded",
        "score": max(0.0, sum(c.score for c in checks) + sum(a.points for a in adjustments)),
        "max_score": sum(c.max_score for c in checks),
        "checks": checks,
        "sources": [SourceText(file="attention.py", cell=None, text=source)],
        "sandbox": SandboxInfo(level="A", layers=["rlimits", "uid", "no_new_privs", "landlock", "seccomp"]),
        "environment": EnvironmentInfo(
            grader="0.1.0",
            torch="2.13.0",
            python="3.11.4",
            seed_id="7f3a9c12",
            assignment_digest="b5" * 32,
            device="emulated",
        ),
        "seconds": 0.21,
    }
    return Report(**{**made, **fields})  # type: ignore[arg-type]


def right() -> Report:
    return report([check(at) for at in range(len(CHECKS))], id="s002", name="Noor Haddad")


MASK_LINE = Place(file="attention.py", line=13, text='        scores.masked_fill(mask == 0, float("-inf"))')
MASK_LOST = DiagnosisResult(
    misconceptions=["mask_result_dropped"],
    title="The mask is never applied",
    explanation=(
        "`masked_fill` does not change the tensor it is called on: it returns a new tensor in which the masked "
        "scores are replaced. When that new tensor is not kept, the softmax sees the old scores, and every query "
        "looks at every key, also at the *later* ones.\n\n"
        "That is why the weights above the diagonal are not 0, although each row still sums to 1."
    ),
    hint="Look at what the line that uses the mask gives back, and at which name keeps it.",
    section="3. The mask",
    evidence="matches 22 of 22 calls, largest difference 3e-8",
)


def wrong() -> Report:
    """The mask is never applied."""
    hint = "A masked score must be `-inf` before the softmax, so that its weight becomes 0."
    fails = {
        4: "The weight of query 2 for key 5 is 0.7608. It must be exactly 0, because the causal mask forbids it."
        " (3 of 3 cases are not right.)",
        5: "The weight of query 2 for key 3 is 0.6524. It must be exactly 0, because the causal mask forbids it."
        " (3 of 3 cases are not right.)",
        6: "The output differs from the expected one by up to 1.83; at most 2.4e-6 is allowed. The worst element is"
        " [0, 1, 0, 3].",
        7: "The output differs from the expected one by up to 1.64; at most 2.4e-6 is allowed. The worst element is"
        " [1, 0, 0, 2].",
        9: "With a padding mask, the weight of query 2 for key 4 is 0.2210. It must be exactly 0.",
        14: "After key 5 was changed, the output of query 0 changed too. It must not depend on later keys.",
    }
    pictures = {
        4: [weights_picture()],
        5: [weights_picture(seed=4, title="Attention weights [1, 0]")],
        6: [weights_picture(size=5, seed=9, title="Attention weights [0, 1]")],
    }
    checks = [
        check(at, passed=at not in fails, message=fails.get(at, ""), hint=hint if at in {4, 5} else "",
              pictures=pictures.get(at, []), detail="AssertionError: tensors differ" if at in fails else "")
        for at in range(len(CHECKS))
    ]  # fmt: skip
    return report(
        checks,
        diagnoses=[MASK_LOST],
        conventions=["Your function returns `(output, weights)` in this order, as it should."],
        translated=True,
        adjustments=[
            Adjustment(kind="late", points=-5.0, reason="Handed in 6 hours late: 5 points for each started day."),
            Adjustment(kind="manual", points=1.5, reason="Clear comments."),
        ],
        flags=[Flag(id="slow", message="Used 2.1 s of 3 s for one call.")],
        output="loading...\ntensor([1.])\n",
    )


def folded() -> Report:
    """The same, with the checks marked that the diagnosis accounts for."""
    checks = [
        msgspec.structs.replace(one, reason=EXPLAINED) if one.status == "failed" else one for one in wrong().checks
    ]
    return msgspec.structs.replace(wrong(), checks=checks)


def crashed() -> Report:
    """Every call raises: the wrong dimensions are swapped."""
    source = SOURCE.replace("K.transpose(-2, -1)", "K.T")
    place = Place(file="attention.py", line=11, text="    scores = Q @ K.T / math.sqrt(d_k)   # (..., Tq, Tk)")
    message = (
        "Your function stopped with a RuntimeError in line 11. `K.T` turns round all dimensions of K, so the sizes "
        "of `Q @ K.T` do not fit when K has more than two dimensions."
    )
    hint = "Swap only the last two dimensions of K."
    detail = "RuntimeError: The size of tensor a (3) must match the size of tensor b (7) at non-singleton dimension 1"
    checks = [
        check(at, passed=False, message=message, hint=hint, place=place, detail=detail) for at in range(len(CHECKS))
    ]
    checks[10] = check(10)
    return report(checks, id="s003", name="Zoë Lindqvist-Okonkwo", source=source)


def unread() -> Report:
    """A syntax error: nothing could be loaded."""
    source = SOURCE.replace("mask=None):", "mask=None)")
    place = Place(file="attention.py", line=8, text="def scaled_dot_product_attention(Q, K, V, mask=None)")
    checks = [
        check(at, passed=False, message="Your code could not be run, so this could not be tried.")
        for at in range(len(CHECKS))
    ]
    return report(
        checks,
        id="s004",
        name="Jun Park",
        source=source,
        problem="Line 8 of attention.py is not valid Python: a colon is missing at the end of the line. "
        "Add `:` after `mask=None)` and run the file once before you hand it in.",
        place=place,
    )


def absent(id: str = "s007") -> Report:
    """A person of the roster who handed nothing in."""
    checks = [check(at, passed=False, message="There was no code to try.") for at in range(len(CHECKS))]
    made = report(checks, id=id, name="Tove Jansson", problem=NOTHING, sources=[])
    return msgspec.structs.replace(made, submission=msgspec.structs.replace(made.submission, files=[], submitted_at=""))


def called_otherwise(id: str = "s008", *, words: str = INVERTED) -> Report:
    """The mask is read the wrong way round, which the first calls recognised."""
    checks = [check(at, passed=at < 4, reason="" if at < 4 else EXPLAINED) for at in range(len(CHECKS))]
    return report(checks, id=id, name="Bo Ek", conventions=[words])


def fault() -> Report:
    """Two checks broke on our side, and a GPU check was skipped."""
    checks = [check(at) for at in range(len(CHECKS))]
    checks[6] = check(6, passed=False, status="error", detail="ZeroDivisionError: our own")
    checks[7] = check(7, passed=False, status="skipped", message="There is no GPU on this computer.")
    return report(checks, id="s005", name="Maria del Carmen Fernández y Rodríguez de la Cruz", status="error")


HOSTILE = (
    '<script>alert("x")</script><img src=x onerror=alert(1)>[a](http://evil.example) ![b](http://evil.example/b.png)'
)


def hostile() -> Report:
    """Markup, links, terminal sequences and bidi marks in every text that a student can influence."""
    text = (
        f"{HOSTILE}\x1b[31m\u202egnp.exe\x00 ``` ~~~ # | a | b |\n"
        "::error::PASSED 100/100 {{ 7*7 }} </style></title>"
    )
    checks = [
        check(
            at,
            passed=False,
            message=text,
            hint=text,
            tried=text,
            detail=text,
            title=text if at == 0 else CHECKS[at][1],
            place=Place(file=HOSTILE, line=1, text=text),
            pictures=[nan_picture()] if at == 1 else [],
        )
        for at in range(3)
    ]
    made = report(checks, id="s006", name=text, source=f"```\n{text}\n</pre></code>\n`````\n")
    return Report(
        **{
            **{name: getattr(made, name) for name in Report.__struct_fields__},
            "submission": SubmissionInfo(
                id='s006"><script>',
                files=[HOSTILE],
                digest="0" * 64,
                people=[Person(id=text, name=text, email=text, section=text)],
                submitted_at=text,
                notes=[text],
            ),
            "problem": "",
            "diagnoses": [
                DiagnosisResult(
                    misconceptions=["x"], title=text, explanation=text, hint=text, section=text, evidence=text
                )
            ],
            "conventions": [text],
            "adjustments": [Adjustment(kind="manual", points=-1, reason=text)],
            "flags": [Flag(id=text, message=text)],
            "output": text,
        }
    )


MISCONCEPTIONS = {
    "mask_result_dropped": "The mask is never applied",
    "not_scaled": "The scores are not divided by √d_k",
    "softmax_over_queries": "The softmax runs over the queries",
    "mask_inverted": "The mask is used the wrong way round",
    "divided_by_d_k": "The scores are divided by d_k, not by its square root",
    "filled_with_small_number": "Masked scores become a small number, not -inf",
}
_GIVEN = ["Ada", "Noor", "Jun", "Zoë", "Maria", "Luca", "Amina", "Kofi", "Yuki", "Ivan", "Priya", "Chloé", "Tomás"]
_FAMILY = ["Byron", "Haddad", "Park", "Rossi", "Mensah", "Tanaka", "Petrov", "Farouk", "Dubois", "Berg", "Chen", "Kim"]


def a_class(size: int, seed: int = 5) -> Iterator[Report]:
    """A class with many right, some wrong in the common ways, some crashed, unread, flagged, missing."""
    draw = random.Random(seed)
    names = list(MISCONCEPTIONS)
    for number in range(1, size + 1):
        id = f"s{number:04d}"
        name = f"{draw.choice(_GIVEN)} {draw.choice(_FAMILY)}"
        skill = draw.betavariate(2.2, 1.1)
        lot = draw.random()
        fields: dict[str, object] = {"id": id, "name": name, "seconds": draw.lognormvariate(-1.6, 0.5)}
        if lot < 0.05:
            checks = [check(at, passed=False) for at in range(len(CHECKS))]
            fields["problem"] = "Line 8 of attention.py is not valid Python."
        elif lot < 0.30:
            checks = [check(at) for at in range(len(CHECKS))]
        else:
            hard = [0.02, 0.03, 0.15, 0.16, 0.42, 0.43, 0.5, 0.52, 0.2, 0.45, 0.1, 0.25, 0.4, 0.3, 0.45]
            checks = [check(at, passed=skill + draw.gauss(0.0, 0.18) > hard[at]) for at in range(len(CHECKS))]
            if any(c.status == "failed" for c in checks) and draw.random() < 0.8:
                ids = draw.sample(names, 2 if draw.random() < 0.12 else 1)
                titles = [MISCONCEPTIONS[id] for id in ids]
                found = DiagnosisResult(misconceptions=ids, titles=titles, title="; ".join(titles), explanation="...")
                fields["diagnoses"] = [found]
        if draw.random() < 0.04:
            fields["flags"] = [Flag(id="library_attention", message="Line 9 names the library's own attention.")]
        elif draw.random() < 0.03:
            fields["flags"] = [Flag(id="limit.time", message="One call was stopped after 3 s.")]
            fields["seconds"] = 3.0 + draw.random()
        if draw.random() < 0.08:
            fields["adjustments"] = [Adjustment(kind="late", points=-5.0, reason="One day late.")]
        yield report(checks, **fields)  # type: ignore[arg-type]


def run_info(size: int = 200) -> RunInfo:
    return RunInfo(
        id="2026-03-03-attention",
        started="2026-03-03T08:00:00+01:00",
        seconds=0.05 * size + 3,
        assignment="attention",
        title="Self-attention from scratch",
        grader="0.1.0",
        torch="2.13.0",
        python="3.11.4",
        seed_id="7f3a9c12",
        sandbox=SandboxInfo(level="A", layers=["rlimits", "uid", "no_new_privs", "landlock", "seccomp"]),
        device="emulated",
        jobs=2,
        counts={"graded now": size},
    )
