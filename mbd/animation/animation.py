"""Animation objects: what ``solution.animate`` returns."""

import html
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from mbd.animation.beams import SmallModes
from mbd.animation.draw import DrawOptions, draw
from mbd.animation.drawing import Drawing
from mbd.base.atomic import replaced
from mbd.base.checked import absent, file_path, shown
from mbd.base.door import number
from mbd.history.history import History


@dataclass(frozen=True)
class Animation:
    """A moving picture of a solution; Jupyter shows it where it is returned.

    Attributes
    ----------
    drawing : Drawing
        What is shown, as data.
    """

    drawing: Drawing

    @cached_property
    def html(self) -> str:
        """The page: one file that needs no network and nothing beside it."""
        from mbd.animation.page import page

        return page(self.drawing)

    def save(self, path: str | Path, **options: Any) -> Path:
        """Write ``.html``, or by matplotlib ``.gif``, ``.webp``, ``.mp4`` (``fps``, ``size``)."""
        path = file_path("animate", path)
        if path.suffix.lower() in (".html", ".htm"):
            if options:
                raise TypeError(f"animate: a page takes no options, got {', '.join(options)}")
            with replaced(path, "animate") as file:
                file.write(self.html.encode())
            return path
        if path.suffix.lower() in (".gif", ".webp", ".mp4"):
            from mbd.animation.film import film

            _check_names("animate", options, ("fps", "size"))
            return film(self.drawing, path, **options)
        raise ValueError(
            "animate: a moving picture is written as .html, .gif, .webp or .mp4, got "
            f"{shown(str(path))}; for one instant as .png use solution.snapshot(path, t=...)"
        )

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" title="{html.escape(self.drawing.title)}" '
            'style="width: 100%; height: 480px; border: 1px solid #d5dae0"></iframe>'
        )

    def __repr__(self) -> str:
        d = self.drawing
        return f"Animation({len(d.t)} instants, {len(d.tracks)} bodies)"


def _check_names(owner: str, options: dict[str, Any], there: Sequence[str] = ()) -> None:
    """Refuse options that there are not; by default those of a drawing."""
    there = there or [x.name for x in fields(DrawOptions)]
    for name in options:
        if name not in there:
            raise TypeError(f"{owner}: {absent('option ', name, there)}")


def animate(
    solution: History, path: str | Path | None, modes: SmallModes = None, **options: Any
) -> Animation:
    """Return the moving picture of a solution, or of modes, and write it if a path is given."""
    _check_names("animate", options)
    animation = Animation(draw(solution, DrawOptions(**options), modes=modes))
    if path is not None:
        animation.save(path)
    return animation


def snapshot(
    solution: History, path: str | Path, t: float | None, size: Any, **options: Any
) -> Path:
    """Write a picture of one instant."""
    from mbd.animation.painter import picture

    _check_names("snapshot", options)
    when = float(solution.t[-1]) if t is None else number("snapshot", "t", t, "s")
    drawing = draw(solution, DrawOptions(**options), also=when)
    return picture(drawing, path, when, size)
