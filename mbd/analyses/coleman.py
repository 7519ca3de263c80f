r"""``mbd.coleman``: modes of a rotor with three blades or more, on any support.

In multi-blade coordinates (``small_motions/rotors.py``) the small motions of an isotropic rotor
have constant matrices. They are formed at some azimuths; ``spread`` is by how much they differ.
"""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from mbd.analyses.equilibrium import wake_follows
from mbd.analyses.mode_pages import animate
from mbd.analyses.steady_rotation import named_rotor
from mbd.base.above import MovingPicture
from mbd.base.checked import whole
from mbd.base.door import number
from mbd.base.html_tables import TextColumn
from mbd.base.tolerances import ANISOTROPIC
from mbd.integration.consistent import consistent
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.system import System
from mbd.model.workspace import displaced
from mbd.small_motions.eigenvalues import Exponents, dense
from mbd.small_motions.minimal import Minimal, minimal
from mbd.small_motions.rotors import Turning, in_order
from mbd.small_motions.spectrum import Pencil
from mbd.statics.rotation import Rotation, balanced_rotation, rotating, warn_unsteady

_PART = 0.1  # of the energy of a mode, from which on a name tells it


@dataclass(frozen=True, eq=False, repr=False)
class RotorModes(Exponents):
    """Modes in multi-blade coordinates, slowest first; one of each complex pair.

    Attributes
    ----------
    eigenvalues : (n,) complex array [1/s]
        Im(s) as an observer at rest sees it.
    rotation : Rotation
        The steady motion: ``rotation.state``, ``rotation.speed`` [rad/s], what is out of balance.
    shapes : (n_v, n) complex array
        Of what does not turn increments of its coordinates, of blades the components in the places
        of the first, the second blade and so on.
    parts : (n, groups) array [-]
        Shares in the kinetic energy of the ``groups``: "support", "hub", and of the blades
        "collective", "forward", "backward" (of higher orders with the number, "forward 2") and
        "alternating".
    groups : tuple of str
    spread : float [-]
        By how much matrices of other azimuths differ.
    free_levels : tuple of int
        As of :class:`~mbd.analyses.modes.Modes`.
    mass : (n_v, n_v)
        M in the coordinates of the shapes.
    """

    rotation: Rotation
    turning: Turning
    shapes: np.ndarray
    parts: np.ndarray
    groups: tuple[str, ...]
    spread: float
    free_levels: tuple[int, ...]
    mass: Any

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """A name of each mode: the groups with most of its energy, largest first."""
        return tuple(self._label(i) for i in range(len(self)))

    def _label(self, i: int) -> str:
        part = self.parts[i]
        told = [k for k in np.argsort(-part) if part[k] >= _PART]
        words = [self.groups[k] for k in told]
        where = self._across(i)
        words = [w if w in ("support", "hub") else f"{w} {where}" for w in words]
        free = "free " if self.eigenvalues[i] == 0.0 else ""
        return free + ", ".join(words)

    def _across(self, i: int) -> str:
        """Return whether the blades move along the axis or in the plane across it."""
        axis, along, every = self.turning.rotor.axis, 0.0, 0.0
        for m in range(len(self.turning.blades)):
            for name, at in zip(self.turning.blades[0], self.turning.blades[m], strict=True):
                body = self.turning.maps[name]
                x = body.Y[:3] @ self.shapes[self.turning.maps[at].v, i]
                along += abs(axis @ x) ** 2
                every += float(np.vdot(x, x).real)
        return "out of plane" if along > 0.5 * every else "in plane"

    def state(self, i: int, *, amplitude: float = 0.05, phase: float = 0.0) -> State:
        """Return the model displaced by a mode at the azimuth zero, rows satisfied.

        The largest increment of a coordinate, over the length of the model or one radian, is the
        amplitude [-].
        """
        model = self.turning.model
        delta = self._increments[:, i]
        size = np.abs(delta / model.units).max()
        delta = (delta * np.exp(1j * number("state", "phase", phase, "rad"))).real
        scale = number("state", "amplitude", amplitude, "-") / (size or 1.0)
        pose = displaced(model, self.rotation.state, scale * delta)
        return consistent(model, pose, project=True)

    @cached_property
    def _increments(self) -> np.ndarray:
        """Of all coordinates at the azimuth zero, (n_v, n)."""
        maps = list(self.turning.maps.values())
        P, _ = self.turning.change(maps, 0.0, self.rotation.speed)
        return np.asarray(P @ self.shapes)

    def animate(
        self, path: str | Path | None = None, *, which: Iterable[int] | None = None,
        amplitude: float = 0.05, **options: Any,
    ) -> MovingPicture:  # fmt: skip
        """Show modes in one page, as :meth:`~mbd.analyses.modes.Modes.animate`.

        The rotor is seen at the azimuth zero, as by a stroboscope that flashes once a turn: all
        moves at the frequency of the mode in the frame at rest, blades in their phases.
        """

        def pose(i: int, amplitude: float, phase: float) -> State:
            return self.state(i, amplitude=amplitude, phase=phase)

        return animate(self, self.labels, self.turning.model, pose, path, which, amplitude, options)

    def columns(self) -> list[TextColumn]:
        """Return the columns of their table."""
        return [*super().columns(), TextColumn("mode", "", "", self.labels)]

    def __repr__(self) -> str:
        return (
            f"RotorModes({len(self)} modes, {len(self.turning.blades)} blades at "
            f"{self.rotation.speed:g} rad/s, spread {self.spread:.1e})"
        )


