"""Loads, contacts and reactions over time, as arrows at the points where they act."""

import numpy as np

from mbd.animation.drawing import Arrow, End, Track, nice, over_time
from mbd.history.contacts import contacts as contacts_over_time
from mbd.history.history import History
from mbd.history.loads import law_over_time
from mbd.history.section_loads import section_loads
from mbd.machine.buffer import TRANSLATION

# below these parts of the largest, an arrow is round-off: loads are exact, reactions are solved for
_ROUND_OFF = {"loads": 1e-9, "reactions": 1e-6}
# below these parts of the forces that balance in a model, weight and inertia, all arrows are
_OF_TERMS = {"loads": 1e-13, "reactions": 1e-9}
_USUAL = 0.98  # of all instants; the rest are peaks


def loads(solution: History) -> list[Arrow]:
    """Return the applied forces and moments."""
    arrows = []
    for load in solution.model.system.parts.values():
        applied = load.applied
        if applied is None:
            continue
        values = np.broadcast_to(applied.value, (len(solution.t), 3))
        if applied.law is not None:
            values = np.nan_to_num(law_over_time(applied.law, solution.t))
        if applied.follow:
            values = np.einsum("nij,nj->ni", solution.body(applied.body).rotation, values)
        end = End(applied.body, applied.at)
        arrows.append(Arrow(end, values, applied.unit, "loads", load.name))
    return arrows


def touches(solution: History) -> list[tuple[Track, Arrow]]:
    """Return the forces of contacts on their second bodies, and the points at which they act.

    These move on the bodies: they are frames of their own. What never touches has none.
    """
    drawn = []
    for part in solution.model.system.parts.values():
        if not part.balls:
            continue
        history = contacts_over_time(solution, part.name)
        for k in np.flatnonzero(history.pressure.any(axis=0)):
            point = Track(f"{part.name}.{k}", history.point[:, k], None, None)
            label, end = f"{part.name} on {part.ends[1].name}", End(point.name, np.zeros(3))
            drawn.append((point, Arrow(end, history.force[:, k], "N", "loads", label)))
    return drawn


def of_motion(solution: History) -> list[tuple[Track, Arrow]]:
    """Return the loads by laws of motion, and the sections at which they act, which are frames."""
    drawn = []
    for k, load in enumerate(section_loads(solution)):
        point = Track(f"{load.part}.{k}", load.x, None, None)
        for unit, raw in (("N", load.force), ("N m", load.moment)):
            values = np.nan_to_num(raw)
            if values.any():
                end = End(point.name, np.zeros(3))
                drawn.append((point, Arrow(end, values, unit, "loads", load.part)))
    return drawn


def contacts(solution: History) -> list[Arrow]:
    """Return what stops push with on the second bodies of their joints, along or about the axes."""
    arrows = []
    for part in solution.model.system.parts.values():
        if part.push is None:
            continue
        u = part.coordinate
        assert u is not None  # along which it pushes
        joint = solution.model.system.joints.get(u.joint)
        if joint is None or u.name not in ("angle", "displacement"):
            continue
        history, A, B = solution[u.joint], joint.A, joint.B
        push = part.push(getattr(history, u.name), getattr(history, f"{u.name}_rate"))
        axis = A.axes[:, 2]  # of the ground inertial
        if A.place != "ground":
            axis = solution.body(A.place).rotation @ axis
        vectors = np.nan_to_num(push[:, None] * axis)
        label, end = f"{part.name} on {B.name}", End(B.place, B.position)
        arrows.append(Arrow(end, vectors, u.load_unit, "loads", label))
    return arrows


def reactions(solution: History) -> list[Arrow]:
    """Return forces and moments of the joints on their second bodies."""
    arrows = []
    for name, joint in solution.model.system.joints.items():
        history = solution[name]
        end, label = End(joint.B.place, joint.B.position), f"{name} on {joint.B.name}"
        for unit, values in (("N", history.force), ("N m", history.moment)):
            arrows.append(Arrow(end, np.nan_to_num(values), unit, "reactions", label))
    return arrows


def _size(arrow: Arrow) -> np.ndarray:
    return np.linalg.norm(arrow.vectors, axis=1)


def inertial(solution: History) -> float:
    """Return the largest force that a body's weight, or its inertia, is during a run [N]."""
    model = solution.model
    mass = float(model.stacked.mass.max(initial=0.0))
    moved = model.numbering.v_kinds == TRANSLATION
    fastest = float(np.abs(np.nan_to_num(solution.a[:, moved])).max(initial=0.0))
    return mass * (float(np.linalg.norm(model.system.gravity)) + fastest)


def visible(arrows: list[Arrow], length: float, terms: float = 0.0) -> list[Arrow]:
    """Return the arrows that are more than round-off, to forces at levers of a length [m].

    That is round-off of the largest arrow, and of the terms that balance, of this size [N]: all
    arrows may be as good as zero.
    """
    arms = {"N": 1.0, "N m": length}
    largest = max((float(_size(a).max()) / arms[a.unit] for a in arrows), default=0.0)
    return [
        a
        for a in arrows
        if _size(a).max()
        > max(_ROUND_OFF[a.layer] * largest, _OF_TERMS[a.layer] * terms) * arms[a.unit]
    ]


def scales(arrows: list[Arrow], reach: float) -> dict[str, tuple[float, float]]:
    """Return, by unit, a round value and the round length [m] of the arrow that shows it.

    The longest arrows are about as long as `reach`, rare peaks left out.
    """
    by_unit = {}
    for unit in ("N", "N m"):
        sizes = [float(np.quantile(_size(a), _USUAL)) for a in arrows if a.unit == unit]
        largest = max(sizes, default=0.0)
        if largest > 0:
            value = nice(largest / 2)
            by_unit[unit] = (value, nice(reach * value / largest))
    return by_unit


def tips(
    arrows: list[Arrow], scales: dict[str, tuple[float, float]], tracks: dict[str, Track]
) -> np.ndarray:
    """Return where arrows end over time (k, 3) [m], rare peaks left out."""
    ends = [np.empty((0, 3))]
    for arrow in arrows:
        if arrow.unit in scales:
            value, length = scales[arrow.unit]
            size = _size(arrow)
            tip = over_time(tracks, arrow.end, len(size)) + arrow.vectors * (length / value)
            ends.append(tip[size <= np.quantile(size, _USUAL)])
    return np.vstack(ends)
