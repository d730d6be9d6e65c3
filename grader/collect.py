"""The hidden checks as pytest collected them, once: what each is worth, and how to run one and learn how it ended."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from grader import expect
from grader.collected import CPU, GPU, Check, Ending, collected, parameters, taken
from grader.errors import AssignmentError
from grader.expect import CheckFailure
from grader.student import Student
from grader.unimportable import why


class Checks:
    """A pytest plugin: provides the fixtures, collects once, and runs single checks on demand.

    `work` is called inside pytest's own loop with this object once everything is collected; it calls `run` as often
    as it likes. The fixtures take the student's handle from `student`, which `work` sets before each run.
    """

    def __init__(self, reference: Callable[..., Any], work: Callable[[Checks], None]) -> None:
        self.work = work
        self.checks: list[Check] = []
        self.broken: list[str] = []
        self.ended: BaseException | None = None
        """What left pytest altogether while the module was imported."""
        self.stopped: BaseException | None = None
        self._reference = reference
        self._student: Student | None = None
        self._raised: BaseException | None = None
        self._phases: list[str] = []

    # --- fixtures that a check may take ---

    @pytest.fixture
    def student(self) -> Student:
        assert self._student is not None
        return self._student

    @pytest.fixture
    def reference(self) -> Callable[..., Any]:
        return self._reference

    @pytest.fixture
    def device(self, request: pytest.FixtureRequest) -> str:
        return cast("str", request.param)

    # --- pytest's hooks ---

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if "device" in metafunc.fixturenames:
            metafunc.parametrize("device", [CPU, GPU], indirect=True)

    def pytest_configure(self, config: pytest.Config) -> None:
        config.addinivalue_line("markers", "points(worth, ...): how much a check is worth; see grader.checks")

    def pytest_exception_interact(
        self, node: pytest.Item | pytest.Collector, call: pytest.CallInfo[Any], report: pytest.CollectReport
    ) -> None:
        if isinstance(node, pytest.Collector) and call.excinfo is not None:
            error = call.excinfo.value
            # pytest wraps some of what an import raises in ten lines of its own; its words about a test have no cause
            cause = error.__cause__ if isinstance(error, pytest.Collector.CollectError) else None
            self.broken.append(why(cause or error, node.path))

    def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> bool:
        self.ended = excinfo.value  # the module called sys.exit
        return True

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        if isinstance(excinfo.value, KeyboardInterrupt):
            self.stopped = excinfo.value

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        try:
            self.checks = [collected(item) for item in session.items]
            _require_names(self.checks)
        except AssignmentError as error:
            self.stopped = error

    def pytest_runtestloop(self) -> bool:
        try:
            if self.checks and not self.broken and self.stopped is None:
                self.work(self)
        except BaseException as error:  # pytest would print it and go on; `run` below raises it again
            self.stopped = error
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool:
        _judge(pyfuncitem.obj, pyfuncitem.funcargs)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> pytest.TestReport:
        # Built by hand: pytest's own report formats a traceback each time, which costs more than the check.
        if call.excinfo is not None and self._raised is None:
            self._raised = call.excinfo.value
        self._phases.append(call.when)
        outcome = "failed" if call.excinfo else "passed"
        return pytest.TestReport(item.nodeid, item.location, {}, outcome, None, call.when)  # type: ignore[arg-type]

    def run(self, check: Check, student: Student, *, impatient: bool = False) -> Ending:
        """Run one check with this student's handle. A pass needs evidence: the check's body ran and asked something.

        `impatient`: end at the first case that fails, when only pass or fail is of interest.
        """
        around = self._student, self._raised, self._phases  # of a check that foresight interrupts to look ahead
        self._student, self._raised, self._phases = student, None, []
        try:
            self._run(check, student, impatient=impatient)
            return self._ending(student)
        finally:
            self._student, self._raised, self._phases = around

    def _run(self, check: Check, student: Student, *, impatient: bool) -> None:
        with expect.counted(impatient=impatient):
            if check.plain:
                self._call(check, student)
            else:
                following = self.checks[(self.checks.index(check) + 1) % len(self.checks)].item
                check.item.ihook.pytest_runtest_protocol(item=check.item, nextitem=following)

    def _call(self, check: Check, student: Student) -> None:
        """What is left of pytest's protocol, a tenth of a millisecond of hooks, where no hook has anything to do."""
        self._phases = ["call"]
        given = {**parameters(check.item), "student": student, "reference": self._reference, "device": check.device}
        try:
            _judge(check.item.function, given)  # type: ignore[attr-defined]  # it is a test function
        except (Exception, SystemExit, pytest.skip.Exception, pytest.fail.Exception) as raised:
            self._raised = raised

    def _ending(self, student: Student) -> Ending:
        raised = self._raised
        if isinstance(raised, CheckFailure):
            return Ending("failed", failure=raised.with_traceback(None))  # its frames hold answers, which may be large
        if isinstance(raised, AssertionError):
            return Ending("failed", failure=CheckFailure(str(raised) or "What this check asks for does not hold."))
        if isinstance(raised, pytest.skip.Exception):
            return Ending("skipped", detail=str(raised))
        if raised is not None:
            return Ending("error", detail="".join(traceback.format_exception(raised))[-4000:], error=raised)
        if "call" not in self._phases or not student.asked:
            return Ending(
                "error", detail="The check ended without calling the student's function, so it shows nothing."
            )
        return Ending("passed")


def _require_names(checks: list[Check]) -> None:
    """Raises AssignmentError when two checks have one name: by it inputs are drawn and results are found."""
    seen: set[str] = set()
    for check in checks:
        if check.id in seen:
            raise AssignmentError(
                f"{check.item.nodeid}: there is another check called {check.id!r}. Give each test function a name of "
                "its own, and each of its parameters a value that is written differently."
            )
        seen.add(check.id)


def _judge(function: Callable[..., Any], given: dict[str, Any]) -> None:
    """Call a check's function with what it takes. Raises CheckFailure for all that failed, and what else it raises."""
    tally = expect.current.get()
    try:
        function(**{name: given[name] for name in taken(function)})
    except CheckFailure as failure:
        tally.keep(failure)
    tally.settle()


LEFT_OUT = """cacheprovider terminal logging warnings unraisableexception threadexception faulthandler doctest
junitxml pastebin stepwise setuponly setupplan legacypath debugging tmpdir monkeypatch recwarn subtests capture"""
"""Plugins of pytest that a check does not need; they would cost time at each check."""

OPTIONS = [
    "--import-mode=importlib",
    "--assert=plain",  # an assertion's own words, not pytest's analysis of it, reach the report
    "--config-file=/dev/null",
    "--disable-plugin-autoload",
    *(f"-pno:{name}" for name in LEFT_OUT.split()),
]


def collect(path: Path, checks: Checks) -> None:
    """Collect the checks in `path` and call `checks.work` inside pytest's loop; its exceptions come out.

    Raises AssignmentError when the file can't be collected or holds no checks.
    """
    if not path.is_file():
        raise AssignmentError(f"{path} is missing. It holds the checks; see docs/writing-checks.md.")
    pytest.main([str(path), f"--rootdir={path.parent}", f"--confcutdir={path.parent}", *OPTIONS], plugins=[checks])
    if checks.stopped is not None:
        raise checks.stopped
    if checks.ended is not None:
        raise AssignmentError(f"{path} could not be collected. {why(checks.ended, path)}")
    if checks.broken:
        raise AssignmentError(f"{path} could not be collected. {checks.broken[0]}")
    if not checks.checks:
        raise AssignmentError(f"{path} holds no checks. Write a function test_... with @points above it.")
