"""The gallery: a wall of moving thumbnails by theme, and a page for each scene.

Pages are written before Sphinx looks for them. The directives here make what is in
one when it is read, pictures too, so that a build makes only those of scenes that changed.
"""

from __future__ import annotations

import ast
import html
import inspect
import re
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import pictures
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from mbd.files import scenes
from mbd.files.scenes import Scene

THEMES = {
    "Pendulums, tops, free bodies": (
        "pendulum", "simple_pendulum", "elastic_pendulum", "chain", "point_chain", "heavy_top",
        "steady_top", "dzhanibekov", "unstable_axis", "multipliers", "kynema_body", "geodesic",
        "spheroid_in_water",
    ),
    "Linkages": (
        "fourbar", "slider_crank", "driven_slider_crank", "n_fourbar", "strandbeest", "andrews",
        "bennett", "bricard", "scott_russell", "scissor", "press", "door",
    ),
    "Machines and robots": (
        "stewart", "seven_axis_arm", "cassie", "quadruped", "cart_pole", "swing_up", "sling",
        "governor", "hooke", "planetary_gear", "rack_and_pinion", "screw_jack", "rotor",
        "ground_resonance",
    ),
    "Beams, cables, flexible bodies": (
        "iea15", "three_blade_rotor", "goland_wing", "flying_spaghetti", "roll_up",
        "curved_cantilever", "princeton_beam", "spin_up_beam", "bending_rod", "elastic_crank",
        "flexible_rod", "modal_rotor", "springboard", "catenary", "rope_in_current",
    ),
    "Wheels and contact": (
        "bicycle", "rolling_disc", "ball_on_turntable", "skate", "non_twisting", "billiard",
        "bouncing_ball", "tumbling_box", "block_on_slope", "stick_slip", "door_stop",
    ),
    "Equilibria and small motions": ("column", "truss", "spring_mass"),
    "Bodies with a scale": ("breathing_body", "squeezed_body", "held_balloon"),
}  # fmt: skip
REST = "More scenes"  # of no theme yet
FILES = "Model files"
_KINDS = {".toml": "TOML", ".urdf": "URDF", ".xml": "MJCF"}


@cache
def themes() -> dict[str, tuple[str, ...]]:
    """Return the scenes of each theme; model files have one of their own."""
    files = pictures.files()
    known = {name for names in THEMES.values() for name in names}
    if unknown := known - files.keys():
        raise ValueError(f"gallery.py: there are no scenes {sorted(unknown)}")
    others = [x for x in files if x not in known]
    rest = {
        REST: tuple(x for x in others if "." not in x),
        FILES: tuple(x for x in others if "." in x),
    }
    return THEMES | {theme: names for theme, names in rest.items() if names}


def words(name: str) -> tuple[str, str]:
    """Return the title of a scene and what else its first line says: "Title: what it shows."."""
    title, _, more = scenes.summary(pictures.files()[name]).rstrip(".").partition(":")
    kind = _KINDS.get(Path(name).suffix)
    return f"{title[:1].upper()}{title[1:]}" + (f" ({kind})" if kind else ""), more.strip()


def cards(names: tuple[str, ...], up: str = "") -> nodes.raw:
    """Return thumbnails with titles; `up` is the way from the page to the first one."""
    text = ""
    for name in names:
        (title, more), at = words(name), pictures.place(name)
        width, height = pictures.SIZE
        text += (
            f'<a class="card" href="{up}gallery/{at}.html"><picture>'
            f'<source srcset="{up}thumbs/{at}.png" media="(prefers-reduced-motion: reduce)">'
            f'<img src="{up}thumbs/{at}.webp" width="{width}" height="{height}" '
            f'loading="lazy" alt="{html.escape(title)}"></picture>'
            f"<b>{html.escape(title)}</b><span>{html.escape(more)}</span></a>\n"
        )
    return nodes.raw("", f'<div class="wall">\n{text}</div>', format="html")


class Wall(SphinxDirective):
    """All scenes, theme by theme."""

    def run(self) -> list[nodes.Node]:
        """Return a section for each theme."""
        made: list[nodes.Node] = []
        for path in (*pictures.files().values(), Path(__file__)):
            self.env.note_dependency(str(path))
        for theme, names in themes().items():
            section = nodes.section(
                "", nodes.title(theme, theme), cards(names), ids=[nodes.make_id(theme)]
            )
            self.state.document.note_explicit_target(section)
            made.append(section)
        return made


