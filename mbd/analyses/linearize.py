"""``mbd.linearize``: a model as a linear system, in descriptor form and minimal."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.sparse as sp

from mbd.analyses.equilibrium import Equilibrium, base_motion
from mbd.analyses.ports import (
    Output,
    OutputRows,
    input_column,
    output_rows,
    refuse_other_coordinates,
)
from mbd.base.checked import extra, flag, listed, names, shown
from mbd.base.door import array
from mbd.model.assembly import compliance
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.system import System
from mbd.small_motions.minimal import Minimal, minimal
from mbd.small_motions.small_motion import SmallMotion, at_instant
from mbd.small_motions.spectrum import spectrum
from mbd.statics.steady_motion import steady

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from scipy.signal import StateSpace

_MOTION = ("position", "velocity")  # of the rows of outputs


@dataclass(frozen=True, eq=False)
class FrequencyResponse:
    """Steady response to sinusoidal inputs.

    Attributes
    ----------
    frequencies : (n,) array [Hz]
    values : (n, outputs, inputs) complex array
        Output over input, in their units.
    inputs, outputs : tuple of str
    units : dict
    """

    frequencies: np.ndarray
    values: np.ndarray
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    units: dict[str, str]

    @property
    def magnitude(self) -> np.ndarray:
        """Amplitude of the output for an input of one unit, (n, outputs, inputs)."""
        return np.abs(self.values)

    @property
    def phase(self) -> np.ndarray:
        """Phase of the output against the input [rad], without jumps."""
        return np.unwrap(np.angle(self.values), axis=0)

    def plot(self, path: str | Path | None = None) -> "Figure":
        """Draw magnitude and phase over frequency."""
        from mbd.drawing.figure import new_figure, saved

        figure = new_figure("plot", figsize=(7, 5.5))
        top, low = figure.subplots(2, 1, sharex=True)
        used = set()
        for j, into in enumerate(self.inputs):
            for i, out in enumerate(self.outputs):
                name = f"{out} for {into}"
                unit = f"{self.units[out]} per {self.units[into]}"
                used.add(unit)
                top.loglog(self.frequencies, self.magnitude[:, i, j], label=f"{name} [{unit}]")
                low.semilogx(self.frequencies, np.degrees(self.phase[:, i, j]))
        top.set_ylabel(f"magnitude [{used.pop()}]" if len(used) == 1 else "magnitude")
        top.legend(fontsize=8)
        low.set_ylabel("phase [deg]")
        low.set_xlabel("frequency [Hz]")
        for ax in (top, low):
            ax.grid(True, which="both", linewidth=0.3)
        return saved(figure, path)


@dataclass(frozen=True, eq=False)
class Descriptor:
    r"""Sparse matrices of :math:`E\dot x = A x + B u`, :math:`y = C x + D u`.

    x holds the increments of all coordinates, those of all velocities, and those of all
    multipliers; ``labels`` names them. The rows are kinematics, balance of forces, constraints.
    """

    E: sp.csr_matrix
    A: sp.csr_matrix
    B: sp.csr_matrix
    C: sp.csr_matrix
    D: sp.csr_matrix
    labels: tuple[str, ...]


class Linearized:
    r"""Small motions :math:`\dot x = A x + B u`, :math:`y = C x + D u` about a base motion.

    Attributes
    ----------
    A, B, C, D : arrays
        In independent coordinates and rates.
    states, inputs, outputs : tuple of str
        Labels. States are increments of coordinates of the model and their rates.
    units : dict
        Unit of each input and output.
    state : State
        The base.
    """

    def __init__(
        self, state_space: Minimal, inputs: list[Any], outputs: list[OutputRows],
        ports: tuple[list[Any], list[Any]],
    ) -> None:  # fmt: skip
        self.ports = ports  # inputs and outputs as they were written
        self.minimal, self.motion = state_space, state_space.motion
        self.model, self.state = state_space.motion.model, state_space.motion.state
        self._rows = outputs
        self.inputs = tuple(label for label, _, _ in inputs)
        self.outputs = tuple(label for rows in outputs for label in rows.labels)
        self.units = {label: unit for label, unit, _ in inputs}
        self.units |= {label: rows.unit for rows in outputs for label in rows.labels}
        n_v = self.model.n_v
        self.loads = np.array([f for _, _, f in inputs]).reshape(-1, n_v).T
        self.states = state_space.labels
        self.A, self.B = state_space.S, state_space.driven(self.loads)
        self.C, self.D = self._outputs()

    def in_coordinates(self, which: tuple[str, ...], rows: list[OutputRows]) -> None:
        """Take coordinates of joints and their rates, which are these rows, as the states."""
        unit = np.eye(len(self.A))
        position, velocity = (np.vstack([getattr(x, w) for x in rows]) for w in _MOTION)
        T = position @ self.minimal.positions(unit) + velocity @ self.minimal.velocities(unit)
        sizes = np.linalg.svd(T, compute_uv=False)
        if T.shape[0] != T.shape[1] or not sizes[-1] > 1e-8 * sizes[0]:
            raise ValueError(
                f"linearize: {len(self.A)} states ({', '.join(self.states)}) need "
                f"{len(self.A) / 2:g} independent coordinates of joints, got {', '.join(which)}"
            )
        back = np.linalg.inv(T)
        self.A, self.B, self.C = T @ self.A @ back, T @ self.B, self.C @ back
        self.states = tuple(label for x in rows for label in x.labels)

    def _stacked(self, which: str, width: int) -> np.ndarray:
        parts = [getattr(rows, which) for rows in self._rows]
        return np.concatenate([np.zeros((0, width)), *parts])

    def _outputs(self) -> tuple[np.ndarray, np.ndarray]:
        """Return C and D."""
        unit = np.eye(len(self.A))
        n_v = self.model.n_v
        C = self._stacked("position", n_v) @ self.minimal.positions(unit)
        C += self._stacked("velocity", n_v) @ self.minimal.velocities(unit)
        D = np.zeros((len(self.outputs), len(self.inputs)))
        by_force = self._stacked("multiplier", self.model.n_lam)
        if by_force.any():
            R, Q = self.minimal.multipliers(self.loads)
            C += by_force @ R
            D += by_force @ Q
        return C, D

    @cached_property
    def descriptor(self) -> Descriptor:
        """The system in all coordinates and multipliers, sparse, nothing eliminated."""
        motion, n_lam = self.motion, self.model.n_lam
        n = self.model.n_v
        I = sp.eye_array(n)
        rates = self.model.rolling
        pick = sp.eye_array(n_lam, format="csr")
        gives, C = compliance(self.model, motion.state)
        rows_q = pick[:, ~rates] @ motion.Bp + pick[:, rates] @ motion.H + gives
        rows_w = pick[:, rates] @ motion.Bv
        E = sp.block_diag([I, motion.M, sp.csr_matrix((n_lam, n_lam))])
        A = sp.block_array(
            [
                [motion.A, I, None],
                [-motion.K, -motion.G, -motion.Bt],
                [rows_q, rows_w, sp.diags(-C)],
            ]
        )
        k = self.loads.shape[1]
        B = sp.vstack([sp.csr_matrix((n, k)), self.loads, sp.csr_matrix((n_lam, k))])
        out = np.hstack(
            [
                self._stacked("position", n),
                self._stacked("velocity", n),
                self._stacked("multiplier", n_lam),
            ]
        )
        of_v = self.model.numbering.v_labels
        labels = (*of_v, *(f"{x} rate" for x in of_v), *self.model.numbering.lam_labels)
        E, A, B, out = (sp.csr_matrix(x) for x in (E, A, B, out))
        return Descriptor(E, A, B, out, sp.csr_matrix((out.shape[0], k)), labels)

    @cached_property
    def poles(self) -> np.ndarray:
        """Eigenvalues of A [1/s], zeros first, then slowest first."""
        solved = spectrum(self.minimal.pencil)
        return np.concatenate([np.zeros(sum(solved.levels), complex), solved.s])

    def _need_ports(self, what: str) -> None:
        if not (self.inputs and self.outputs):
            raise ValueError(
                f"{what}: needs inputs and outputs; name them in mbd.linearize(system, "
                "inputs=[...], outputs=[...])"
            )

    @property
    def state_space(self) -> "StateSpace":
        """The system as ``scipy.signal.StateSpace``."""
        from scipy.signal import StateSpace

        self._need_ports("state_space")
        return StateSpace(self.A, self.B, self.C, self.D)

    def to_control(self) -> Any:
        """Return the system as a ``control.StateSpace`` with named states, inputs and outputs."""
        extra("to_control", "it needs", "control", "control")
        import control  # type: ignore[import-not-found]

        self._need_ports("to_control")

        def plain(labels: tuple[str, ...]) -> list[str]:
            return [x.replace(".", "_").replace(" ", "_") for x in labels]

        return control.ss(
            self.A, self.B, self.C, self.D, states=plain(self.states), inputs=plain(self.inputs),
            outputs=plain(self.outputs),
        )  # fmt: skip

    def frequency_response(self, frequencies: Any) -> FrequencyResponse:
        r"""Return :math:`H(i\omega) = C(i\omega - A)^{-1}B + D` at some frequencies [Hz]."""
        self._need_ports("frequency_response")
        f = np.atleast_1d(array("frequency_response", "frequencies", frequencies, "numbers [Hz]"))
        if f.ndim != 1 or not np.all(np.isfinite(f)) or np.any(f < 0):
            raise ValueError(
                "frequency_response: frequencies must be finite and not negative [Hz], got "
                f"{shown(frequencies)}"
            )
        n = len(self.A)
        H = np.array(
            [
                self.C @ np.linalg.solve(2j * np.pi * x * np.eye(n) - self.A, self.B) + self.D
                for x in f
            ]
        )
        return FrequencyResponse(f, H, self.inputs, self.outputs, self.units)

    def __repr__(self) -> str:
        return (
            f"Linearized({len(self.states)} states, {len(self.inputs)} inputs, "
            f"{len(self.outputs)} outputs)"
        )


def linearize(
    system: System | Model | Equilibrium, state: State | None = None, *, inputs: Iterable[Any] = (),
    outputs: Iterable[Output] = (), rotating: Any = None, coordinates: Iterable[str] = (),
    wake: Literal["frozen", "equilibrium"] = "frozen", frozen: bool = False,
) -> Linearized:  # fmt: skip
    """Return the linear system of small motions about an equilibrium or a steady motion.

    With ``frozen`` about any motion, at one instant of it.

    Equations :eq:`small` and :eq:`minimal` of the theory page.

    Parameters
    ----------
    system : System, Model or Equilibrium
    state : State, optional
        Where; default the initial state.
    inputs : iterable
        Each one of: a load of the system by name, or a ``PointForce`` or ``Moment`` that was not
        added (one newton or newton metre more along its direction); ``"load.x"`` for one axis; a
        ``Motor`` by name, along its coordinate (``"motor.effort"``, ``"load.force.x"``, as the
        Stepper sets them, mean the same); a
        ``Revolute`` or ``Prismatic`` joint by name (a motor about or along its axis, on the second
        body, its opposite on the first); ``(body, direction)`` or ``(body, point, direction)``, a
        force at a point given in body axes.
    outputs : iterable
        Each one of: ``"body.position"``, ``"body.velocity"``, ``"body.rotation"`` (small, rad),
        ``"body.angular_velocity"``; ``(body, point)`` or ``(body, point, "velocity")``;
        ``"joint.angle"``, ``"joint.displacement"``, with ``_rate``; ``"joint.force"``,
        ``"joint.moment"`` on the second body. Those with three components may end in ``.x``,
        ``.y``, ``.z``. Labels of coordinates and of constraint rows are outputs too.
    rotating : (3,) array [rad/s], optional
        Rate of the frame in which the base motion is steady; vectors are then in its axes.
    coordinates : iterable of str, optional
        Coordinates of joints, as many as there are freedoms, such as ``"rail.displacement"``: they
        and their rates are then the states. Default: independent coordinates of the model.
    wake : {"frozen", "equilibrium"}
        Whether what loads remember stays what it is, or is at rest with the motion, as of `modes`.
    frozen : bool
        Take any state. The matrices are those of that instant, A(t) of :math:`x' = A(t) x`
        exactly, in the coordinates of the model and inertial axes; a moment later they are others.
        Eigenvalues of A then tell neither growth nor stability: of a periodic motion
        ``mbd.floquet`` does.

    Returns
    -------
    Linearized
    """
    if flag("linearize", "frozen", frozen) and (rotating is not None or names(
        "linearize", "coordinates", coordinates
    )):  # fmt: skip
        raise ValueError(
            "linearize: frozen matrices are those of the coordinates of the model in inertial "
            "axes; leave out rotating= and coordinates="
        )
    motion = base_motion("linearize", system, state, rotating, wake)
    motion = at_instant(motion) if frozen else motion
    ports = _several("inputs", inputs), _several("outputs", outputs)
    base = minimal(motion) if frozen else steady(motion)
    linear = Linearized(base, *ports_about(motion, *ports), ports)
    if wanted := names("linearize", "coordinates", coordinates):
        refuse_other_coordinates(motion.model, wanted)
        states = [output_rows(motion, name + x) for x in ("", "_rate") for name in wanted]
        linear.in_coordinates(tuple(wanted), states)
    return linear


def ports_about(
    motion: SmallMotion, inputs: list[Any], outputs: list[Any]
) -> tuple[list[Any], list[OutputRows]]:
    """Return label, unit and load of each input, and the rows of outputs, as they are written."""
    return [input_column(motion, x) for x in inputs], [output_rows(motion, x) for x in outputs]


def _several(what: str, value: Any) -> list[Any]:
    """Return a list, also of one name."""
    if isinstance(value, str):
        return [value]
    return list(listed(f"linearize: {what} must be names or tuples in a list", value))
