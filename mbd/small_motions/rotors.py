r"""Rotors on supports at rest: what turns, how it is turned on, coordinates of its small motions.

Faces of the rotor move as :math:`y(\psi) = R(\psi)\,y(0)`, those of the support stay. Small motions
are written by fields of faces, :math:`\delta y = F(\psi) z`, and in the coordinates of the model
:math:`\delta = P z,\; P = Y^+ F,\; \dot P = Y^+(\dot F - \dot Y P)`:

- what does not turn: its own coordinates;
- the hub, all that turns and is in no blade: small displacements and turns in inertial axes, as
  those of a body at rest at the place it has at :math:`\psi = 0`;
- blade k of N, at :math:`\psi_k = \psi + 2\pi k/N`: the first one turned,

  .. math:: F_k = R(\psi_k)\,Y\,\bigl(a_0 + \sum_n (a_n\cos n\psi_k + b_n\sin n\psi_k)
            + (-1)^k a_{N/2}\bigr),

  the last term for even N [1]_. Of an isotropic rotor matrices are then constant.

References
----------
.. [1] R. P. Coleman, A. M. Feingold, Theory of self-excited mechanical oscillations of helicopter
   rotors with hinged blades, NACA Report 1351, 1958.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from mbd.algebra.rotations import tilde
from mbd.base.checked import listed, meant, names, shown
from mbd.base.door import unit_vector
from mbd.base.tolerances import ROUND_OFF
from mbd.machine import buffer as m
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.workspace import Workspace
from mbd.parts.joint import Joint
from mbd.parts.part import Body, Frame, Part
from mbd.small_motions.face_maps import FaceMaps, face_maps, inverses, test_map, with_faces
from mbd.small_motions.minimal import changed
from mbd.small_motions.small_motion import SmallMotion, at_instant, small_motion


@dataclass(frozen=True, eq=False)
class Rotor:
    """The bodies that turn, and their axis: a point [m, from the origin of the model], a direction.

    ``frame`` is what holds the axis, if that may move.
    """

    bodies: frozenset[str]
    point: np.ndarray
    axis: np.ndarray
    frame: Frame | None = None

    def rotation(self, angle: float) -> np.ndarray:
        """Return the rotation about the axis by an angle [rad]."""
        a, A = self.axis, tilde(self.axis)
        return np.eye(3) + np.sin(angle) * A + (1.0 - np.cos(angle)) * (np.outer(a, a) - np.eye(3))

    def frames(self, speed: float) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Return rate and point of the axis of each body that turns."""
        return dict.fromkeys(self.bodies, (speed * self.axis, self.point))

    def at(self, model: Model, state: State) -> "Rotor":
        """Return the rotor with its axis where that is at a state."""
        if self.frame is None:
            return self
        point, axis = _axis_of(model, state, self.frame)
        return replace(self, point=point, axis=axis)


def bodies_of(owner: str, argument: str, model: Model, wanted: Any) -> list[str]:
    """Return the names of bodies, of the nodes of parts that have some."""
    parts, bodies = model.system.parts, list[str]()
    for name in names(owner, argument, wanted):
        nodes = [x.name for x in parts[name].nodes()] if name in parts else []
        if name in model.bodies and not nodes:
            nodes = [name]
        if not nodes:
            there = [x for x in parts if x in model.bodies or parts[x].nodes()]
            raise ValueError(
                f"{owner}: {argument} must name bodies, or parts that have some, got "
                f"{shown(name)}{meant(name, there)}; there are {', '.join(there)}"
            )
        bodies += nodes
    return bodies


def rotor_of(owner: str, model: Model, state: State, rotor: Any, axis: Any = None) -> Rotor:
    """Return a rotor by its joint, or by its bodies and an axis."""
    direction = unit_vector(owner, "axis", (0, 0, 1) if axis is None else axis)
    joints = {n: x for n, x in model.system.joints.items() if "angle" in x.coordinates}
    if isinstance(rotor, Part):
        rotor = rotor.name
    if isinstance(rotor, str) and rotor in model.system.joints:
        if rotor not in joints:
            raise ValueError(
                f"{owner}: rotor must be a joint that leaves an angle free, {shown(rotor)} does "
                f"not; there are {', '.join(joints) or 'none'}; or name what turns, and axis="
            )
        if axis is not None:
            raise ValueError(
                f"{owner}: the joint {rotor!r} says where the axis is; leave out axis="
            )
        joint = joints[rotor]
        point, direction = _axis_of(model, state, joint.A)
        return Rotor(_beyond(owner, model, joint), point, direction, joint.A)
    try:
        turning = bodies_of(owner, "rotor", model, rotor)
    except ValueError as error:
        raise ValueError(
            f"{error}; joints with an angle are {', '.join(joints) or 'none'}"
        ) from None
    if not turning:
        raise ValueError(f"{owner}: rotor must name a joint or what turns, got {shown(rotor)}")
    lead = next(x for x in face_maps(model, state) if x.name == turning[0])
    center = np.concatenate([[1.0], model.nodes[turning[0]].center_of_mass])
    return Rotor(frozenset(turning), center @ lead.y, direction)


