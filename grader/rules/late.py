"""What lateness costs: pure functions of a policy, a due date and a time. They never look at a clock.

Lateness starts when the grace ends, and each started hour or day counts. The result is an `Adjustment`: the checks'
own scores stay what they are.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from grader.assignment import Late
from grader.pages.summary import number
from grader.results import Adjustment
from grader.rules.times import date_words, in_words, moment, parse_time

UNITS = {"hour": timedelta(hours=1), "day": timedelta(days=1)}


def lateness(due: datetime, submitted_at: str, grace_minutes: float = 0.0) -> timedelta:
    """How long after the due date and the grace it was handed in; zero when in time, or when the time is not told."""
    when = parse_time(submitted_at)
    if when is None or when.tzinfo is None:
        return timedelta(0)
    return max(timedelta(0), when - due - timedelta(minutes=grace_minutes))


def adjustment(policy: Late, due: str, submitted_at: str, max_score: float, score: float) -> Adjustment | None:
    """What lateness takes off a score of `score` out of `max_score` points; None when it was in time.

    `due` (ISO 8601 with offset; "" for none) is the date that holds for this person, an extension included. With no
    deduction in the policy, or without a known time, nothing is taken off and None is returned. Points are rounded to
    a thousandth, and never take away more than there is. Raises UsageError naming `late.due` when it has no offset.
    """
    if not due or not policy.deduction:
        return None
    deadline = moment(due, "late.due")
    late = lateness(deadline, submitted_at, policy.grace_minutes)
    if not late:
        return None
    started = -(-late // UNITS[policy.per])
    share = min(started * policy.deduction, policy.cap)
    left = max(score - share * max_score, min(score, policy.floor * max_score), min(score, 0.0))
    after = parse_time(submitted_at)
    assert after is not None
    words = [
        f"Handed in {in_words(after - deadline)} after the due date ({date_words(deadline)}).",
        f"Each started {policy.per} costs {_percent(policy.deduction)} of the maximum: "
        f"{started} {policy.per}{'s' if started > 1 else ''}, {_percent(started * policy.deduction)}.",
    ]
    if policy.grace_minutes:
        words.insert(1, f"The first {in_words(timedelta(minutes=policy.grace_minutes))} do not count.")
    if started * policy.deduction > policy.cap:
        words.append(f"At most {_percent(policy.cap)} is taken off.")
    if policy.floor and left > score - share * max_score:
        words.append(f"Lateness takes nobody below {_percent(policy.floor)} of the maximum.")
    return Adjustment(kind="late", points=round(left - score, 3) + 0.0, reason=" ".join(words))


def graded_attempt(handed_in: int, limit: int) -> int:
    """Which of so many attempts counts (1 is the first): the latest, or the last one within the limit (0: no limit)."""
    return min(handed_in, limit) if limit else handed_in


def attempts(limit: int, attempt: int, handed_in: int) -> Adjustment | None:
    """A note of no points for work whose number of attempts is over the limit; None for any other.

    `attempt` of `handed_in` is the one that was graded; both are 0 where the source does not tell.
    """
    if not limit or handed_in <= limit:
        return None
    words = f"You handed in {handed_in} times; the first {limit} count." if limit > 1 else (
        f"You handed in {handed_in} times; only the first counts."
    )  # fmt: skip
    if attempt <= limit:
        return Adjustment(kind="attempts", points=0.0, reason=f"{words} Attempt {attempt} was graded.")
    return Adjustment(
        kind="attempts",
        points=0.0,
        reason=f"{words} Attempt {attempt} was graded, because the earlier ones were not at hand; "
        "your teachers decide what counts.",
    )


def _percent(fraction: float) -> str:
    return f"{number(100 * fraction)}%"
