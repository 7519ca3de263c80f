r"""Poses at rest: how they follow parameters, and how their equations change nearby.

.. math:: R(q, v, \dot v, \lambda; p) = (r, \Phi) = 0, \qquad
   \begin{bmatrix} K & B^T\\ B & 0\end{bmatrix}
   \begin{bmatrix}\delta q\\ \delta\lambda\end{bmatrix} = -R_p, \qquad
   dJ = \mu^T R_p + J_p

along a pose, and of one number J of it by many parameters, with one solution of the transpose.

A small motion :math:`x = (u, su, s^2u, \mu)` changes it by :math:`P(s)\,(u, \mu)`, and a number
:math:`l^TP(s)\,(u,\mu)` changes with parameters and with the pose by

.. math:: \frac{d}{d\epsilon}\,l^T R_p(\epsilon x), \qquad
          \frac{d}{d\epsilon}\,l^T R_{(q,\lambda)}(\epsilon x),

since second derivatives commute: matrices are made at the few points of one stencil, whatever the
number of parameters, and of parameters only the elements that they touch are evaluated. Increments
from a pose are not those at another: :math:`R_q` is :math:`K\,T(\epsilon u)`, and the pencil of the
pose there has no T, which leaves :math:`(l^TK)\,\partial(T^{-1}u)/\partial d`.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mbd.algebra.vec import clear
from mbd.analyses.equilibrium import Equilibrium, PartAtPose, remembers_at_rest
from mbd.base.tolerances import BEGIN_REACH, DERIVATIVE_EXACT
from mbd.derivatives.differences import PAIRS
from mbd.derivatives.named import Tangents, derivative_by_name, not_unique
from mbd.derivatives.objective import Objective, gradients, last_of
from mbd.derivatives.parameters import Stencil, stencils
from mbd.derivatives.step_kernels import DA, DQ
from mbd.derivatives.variations import add_variation, by_parameter, flows
from mbd.interactions.laws import check
from mbd.machine import buffer as m
from mbd.machine.jit import kernel
from mbd.model.appendix import Appendix
from mbd.model.assembly import assemble, rest_matrix
from mbd.model.evaluation import clear_off
from mbd.model.frozen import FrozenModel
from mbd.model.model import Model
from mbd.model.pattern import pattern
from mbd.model.state import State
from mbd.model.workspace import Workspace


class SmallChange(NamedTuple):
    """Changes of q (in increments), v, v' and multipliers, of which numbers may be complex."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    lam: np.ndarray

    @classmethod
    def of(cls, shape: np.ndarray, lam: np.ndarray, s: complex) -> "SmallChange":
        """Return the motion shape e^(st)."""
        return cls(shape, s * shape, s * s * shape, lam)


@kernel
def variations_kernel(I: Any, F: Any, k: int) -> None:
    """Write derivatives of residual and rows by parameters, one after the other.

    I[k:] has the number of parameters, where their programs are, and where to write.
    """
    n = I[m.N_U]
    for p in range(I[k]):
        to = I[k + 2] + p * n
        clear(F, to, n)
        add_variation(I, F, I[I[k + 1] + p], to, 0)
        clear_off(I, F, to)