def _axis_of(model: Model, state: State, frame: Frame) -> tuple[np.ndarray, np.ndarray]:
    """Return a point and the direction of the third axis of a frame at a state."""
    if not frame.body.moves:
        point, axes = frame.start
        return point - model.origin, axes[:, 2]
    work = Workspace(model, state)
    work.evaluate()
    faces = work.vector(m.Y, 12 * (model.n_faces + 1)).reshape(-1, 4, 3)
    y = faces[model.faces[frame.body.name] + frame.face + 1]
    axis = frame.axes[:, 2] @ y[1:]
    return y[0] + frame.position @ y[1:], axis / np.linalg.norm(axis)


def speed_of(model: Model, state: State, rotor: Rotor) -> float:
    """Return the speed about its axis [rad/s] with which a rotor moves at a state, on average."""
    A, along, every = tilde(rotor.axis).T, 0.0, 0.0
    for body in face_maps(model, state):
        for face in body.faces if body.name in rotor.bodies else ():
            rate = face.y @ A
            rate[0] -= rotor.point @ A
            along, every = along + float((rate * face.yd).sum()), every + float((rate**2).sum())
    return along / every if every else 0.0


def _beyond(owner: str, model: Model, joint: Joint) -> frozenset[str]:
    """Return the bodies that hang together with the second body of a joint, without this joint.

    What else is between its two bodies, as a motor, counts as part of it.
    """
    held, first = joint.A.body.name, joint.B.body.name
    if not joint.B.body.moves:
        raise ValueError(
            f"{owner}: the second body of the joint {joint.name!r} is what turns, it must not be "
            "the ground; exchange its bodies"
        )
    between: dict[str, set[str]] = {name: set() for name in model.nodes}
    for part in model.system.parts.values():
        some = {x.name for x in (*part.bodies, *part.nodes())}
        if some != {held, first}:
            for name in some & between.keys():
                between[name] |= some
    reached, ahead = {first}, [first]
    while ahead:
        more = between.get(ahead.pop(), set()) - reached
        reached |= more
        ahead += more
    if held in reached or "ground" in reached:
        raise ValueError(
            f"{owner}: what turns does not end at the joint {joint.name!r}: other parts lead from "
            f"{first!r} back to {held!r}; name the bodies that turn, rotor=[...], and axis="
        )
    return frozenset(reached)


def turned(model: Model, state: State, rotor: Rotor, angle: float) -> State:
    """Return the pose with the rotor turned on, its bodies as bent as they are."""
    R, maps = rotor.rotation(angle), face_maps(model, state)
    q = state.q.copy()
    ends, first = dict[str, list[np.ndarray]](), 0
    for body in maps:
        part = model.nodes[body.name]
        here = slice(first, first + part.formulation.n_q)
        first = here.stop
        if body.name in rotor.bodies:
            faces = [x.y @ R.T for x in body.faces]
            for y, x in zip(faces, body.faces, strict=True):
                y[0] = rotor.point + R @ (x.y[0] - rotor.point)
            ends[body.name] = faces
            before, after = (_placed(part, y, body.axes) for y in (body.y, faces[0]))
            q[here] = np.where(before == after, q[here], after)  # what does not turn stays exactly
    return with_faces(model, state.replace(q=q), ends)


def _placed(part: Body, y: np.ndarray, axes: bool) -> np.ndarray:
    """Return q of a body, as described but where its first face is."""
    turn = (y[1:] / np.linalg.norm(y[1:], axis=1)[:, None]).T if axes else None
    return part.q_and_v(y[0], turn)[0]


