"""Reports as pages and as Markdown: complete, the same every time, safe, and right for whoever reads them."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
import reports
from markdown_it import MarkdownIt

from grader.causes import EXPLAINED
from grader.errors import AssignmentError
from grader.pages.render import Renderer
from grader.pages.summary import Audience
from grader.pages.words import BUILT_IN, load_words
from grader.results import Adjustment, CheckResult, Picture, Report

RENDERER = Renderer()
SECRET = "do not show this"


class Page(HTMLParser):
    """What a browser would see: tags, attributes and the text."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self._skip = False
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        self._skip = tag == "style"

    def handle_endtag(self, tag: str) -> None:
        self._skip = False

    def handle_data(self, data: str) -> None:
        if not self._skip:
            self.text += data


def both(report: Report, **options: str) -> tuple[str, str]:
    """(text of the page, Markdown)"""
    page = RENDERER.html(report, **options)  # type: ignore[arg-type]
    return Page(page).text, RENDERER.markdown(report, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("make", [reports.right, reports.wrong, reports.crashed, reports.unread, reports.fault])
def test_a_report_is_the_same_each_time_and_valid(make: Callable[[], Report]) -> None:
    """Rendering depends on the stored report alone: feedback can be made again at any time."""
    report = make()
    readers: list[Audience] = ["student", "staff"]
    for audience in readers:
        first = RENDERER.html(report, audience=audience)
        assert first == Renderer().html(report, audience=audience)
        ids = re.findall(r' id="([^"]+)"', first)
        assert len(ids) == len(set(ids))
        assert set(re.findall(r'aria-labelledby="([^"]+)"', first)) <= set(ids)
    assert "&lt;p&gt;" not in first
    assert "\n\n\n\n" not in RENDERER.markdown(report, audience="student")


def test_the_report_of_a_wrong_submission_says_everything_that_helps() -> None:
    """Score, what is right, what to fix first, the diagnosis, each check with what was tried and came out, the
    hint, pictures, changes to the score and the marked code: in the page and in Markdown alike."""
    report = reports.wrong()
    for text in both(report, audience="student"):
        flat = " ".join(text.replace("\\", "").replace("`", "").split())
        for expected in [
            "42.5",
            "Each row of the attention weights sums to 1",
            "Fix this first",
            "The mask is never applied",
            "Your numbers are exactly those that come out this way",
            "every query looks at every key",
            "Q, K and V of 2 × 2 × 6 × 8, float32, causal mask",
            "The weight of query 2 for key 5 is 0.7608",
            "A masked score must be -inf before the softmax",
            "The cell that is most wrong is query 2, key 5: yours is 0.76, expected is 0.",
            "hidden by the mask",
            "Handed in 6 hours late",
            "scores.masked_fill(mask == 0",
            "on an emulated GPU",
            "Read again: 3. The mask",
        ]:
            assert expected in flat, expected


def test_students_do_not_see_what_is_for_staff() -> None:
    """Details, evidence, flags, output, addresses, the sandbox and the environment stay with staff."""
    report = reports.wrong()
    private = ["AssertionError", "22 of 22 calls", "Used 2.1 s", "loading...", "@example.org", "landlock", "7f3a9c12"]
    for student, staff in zip(both(report, audience="student"), both(report, audience="staff"), strict=True):
        for secret in private:
            assert secret not in student
            assert secret in staff.replace("\u2060", "")


@pytest.mark.parametrize(("phase", "shown"), [("before_due", False), ("after_due", False), ("published", True)])
def test_a_check_shown_after_publication_counts_but_stays_unseen_until_then(phase: str, shown: bool) -> None:
    """Title, message, hint, picture and line of an unseen check appear nowhere; that it counts is said."""
    hidden = reports.check(
        4,
        passed=False,
        visibility="after_published",
        title=f"{SECRET} title",
        message=f"{SECRET} message",
        hint=f"{SECRET} hint",
        tried=f"{SECRET} tried",
        pictures=[Picture(title=f"{SECRET} picture", rows="r", columns="c", yours=[[1.0]])],
        place=reports.MASK_LINE,
    )
    report = reports.report([reports.check(0), hidden])
    for text in both(report, audience="student", phase=phase):
        assert (SECRET in text) is shown
        assert ("One more check counts" in text) is not shown
        assert "15" in text
        assert ("▶" in text) is shown
    assert SECRET in RENDERER.html(report, audience="staff", phase="before_due")


def test_hidden_checks_never_reach_a_student_and_staff_see_that_they_are_hidden() -> None:
    """Also after everything is published."""
    report = reports.report([reports.check(0), reports.check(4, passed=False, visibility="hidden", message=SECRET)])
    for student, staff in zip(both(report, audience="student"), both(report, audience="staff"), strict=True):
        assert SECRET not in student
        assert "causal" not in student.partition("Your code")[0]
        assert "never shown to students" in staff


def test_no_page_of_a_student_has_script_or_loads_anything() -> None:
    """A content security policy forbids both, and there is nothing that it would have to stop."""
    for make in (reports.wrong, reports.hostile):
        page = RENDERER.html(make(), audience="staff")
        seen = Page(page)
        assert not {"script", "img", "iframe", "object", "embed", "form", "a", "base", "audio", "video"} & set(
            seen.tags
        )
        assert not [name for name, _ in seen.attributes if name.startswith("on") or name in {"style", "src", "srcdoc"}]
        assert [value for name, value in seen.attributes if name == "href"] == ["data:,"]
        policy = (
            dict(seen.attributes)["content"]
            if False
            else re.findall(r'Content-Security-Policy" content="([^"]+)"', page)[0]
        )
        assert "default-src &#39;none&#39;" in policy or "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "url(" not in page
        assert "@import" not in page


FOLD = re.compile(r"</?details>(<summary>[\w ,]*(: 0 / \d+|\(\d+ points\))</summary>)?\n")


@pytest.mark.parametrize("reason", ["", EXPLAINED, "timeout"])
def test_hostile_text_stays_text(reason: str) -> None:
    """Markup, links, templates and control characters in names, code, messages and output are shown, not obeyed; the
    folds of the Markdown hold our own words only."""
    hostile = msgspec.structs.replace(reports.hostile(), checks=marked(reports.hostile().checks, reason))
    page = RENDERER.html(hostile, audience="staff")
    seen = Page(page)
    assert '<script>alert("x")</script>' in seen.text
    assert "{{ 7*7 }}" in seen.text
    assert not re.search("[\x00\x1b\u202e]", page)
    markdown = RENDERER.markdown(hostile, audience="staff")
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(markdown)
    kinds = {token.type for token in tokens} | {child.type for token in tokens for child in token.children or []}
    assert not kinds & {"link_open", "image", "html_inline", "table_open", "code_block"}
    assert all(FOLD.fullmatch(token.content) for token in tokens if token.type == "html_block")
    assert not [line for line in markdown.splitlines() if line.startswith("::")]


def marked(checks: list[CheckResult], reason: str) -> list[CheckResult]:
    """The checks, those that failed with this reason."""
    return [msgspec.structs.replace(one, reason=reason) if one.status == "failed" else one for one in checks]


def test_what_a_diagnosis_accounts_for_is_one_card_with_the_others_folded() -> None:
    """The reader sees the diagnosis and one failed check; the others open on demand, with their points and pictures."""
    told = msgspec.structs.replace(reports.wrong(), checks=marked(reports.wrong().checks, EXPLAINED))
    page, markdown = RENDERER.html(told, audience="student"), RENDERER.markdown(told, audience="student")
    twins = told.checks[4:6]
    lost = sum(one.max_score for one in told.checks if one.status == "failed") - sum(one.max_score for one in twins)
    for text in (page, markdown):
        shown, fold, rest = text.partition(f"4 more checks failed, most likely for the same reason ({lost:g} points)")
        assert fold
        assert (shown.count("0.7608"), shown.count("0.6524")) == (1, 1)  # the same check on two devices
        assert ("1.64" in shown, "1.64" in rest) == (False, True)
        assert f"0 / {told.checks[14].max_score:g}" in rest
    assert page.count('<article class="card check') == 1
    assert page.count('<figure class="picture">') == 3


def test_crashes_at_one_line_that_a_diagnosis_accounts_for_are_one_fold_and_not_two() -> None:
    """Nobody opens a fold to find another."""
    told = msgspec.structs.replace(reports.crashed(), checks=marked(reports.crashed().checks, EXPLAINED))
    page = RENDERER.html(told, audience="student")
    assert "Show the 14 checks that are not right for this reason (" in page
    assert "most likely for the same reason" not in page


def test_a_failure_of_another_kind_stays_apart_from_the_diagnosis() -> None:
    """Only what the cause is known to account for goes into its fold."""
    checks = marked(reports.wrong().checks, EXPLAINED)
    checks[14] = msgspec.structs.replace(checks[14], reason="")
    page = RENDERER.html(msgspec.structs.replace(reports.wrong(), checks=checks), audience="student")
    assert "3 more checks failed" in page
    assert page.count('<article class="card check') == 2


def test_the_same_check_on_another_device_is_folded_in_both_formats() -> None:
    """Its own numbers are there for who wants them."""
    page, markdown = (made(reports.wrong(), audience="student") for made in (RENDERER.html, RENDERER.markdown))
    assert page.index('<details class="twin"') < page.index("0.6524")
    assert markdown.index("<details><summary>The same check on an emulated GPU: 0 / ") < markdown.index("0.6524")


def test_a_line_of_code_is_drawn_once_beside_the_whole_code() -> None:
    """With the diagnosis; the failed checks name it."""
    stopped = msgspec.structs.replace(reports.MASK_LOST, place=reports.MASK_LINE)
    checks = [reports.check(at, passed=False, message="it stopped", place=reports.MASK_LINE) for at in range(5)]
    page = RENDERER.html(reports.report(checks, diagnoses=[stopped]), audience="student")
    assert page.count('<figure class="code">') == 2
    assert page.count("attention.py, line 13") == 3  # at the top, above the line, and where the checks are


def test_checks_with_one_reason_are_explained_once() -> None:
    """Fourteen crashes at the same line are one explanation, with the list of checks folded below it."""
    page = RENDERER.html(reports.crashed(), audience="student")
    assert page.count("turns round all dimensions") == 2  # at the top, and where the checks are
    assert "Show the 14 checks that are not right for this reason" in page


def test_checks_that_stop_at_one_line_keep_their_own_words_in_the_fold() -> None:
    """One explanation with the line of code; what each case was stays readable."""
    checks = [
        reports.check(at, passed=False, message=f"case {at}: it stopped", hint=f"hint {at}", place=reports.MASK_LINE)
        for at in range(5)
    ]
    page = RENDERER.html(reports.report(checks), audience="student")
    assert page.count('<figure class="code">') == 2  # with the explanation, and in the whole code
    assert "case 4: it stopped" in page
    assert "hint 1" not in page


def test_a_diagnosis_from_numbers_says_so_and_one_of_a_crash_does_not() -> None:
    """“Your numbers are exactly those” is only said where there are numbers."""
    assert "Your numbers are exactly" in RENDERER.html(reports.wrong(), audience="student")
    stopped = msgspec.structs.replace(reports.MASK_LOST, place=reports.MASK_LINE)
    report = msgspec.structs.replace(reports.wrong(), diagnoses=[stopped])
    assert "Your numbers are exactly" not in RENDERER.html(report, audience="student")


def test_a_check_that_broke_on_our_side_says_so_and_shows_none_of_our_internals() -> None:
    """The student reads that it is not their mistake; the score is only a score so far."""
    for text in both(reports.fault(), audience="student"):
        assert "It is not your mistake" in text
        assert "so far" in text
        assert "ZeroDivisionError" not in text


def test_checks_that_were_not_run_say_so_and_name_the_same_device_as_others() -> None:
    """No cross under “Not checked”, and no GPU that the run did not have."""
    unread = reports.unread()
    checks = [msgspec.structs.replace(one, emulated=False) for one in unread.checks]
    page, markdown = both(msgspec.structs.replace(unread, checks=checks), audience="student")
    listed = markdown.partition("## Not checked")[2]
    assert listed.count("- – ") == len(checks)
    assert "✗" not in listed
    for text in (page, markdown):
        assert "on an emulated GPU" in text
        assert "on a GPU" not in text


def test_a_perfect_score_with_deductions_says_once_that_all_passed() -> None:
    """What is right, then where the points went."""
    late = [Adjustment(kind="late", points=-5.0, reason="One day late.")]
    for text in both(msgspec.structs.replace(reports.right(), adjustments=late), audience="student"):
        top = text.partition("Points were only taken off")[0]
        assert top.count("checks passed") == 1
        assert "very check passed" not in text


def test_passed_checks_and_the_code_are_folded() -> None:
    """What needs no work takes no room."""
    page = RENDERER.html(reports.right(), audience="student")
    assert page.count("<details") == 2
    assert "<details open" not in page


def test_an_assignment_may_replace_a_template_and_a_missing_variable_is_an_error(tmp_path: Path) -> None:
    """Empty holes in feedback are worse than a clear message."""
    (tmp_path / "report.md.j2").write_text("Dear {{ report.top.people }}, {{ report.top.scor }}")
    with pytest.raises(AssignmentError, match=r"A template can't be used: .*no attribute 'scor'.*docs/feedback.md"):
        Renderer([tmp_path]).markdown(reports.right(), audience="student")
    (tmp_path / "report.md.j2").write_text("Dear {{ report.top.people }}!")
    assert Renderer([tmp_path]).markdown(reports.right(), audience="student") == "Dear Feedback for Noor Haddad!\n"


def test_a_template_with_a_syntax_error_is_named_with_its_line(tmp_path: Path) -> None:
    """The instructor sees where to look, not a traceback."""
    (tmp_path / "report.html.j2").write_text("\n{% for %}")
    with pytest.raises(AssignmentError, match=r"report\.html\.j2, line 2"):
        Renderer([tmp_path])


def test_every_word_of_a_page_can_be_translated(tmp_path: Path) -> None:
    """In a made-up language in which each word is written backwards, no English is left but the authors' own."""
    turned = {key: _backwards(text) for key, text in load_words().items()}
    lines = [f"{key} = {msgspec.json.encode(text).decode()}" for key, text in turned.items()]
    (tmp_path / "words.xx.toml").write_text("\n".join(lines))
    renderer = Renderer([tmp_path], language="xx")
    checks = [reports.check(at, title="T", tried="Q", passed=at > 0) for at in range(2)]
    report = reports.report(checks)
    for text in (Page(renderer.html(report, audience="staff")).text, renderer.markdown(report, audience="staff")):
        assert 'lang="xx"' in renderer.html(report, audience="staff")
        for english in ("Feedback", "Fix", "points", "Your", "check", "staff", "Show", "Sandbox", "Files"):
            assert english not in text.replace("Self-attention from scratch", ""), english


def _backwards(text: str) -> str:
    return re.sub(r"\{\w+\}|\w+", lambda match: match[0] if match[0].startswith("{") else match[0][::-1], text)


def test_templates_hold_no_words_and_no_logic_beyond_loops_and_conditions() -> None:
    """Words come from the words file; decisions from Python."""
    for name in ("page.html", "parts.html", "report.html", "report.md", "index.html"):
        path = BUILT_IN / f"{name}.j2"
        bare = re.sub(r"\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}|<[^>]*>", " ", path.read_text(), flags=re.DOTALL)
        assert set(re.findall(r"[A-Za-z]{2,}", bare)) <= {"text", "id", "true"}, path.name


def test_the_student_reads_which_of_several_files_was_graded() -> None:
    """Somebody who handed in two answers must know that the other one was left."""
    note = "attention.py was graded. Not graded, though it holds an answer as well: attention_v2.py."
    made = reports.wrong()
    info = msgspec.structs.replace(made.submission, notes=[note, "Moodle participant 7."], choice=[note])
    for page in both(msgspec.structs.replace(made, submission=info), audience="student"):
        assert "attention" in page
        assert "Not graded, though" in page
        assert "Moodle participant" not in page


def test_what_stands_under_fix_this_first_is_not_said_again() -> None:
    """Another way of calling is told once."""
    words = "Your function returns the values in another order."
    for page in both(msgspec.structs.replace(reports.crashed(), conventions=[words]), audience="student"):
        assert page.count(words) == 1
