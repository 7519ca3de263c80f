"""Systems from MJCF files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from mbd.base.checked import mapping
from mbd.files.modelfile import Document
from mbd.files.robots.mjcf import Bodies
from mbd.files.robots.mjcf_acts import actuators, equalities, start
from mbd.files.robots.mjcf_source import MjcfSource
from mbd.files.robots.options import RobotOptions, reader
from mbd.files.robots.robot import built
from mbd.files.robots.xml_tree import NESTED, Notes, unread


@reader("packages", "massless")
def read_mjcf(path: Path, *, keyframe: str | int | None = None, **options: Any) -> Document:
    """Read an MJCF file; ``mbd.read`` calls it for ``.xml`` and ``.mjcf``.

    Parameters
    ----------
    path : Path
    keyframe : str or int, optional
        Name or number of the key that says positions, velocities and commands of actuators at the
        start; default all joints are at their reference values and nothing moves. ``positions`` and
        ``rates`` go before it.
    **options
        Those of :class:`~mbd.files.robots.options.RobotOptions`, ``fixed`` of bodies without
        joints.
    """
    try:
        how = RobotOptions(**options)
        notes, source = Notes(), MjcfSource(path)
        bodies = Bodies(source, notes, source.top.text("model", path.stem))
        if how.loops == "closed":
            equalities(bodies)
        q, rate, ctrl = start(bodies, keyframe)
        if how.actuators == "act":
            actuators(bodies, ctrl)
        run, of_file = _settings(source, bodies)
        start_of: dict[str, Any] = {
            what: of_key | mapping("read", what, getattr(how, what), "{'hip': 0.1}")
            for what, of_key in (("positions", q), ("rates", rate))
        }
        gravity = of_file if how.gravity is None else how.gravity
        how = replace(how, gravity=gravity, **start_of)
        for section in ("keyframe", *("equality",) * (how.loops == "open"),
                        *("actuator",) * (how.actuators == "none")):  # fmt: skip
            for node in source.sections(section):
                node.passed()
        source.close()
        for text, node in unread(source.top):
            notes.add(text, node)
        return built(bodies.robot, path, how, run)
    except (ValueError, TypeError, OSError) as error:
        raise ValueError(f"{path}: {error}") from error
    except RecursionError:
        raise ValueError(f"{path}: {NESTED}") from None


def _settings(source: MjcfSource, bodies: Bodies) -> tuple[dict[str, Any], Any]:
    """Return how the file is run, and its gravity."""
    step, gravity = 1e-3, (0.0, 0.0, -9.81)
    for option in source.sections("option"):
        step = option.number("timestep", step)
        gravity = option.numbers("gravity", gravity, 3)  # type: ignore[assignment]
        for key in ("density", "viscosity"):
            if option.number(key, 0.0):
                bodies.notes.add(f"option: {key} of a fluid is not used", option)
    if "gravity" in bodies.off:
        gravity = (0.0, 0.0, 0.0)
    return {"t_end": 2.0, "step": step}, gravity