@dataclass(frozen=True, eq=False)
class Turning:
    """A pose from which a rotor is turned on, and the coordinates z of its small motions.

    Parameters
    ----------
    model : Model
    pose : State
    rotor : Rotor
    blades : sequence of sequences of str
        Bodies of each blade, in the same order of all of them; none: all that turns is hub.
    memories : bool
        Whether memories of loads are at rest with the motion, or stay what they are.
    """

    model: Model
    pose: State
    rotor: Rotor
    blades: tuple[tuple[str, ...], ...] = ()
    memories: bool = False

    @cached_property
    def maps(self) -> dict[str, FaceMaps]:
        """Maps of the bodies at the pose."""
        return {x.name: x for x in face_maps(self.model, self.pose)}

    @property
    def numbers(self) -> tuple[tuple[str, int], ...]:
        """What each component of blades is: its function, "cos" or "sin", and its order n."""
        N = len(self.blades)
        pairs = [(f, n) for n in range(1, (N - 1) // 2 + 1) for f in ("cos", "sin")]
        return (("one", 0), *pairs, *([("turns", N // 2)] if N % 2 == 0 else []))[:N]

    def component(self, m: int, k: int, psi: float) -> tuple[float, float]:
        """Return component m of blade k at an azimuth, and its derivative by the azimuth."""
        shape, n = self.numbers[m]
        at = n * (psi + 2 * np.pi * k / len(self.blades))
        if shape == "cos":
            return float(np.cos(at)), float(-n * np.sin(at))
        if shape == "sin":
            return float(np.sin(at)), float(n * np.cos(at))
        return (-1.0) ** (k if shape == "turns" else 0), 0.0

    def motion(self, state: State, psi: float, speed: float) -> SmallMotion:
        """Return small motions in z at the state that the pose has at an azimuth."""
        here = self.at_instant(state)
        P, rate = self.change(here.maps, psi, speed)
        moved = changed(here, P, rate, test_map(self.model, state) @ P)
        return replace(moved, carried=True)

    def at_instant(self, state: State) -> SmallMotion:
        """Return small motions in the coordinates of the model at a state."""
        return at_instant(small_motion(self.model, state, np.zeros(3), self.memories))

    def change(
        self, maps: list[FaceMaps], psi: float, speed: float
    ) -> tuple[sp.csr_matrix, sp.csr_matrix]:
        """Return P and its time derivative at an azimuth, for the maps of bodies there."""
        n = self.model.n_v
        P, rate = sp.lil_array((n, n)), sp.lil_array((n, n))
        where = {name: (k, i) for k, b in enumerate(self.blades) for i, name in enumerate(b)}
        for body, back in zip(maps, inverses(maps), strict=True):
            if body.name not in self.rotor.bodies:
                P[body.v, body.v] = np.eye(body.v.stop - body.v.start)
                continue
            Yd = body.whole("Yd")
            if body.name not in where:
                fields = [(body.v, *self._hub(body, psi, speed))]
            else:
                k, i = where[body.name]
                F, Fd = self._blade(k, i, psi, speed)
                fields = []
                for m in range(len(self.blades)):
                    c, slope = self.component(m, k, psi)
                    to = self.maps[self.blades[m][i]].v
                    fields.append((to, c * F, c * Fd + speed * slope * F))
            for to, F, Fd in fields:
                block = _without_round_off(back @ F, np.abs(back) @ np.abs(F))
                P[body.v, to] = block
                turn = back @ (Fd - Yd @ block)
                added = np.abs(back) @ (np.abs(Fd) + np.abs(Yd) @ np.abs(block))
                rate[body.v, to] = _without_round_off(turn, added)
        return sp.csr_matrix(P), sp.csr_matrix(rate)

    def _hub(self, body: FaceMaps, psi: float, speed: float) -> tuple[np.ndarray, np.ndarray]:
        """Return F and its rate of a body of the hub: fields of space, or turned with it."""
        at = self.maps[body.name]
        if not body.axes or body.others:
            return self._turned(at.whole("Y"), psi, speed)
        Y = at.Y.reshape(4, 3, -1)
        H = np.einsum("ij,jcn->icn", np.linalg.inv(at.y[1:]), Y[1:])  # of a field g + H^T x
        F, Fd = np.einsum("ki,icn->kcn", body.y[1:], H), np.einsum("ki,icn->kcn", body.yd[1:], H)
        x = Y[0] + np.einsum("i,icn->cn", body.y[0] - at.y[0], H)
        xd = np.einsum("i,icn->cn", body.yd[0], H)
        n = Y.shape[2]
        return np.vstack([x, F.reshape(9, n)]), np.vstack([xd, Fd.reshape(9, n)])

    def _blade(self, k: int, i: int, psi: float, speed: float) -> tuple[np.ndarray, np.ndarray]:
        """Return F and its rate of body i of blade k without the factors of components."""
        first, own = (self.maps[self.blades[x][i]] for x in (0, k))
        angle = 2 * np.pi * k / len(self.blades)
        F, Fd = self._turned(first.whole("Y"), psi + angle, speed)
        if k == 0 or not first.axes or first.others:
            return F, Fd
        # the axes of this body may be others: its face is A times that of the first one, turned
        y = first.y @ self.rotor.rotation(angle).T
        y[0] += self.rotor.point - self.rotor.rotation(angle) @ self.rotor.point
        A, back = np.eye(4), np.linalg.inv(y[1:])
        A[0, 1:], A[1:, 1:] = (own.y[0] - y[0]) @ back, own.y[1:] @ back
        return tuple(np.einsum("jk,kcn->jcn", A, x.reshape(4, 3, -1)).reshape(F.shape)
                     for x in (F, Fd))  # fmt: skip

    def _turned(self, Y: np.ndarray, psi: float, speed: float) -> tuple[np.ndarray, np.ndarray]:
        """Return a map of faces (12 k, n) turned by an angle, and its rate."""
        R = self.rotor.rotation(psi)
        F = np.einsum("ab,kbn->kan", R, Y.reshape(-1, 3, Y.shape[1]))
        Fd = np.einsum("ab,kbn->kan", speed * tilde(self.rotor.axis), F)
        return F.reshape(Y.shape), Fd.reshape(Y.shape)


def _without_round_off(x: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Return numbers with zeros where they are round-off of what was added."""
    return np.where(np.abs(x) <= ROUND_OFF * size, 0.0, x)


def listed_blades(owner: str, blades: Any) -> tuple[Any, ...]:
    """Return blades in a tuple."""
    form = f"{owner}: blades must be names in a list, of parts or lists of bodies, one each"
    return listed(form, blades)


def in_order(
    owner: str, model: Model, state: State, rotor: Rotor, blades: Any
) -> tuple[tuple[str, ...], ...]:
    """Return the bodies of blades, by the angle at which each is the first one turned."""
    each = [bodies_of(owner, "blades", model, x) for x in listed_blades(owner, blades)]
    if len(each) < 3:
        raise ValueError(
            f"{owner}: needs three blades or more, got {len(each)}; of others the coefficients "
            "change with time: mbd.floquet"
        )
    every = [name for blade in each for name in blade]
    if len(set(every)) < len(every):
        raise ValueError(f"{owner}: a body must be in one blade, got {shown(blades)}")
    if outside := [name for name in every if name not in rotor.bodies]:
        raise ValueError(
            f"{owner}: blades must be parts of the rotor, {outside[0]!r} does not turn; there are "
            f"{', '.join(sorted(rotor.bodies))}"
        )
    maps = {x.name: x for x in face_maps(model, state)}
    shapes = [[maps[x].whole("Y").shape for x in blade] for blade in each]
    if any(x != shapes[0] for x in shapes):
        raise ValueError(
            f"{owner}: blades must have as many bodies, in the same order of formulations, got "
            f" {', '.join(str(len(x)) for x in each)} bodies"
        )
    N, a = len(each), rotor.axis
    across = [_across(rotor, [maps[x] for x in blade]) for blade in each]
    angles = [np.arctan2((np.cross(across[0], x) @ a).sum(), (across[0] * x).sum()) for x in across]
    places = [int(k) for k in np.round(np.array(angles) * N / (2 * np.pi)).astype(int) % N]
    if sorted(places) != list(range(N)):
        raise ValueError(
            f"{owner}: blades must be {360 / N:g} degrees apart about the axis, got "
            f"{', '.join(f'{x:.4g}' for x in np.degrees(angles))}"
        )
    return tuple(tuple(each[places.index(k)]) for k in range(N))


def _across(rotor: Rotor, blade: Sequence[FaceMaps]) -> np.ndarray:
    """Return where bodies of a blade are across the axis; of those on it how they are turned."""
    a = rotor.axis
    arms = np.array([x.y[0] - rotor.point for x in blade])
    arms -= np.outer(arms @ a, a)
    if np.abs(arms).max() > ROUND_OFF**0.5 * max(float(np.abs(x.y[0]).max()) for x in blade):
        return arms
    axes = np.concatenate([x.y[1:] for x in blade])
    return axes - np.outer(axes @ a, a)