def coleman(
    system: System | Model, state: State | None = None, *, rotor: Any, blades: Iterable[Any],
    speed: float, axis: Any = None, azimuths: int = 3, n: int | None = None,
    wake: Literal["frozen", "equilibrium"] = "frozen",
) -> RotorModes:  # fmt: skip
    """Return the modes of a rotor of three blades or more that turns on a support at rest.

    Equation :eq:`multiblade` of the theory page.

    Parameters
    ----------
    system : System or Model
    state : State, optional
        Where the search for the steady rotation starts; default the described pose. Its velocities
        are not used.
    rotor : str, or iterable of str
        The joint about whose axis the rotor turns: all that hangs on its second body does. Or the
        bodies that turn, by name, with an ``axis``.
    blades : iterable
        Each one the name of a part, or names of several, in the same order of all blades.
    speed : float [rad/s]
        About the axis, which points as that of the joint does.
    axis : (3,) array [-], optional
        Through the centre of mass of the first body, where ``rotor`` names bodies; default z.
    azimuths : int
        At how many the matrices are compared; one more where that is a multiple of the blades.
    n : int, optional
        How many modes, slowest first; default all.
    wake : {"frozen", "equilibrium"}
        Whether what loads remember stays what it is, or is at rest with the motion, as of `modes`.

    Returns
    -------
    RotorModes

    Raises
    ------
    ValueError
        If no pose is in balance nearby.

    Warns
    -----
    RuntimeWarning
        If forces are out of balance at other azimuths, by weight across the axis, an axis that is
        not along the wind; if matrices differ, of which the mean is taken then.
    """
    model, start, hub = named_rotor("coleman", system, state, rotor, axis)
    speed = number("coleman", "speed", speed, "rad/s")
    follows = wake_follows("coleman", model, wake)
    azimuths = whole("coleman", "azimuths", azimuths, 1)
    n = None if n is None else whole("coleman", "n", n, 1)
    ordered = in_order("coleman", model, start, hub, blades)
    azimuths += azimuths % len(ordered) == 0
    rotation = balanced_rotation(rotating(model, hub, speed), start)
    turning = Turning(model, rotation.state, rotation.rotor, ordered, follows)
    base, spread = _constant(turning, rotation, azimuths)
    s, z, levels = dense(base)
    parts, groups = _parts(turning, base, speed, z)
    return RotorModes(s[:n], rotation, turning, z[:, :n], parts[:n], groups, spread, levels,
                      base.motion.M)  # fmt: skip


