"""Shows a page in headless Chromium, without a network and without a graphics card."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

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
    "--force-color-profile=srgb", "--virtual-time-budget=6000", "--window-size=800,600",
)  # fmt: skip
# chromium resizes the window between the two: with a stage of fixed size both show the same
FIXED = "<style>#stage { flex: none; width: 800px; height: 480px }</style>"


@dataclass(frozen=True)
class Seen:
    """What the browser made of a page: the document afterwards and the picture (h, w, 3)."""

    dom: str
    picture: np.ndarray

    def text(self, tag: str, name: str) -> str:
        """Return the text of the element with an id."""
        found = re.search(rf'<{tag}[^>]*\bid="{name}"[^>]*>(.*?)</{tag}>', self.dom, re.S)
        assert found, f"no <{tag} id={name}>"
        return html.unescape(re.sub("<[^>]*>", "", found[1])).strip()

    def canvas(self, name: str) -> str:
        """Return an attribute of the canvas."""
        found = re.search(rf'<canvas[^>]*\b{name}="([^"]*)"', self.dom)
        assert found, f"the canvas has no {name}"
        return found[1]

    def project(self, point: np.ndarray) -> np.ndarray:
        """Return the pixel (x, y) of an inertial point, by the page's own camera."""
        matrix = np.array(self.canvas("data-projection").split(), float).reshape(4, 4).T
        x, y, _, w = matrix @ [*point, 1.0]
        size = np.array([float(self.canvas("width")), float(self.canvas("height"))])
        return (0.5 + 0.5 * np.array([x, -y]) / w) * size - 0.5


def show(page: str, folder: Path, address: str = "", *flags: str, behind: str = "") -> Seen:
    """Open a page with something behind the # of its address; `behind` is put at its end."""
    from PIL import Image

    file, picture = folder / "page.html", folder / "page.png"
    file.write_text(page.replace("</body>", f"{FIXED}{behind}</body>"), encoding="utf-8")
    ends = (f"--user-data-dir={folder / 'profile'}", f"--screenshot={picture}", "--dump-dom")
    done = subprocess.run(
        [str(CHROMIUM), *FLAGS, *flags, *ends, f"{file.as_uri()}#{address}"],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    with Image.open(picture) as image:
        return Seen(done.stdout, np.asarray(image.convert("RGB")).astype(float))


def patch(picture: np.ndarray, channel: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the middle (x, y) and the pixels (n, 2) of what is red, green or blue (0, 1, 2)."""
    others = np.delete(picture, channel, axis=2).max(2)
    y, x = np.nonzero((picture[..., channel] > 60) & (picture[..., channel] > 2.5 * others + 20))
    assert len(x) > 20, "the colour is not in the picture"
    pixels = np.column_stack([x, y]).astype(float)
    return pixels.mean(0), pixels
