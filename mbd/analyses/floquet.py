"""``mbd.floquet``: small motions of any rotor on any support, whose coefficients are periodic."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mbd.analyses.equilibrium import wake_follows
from mbd.analyses.steady_rotation import named_rotor
from mbd.base.checked import whole
from mbd.base.door import number
from mbd.base.html_tables import TextColumn
from mbd.base.tolerances import ANISOTROPIC, LARGEST, MAGNUS_SAME, ROUND_OFF
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.system import System
from mbd.small_motions.eigenvalues import Exponents
from mbd.small_motions.minimal import minimal
from mbd.small_motions.periodic import floquet_solution
from mbd.small_motions.rotors import Turning, in_order, listed_blades
from mbd.statics.rotation import Rotation, balanced_rotation, rotating, warn_unsteady


@dataclass(frozen=True, eq=False, repr=False)
class PeriodicModes(Exponents):
    r"""Motions :math:`e^{st} p(t)` with p of the period of the rotor; one of each complex pair.

    Attributes
    ----------
    eigenvalues : (n,) complex array [1/s]
        s = log(multiplier) / period, Im s that of the largest harmonic of the motion; others
        are multiples of the speed away.
    rotation : Rotation
        The base motion.
    multipliers : (n,) complex array [-]
        By which a motion is multiplied in a turn of the rotor; above one it grows.
    share : (n,) array [-]
        Of that harmonic in the motion: 1 for constant coefficients.
    parts : (n, bodies) array [-]
        Shares of the bodies in the motion, by displacements where masses are alike.
    bodies : tuple of str
    change : float [-]
        By how much multipliers changed when steps were halved last.
    """

    rotation: Rotation
    multipliers: np.ndarray
    share: np.ndarray
    parts: np.ndarray
    bodies: tuple[str, ...]
    change: float

    @property
    def stable(self) -> bool:
        """Whether no motion grows, by more than steps of a turn resolve."""
        return not (np.abs(self.multipliers) > 1.0 + MAGNUS_SAME**0.5).any()

    def columns(self) -> list[TextColumn]:
        """Return the columns of their table."""
        who = [self.bodies[k] for k in np.argmax(self.parts, axis=1)]
        growth = TextColumn("growth", "1/s", ">12.5g", self.eigenvalues.real)
        return [*super().columns(), growth, TextColumn("most of it", "", "", who)]

    def __repr__(self) -> str:
        return f"PeriodicModes({len(self)} motions at {self.rotation.speed:g} rad/s)"


def floquet(
    system: System | Model, state: State | None = None, *, rotor: Any, speed: float,
    blades: Iterable[Any] = (), axis: Any = None, azimuths: int = 24,
    wake: Literal["frozen", "equilibrium"] = "frozen",
) -> PeriodicModes:  # fmt: skip
    """Return the small motions of a rotor that turns, with coefficients of its period.

    Equation :eq:`floquet` of the theory page. For rotors of two blades, of blades or dampers that
    differ, unsymmetric shafts on unsymmetric supports; an isotropic rotor has the eigenvalues of
    ``mbd.coleman``.

    Parameters
    ----------
    system : System or Model
    state : State, optional
        Where the search for the steady rotation starts; default the described pose. Its velocities
        are not used.
    rotor : str, or iterable of str
        The joint about whose axis the rotor turns, or the bodies that turn, with an ``axis``.
    speed : float [rad/s]
        About the axis, which points as that of the joint does; not zero.
    blades : iterable, optional
        As of ``mbd.coleman``: frequencies are then those of multi-blade coordinates. Without them
        those of what turns are seen from the rotor.
    axis : (3,) array [-], optional
        Through the centre of mass of the first body, where ``rotor`` names bodies; default z.
    azimuths : int
        At how many of a turn the coefficients are formed; between them they are trigonometric
        polynomials.
    wake : {"frozen", "equilibrium"}
        Whether what loads remember stays what it is, or is at rest with the motion, as of `modes`.

    Returns
    -------
    PeriodicModes

    Warns
    -----
    RuntimeWarning
        If forces are out of balance on the way, if the azimuths are too few, or if steps do not
        resolve the fastest motions.
    """
    model, start, hub = named_rotor("floquet", system, state, rotor, axis)
    speed = number("floquet", "speed", speed, "rad/s")
    follows = wake_follows("floquet", model, wake)
    if abs(speed) * LARGEST <= 1.0:
        raise ValueError(
            f"floquet: speed must be a rate at which it turns [rad/s], got {speed:g}: of a rotor "
            "at rest nothing is periodic, take mbd.modes"
        )
    azimuths = whole("floquet", "azimuths", azimuths, 4)
    some = listed_blades("floquet", blades)
    ordered = in_order("floquet", model, start, hub, some) if some else ()
    rotation = balanced_rotation(rotating(model, hub, speed), start)
    turning = Turning(model, rotation.state, rotation.rotor, ordered, follows)
    S, places, size = _coefficients(turning, rotation, azimuths)
    solved = floquet_solution(S, 2 * np.pi / abs(speed))
    if solved.change > MAGNUS_SAME**0.5:
        warnings.warn(
            f"floquet: {solved.steps} steps of a turn do not resolve the fastest motions: "
            f"multipliers changed by {solved.change:.2g} at the last halving; take out stiff "
            "directions (joints in place of stiff springs)",
            RuntimeWarning,
            stacklevel=3,
        )
    full = np.einsum("jxk,njk->njx", places, solved.motions) / size
    moved = (np.abs(full[..., : model.n_v]) ** 2).mean(1)
    parts = np.stack([moved[:, x.v].sum(1) for x in turning.maps.values()], axis=1)
    parts /= np.maximum(parts.sum(1), 1e-300)[:, None]
    return PeriodicModes(
        solved.eigenvalues, rotation, solved.multipliers, solved.share, parts,
        tuple(turning.maps), solved.change,
    )  # fmt: skip


def _coefficients(
    turning: Turning, rotation: Rotation, azimuths: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Return S, what states are in z and its rates, and the sizes of these.

    At each azimuth the states of that instant are :math:`\xi = C x`, with C the directions that
    take part most in all motions of a turn.
    """
    speed = rotation.speed
    each, rates = [], []
    angles = 2 * np.pi * np.arange(azimuths) / azimuths
    turned = [rotation.turned(float(psi)) for psi in angles]
    warn_unsteady("floquet", turned)
    for psi, here in zip(angles, turned, strict=True):
        motion = turning.at_instant(here.state)
        P, turn = (x.toarray() for x in turning.change(motion.maps, float(psi), speed))
        now = minimal(motion)
        unit = np.eye(len(now.S))
        k, b = now.n_positions, now.bases
        assert b.V is not None
        delta, w = now.positions(unit), now.velocities(unit)
        wd = b.N @ now.S[k:] + b.V
        z, zw = np.linalg.solve(P, delta), np.linalg.solve(P, w)
        zd = np.linalg.solve(P, w + motion.A @ delta - turn @ z)
        each.append(np.vstack([z, zw]))
        rates.append(np.vstack([zd, np.linalg.solve(P, wd - turn @ zw)]))
    size = np.concatenate([motion.scale, abs(speed) * motion.scale])
    X, Xd = np.array(each) / size[:, None], np.array(rates) / size[:, None]
    Q = np.linalg.qr(X)[0]
    C = np.linalg.eigh(np.einsum("jxk,jyk->xy", Q, Q))[1][:, -X.shape[2] :].T
    if np.linalg.svd(C @ Q, compute_uv=False).min(initial=1.0) < ROUND_OFF**0.5:
        raise ValueError(
            "floquet: what the rows allow changes so much in a turn that no coordinates describe "
            "it at all azimuths; take blades= for the coordinates of more than two blades"
        )
    inverse = np.linalg.inv(C @ X)
    S = C @ Xd @ inverse
    spectrum = np.abs(np.fft.fft(S, axis=0)) / azimuths
    last = spectrum[azimuths // 2].max(initial=0.0) / max(spectrum.max(initial=0.0), 1e-300)
    if last > ANISOTROPIC:
        warnings.warn(
            f"floquet: {azimuths} azimuths are few: coefficients have a part of {last:.2g} at half "
            "as many times the speed; give azimuths=",
            RuntimeWarning,
            stacklevel=4,
        )
    return S, (X @ inverse) * size[:, None], size
