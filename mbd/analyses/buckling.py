r"""``mbd.buckling``: load factors at which a loaded pose loses its stiffness.

At a pose that the loads do not move the multipliers, and with them the stiffness, are linear in the
load factor f, so that the critical factors are the eigenvalues of

.. math:: L^T \left(K_0 + f\,(K_1 - K_0)\right) N\,\phi = 0 .

A pose that the loads move is followed to its first critical point (``load_path.py``).
"""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import scipy.linalg

from mbd.base.checked import place
from mbd.base.door import number
from mbd.base.tolerances import ROUND_OFF
from mbd.history.program import columns_of
from mbd.model.frozen import state_of
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.system import System, model_of
from mbd.model.workspace import displaced
from mbd.small_motions.spectrum import is_real
from mbd.statics.balance import Balance, Statics, least_multipliers, scaled_loads
from mbd.statics.curvature import Curvature
from mbd.statics.imbalance import largest_forces
from mbd.statics.load_path import first_critical
from mbd.statics.search import nearest

_BENT = 0.02  # modal part of a shape that is told of, of its largest turn or displacement


@dataclass(frozen=True, eq=False)
class Buckling:
    """Critical load factors, those nearest to the base first, and what gives way.

    Attributes
    ----------
    factors : (k,) array [-]
    shapes : (n_v, k) array
        Increments of the coordinates.
    """

    model: Model
    base: State
    factors: np.ndarray
    shapes: np.ndarray
    problem: Statics = field(repr=False)

    def state(self, i: int = 0, amplitude: float = 0.1) -> State:
        """Return the pose displaced by a shape: largest turn [rad] or displacement over length."""
        i = place("Buckling.state", "i", i, self.shapes.shape[1])
        size = number("Buckling.state", "amplitude", amplitude, "-")
        extent = self.model.units
        shape = self.shapes[:, i]
        return displaced(self.model, self.base, size * shape / float(np.abs(shape / extent).max()))

    def __repr__(self) -> str:
        shown = ", ".join(f"{f:.6g}" for f in self.factors[:4])
        return f"Buckling(load factors {shown}{', ...' if len(self.factors) > 4 else ''})"


def buckling(
    system: System | Model,
    state: State | None = None,
    *,
    scaled: Iterable[str] | None = None,
    load_factor: float = 0.0,
) -> Buckling:
    """Return the load factors at which a pose becomes unstable.

    Where the loads move the pose, as they shorten or bend a beam, it is the first one above
    ``load_factor`` on the path of its equilibria; ``base`` is then the pose at that load.

    Parameters
    ----------
    system : System or Model
    state : State, optional
        The pose; default the described one.
    scaled : iterable of str, optional
        Loads that the factor scales, by name, "gravity" for the weight; default all.
    load_factor : float [-]
        At which the pose is brought into balance first.

    Returns
    -------
    Buckling

    Raises
    ------
    ValueError
        If the loads move the pose, and no load factor is met at which it loses its stiffness.
    """
    model = model_of("buckling", system)
    names = scaled_loads("buckling", model, scaled)
    zero = np.zeros(3)
    problem = Statics(model, names, zero, zero, {})
    base = number("buckling", "load_factor", load_factor, "-")
    start = state_of("buckling", model, state)
    still = np.zeros(model.n_v)
    start = start.replace(v=still, a=still, lam=np.zeros(model.n_lam), alg=None)
    first = nearest(problem, start, base, 100).balance
    loaded = least_multipliers(problem.at(first.state, base + 1.0), problem.scale)
    loaded = problem.at(loaded.state, base + 1.0)
    if not problem.imbalance(loaded, base + 1.0).balanced:
        return _told(_on_path(problem, first, loaded, base))
    curvature = Curvature(model, first)
    N, L = curvature.allowed, curvature.test @ curvature.allowed
    K0, K1 = (L.T @ (x.K @ N) for x in (first, loaded))
    change = K1 - K0
    factors, vectors = _critical(K0, change)
    return _told(Buckling(model, first.state, base + factors, N @ vectors, problem))


def _told(result: Buckling) -> Buckling:
    """Warn of bodies with modes that bend in the first shape: a load does not soften them."""
    model, shape = result.model, np.abs(result.shapes[:, :1] / result.model.units[:, None])
    bent = {
        name: float(shape[columns][-node.formulation.n_inner :].max() / shape.max())
        for name, (_, columns) in columns_of(model).items()
        if (node := model.nodes[name]).nodal is not None and not node.nodal.stress and shape.any()
    }
    if bent and max(bent.values()) > _BENT:
        warnings.warn(
            f"buckling: {max(bent, key=lambda x: bent[x])!r} bends, and its modes do not know that "
            "loads soften it: critical loads come out too high, that of a column of one body by "
            "22 %; give load_stiffness, divide it in pieces joined by Fixed (two: 5 %, four: 1.3 "
            "%), or use a Beam",
            RuntimeWarning,
            stacklevel=4,
        )
    return result


def _on_path(problem: Statics, first: Balance, loaded: Balance, base: float) -> Buckling:
    """Return the first critical load factor where loads move the pose."""
    critical = first_critical(problem, first, base)
    if critical is None:
        raise ValueError(
            "buckling: the loads move the pose (out of balance under one more load factor is "
            f"{largest_forces(problem.model, loaded.residual, 1)}), and the equilibria that follow "
            "do not lose their stiffness"
        )
    state, factor, shape = critical
    return Buckling(problem.model, state, np.array([factor]), shape[:, None], problem)


def _critical(K0: np.ndarray, change: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return real roots f of det(K0 + f change) and their vectors, the smallest first."""
    if not change.size or not change.any():
        return np.zeros(0), np.zeros((K0.shape[1], 0))
    # motions that neither resists nor is loaded do not count
    both = [A / np.abs(A).max() for A in (K0, change) if A.any()]
    _, sizes, Vt = np.linalg.svd(np.vstack(both))
    kept = Vt[: int(np.count_nonzero(sizes > ROUND_OFF * max(1.0, sizes[0])))].T
    inverse, vectors = scipy.linalg.eig(kept.T @ change @ kept, kept.T @ K0 @ kept)
    usable = np.isfinite(inverse)
    size = np.abs(inverse[usable]).max(initial=0.0)
    usable &= np.abs(inverse) > 1e-12 * size
    usable &= is_real(inverse)
    factors = -1.0 / inverse[usable].real
    order = np.argsort(np.abs(factors))
    return factors[order], kept @ vectors[:, usable].real[:, order]