def _constant(turning: Turning, rotation: Rotation, azimuths: int) -> tuple[Minimal, float]:
    """Return the mean of small motions over azimuths, and by how much they differ."""
    angles = 2 * np.pi * np.arange(azimuths) / azimuths
    speed = rotation.speed
    first, pencils, spread = None, [], 0.0
    turned = [rotation.turned(float(psi)) for psi in angles]
    warn_unsteady("coleman", turned)
    for psi, here in zip(angles, turned, strict=True):
        motion = turning.motion(here.state, psi, speed)
        now = minimal(motion, None if first is None else first.bases, alike=True)
        first = now if first is None else first
        pencils.append(now.pencil)
        spread = max(spread, _open(motion, first), _apart(first, pencils[0], now.pencil))
    assert first is not None
    if spread > ANISOTROPIC:
        warnings.warn(
            f"coleman: the rotor is not isotropic: matrices differ by {spread:.2g} from azimuth to "
            "azimuth, and their mean is taken; mbd.floquet has the modes of periodic coefficients",
            RuntimeWarning,
            stacklevel=4,
        )
    A, E = (np.mean([getattr(x, y) for x in pencils], axis=0) for y in ("A", "E"))
    mean = (
        first.pencil
        if spread <= ANISOTROPIC
        else Pencil(A, E, first.pencil.A_size, first.pencil.E_size)
    )
    return replace(first, pencil=mean), spread


def _apart(base: Minimal, one: Pencil, two: Pencil) -> float:
    """Return by how much matrices differ, over their largest entries where masses are alike."""
    scale, k = base.motion.scale, base.n_positions
    c = np.concatenate([scale[base.bases.positions], scale[base.bases.velocities]])
    worst = 0.0
    for x, y in ((one.A, two.A), (one.E, two.E)):
        for columns in (slice(0, k), slice(k, None)):
            rows = slice(k, None)
            size = np.abs(c[rows, None] * x[rows, columns] * c[columns]).max(initial=0.0)
            apart = np.abs(c[rows, None] * (y - x)[rows, columns] * c[columns]).max(initial=0.0)
            worst = max(worst, float(apart / size) if size else float(apart > 0.0))
    return worst


def _open(motion: Any, base: Minimal) -> float:
    """Return by how much motions that the rows allow at one azimuth violate them at another."""
    b, worst = base.bases, 0.0
    for rows, N in ((motion.Bp, b.Np), (motion.Bp, b.N), (motion.Bv, b.N)):
        if rows.shape[0] and N.shape[1]:
            size = (abs(rows) @ np.abs(N)).max()
            worst = max(worst, float(np.abs(rows @ N).max() / (size or 1.0)))
    return worst


def _parts(
    turning: Turning, base: Minimal, speed: float, z: np.ndarray
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the shares of groups in the kinetic energy of modes z."""
    M, maps = base.motion.M, turning.maps
    names, some = list[str](), list[np.ndarray]()

    def add(name: str, part: np.ndarray) -> None:
        names.append(name)
        some.append(np.einsum("ij,ij->j", part.conj(), M @ z).real)

    def of(bodies: Iterable[str]) -> np.ndarray:
        part = np.zeros_like(z)
        for name in bodies:
            part[maps[name].v] = z[maps[name].v]
        return part

    rotor, in_blades = turning.rotor.bodies, {x for b in turning.blades for x in b}
    add("support", of(x for x in maps if x not in rotor))
    add("hub", of(x for x in maps if x in rotor and x not in in_blades))
    for m, (shape, order) in enumerate(turning.numbers):
        if shape == "sin":
            continue
        if shape != "cos":
            add("collective" if shape == "one" else "alternating", of(turning.blades[m]))
            continue
        number_ = "" if order == 1 else f" {order}"
        sense = 1j if speed >= 0.0 else -1j
        for word, sign in (("forward", sense), ("backward", -sense)):
            part = np.zeros_like(z)
            for one, two in zip(turning.blades[m], turning.blades[m + 1], strict=True):
                whirl = 0.5 * (z[maps[one].v] + sign * z[maps[two].v])
                part[maps[one].v], part[maps[two].v] = whirl, whirl / sign
            add(f"{word}{number_}", part)
    shares = np.array(some)
    total = shares.sum(0)
    return (shares / np.where(total > 0.0, total, 1.0)).T, tuple(names)
