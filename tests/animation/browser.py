"""Headless Chromium, without a network and without a graphics card, spoken to through a pipe.

Messages are those of the Chrome DevTools Protocol, JSON with a zero byte behind it.
"""

from __future__ import annotations

import base64
import fcntl
import io
import json
import os
import select
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))),
    None,
)
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None,
    reason="no chromium on this machine: apt-get install --no-install-recommends chromium",
)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader",
    "--disable-background-networking", "--no-first-run", "--host-resolver-rules=MAP * ~NOTFOUND",
    "--force-color-profile=srgb", "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip
PATIENCE = 120  # s


class Browser:
    """One process of Chromium with a profile of its own."""

    def __init__(self, folder: Path, *flags: str) -> None:
        (commands, self._out), (self._in, answers) = os.pipe(), os.pipe()
        arguments = [str(CHROMIUM), *FLAGS, *flags, f"--user-data-dir={folder / 'profile'}"]
        # it reads from 3 and writes to 4, whatever these are here
        high = [fcntl.fcntl(x, fcntl.F_DUPFD_CLOEXEC, 10) for x in (commands, answers)]
        quiet = [(os.POSIX_SPAWN_OPEN, i, os.devnull, os.O_WRONLY, 0) for i in (1, 2)]
        wires = [(os.POSIX_SPAWN_DUP2, x, i) for x, i in zip(high, (3, 4), strict=True)]
        self._process = os.posix_spawn(
            arguments[0], arguments, os.environ, file_actions=[*quiet, *wires]
        )
        for x in (commands, answers, *high):
            os.close(x)
        self._read, self._count, self._folder = b"", 0, folder

    def call(self, method: str, session: str | None = None, **values: Any) -> dict[str, Any]:
        """Send a message and return the answer to it."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": values}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        while True:
            answer = json.loads(self._next())
            if answer.get("id") == self._count:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def _next(self) -> bytes:
        while b"\0" not in self._read:
            ready, _, _ = select.select([self._in], [], [], PATIENCE)
            assert ready, "chromium does not answer"
            more = os.read(self._in, 1 << 20)
            assert more, "chromium has ended"
            self._read += more
        found, self._read = self._read.split(b"\0", 1)
        return found

    def open(self, text: str, address: str = "", *, reduced: bool = False, ready: str = "") -> Page:
        """Open a page with something behind the # of its address, 800 x 600.

        It is ready when it has drawn a still picture, or when `ready` is true.
        """
        file = self._folder / "page.html"
        file.write_text(text, encoding="utf-8")
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        page.resize(800, 600)
        if reduced:
            feature = {"name": "prefers-reduced-motion", "value": "reduce"}
            self.call("Emulation.setEmulatedMedia", session, features=[feature])
        self.call("Page.navigate", session, url=f"{file.as_uri()}#{address}")
        page.wait(f"location.href.startsWith('file') && document.body && ({ready or DRAWN})")
        return page

    def close(self) -> None:
        self.call("Browser.close")
        os.waitpid(self._process, 0)
        os.close(self._in)
        os.close(self._out)


DRAWN = "document.getElementById('view')?.dataset.projection"


class Page:
    """A page in a browser."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser, self._session = browser, session

    def call(self, method: str, **values: Any) -> dict[str, Any]:
        return self._browser.call(method, self._session, **values)

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression, when it has one."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, condition: str) -> None:
        """Wait until an expression is true."""
        self.evaluate(
            f"new Promise((done) => {{ const look = () => ({condition}) ? done(true) : "
            "setTimeout(look, 20); look(); })"
        )

    def text(self, name: str) -> str:
        """Return the text of the element with an id."""
        return self.evaluate(f"document.getElementById({name!r}).textContent").strip()

    def hidden(self, name: str) -> bool:
        return self.evaluate(f"document.getElementById({name!r}).hidden")

    def canvas(self, name: str) -> str:
        """Return what the picture says of itself: t, projection."""
        return self.evaluate(f"document.getElementById('view').dataset.{name}")

    def picture(self) -> np.ndarray:
        """Return what is seen, (h, w, 3)."""
        from PIL import Image

        data = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        return np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(float)

    def project(self, point: Any) -> np.ndarray:
        """Return the pixel (x, y) of an inertial point, by the page's own camera."""
        matrix = np.array(self.canvas("projection").split(), float).reshape(4, 4).T
        x, y, _, w = matrix @ [*point, 1.0]
        size = self.evaluate("[view.clientWidth, view.clientHeight]")
        return (0.5 + 0.5 * np.array([x, -y]) / w) * size - 0.5

    def press(self, key: str) -> None:
        """Press a key and release it."""
        text = {"text": key} if len(key) == 1 else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, **text)

    def point_at(self, pixel: np.ndarray) -> None:
        """Move the pointer to a pixel."""
        x, y = (float(value) for value in pixel)
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def resize(self, width: int, height: int) -> None:
        """Give the window another size."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)


def patch(picture: np.ndarray, channel: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the middle (x, y) and the pixels (n, 2) of what is red, green or blue (0, 1, 2)."""
    others = np.delete(picture, channel, axis=2).max(2)
    y, x = np.nonzero((picture[..., channel] > 60) & (picture[..., channel] > 2.5 * others + 20))
    assert len(x) > 20, "the colour is not in the picture"
    pixels = np.column_stack([x, y]).astype(float)
    return pixels.mean(0), pixels
