"""Films: GIF and WebP by Pillow, MP4 by ffmpeg, of pictures by matplotlib.

A film plays at the speed of the drawing: of each instant of a frame the nearest one that is shown.
"""

import importlib
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from mbd.animation.drawing import Drawing
from mbd.animation.painter import Canvas
from mbd.base.atomic import replaced, scratch
from mbd.base.door import number

_SLOWEST, _FASTEST = 0.01, 100.0  # frames per second that a GIF can hold


def film(d: Drawing, path: Path, fps: float = 20.0, size: Any = (640, 480)) -> Path:
    """Write ``.gif``, ``.webp`` or ``.mp4``, of `fps` frames per second and `size` pixels."""
    rate = number("animate", "fps", fps, "1/s", positive=True)
    if not _SLOWEST <= rate <= _FASTEST:
        raise ValueError(
            f"animate: fps must be in [{_SLOWEST:g}, {_FASTEST:g}] [1/s], got {rate:g}; a GIF "
            "holds times in hundredths of a second"
        )
    canvas, ending = Canvas(d, size, "animate"), path.suffix.lower()
    content = _mp4(canvas, rate) if ending == ".mp4" else _images(canvas, rate, ending == ".gif")
    with replaced(path, "animate") as file:
        file.write(content)
    return path


def _frames(canvas: Canvas, rate: float) -> Iterator[tuple[np.ndarray, int]]:
    """Yield pictures and for how many frames each is seen."""
    d = canvas.d
    t = d.t[: d.modes[-1].last + 1] if d.modes else d.t
    n = max(2, round((t[-1] - t[0]) / d.speed * rate) + 1)
    nearest = np.searchsorted(0.5 * (t[1:] + t[:-1]), np.linspace(t[0], t[-1], n))
    for i, count in zip(*np.unique(nearest, return_counts=True), strict=True):
        yield canvas.pixels(int(i)), int(count)


def _images(canvas: Canvas, rate: float, gif: bool) -> bytes:
    """Return a film of whole pictures: a GIF of 128 colours, or a WebP of all."""
    from io import BytesIO

    from PIL import Image

    frames, times = [], []
    for pixels, count in _frames(canvas, rate):
        frame = Image.fromarray(pixels)
        frames.append(frame.quantize(128) if gif else frame)
        times.append(round(1000 * count / rate))
    content = BytesIO()
    name = "GIF" if gif else "WEBP"
    frames[0].save(content, name, save_all=True, append_images=frames[1:], duration=times, loop=0)
    return content.getvalue()


def _mp4(canvas: Canvas, rate: float) -> bytes:
    """Return a film that players know: H.264 where the encoder has it, edges of even length."""
    encoder, (width, height) = _encoder(), canvas.size
    with scratch("mbd-film", "animate") as folder:
        output = folder / "film.mp4"
        command = [
            encoder, "-y", "-loglevel", "error", "-xerror", "-f", "rawvideo", "-pix_fmt", "rgb24",
            "-s", f"{width}x{height}", "-r", f"{rate:g}", "-i", "-", "-an", "-vf",
            "pad=ceil(iw/2)*2:ceil(ih/2)*2:color=white", "-pix_fmt", "yuv420p", "-movflags",
            "+faststart", "-fflags", "+bitexact", str(output),
        ]  # fmt: skip
        running = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        assert running.stdin is not None
        with running:
            try:
                with suppress(BrokenPipeError):  # it has ended, and says why
                    for pixels, count in _frames(canvas, rate):
                        running.stdin.write(pixels.tobytes() * count)
            except BaseException:
                running.kill()
                with suppress(BrokenPipeError):
                    running.stdin.close()
                raise
            _, messages = running.communicate()
        if running.returncode or not output.exists():
            lines = messages.decode(errors="replace").strip().split("\n")
            raise RuntimeError(f"animate: {encoder} could not make the film: {lines[-1]}")
        return output.read_bytes()


def _encoder() -> str:
    """Return the program ffmpeg: the one of the system, or that of imageio-ffmpeg."""
    if program := shutil.which("ffmpeg"):
        return program
    try:
        return str(importlib.import_module("imageio_ffmpeg").get_ffmpeg_exe())
    except (ImportError, RuntimeError):
        raise ImportError(
            "animate: .mp4 needs the program ffmpeg, which is not there; install it, or pip "
            "install 'mbd[film]', or write .gif or .html"
        ) from None
