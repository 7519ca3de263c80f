"""Systems from MJCF files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from mbd.base.checked import mapping, one_of
from mbd.files.modelfile import Document
from mbd.files.robots.description import Origin
from mbd.files.robots.mjcf import Bodies
from mbd.files.robots.mjcf_acts import actuators as read_actuators
from mbd.files.robots.mjcf_acts import equalities, start
from mbd.files.robots.mjcf_source import Source
from mbd.files.robots.robot import Options, built
from mbd.files.robots.xml_tree import Notes, unread

__all__ = ["read_mjcf"]


def read_mjcf(
    path: Path,
    *,
    keyframe: str | int | None = None,
    positions: dict[str, float] | None = None,
    rates: dict[str, float] | None = None,
    gravity: Any = None,
    formulation: Any = None,
    fixed: str = "joint",
    inertia: str = "exact",
    limits: str = "stops",
    friction: str = "smoothed",
    actuators: str = "act",
    loops: str = "closed",
    shapes: str = "visual",
) -> Document:
    """Read an MJCF file; ``mbd.read`` calls it for ``.xml`` and ``.mjcf``.

    Parameters
    ----------
    path : Path
    keyframe : str or int, optional
        Name or number of the key that says positions, velocities and commands of actuators at the
        start; default all joints are at their reference values and nothing moves.
    positions, rates : dict
        Initial coordinates of hinges and slides [rad or m] and their rates, before those of a key.
    gravity : (3,) array [m/s^2], optional
        Default that of the file.
    formulation : str or Formulation
        Of all bodies.
    fixed : {"joint", "lumped"}
        Whether a body without joints is held by a ``Fixed``, with reactions, or is one with its
        parent.
    inertia : {"exact", "repair"}
        Whether inertia that no body can have is refused or changed, as in ``read_urdf``.
    limits : {"stops", "none"}
        Whether ranges of joints are ``Stop`` parts.
    friction : {"smoothed", "none"}
        Whether frictionloss of joints is a ``JointFriction``.
    actuators : {"act", "none"}
        Whether actuators are parts: with commands of zero, or those of the key.
    loops : {"closed", "open"}
        Whether equalities hold.
    shapes : {"visual", "collision"}
        Which shapes are drawn.
    """
    try:
        options = Options(
            gravity=gravity, formulation=formulation, fixed=fixed, inertia=inertia, limits=limits,
            friction=friction, shapes=shapes,
        )  # fmt: skip
        one_of("read", "actuators", actuators, ("act", "none"))
        one_of("read", "loops", loops, ("closed", "open"))
        notes, source = Notes(), Source(path)
        bodies = Bodies(source, notes, source.top.text("model", path.stem))
        if loops == "closed":
            equalities(bodies)
        q, rate, ctrl = start(bodies, keyframe)
        if actuators == "act":
            read_actuators(bodies, ctrl)
        run, of_file = _settings(source, bodies)
        if options.gravity is None:
            options = replace(options, gravity=of_file)
        for section in ("keyframe", *("equality",) * (loops == "open"), *("actuator",) *
                        (actuators == "none")):  # fmt: skip
            for node in source.sections(section):
                node.passed()
        source.close()
        for text, node in unread(source.top):
            notes.add(text, node)
        return built(
            bodies.robot, path, options, run, start=Origin(), floating=False,
            positions=q | mapping("read", "positions", positions, "{'hip': 0.1}"),
            rates=rate | mapping("read", "rates", rates, "{'hip': 0.1}"),
        )  # fmt: skip
    except (ValueError, TypeError, OSError) as error:
        raise ValueError(f"{path}: {error}") from error


def _settings(source: Source, bodies: Bodies) -> tuple[dict[str, Any], Any]:
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
