"""Make the pictures of docs/images/ from made-up reports: `python docs/make_images.py` (needs Chromium)."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "browser"))

import reports
from driver import Browser, missing

from grader.pages.dashboard import dashboard
from grader.pages.render import Renderer

IMAGES = Path(__file__).resolve().parent / "images"
STUDENTS = 240
SCALE = 0.75


def main() -> None:
    """Write report.png and class.png, each the upper part of its page."""
    if reason := missing():
        sys.exit(reason)
    pages = {
        "report": (Renderer().html(reports.wrong(), audience="student"), 1000, 1765),
        "class": (dashboard(reports.a_class(STUDENTS), reports.run_info(STUDENTS)), 1300, 2380),
    }
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        for name, (page, width, height) in pages.items():
            path = Path(folder) / f"{name}.html"
            path.write_text(page, encoding="utf-8")
            browser.open(path, width=width, height=height)
            browser.screenshot(IMAGES / f"{name}.png", height=height, scale=SCALE)
            print(IMAGES / f"{name}.png")


if __name__ == "__main__":
    main()