class ScenePage(SphinxDirective):
    """What a scene says of itself, moving, with its source and its neighbours."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the content of the page."""
        (name,) = self.arguments
        path = pictures.files()[name]
        for file in (path, Path(pictures.__file__), Path(__file__)):
            self.env.note_dependency(str(file))
        scene, at = scenes.load(path), pictures.place(name)
        pictures.make(name, scene, Path(self.env.srcdir) / "gallery" / "moving")
        title, _ = words(name)
        theme = next(theme for theme, names in themes().items() if name in names)
        near = tuple(x for x in _around(themes()[theme], name))
        return [
            *self.parse_text_to_nodes(_escaped(_text(path))),
            nodes.raw(
                "",
                f'<iframe class="play" src="../play/{at}.html" loading="lazy" '
                f'title="{html.escape(title)}, moving"></iframe>',
                format="html",
            ),
            *self.parse_text_to_nodes("\n".join(_how(name, path, scene))),
            nodes.raw("", f'<details class="source"><summary>{path.name}</summary>', format="html"),
            *self.parse_text_to_nodes(
                f".. literalinclude:: /../models/{path.name}\n"
                f"    :language: {'xml' if path.suffix in ('.urdf', '.xml') else path.suffix[1:]}\n"
            ),
            nodes.raw("", "</details>", format="html"),
            nodes.rubric("", f"More: {theme}"),
            cards(near, "../"),
        ]


def _around(names: tuple[str, ...], name: str, n: int = 4) -> list[str]:
    """Return the neighbours of a name, those after it first."""
    i = names.index(name)
    return [*names[i + 1 :], *names[:i]][:n]


def _text(path: Path) -> str:
    """Return what a file says of itself: its docstring, or the comment in which XML begins."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        first, _, more = (ast.get_docstring(ast.parse(text)) or "").partition("\n")
        said = first.partition(":")[2].strip() or first
        return f"{said[:1].upper()}{said[1:]}\n{more}"
    comment = re.search(r"<!--(.*?)-->", text, re.S) if path.suffix in (".urdf", ".xml") else None
    return " ".join(comment[1].split()) if comment else scenes.summary(path) + "."


def _escaped(text: str) -> str:
    """Return plain text but for literals."""
    parts = re.split("(``.*?``)", text)
    parts[::2] = [re.sub(r"([\\*|_`])", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def _how(name: str, path: Path, scene: Scene) -> list[str]:
    """Return how a scene is run, with which parameters, what it is made of and compared with."""
    run: dict[str, Any] = pictures.run(name, scene)
    said = {k: x if isinstance(x, str) else repr(x) for k, x in run.items()}
    plot = pictures.PICTURES.get(name, pictures.Picture()).plot
    lines = [
        ".. code-block:: sh",
        "",
        f"    mbd view models/{path.name} --plot {shlex.quote(plot)}",
        "",
    ]
    lines += ["It runs with " + ", ".join(f"``{k} = {x}``" for k, x in said.items()) + ".", ""]
    if path.suffix != ".py":
        return lines
    takes = inspect.signature(scene.make).parameters.values()
    if takes:
        lines += [
            "Parameters, ``-p name=value``: "
            + ", ".join(f"``{x.name} = {x.default!r}``" for x in takes)
            + ".",
            "",
        ]
    parts = dict.fromkeys(re.findall(r"\bmbd\.([A-Z]\w+)", path.read_text(encoding="utf-8")))
    if parts:
        lines += ["Made of " + ", ".join(f":any:`mbd.{x}`" for x in parts) + ".", ""]
    sources = {x[4] for x in getattr(scene.module, "REFERENCE", ())}
    if sources:
        lines += [_escaped(f"Compared with: {'; '.join(sorted(sources))}."), ""]
    return lines


def write(folder: Path) -> None:
    """Write the page of each scene, those that are not there yet."""
    folder.mkdir(exist_ok=True)
    for name in pictures.files():
        title, _ = words(name)
        text = f":orphan:\n\n{title}\n{'=' * len(title)}\n\n.. scene:: {name}\n"
        written(folder / f"{pictures.place(name)}.rst", text)


def written(path: Path, text: str) -> None:
    """Write a file if it is not the same already: what did not change is not read again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directives, and write the pages before they are looked for."""
    app.connect("builder-inited", lambda app: write(Path(app.srcdir) / "gallery"))
    app.add_directive("wall", Wall)
    app.add_directive("scene", ScenePage)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
