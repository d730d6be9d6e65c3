"""What is known of a submission as a whole, set against its checks: nothing is told twice, and nothing guessed that is
known."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from grader.call import Call
from grader.causes import EXPLAINED
from grader.collected import Check
from grader.diagnosis import crashes
from grader.diagnosis.contract import Verdict
from grader.entry import Entry
from grader.results import CheckResult, DiagnosisResult, Place


def marked(
    results: Sequence[CheckResult], checks: Sequence[Check], diagnoses: Sequence[DiagnosisResult], verdict: Verdict
) -> list[CheckResult]:
    """The results, each failure marked that the cause accounts for, without the hints that guess at another cause.

    A diagnosis that names wrong ideas fits every call: its numbers, how it failed and what it left behind. So it
    accounts for each failed check but those that look at the operations, those that a limit stopped, and the crashes
    that have an explanation of their own beside it. Of the hints only the checks' own about numbers go. Another way of
    calling that was not translated explains everything.
    """
    known = {check.id: check for check in checks}
    called = bool(verdict.recognised) and not verdict.translated
    ideas = any(not crashes.known(found.misconceptions) for found in diagnoses)

    def one(result: CheckResult) -> CheckResult:
        check = known[result.id]
        if called or (ideas and result.pictures and result.hint == check.hint):
            result = msgspec.structs.replace(result, hint="")
        stopped = result.place is not None
        apart = (not called and len(diagnoses) > 1) if stopped else check.watched
        if result.status != "failed" or not (called or ideas) or result.reason or apart:
            return result
        return msgspec.structs.replace(result, reason=EXPLAINED)

    return [one(result) for result in results]


def told(
    verdict: Verdict, calls: Sequence[Call], diagnoses: list[DiagnosisResult], entry: Entry
) -> tuple[str, Place | None, list[DiagnosisResult]]:
    """The probe's words and their line, and the diagnoses.

    A crash that the probe told of, such as a missing import, is no matter of how the function is called: it becomes a
    diagnosis, and is told once.
    """
    if verdict.fatal or not verdict.words:
        return verdict.words, verdict.place, diagnoses
    # a crash outside every line of the student's: the call itself failed, and the words say what does not fit
    diagnoses = [one for one in diagnoses if one.place is not None or not crashes.known(one.misconceptions)]
    for call in calls:
        if call.failure is not None and call.failure.place is not None and call.failure.place == verdict.place:
            crash = crashes.explain(call.failure, entry)
            if crash is not None and crash.title in verdict.words:
                others = [found for found in diagnoses if found.misconceptions != crash.misconceptions]
                return verdict.words.partition(crash.title)[0].strip(), None, [crash, *others]
    return verdict.words, verdict.place, diagnoses