class AtRest:
    """A model at a pose, and at points near it, memories of loads at rest with them.

    Parameters
    ----------
    model : Model
    state : State
    of : sequence of Stencil or None
        None: a parameter that the model does not have.
    """

    def __init__(self, model: FrozenModel, state: State, of: Sequence[Stencil | None] = ()) -> None:
        self.model, self.state, n = model, state, int(model.I[m.N_U])
        self.order = np.concatenate([model.numbering.v, model.numbering.lam])
        self.which = [j for j, s in enumerate(of) if s is not None]
        self.others = [s for s in of if s is not None]
        self.n_parameters, self.assembled = len(of), 0
        tables = Appendix(model, start=model.size + n)  # after vector 0 of a method
        programs = tables.table([by_parameter(model, s).program(tables) for s in self.others])
        self.out = tables.end
        self.k = tables.table([len(self.which), programs, self.out])
        self.flows = flows(tables)
        self.work = work = Workspace(model, state, own=self.out + len(self.which) * n - model.size)
        work.S[m.PHASE] = m.AT_REST
        work.I = tables.all_entries
        tables.write(work.F)
        still = np.zeros(model.n_v)
        self.here = SmallChange(still, still, still, np.zeros(model.n_lam))

    def put(self, x: SmallChange) -> None:
        """Go to a point near the pose, and evaluate it."""
        work, s, v, lam = self.work, self.state, self.model.numbering.v, self.model.numbering.lam
        work.vector(m.QN, self.model.n_q)[:] = s.q
        work.vector(m.D)[v], work.vector(m.V)[v] = x.q, s.v + x.v
        work.vector(m.A)[v], work.vector(m.A)[lam] = s.a + x.a, s.lam + x.lam
        work.evaluate(1.0)

    def residual(self) -> np.ndarray:
        """Return (r, Phi) at the point, (n,)."""
        return self.work.vector(m.X)[self.order].copy()

    def by_parameters(self) -> np.ndarray:
        """Return the derivatives of (r, Phi) by parameters at the point, (n_p, n)."""
        work, n = self.work, int(self.model.I[m.N_U])
        work.run(variations_kernel, self.k)
        laws = [law for s in self.others for law in s.laws]
        check([*work.laws, *laws], work.I, work.F)
        out = np.zeros((self.n_parameters, n))
        out[self.which] = work.F[self.out :][: len(self.which) * n].reshape(-1, n)[:, self.order]
        return out

    def by_pose(self, x: SmallChange) -> sp.csr_matrix:
        """Return the derivatives of (r, Phi) by increments from the pose, and multipliers.

        Rows on velocities go with their derivative by positions at the velocities of the point.
        """
        self.put(x)
        self.work.linearise(0.0, 0.0, 1.0)
        S = pattern(self.model).read(self.work.F)
        self.assembled += 1
        rates = self.model.numbering.lam_kinds == m.VELOCITY_ROW
        if rates.any():
            self.work.linearise(0.0, 0.0, 1.0, 1.0)
            turn = pattern(self.model).read(self.work.F) - S
            of_rates = np.concatenate([np.zeros(self.model.n_v), rates])
            S = sp.diags(1.0 - of_rates) @ S + sp.diags(of_rates) @ turn
        return sp.csr_matrix(S)

    @cached_property
    def at_pose(self) -> sp.csr_matrix:
        """`by_pose` at the pose itself."""
        return self.by_pose(self.here)

    def bent(self, h: np.ndarray, u: np.ndarray) -> np.ndarray:
        r"""Return :math:`h^T\,\partial(T^{-1}(d)\,u)/\partial d` at d = 0, (n_v,)."""
        model, work, node = self.model, self.work, self.model.node_of_velocity
        place = np.arange(model.n_v) - np.searchsorted(node, node)  # among those of its node
        out = np.zeros(model.n_v, complex)
        method = int(model.I[m.METHOD])
        for j in range(place.max() + 1):
            columns = np.flatnonzero(place == j)
            d, total = np.zeros(model.n_v), np.zeros(model.n_v, complex)
            for k, w in PAIRS:
                step = BEGIN_REACH * model.units[columns]
                d[columns] = k * step
                self.put(self.here._replace(q=d))
                for part, unit in ((u.real, 1.0), (u.imag, 1j)):
                    work.vector(m.V)[model.numbering.v] = part
                    for flow, table in self.flows:
                        work.run(flow, table)
                    total += unit * w * work.F[method + model.numbering.v]
            of_nodes = np.add.reduceat(h * total, np.flatnonzero(place == 0))
            out[columns] = of_nodes[node[columns]] / step
        return out


