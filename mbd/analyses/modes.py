r"""``mbd.modes``: small motions :math:`\delta(t) = \mathrm{Re}\,\hat\delta\,e^{st}`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.linalg

from mbd.analyses.equilibrium import Equilibrium, base_motion
from mbd.analyses.mode_labels import LabelledMotion, label
from mbd.analyses.mode_pages import INSTANTS, animate, period
from mbd.base.above import MovingPicture
from mbd.base.checked import extra, flag, is_whole, one_of, shown, whole
from mbd.base.door import number
from mbd.base.html_tables import TextColumn
from mbd.base.tolerances import NEUTRAL_MANY
from mbd.front.solution import Solution, solution_of
from mbd.integration.consistent import consistent
from mbd.machine import buffer as m
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.system import System
from mbd.model.workspace import Workspace, displaced
from mbd.runs.progress import Progress
from mbd.small_motions.eigenvalues import Exponents, alike, dense, sparse
from mbd.small_motions.small_motion import SmallMotion, body_motions
from mbd.statics.steady_motion import require_balance, steady

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST = 100_000  # instants of a period
_SOME = 40  # modes that are found of so many, if nobody says how many


def modes(
    system: System | Model | Equilibrium, state: State | None = None, n: int | None = None, *,
    rotating: Any = None, near: float | None = None,
    solver: Literal["dense", "sparse"] | None = None, progress: bool | None = None,
    wake: Literal["frozen", "equilibrium"] = "frozen",
) -> Modes:  # fmt: skip
    """Return the modes of small motions about an equilibrium or a steady motion.

    Equations :eq:`small` and :eq:`minimal` of the theory page.

    Parameters
    ----------
    system : System, Model or Equilibrium
    state : State, optional
        Where; default the initial state. It must be an equilibrium or move steadily.
    n : int, optional
        How many, slowest first; default all, of more than 900 velocities the 40 slowest: dense
        matrices take a time that rises with the third power.
    rotating : (3,) array [rad/s], optional
        Rate of the frame in which the motion is steady, as shapes are; bodies may spin about their
        axes of symmetry inside it.
    near : float [Hz], optional
        Of "sparse": the modes nearest to this frequency instead of the slowest.
    solver : {"dense", "sparse"}, optional
        Dense matrices in independent coordinates, by default up to 900 velocities, or Arnoldi's
        method on the sparse equations.
    progress : bool, optional
        Count the solutions of "sparse"; default on a terminal, if it takes long.
    wake : {"frozen", "equilibrium"}
        Whether what loads remember stays what it is in the state, or is at rest with the motion at
        every instant: limits of motions that are fast, and slow, for a wake (``SectionLoad``).

    Returns
    -------
    Modes
    """
    motion = base_motion("modes", system, state, rotating, wake)
    n = None if n is None else whole("modes", "n", n, 1)
    progress = None if progress is None else flag("modes", "progress", progress)
    many = motion.model.n_v > NEUTRAL_MANY
    if solver is None:
        solver = "sparse" if near is not None or many else "dense"
        n = _SOME if n is None and many else n
    one_of("modes", "solver", solver, ("dense", "sparse"))
    if solver == "sparse":
        if n is None:
            raise ValueError("modes: the sparse solver finds some modes only; say how many, n=")
        shift = None if near is None else 2j * np.pi * number("modes", "near", near, "Hz")
        if motion.at_rest:
            require_balance(motion)
        else:
            steady(motion)
        with Progress(None, "solution", progress) as bar:
            s, shapes, levels = sparse(motion, int(n), shift, partial(bar.update, 1))
    else:
        if near is not None:
            raise ValueError("modes: near= needs solver='sparse'; 'dense' finds all modes")
        s, shapes, levels = dense(steady(motion))
    return modes_about(motion, s[:n], shapes[:, :n], levels)


@dataclass(frozen=True, eq=False, repr=False)
class Modes(Exponents):
    """Modes about a state, slowest first; one of each pair of complex conjugates.

    Attributes
    ----------
    eigenvalues : (n,) complex array [1/s]
    motion : SmallMotion
        Of which they are the modes.
    shapes : (n_v, n) complex array
        Increments of the coordinates.
    free_levels : tuple of int
        How many motions have s = 0, level by level: (6, 6), six motions that nothing
        holds, and all go on at a constant velocity; (6, 3), three of them do, the others are
        brought to rest; a third level grows with the square of time.
    kinetic, potential : (n, bodies) arrays [-]
        Part of each body in the energy of the mode; rows of ``kinetic`` sum to 1, those of
        ``potential`` to 1 where there is any. Geometric stiffness may make parts negative.
    """

    motion: SmallMotion
    shapes: np.ndarray
    free_levels: tuple[int, ...] = ()

    @property
    def model(self) -> Model:
        """The model."""
        return self.motion.model

    @property
    def state(self) -> State:
        """About which it moves."""
        return self.motion.state

    @property
    def bodies(self) -> tuple[str, ...]:
        """Names of the bodies."""
        return tuple(self.model.bodies)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """A suggested name of each mode."""
        return tuple(mode.label for mode in self)

    def body_motions(self, i: int) -> list[LabelledMotion]:
        """Return displacement of the centre of mass and small rotation of each body in a mode."""
        motions, shape = [], self.shapes[:, i]
        moving = zip(body_motions(self.motion, shape), self.kinetic[i], strict=True)
        for (body, part, move, turn, J), share in moving:
            dy = (body.whole("Y") @ shape[body.v]).reshape(-1, 3)
            total = float(np.einsum("kc,kl,lc->", dy.conj(), part.mass_matrix, dy).real)
            carry = part.mass * float(np.vdot(move, move).real)
            rotation = max(0.0, 1.0 - carry / total) if total > 0.0 else 0.0
            bent = rotation - float(np.vdot(turn, J @ turn).real) / (total or 1.0)
            center = body.y[0] + part.center_of_mass @ body.y[1:] + self.model.origin
            motions.append(
                LabelledMotion(
                    body.name, float(share), move, turn, rotation, center, body.axes, bent
                )
            )
        return motions

    @cached_property
    def kinetic(self) -> np.ndarray:
        """Part of each body in the kinetic energy, (n, bodies) [-]."""
        maps, s, n = self.motion.maps, self.shapes, len(self)
        rates = [(x.whole("Y") @ s[x.v]).reshape(-1, 3, n) for x in maps]
        energies = _kinetic_of_elements(self.model, self.motion.state, rates)
        parts = zip(self.model.nodes.values(), rates, strict=True)
        energies += [np.einsum("kcn,kl,lcn->n", x.conj(), b.mass_matrix, x).real for b, x in parts]
        return (energies / np.where(energies.sum(0) > 0.0, energies.sum(0), 1.0)).T

    @cached_property
    def potential(self) -> np.ndarray:
        """Part of each body in the potential energy, (n, bodies) [-]."""
        force = self.motion.K @ self.shapes
        energies = np.zeros((len(self.bodies), len(self)))
        for row, body in zip(energies, self.motion.maps, strict=True):
            tests = np.linalg.lstsq(body.whole("Z"), body.whole("Y"), rcond=None)[0]
            row[:] = ((tests @ self.shapes[body.v]).conj() * force[body.v]).sum(axis=0).real
        total, size = energies.sum(0), np.abs(energies).sum(0)
        some = (np.abs(total) > 1e-9 * size) & (self.eigenvalues != 0.0)
        return np.where(some, energies / np.where(some, total, 1.0), 0.0).T

    def __getitem__(self, i: int) -> Mode:
        if not is_whole(i, -len(self)) or i >= len(self):
            raise IndexError(f"there are {len(self)} modes, numbered from 0; got {shown(i)}")
        return Mode(self, range(len(self))[i])

    def __iter__(self) -> Iterator[Mode]:
        return (Mode(self, i) for i in range(len(self)))

    def columns(self) -> list[TextColumn]:
        """Return the columns of their table."""
        s = [f"{x.real:.5g}{x.imag:+.7g}i" if x.imag else f"{x.real:.7g}" for x in self.eigenvalues]
        values, names = (
            TextColumn("eigenvalue", "1/s", ">24", s),
            TextColumn("mode", "", "", self.labels),
        )
        return [*super().columns(), values, names]

    def __str__(self) -> str:
        """Return the modes as a table."""
        return "\n".join([super().__str__(), *self._free_in_words()])

    def _free_in_words(self) -> list[str]:
        """Return what the levels of s = 0 say."""
        if not self.free_levels:
            return []
        held, go_on, grow = (*self.free_levels, 0, 0)[:3]
        text = f"nothing holds {held} of the motions; {go_on} of these go on at a constant velocity"
        return [text + (f", of {grow} the velocity grows with time" if grow else "")]

    def __repr__(self) -> str:
        return f"Modes({len(self)} modes of {self.model!r})"

    def to_xarray(self) -> Any:
        """Return an xarray Dataset with the dimensions mode, body and velocity."""
        extra("to_xarray", "labelled data need", "xarray", "results")
        import xarray as xr

        names = {"units": "-"}
        return xr.Dataset(
            {
                "eigenvalue": ("mode", self.eigenvalues, {"units": "1/s"}),
                "frequency": ("mode", self.frequency, {"units": "Hz"}),
                "damping": ("mode", self.damping, names),
                "kinetic": (("mode", "body"), self.kinetic, names),
                "potential": (("mode", "body"), self.potential, names),
                "shape": (("velocity", "mode"), self.shapes),
            },
            coords={
                "mode": np.arange(len(self)),
                "label": ("mode", list(self.labels)),
                "body": list(self.bodies),
                "velocity": list(self.model.numbering.v_labels),
            },
        )

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw eigenvalues and the parts of the bodies in the kinetic energy."""
        from mbd.drawing.modal import modes_figure

        return modes_figure(self.eigenvalues, self.bodies, self.kinetic, path)

    def animate(
        self, path: str | Path | None = None, *, which: Iterable[int] | None = None,
        amplitude: float = 0.2, **options: Any,
    ) -> MovingPicture:  # fmt: skip
        """Show modes in one page, in which one chooses; films show one after the other.

        Parameters
        ----------
        path : str or Path, optional
        which : iterable of int, optional
            Their numbers; default the first twelve.
        amplitude : float [-]
            As of :meth:`Mode.state`.
        **options
            As of ``Solution.animate``; ``speed`` is in periods per second.
        """
        return animate(self, self.labels, self.model, self._pose, path, which, amplitude, options)

    def _pose(self, i: int, amplitude: float, phase: float) -> State:
        return self[i].state(amplitude, phase)


