"""What people see and do, in a real browser."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
from driver import Browser

pytestmark = pytest.mark.browser

REPORTS = [
    f"{name}-{who}"
    for name in ("right", "wrong", "folded", "crashed", "unread", "fault", "hostile")
    for who in ("student", "staff")
]
PAGES = [*REPORTS, "index", "large", "empty", "compare"]
A4_LANDSCAPE = 1031
"""Its width in pixels, less 12 mm on both sides."""
ROWS = "return [...document.querySelectorAll('.students tbody tr')]"


def cells(browser: Browser, column: int) -> list[str]:
    """The texts of one column of the table of students."""
    found: list[str] = browser.run(f"{ROWS}.map(row => row.children[{column}].innerText.trim())")
    return found


def print_in_the_dark(browser: Browser) -> None:
    """As the paper looks when the screen is dark."""
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.cdp("Emulation.setEmulatedMedia", media="print", features=dark)


def wait_two_frames(browser: Browser) -> None:
    browser.wait_for("requestAnimationFrame(() => requestAnimationFrame(arguments[arguments.length - 1]))")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_quietly_at_any_width(browser: Browser, pages: Path, name: str) -> None:
    """No message on the console, no request to anywhere, and nothing wider than the window."""
    for width in (360, 800, 1400):
        browser.open(pages / f"{name}.html", width=width)
        assert browser.run("return document.documentElement.scrollWidth") <= width
        assert browser.logs() == ([], [])


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize(
    "name",
    [
        "right-student",
        "wrong-staff",
        "folded-student",
        "crashed-student",
        "unread-student",
        "fault-staff",
        "hostile-staff",
        "index",
        "compare",
    ],
)
def test_axe_finds_nothing_serious(browser: Browser, pages: Path, axe: str, name: str, dark: bool) -> None:
    """Contrast, names, roles, order of headings: for everything, also what is folded."""
    browser.cdp("Page.setBypassCSP", enabled=True)
    try:
        browser.open(pages / f"{name}.html", dark=dark)
        browser.run("document.querySelectorAll('details').forEach(fold => fold.open = true)")
        browser.cdp("Runtime.evaluate", expression=axe)
        found: list[dict[str, Any]] = browser.wait_for(
            "const done = arguments[arguments.length - 1];"
            "axe.run().then(result => done(result.violations.map(({impact, id, nodes}) =>"
            " ({impact, id, html: nodes.slice(0, 3).map(node => node.html.slice(0, 200))}))))"
        )
    finally:
        browser.cdp("Page.setBypassCSP", enabled=False)
    assert [one for one in found if one["impact"] in {"serious", "critical"}] == []


def test_hostile_text_stays_text(browser: Browser, pages: Path) -> None:
    """Nothing that a student wrote becomes an element, and nothing runs."""
    for name in ("hostile-student", "hostile-staff"):
        browser.open(pages / f"{name}.html")
        seen = browser.run(
            "return document.querySelectorAll('script, img, iframe, a, form, main style, [onerror]').length"
        )
        assert seen == 0
        assert '<script>alert("x")</script>' in browser.run("return document.body.innerText")
        assert "<script>" in browser.run("return document.title")
    browser.open(pages / "compare.html")
    assert browser.run("return document.querySelectorAll('script, img, iframe, form, [onerror]').length") == 0
    assert "<script>" in browser.run("return document.body.innerText")
    browser.open(pages / "index.html")
    assert browser.run("return document.querySelectorAll('img, iframe, form, main script').length") == 0
    assert browser.run("return document.scripts.length") == 2
    assert any("<script>" in name for name in cells(browser, 0))


@pytest.mark.parametrize("name", ["wrong-student", "index"])
def test_the_policy_of_the_page_stops_what_would_slip_through(browser: Browser, pages: Path, name: str) -> None:
    """A second line of defence: an inline script, a handler and a picture from elsewhere are all refused."""
    browser.open(pages / f"{name}.html")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        browser.run(
            "const script = document.createElement('script'); script.textContent = 'window.taken = 1';"
            "const image = `<img src=http://127.0.0.1:${arguments[0]}/x.png onerror='window.taken = 1'>`;"
            "document.body.append(script); document.body.insertAdjacentHTML('beforeend', image);",
            listener.getsockname()[1],
        )
        wait_two_frames(browser)
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert browser.run("return window.taken") is None
    refusals = [line for line in browser.logs()[0] if "Content Security Policy" in line]
    assert len(refusals) == 3


def test_folded_parts_open_with_mouse_and_keyboard(browser: Browser, pages: Path) -> None:
    """Details need no script."""
    browser.open(pages / "wrong-student.html")
    shown = "return document.getElementById('check-1').checkVisibility({contentVisibilityAuto: true})"
    assert not browser.run("return document.querySelector('main > section > details').open")
    browser.click("#passed + details > summary")
    assert browser.run("return document.querySelector('#passed + details').open")
    assert browser.run(shown)
    browser.run("document.querySelector('#code ~ details > summary').focus()")
    browser.cdp(
        "Input.dispatchKeyEvent", type="keyDown", key="Enter", code="Enter", text="\r", windowsVirtualKeyCode=13
    )
    browser.cdp("Input.dispatchKeyEvent", type="keyUp", key="Enter", code="Enter", windowsVirtualKeyCode=13)
    assert browser.run("return document.querySelector('#code ~ details').open")


def test_a_link_to_a_folded_check_opens_it(browser: Browser, pages: Path) -> None:
    """An instructor can send the address of one check."""
    browser.open((pages / "wrong-student.html").resolve().as_uri() + "#check-3")
    wait_two_frames(browser)
    assert browser.run("return document.querySelector('#passed + details').open")


def test_dark_mode_follows_the_system(browser: Browser, pages: Path) -> None:
    """Back and ink change places."""
    ink = "const style = getComputedStyle(document.body); return [style.backgroundColor, style.color]"
    seen = []
    for dark in (False, True):
        browser.open(pages / "wrong-student.html", dark=dark)
        seen.append([sum(map(int, value[4:-1].split(","))) for value in browser.run(ink)])
    (light_back, light_ink), (dark_back, dark_ink) = seen
    assert light_back > 600 > 150 > light_ink
    assert dark_back < 150 < 600 < dark_ink


def test_a_printed_report_has_everything_on_white(browser: Browser, pages: Path) -> None:
    """What is folded on the screen is on paper, also for who reads in the dark."""
    browser.open(pages / "wrong-student.html", dark=True)
    print_in_the_dark(browser)
    backs = browser.run(
        "return ['body', '.card', '.code', '.hint', '.fold'].map(part =>"
        " getComputedStyle(document.querySelector(part)).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number))"
    )
    assert all(min(back) > 220 for back in backs)
    assert browser.run("return document.getElementById('check-1').getBoundingClientRect().height") > 10
    assert browser.pdf().startswith(b"%PDF")


def test_the_printed_class_page_fits_on_the_paper(browser: Browser, pages: Path) -> None:
    """No column of the table is cut off on A4, and controls are left out."""
    browser.open(pages / "large.html", width=A4_LANDSCAPE)
    print_in_the_dark(browser)
    assert browser.run("return document.documentElement.scrollWidth") <= A4_LANDSCAPE
    assert not browser.run("return document.querySelector('.controls').checkVisibility()")


def test_the_class_table_sorts_by_any_column(browser: Browser, pages: Path) -> None:
    """A click sorts, a second click turns the order round, and the heading says so."""
    browser.open(pages / "index.html")
    browser.click(".students th:nth-child(2) button")
    scores = [float(text) for text in cells(browser, 1)]
    assert scores == sorted(scores, reverse=True)
    browser.click(".students th:nth-child(2) button")
    scores = [float(text) for text in cells(browser, 1)]
    assert scores == sorted(scores)
    assert browser.run("return document.querySelector('.students th:nth-child(2)').ariaSort") == "ascending"
    assert browser.run("return document.querySelector('.students th:nth-child(1)').ariaSort") == "none"
    for column in range(1, 9):
        browser.click(f".students th:nth-child({column}) button")
        assert len(cells(browser, 0)) == 8


def test_the_class_table_filters_as_one_types_and_by_choice(browser: Browser, pages: Path) -> None:
    """By name or id, status, diagnosis, failed check and flag; one button shows all again."""
    browser.open(pages / "index.html")
    browser.type(".controls input", "NOOR")
    assert [name.split("\n")[0] for name in cells(browser, 0)] == ["Noor Haddad s002"]
    assert browser.run("return document.querySelector('[role=status].meta').innerText") == "1 of 8 rows"
    browser.click(".controls button")
    assert len(cells(browser, 0)) == 8
    browser.run(
        "const select = document.querySelector('.controls select'); select.value = '3';"
        "select.dispatchEvent(new Event('change'))"
    )
    assert set(cells(browser, 2)) == {"could not be run"}
    browser.type(".controls input", "nobody of this name")
    assert cells(browser, 0) == []
    assert "No submission fits" in browser.run("return document.querySelector('#table').innerText")


def test_counts_lead_to_the_submissions_that_were_counted(browser: Browser, pages: Path) -> None:
    """From a misconception, a check, a flag or our own mistake to exactly those rows."""
    browser.open(pages / "index.html")
    browser.click("[data-misconception=mask_result_dropped]")
    assert [name.split(" s00")[0] for name in cells(browser, 0)] == ["Ada Byron"]
    browser.click("[data-check='10']")
    assert [name.split(" s00")[0] for name in cells(browser, 0)] == ["Bo Ek", "Jun Park"]
    browser.click("[data-flag=slow]")
    assert [name.split(" s00")[0] for name in cells(browser, 0)] == ["Ada Byron"]
    browser.click("[data-misconception^='Your function hides']")
    assert [name.split(" s00")[0] for name in cells(browser, 0)] == ["Bo Ek"]
    browser.click("[data-state=missing]")
    assert [name.split(" s00")[0] for name in cells(browser, 0)] == ["Tove Jansson"]
    browser.click("[data-state=fault]")
    assert set(cells(browser, 2)) == {"our mistake"}


def test_names_link_to_the_reports(browser: Browser, pages: Path) -> None:
    """One click from the class to a student's report, from disk."""
    browser.open(pages / "index.html")
    browser.type(".controls input", "Zoë")
    browser.click(".students tbody a")
    assert browser.run("return document.querySelector('h1').innerText") == "Feedback for Zoë Lindqvist-Okonkwo"
    browser.open(pages / "index.html")
    browser.click("#misconceptions ~ ul a")
    assert browser.run("return document.querySelector('h1').innerText") == "Feedback for Ada Byron"


def test_a_large_class_is_shown_in_pages_and_printed_whole(browser: Browser, pages: Path) -> None:
    """2,000 students: a hundred rows at a time on the screen, so that sorting answers at once; all on paper."""
    browser.open(pages / "large.html")
    assert len(cells(browser, 0)) == 100
    first = cells(browser, 0)[0]
    browser.click(".pages button:last-child")
    assert browser.run("return document.querySelector('.pages span').innerText") == "101 to 200"
    assert cells(browser, 0)[0] != first
    browser.click(".students th:nth-child(2) button")
    assert browser.run("return document.querySelector('.pages span').innerText") == "1 to 100"
    browser.run("window.dispatchEvent(new Event('beforeprint'))")
    assert len(cells(browser, 0)) == 2000
    browser.run("window.dispatchEvent(new Event('afterprint'))")
    assert len(cells(browser, 0)) == 100