def contracted(
    terms: Sequence[tuple[float, AtRest]], left: np.ndarray, x: SmallChange, load: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the derivatives of l^T P x by the pose, (n,), and by parameters, (n_p,).

    Of a weighted sum of equations at one pose; `load` (n,) is what P x is.
    """
    one = terms[0][1]
    n_v, n = one.model.n_v, len(one.order)
    of_pose, of_parameters = np.zeros(n, complex), np.zeros(one.n_parameters, complex)
    here = sum(w * at.at_pose for w, at in terms)
    far = float(np.abs(x.q / one.model.units).max(initial=0.0))
    size = float((np.abs(here) @ np.abs(np.concatenate([x.q, x.lam])) + np.abs(load)).max())
    for unit, part in ((1.0, [y.real for y in x]), (1j, [y.imag for y in x])):
        if not any(y.any() for y in part):
            continue
        step = _step(terms, part, np.real(load / unit), size, BEGIN_REACH / (far or 1.0))
        for k, weight in PAIRS:
            point = SmallChange(*(k * step * y for y in part))
            for w, at in terms:
                c = unit * weight / step * w
                of_pose += c * (at.by_pose(point).T @ left)
                of_parameters += c * (at.by_parameters() @ left)
    of_pose[:n_v] += one.bent((here.T @ left)[:n_v], np.asarray(x.q, complex))
    return of_pose, of_parameters


def _step(
    terms: Sequence[tuple[float, AtRest]], part: list[np.ndarray], load: np.ndarray, size: float,
    step: float,
) -> float:  # fmt: skip
    """Return a step of the stencil that gives the load, which is known.

    Laws may change within shorter ways than the model is large, and round-off may be that of longer
    ones.
    """
    errors = dict[float, float]()
    for i in range(20):
        e, total = step * 8.0 ** ((i + 1) // 2 if i % 2 else -i // 2), np.zeros(len(load))
        for k, weight in PAIRS:
            for w, at in terms:
                at.put(SmallChange(*(k * e * y for y in part)))
                total += weight / e * w * at.residual()
        errors[e] = float(np.abs(total - load).max())
        if errors[e] <= DERIVATIVE_EXACT * size:
            return e
    best = min(errors, key=lambda e: errors[e])
    if not errors[best] <= np.sqrt(DERIVATIVE_EXACT) * size:  # half of the digits
        raise ValueError(
            "sensitivities: forces near the pose do not follow the tangents at it, by "
            f"{errors[best] / size:.2g} of them: a law changes within too short a way; let it "
            "return its derivatives, or make it smoother"
        )
    return best


# --- poses that follow parameters -----------------------------------------------------------------
class Solver:
    """Solutions of dense equations, n of them counted."""

    n = 0

    def __call__(self, A: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the least x of A x = b, of as many b as there are."""
        self.n += 1
        return np.asarray(np.linalg.lstsq(A, b, rcond=None)[0])


class PoseTangent:
    """The derivative of a pose by a parameter, by name: ``d["hinge"].force``, without time."""

    def __init__(self, named: Any, tangent: Tangents) -> None:
        self._named, self.tangents = named, tangent

    def __getitem__(self, name: str) -> Any:
        return PartAtPose(self._named[name])

    def of(self, function: Callable[[Any], Any]) -> Any:
        """Return the derivative of a function of the pose as a history of one instant."""
        return self._named.of(function)


class Pose:
    """A pose at rest that follows its parameters.

    Attributes
    ----------
    E : (n, n) array
        [[K, B^T], [B, -C]].
    slopes : (n_p, n) array
        Derivatives of (r, Phi) by the parameters.
    """

    def __init__(self, owner: str, model: Model, state: State, parameters: Any) -> None:
        self.owner, self.model, self.state = owner, model, state
        self.of = stencils(owner, model, parameters)
        self.names = [s.name for s in self.of]
        self.at, self.here = AtRest(model, state, self.of), assemble(model, state, True)
        self.E = rest_matrix(model, state).toarray()
        self.solved = Solver()
        self.at.work.S[m.ELASTIC] = 0  # compliant rows are rows: their multipliers follow too
        self.at.put(self.at.here)
        self.slopes = self.at.by_parameters()
        self.at.work.S[m.ELASTIC] = 1

    @property
    def stats(self) -> dict[str, int]:
        """Cost of the derivatives."""
        return {"factorizations": self.solved.n, "assemblies": 1 + self.at.assembled}

    @cached_property
    def tangents(self) -> np.ndarray:
        """Derivatives of q and the multipliers by the parameters, (n, n_p)."""
        Z = self.solved(self.E, -self.slopes.T)
        for name, z, b in zip(self.names, Z.T, -self.slopes, strict=True):
            _met(self.owner, name, self.E, z, b)
        return Z

    def along(self, left: np.ndarray, x: SmallChange, load: np.ndarray) -> np.ndarray:
        """Return the derivatives of l^T P x by the parameters, (n_p,)."""
        by_pose, by_parameters = contracted([(1.0, self.at)], left, x, load)
        return np.asarray(by_pose @ self.tangents + by_parameters)


def matrix(A: Any) -> np.ndarray:
    """Return [[K, B^T], [B, 0]] of matrices at a pose."""
    n_lam = A.B.shape[0]
    full = np.block([[A.K.toarray(), A.Bt.toarray()], [A.B.toarray(), np.zeros((n_lam, n_lam))]])
    return np.asarray(full)


def _met(owner: str, name: str, S: np.ndarray, x: np.ndarray, b: np.ndarray) -> None:
    """Refuse an effect that no change of the pose balances."""
    left = float(np.abs(S @ x - b).max(initial=0.0))
    if left > DERIVATIVE_EXACT * float(np.abs(b).max(initial=0.0)):
        raise ValueError(
            f"{owner}: no pose nearby is in balance with another value of {name!r}: a part "
            f"{left / np.abs(b).max():.2g} of its effect is on a motion that nothing resists, or "
            "on redundant rows; hold what is free"
        )


def gradient_of_pose(
    owner: str, objective: Objective, pose: Equilibrium, parameters: Any
) -> tuple[float, list[str], np.ndarray, dict[str, int]]:
    """Return a number of an equilibrium, its gradient by parameters, by name, and the cost."""
    if objective.terminal is None or objective.running is not None:
        raise ValueError(
            f"{owner}: of an equilibrium give an objective terminal= alone, of the pose"
        )
    _check_rest(owner, pose)
    of = Pose(owner, pose.model, pose.state, parameters)
    g = gradients(objective.terminal, last_of(pose.solution), of.of, True, 1.0)
    numbering = pose.model.numbering
    right = -np.concatenate([g.z[0, DQ, numbering.v], g.z[0, DA, numbering.lam]])
    mu = of.solved(of.E.T, right)
    _met(owner, "the objective", of.E.T, mu, right)
    slopes = of.slopes @ mu + g.p[:, 0]
    return float(g.value[0]), of.names, slopes, of.stats


def check_still(owner: str, motion: Any) -> None:
    """Refuse small motions about a motion."""
    if not motion.at_rest or motion.omega.any():
        raise ValueError(
            f"{owner}: small motions about a steady motion have no derivative here; take those "
            "about rest"
        )
    if not motion.memories and remembers_at_rest(motion.model):
        raise ValueError(
            f"{owner}: small motions with a frozen wake that settles with the pose have no "
            "derivative here; take those with wake='equilibrium', or loads with settles=False"
        )


def _check_rest(owner: str, pose: Equilibrium) -> None:
    """Refuse an equilibrium that has no derivative here."""
    refused = {
        "in a rotating frame": bool(np.any(pose.rotating)),
        "with a load factor that is not one": pose.load_factor != 1.0,
        f"with free motions ({', '.join(pose.free)})": bool(pose.free),
    }
    for what, is_so in refused.items():
        if is_so:
            raise ValueError(
                f"{owner}: an equilibrium {what} has no derivative here; take one at rest, "
                "under the loads as described, with all motions resisted"
            )


def of_equilibrium(owner: str, pose: Equilibrium, parameters: Any) -> dict[str, PoseTangent]:
    """Return the derivatives of an equilibrium."""
    _check_rest(owner, pose)
    of, refused = Pose(owner, pose.model, pose.state, parameters), not_unique(pose.model)
    n_v, zero = pose.model.n_v, np.zeros((1, pose.model.n_v))
    out = {}
    for stencil, x in zip(of.of, of.tangents.T, strict=True):
        z = Tangents(x[None, :n_v], zero, zero, x[None, n_v:], np.zeros(1))
        out[stencil.name] = PoseTangent(derivative_by_name(pose.solution, stencil, z, refused), z)
    return out
