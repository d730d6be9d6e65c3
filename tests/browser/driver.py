"""A headless Chromium, spoken to in the W3C WebDriver protocol with the standard library alone."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

FLAGS = [
    "--headless=new",
    "--no-sandbox",  # as root there is no other way; the pages are our own
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
]
_STARTED = re.compile(r"successfully on port (\d+)")
_NO_PROXY = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def missing() -> str:
    """Which of the two programs is not installed, in words; "" when both are."""
    lacking = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    if not lacking:
        return ""
    return f"{' and '.join(lacking)} not installed (Debian: apt-get install chromium chromium-driver)"


class Browser:
    """One browser for many pages. Use it as a context manager."""

    def __init__(self) -> None:
        self._home = tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True)
        self._driver = subprocess.Popen(
            [shutil.which("chromedriver") or "chromedriver", "--port=0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._driver.stdout is not None
        for line in self._driver.stdout:
            if found := _STARTED.search(line):
                break
        else:
            raise RuntimeError("chromedriver ended without saying on which port it listens")
        self._base = f"http://127.0.0.1:{found[1]}"
        options = {
            "binary": shutil.which("chromium"),
            "args": [*FLAGS, f"--user-data-dir={self._home.name}"],
        }
        logs = {"browser": "ALL", "performance": "ALL"}
        wanted = {"alwaysMatch": {"goog:chromeOptions": options, "goog:loggingPrefs": logs}}
        self._base += f"/session/{self._send('POST', '/session', {'capabilities': wanted})['sessionId']}"
        self._send("POST", "/url", {"url": "about:blank"})  # instead of the start page and all that it loads

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._send("DELETE", "")
        finally:
            self._driver.kill()
            self._driver.wait(timeout=10)
            # Not read to its end: a browser that outlived its driver still holds the other side.
            assert self._driver.stdout is not None
            self._driver.stdout.close()
            self._home.cleanup()

    def open(self, page: Path | str, *, width: int = 1200, height: int = 900, dark: bool = False) -> None:
        """Open a file (or an address) in a window of this size; the logs start anew."""
        self.logs()
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = "dark" if dark else "light"
        self.cdp("Emulation.setEmulatedMedia", media="", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self._send("POST", "/url", {"url": page if isinstance(page, str) else page.resolve().as_uri()})

    def run(self, script: str, *values: object) -> Any:
        """What the script returns; `arguments` are the values."""
        return self._send("POST", "/execute/sync", {"script": script, "args": list(values)})

    def wait_for(self, script: str) -> Any:
        """Like `run` for a script that calls its last argument when it is done."""
        return self._send("POST", "/execute/async", {"script": script, "args": []})

    def click(self, selector: str) -> None:
        """A real click where a person would click."""
        self._send("POST", f"/element/{self._find(selector)}/click", {})

    def type(self, selector: str, text: str) -> None:
        self._send("POST", f"/element/{self._find(selector)}/value", {"text": text})

    def cdp(self, command: str, **parameters: object) -> Any:
        """A command of the DevTools protocol."""
        return self._send("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def logs(self) -> tuple[list[str], list[str]]:
        """(console messages, addresses of requests that are no file of this computer) since the last call."""
        console = [entry["message"] for entry in self._log("browser")]
        events = [json.loads(entry["message"])["message"] for entry in self._log("performance")]
        asked = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
        return console, [address for address in asked if not address.startswith(("file:", "data:"))]

    def screenshot(self, path: Path, *, height: float | None = None, scale: float = 1) -> None:
        """The whole page, however long, or its upper part."""
        size = self.cdp("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": height or size["height"], "scale": scale}
        shot = self.cdp("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(shot["data"]))

    def pdf(self) -> bytes:
        """The page as printed on A4."""
        return base64.b64decode(self._send("POST", "/print", {"background": True}))

    def _find(self, selector: str) -> str:
        found = self._send("POST", "/element", {"using": "css selector", "value": selector})
        return str(next(iter(found.values())))

    def _log(self, kind: str) -> Sequence[dict[str, Any]]:
        return self._send("POST", "/se/log", {"type": kind})  # type: ignore[no-any-return]

    def _send(self, method: str, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with _NO_PROXY.open(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            said = json.load(error)["value"]
            raise RuntimeError(f"{method} {path}: {said['error']}: {said['message']}") from None