def modes_about(
    motion: SmallMotion, s: np.ndarray, shapes: np.ndarray, free_levels: tuple[int, ...] = ()
) -> Modes:
    """Return modes from eigenvalues and vectors: shapes told apart, and of the model's length."""
    shapes = _sorted_out(motion, s, shapes)
    return Modes(s, motion, shapes / _size(motion, shapes), free_levels)


def _sorted_out(motion: SmallMotion, s: np.ndarray, shapes: np.ndarray) -> np.ndarray:
    """Return shapes that are apart by body and axis where several share an eigenvalue.

    Any mixture of them would do; this one makes two quadratic forms diagonal, the kinetic
    energy and the same with weights that differ from body to body and from axis to axis.
    """
    shapes = shapes.astype(complex)
    for group in alike(s):
        X = _real_span(shapes[:, group])
        if X is None:
            continue  # they go round: the mixture has a meaning
        even, uneven = _forms(motion, X)
        _, mix = scipy.linalg.eigh(uneven, even)
        shapes[:, group] = X @ mix
    return shapes


def _forms(motion: SmallMotion, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the kinetic energy of real shapes as a form, and one with uneven weights."""
    n = X.shape[1]
    even, uneven = np.zeros((n, n)), np.zeros((n, n))
    axes = np.array([1.0, 1.3, 1.7])
    for k, (body, part, move, turn, J) in enumerate(body_motions(motion, X)):
        even += part.mass * move.T @ move + turn.T @ J @ turn
        spun = axes[:, None] * turn
        form = part.mass * move.T @ (axes[:, None] * move) + 3.0 * turn.T @ J @ spun
        if part.nodal is not None:  # what is no rigid motion too
            dy = (body.whole("Y") @ X[body.v]).reshape(-1, 3, n)
            bent = np.einsum("kcm,kl,lcn->cmn", dy, part.mass_matrix, dy)
            even, form = even + bent.sum(axis=0), form + np.tensordot(axes, bent, 1)
        uneven += (1.0 + 0.37 * k) * form
    return even, 0.5 * (uneven + uneven.T)


def _size(motion: SmallMotion, shapes: np.ndarray) -> np.ndarray:
    """Return factors that scale the largest displacement, or turn times length, to the length.

    They turn the phase so that this largest one is real.
    """
    length = float(motion.model.F[m.LENGTH])
    parts = [np.zeros((1, shapes.shape[1]), complex)]
    for body, _, move, turn, _ in body_motions(motion, shapes):
        parts += [move / length, turn]
        parts += [x.Y[:3] @ shapes[body.v] / length for x in body.others if not x.inner]
    moves = np.concatenate(parts)
    biggest = moves[np.argmax(np.abs(moves), axis=0), np.arange(shapes.shape[1])]
    return np.where(biggest == 0.0, 1.0, biggest)


def _real_span(X: np.ndarray) -> np.ndarray | None:
    """Return real shapes that span the same as complex ones, or None."""
    X = X / np.linalg.norm(X, axis=0)
    U, values, _ = np.linalg.svd(np.hstack([X.real, X.imag]), full_matrices=False)
    n = X.shape[1]
    return U[:, :n] if values[n:].max(initial=0.0) < 1e-6 * values[0] else None


def _kinetic_of_elements(model: Model, state: State, rates: Sequence[np.ndarray]) -> np.ndarray:
    """Return twice the energy by which elements with mass move each body, (bodies, n).

    ``rates`` are complex, of all k faces of each body (4 k, 3, n): n motions.
    """
    energies = np.zeros((len(rates), rates[0].shape[2]))
    kernels = model.kernels[m.MOMENTA]
    if not kernels:
        return energies
    work = Workspace(model, state)
    work.evaluate()
    yd, p = (work.faces(x).reshape(-1, 3) for x in (m.YD, m.FY))
    firsts = [4 * (1 + model.faces[name]) for name in model.nodes]
    faces = [slice(first, first + len(x)) for first, x in zip(firsts, rates, strict=True)]
    for i in range(energies.shape[1]):
        for part in (np.real, np.imag):
            for face, x in zip(faces, rates, strict=True):
                yd[face] = part(x[..., i])
            p[:] = 0.0
            work.run_each(kernels)
            energies[:, i] += [np.vdot(p[face], yd[face]) for face in faces]
    return energies


@dataclass(frozen=True)
class Mode:
    """One mode: ``eigenvalue`` [1/s], ``frequency`` [Hz], ``damping`` [-], energies, a label."""

    modes: Modes
    index: int

    @property
    def eigenvalue(self) -> complex:
        """The eigenvalue s [1/s]."""
        return complex(self.modes.eigenvalues[self.index])

    @property
    def frequency(self) -> float:
        """Frequency of oscillation [Hz]."""
        return float(self.modes.frequency[self.index])

    @property
    def damping(self) -> float:
        """Damping ratio [-]."""
        return float(self.modes.damping[self.index])

    @property
    def shape(self) -> np.ndarray:
        """Complex increments of the coordinates, (n_v,)."""
        return self.modes.shapes[:, self.index]

    @property
    def kinetic(self) -> dict[str, float]:
        """Part of each body in the kinetic energy."""
        return dict(zip(self.modes.bodies, self.modes.kinetic[self.index].tolist(), strict=True))

    @property
    def potential(self) -> dict[str, float]:
        """Part of each body in the potential energy."""
        return dict(zip(self.modes.bodies, self.modes.potential[self.index].tolist(), strict=True))

    @property
    def label(self) -> str:
        """A suggested name, from the bodies that move most and how."""
        return label(self.eigenvalue, self.modes.body_motions(self.index))

    def state(self, amplitude: float = 0.2, phase: float = 0.0) -> State:
        """Return the model displaced by the mode, rows satisfied.

        Parameters
        ----------
        amplitude : float [-]
            Of the largest turn [rad], or of the largest displacement over the model's length.
        phase : float [rad]
            Where in the period.
        """
        base = self.modes.state
        a = number("Mode.state", "amplitude", amplitude, "-")
        angle = number("Mode.state", "phase", phase, "rad")
        increment = (a * self.shape * np.exp(1j * angle)).real
        return consistent(
            self.modes.model, displaced(self.modes.model, base, increment), project=True
        )

    def history(self, amplitude: float = 0.2, instants: int = INSTANTS) -> Solution:
        """Return one period of the mode, without its decay, as a Solution.

        A mode that does not oscillate is shown as if it did, once a second.
        """
        instants = whole("Mode.history", "instants", instants, 1)
        if instants > _MOST:
            raise ValueError(f"Mode.history: instants must not exceed {_MOST}, got {instants}")
        seconds = period(self.modes, self.index)
        t = np.linspace(0.0, seconds, instants).tolist()
        states = [self.state(amplitude, 2 * np.pi * x / seconds).replace(t=x) for x in t]
        message = f"mode {self.index}: {self.label}"
        return solution_of(self.modes.model, states, message=message)

    def animate(
        self, path: str | Path | None = None, *, amplitude: float = 0.2, **options: Any
    ) -> MovingPicture:
        """Animate one period; arguments as for ``Solution.animate``.

        A ghost shows the model at rest, unless there are others among the arguments. Colours
        show what the mode changes, to first order.
        """
        of = self.modes
        return animate(of, of.labels, of.model, of._pose, path, self.index, amplitude, options)

    def __repr__(self) -> str:
        return f"Mode({self.index}: {self.frequency:.6g} Hz, {self.label})"
