"""A headless Chromium, which tests look at pages with, by the DevTools protocol over a pipe."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROGRAM = shutil.which("chromium")

_OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)


class Chromium:
    """A browser with one page."""

    def __init__(self, profile: Path) -> None:
        assert PROGRAM is not None
        (theirs, self._to), (self._from, answers) = os.pipe(), os.pipe()
        # The browser reads from descriptor 3 and writes to 4; the others stay out of the way.
        ends = [fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, 10) for one in (theirs, answers)]
        actions = [(os.POSIX_SPAWN_DUP2, one, 3 + at) for at, one in enumerate(ends)]
        nothing = [(os.POSIX_SPAWN_OPEN, one, os.devnull, os.O_RDWR, 0) for one in range(3)]
        command = [PROGRAM, *_OPTIONS, f"--user-data-dir={profile}", "about:blank"]
        self._process = os.posix_spawn(
            PROGRAM, command, os.environ, file_actions=[*nothing, *actions]
        )
        for one in (theirs, answers, *ends):
            os.close(one)
        self._left = b""
        self._last = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        pages = self.call("Target.getTargets")["targetInfos"]
        target = next(one["targetId"] for one in pages if one["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        """Asks for something, and waits for the answer."""
        self._last += 1
        asked: dict[str, Any] = {"id": self._last, "method": method, "params": parameters}
        if self._session is not None:
            asked["sessionId"] = self._session
        os.write(self._to, json.dumps(asked).encode() + b"\0")
        while (answer := self._next()).get("id") != self._last:
            self.events.append(answer)
        assert "error" not in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._left:
            more = os.read(self._from, 1 << 20)
            assert more, "the browser ended"
            self._left += more
        message, self._left = self._left.split(b"\0", 1)
        found: dict[str, Any] = json.loads(message)
        return found

    def open(self, page: Path, *, width: int, dark: bool = False) -> Self:
        """Opens a page at a width, and waits until all of it is drawn."""
        self.events.clear()
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.paint(dark=dark)
        self.call("Page.navigate", url=page.as_uri())
        while all(event.get("method") != "Page.loadEventFired" for event in self.events):
            self.events.append(self._next())
        assert self.value(_DRAWN), "not every chart was drawn"
        return self

    def paint(self, *, dark: bool) -> None:
        """Chooses the theme that the reader prefers."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def value(self, script: str) -> Any:
        """The value of an expression in the page, once it is settled."""
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def complaints(self) -> list[str]:
        """What stands in the console since the page was opened."""
        self.call("Runtime.evaluate", expression="0")
        said = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [json.dumps(event["params"]) for event in self.events if event["method"] in said]

    def requests(self) -> list[str]:
        """The addresses that the page asked for since it was opened."""
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event["method"] == "Network.requestWillBeSent"
        ]

    def picture(self) -> bytes:
        """The whole page as PNG."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        return base64.b64decode(shot["data"])

    def close(self) -> None:
        """Ends the browser."""
        os.close(self._to)
        os.close(self._from)
        os.kill(self._process, signal.SIGTERM)
        os.waitpid(self._process, 0)


_DRAWN = """new Promise((done) => {
  const look = (left) =>
    document.documentElement.dataset.drawn || !document.querySelector(".plot") ? done(true)
    : left ? setTimeout(look, 20, left - 1) : done(false);
  look(1000);
})"""
"""Whether all charts are drawn, within 20 seconds."""


@contextmanager
def chromium(folder: Path) -> Iterator[Chromium]:
    """A browser that keeps its files in a folder."""
    browser = Chromium(folder)
    try:
        yield browser
    finally:
        browser.close()
