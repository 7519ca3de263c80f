r"""The conformance kit: tangents against differences of the residual along the manifold.

At random states, and once more at the end of a random finite increment D,

.. math:: M = \partial r/\partial\dot v, \quad G = \partial r/\partial v, \quad
   K T(D) = \partial r/\partial D, \quad B T(D) = \partial\Phi/\partial D, \quad
   B^T = \partial r/\partial\lambda, \quad \text{turn} = \partial\dot\Phi/\partial D,

with :math:`q = q_n \boxplus D` and :math:`T(0) = I`. The left sides come from the very fronts that
the time loop factors, the right sides from central differences of fourth order.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from mbd.algebra.differences import FOURTH
from mbd.analyses.checks import BlockError, CheckError, CheckReport
from mbd.analyses.formulation_properties import allowed
from mbd.base.checked import shown, whole
from mbd.base.door import number
from mbd.base.tolerances import TANGENT_COLUMNS, TANGENT_VISIBLE
from mbd.formulations.formulation import Formulation
from mbd.machine import buffer as m
from mbd.machine.buffer import integers
from mbd.model.assembly import assemble
from mbd.model.evaluation import rates_kernel
from mbd.model.frozen import state_of
from mbd.model.model import Model
from mbd.model.pattern import sparse
from mbd.model.state import State
from mbd.model.system import System
from mbd.model.workspace import Workspace
from mbd.parts.bodies import RigidBody
from mbd.parts.forces import Bushing, Moment, PointForce, Spring
from mbd.parts.joints import Revolute, Spherical
from mbd.parts.part import Body, Part


def check_tangents(
    item: Any, *, state: State | None = None, tolerance: float = 1e-6, seed: int = 60427
) -> CheckReport:
    """Compare M, G, K, B and B^T with differences of the residual, tangent operator included.

    Parameters
    ----------
    item : System, Model, body, joint, force or Formulation
        A single part is put into a small system: a body gets a partner, a joint and loads that
        use all its maps, a joint or force brings its bodies.
    state : State, optional
        Where to compare; default at a random pose, velocities, accelerations and multipliers.
    tolerance : float
        Accepted error [-], relative to the smaller of the maxima of an entry's row and column.
    seed : int
        Of the random numbers.

    Returns
    -------
    CheckReport
        Of the worst entries of M, G, K, B, B^T, of K T and B T at a finite increment, and of the
        derivative of the rates of rows, "turn".

    Raises
    ------
    CheckError
        If a block is beyond the tolerance; it names block, row and column.

    Examples
    --------
    >>> import mbd
    >>> bar = mbd.RigidBody("bar", mass=2.0, inertia=(0.1, 0.2, 0.2), formulation="directors")
    >>> mbd.check_tangents(bar).ok
    True
    """
    model, who = _model(item)
    tolerance = number("check_tangents", "tolerance", tolerance, "-", positive=True)
    seed = whole("check_tangents", "seed", seed, 0)
    if state is not None:
        state = state_of("check_tangents", model, state)
    rng = np.random.default_rng(seed)
    worst: dict[str, BlockError] = {}
    at = random_state(model, rng) if state is None else state
    model.refuse_undeclared(at)
    _all_velocities(model, at)
    _all_declared(model, at)
    for error in _compare(model, at, rng):
        if error.block not in worst or not error.error <= worst[error.block].error:
            worst[error.block] = error
    report = CheckReport(who, tuple(worst.values()), tolerance, kind="tangents")
    if not report.ok:
        raise CheckError(
            report,
            f"tangents of {who} differ from differences of the residual by more than "
            f"{tolerance:g} in {len(report.failed)} of {len(report.properties)} blocks",
            "correct the law of the tangent (or of the residual) that fills these entries",
        )
    return report


def _all_velocities(model: Model, state: State) -> None:
    """Refuse a formulation that leaves numbers of the velocities of its faces as they were."""
    work = Workspace(model, state)
    rates = work.faces(m.YD)[1:]
    rates[:] = np.nan
    work.run_each(model.kernels[m.VELOCITIES])
    for name, first in model.faces.items():
        n = model.nodes[name].formulation.n_faces
        if not np.isfinite(rates[first : first + n]).all():
            raise ValueError(
                f"{name}: face_velocity of {model.nodes[name].formulation.name!r} must write all "
                f"{12 * n} numbers of its faces, those that stay zero too"
            )


def _all_declared(model: Model, state: State) -> None:
    """Refuse a kind that writes to a pair of attachments which it does not declare."""
    work = Workspace(model, state)
    work.evaluate()
    S = integers(work.F)
    for part, elements in model.elements.items():
        for kind in {element.kind for element in elements}:
            for tangent, at in model.kernels[m.TANGENT]:
                if tangent is not kind.tangent:
                    continue
                S[m.UNDECLARED] = 0
                tangent(work.I, work.F, at)
                if S[m.UNDECLARED]:
                    raise ValueError(
                        f"{part}: the tangent of its kind {str(kind)!r} writes to pair "
                        f"{S[m.UNDECLARED] - 1}, but `pairs` declares {len(kind.pairs)} pairs of "
                        "attachments; declare all that it couples"
                    )


def random_state(model: Model, rng: np.random.Generator) -> State:
    """Return a state with random pose (rows violated), velocities, accelerations, multipliers."""
    work = Workspace(model, model.state)
    work.vector(m.D)[model.numbering.v] = _increment(model, rng)
    work.evaluate()
    q = work.vector(m.Q, model.n_q).copy()
    v, a, lam = (rng.normal(size=n) for n in (model.n_v, model.n_v, model.n_lam))
    return State(rng.uniform(0.1, 0.9), q, v, a, lam)


def _increment(model: Model, rng: np.random.Generator) -> np.ndarray:
    # far from scale zero and from half a turn between bodies, where differences are inexact
    far = {m.ROTATION: 0.4, m.DIRECTOR: 0.1}
    sizes = np.array([far.get(int(k), 0.2) for k in model.numbering.v_kinds])
    return sizes * model.units * rng.normal(size=model.n_v)


def _compare(model: Model, state: State, rng: np.random.Generator) -> Iterator[BlockError]:
    """Yield the errors of all blocks at a state, and at the end of an increment from it."""
    n = model.numbering
    columns = np.arange(model.n_v)
    if len(columns) > TANGENT_COLUMNS:
        columns = np.sort(rng.choice(columns, TANGENT_COLUMNS, replace=False))
    rows = np.arange(model.n_lam)
    if len(rows) > TANGENT_COLUMNS:
        rows = np.sort(rng.choice(rows, TANGENT_COLUMNS, replace=False))
    names = np.array(n.v_labels), np.array(n.lam_labels)
    work = Workspace(model, state)
    small = FOURTH * model.units[columns]
    for moved in (False, True):
        if moved:
            work.vector(m.D)[n.v] = _increment(model, rng)
            K, B = "K T", "B T"
        else:
            K, B = "K", "B"
        M_, G_, K_, B_, Bt_, turn = _blocks(model, state, work, moved)
        by_q, noise_q = _differences(work, m.D, n.v[columns], small)
        by_v, noise_v = _differences(work, m.V, n.v[columns], np.full(len(columns), FOURTH))
        by_a, noise_a = _differences(work, m.A, n.v[columns], np.ones(len(columns)))
        by_l, noise_l = _differences(work, m.A, n.lam[rows], np.ones(len(rows)))
        of_v, of_lam = names[0][columns], names[1][rows]
        yield _error("M", M_[:, columns], by_a[n.v], noise_a, names[0], of_v)
        yield _error("G", G_[:, columns], by_v[n.v], noise_v, names[0], of_v)
        yield _error(K, K_[:, columns], by_q[n.v], noise_q, names[0], of_v)
        if model.n_lam:
            rate = n.lam_kinds == m.VELOCITY_ROW  # B is by velocities
            gradient = np.where(rate[:, None], by_v[n.lam], by_q[n.lam])
            noise = noise_q + noise_v * rate.any()
            yield _error(B, B_[:, columns], gradient, noise, names[1], of_v)
            of_rates, noise = _differences(work, m.D, n.v[columns], small, of=m.PHID)
            yield _error("turn", turn[:, columns], of_rates[n.lam], noise, names[1], of_v)
            yield _error("B^T", Bt_[:, rows], by_l[n.v], noise_l, names[0], of_lam)


def _blocks(model: Model, state: State, work: Workspace, moved: bool) -> tuple[Any, ...]:
    """Return M, G, K, B, B^T as the fronts hold them, and the derivative of the rates of rows."""
    v, lam = model.numbering.v, model.numbering.lam
    work.evaluate()
    filled = []
    for weight in (2.0, 1.0, 0.0):  # of all rows met by their rates, then by positions again
        work.F[m.POSITION_TURN] = weight
        work.linearise(0.0, 0.0, 0.0, weight)
        filled.append(sparse(model, work.F)[lam][:, v])
    turn = filled[0] - filled[1]
    if not moved:
        A = assemble(model, state)
        return (*(x.tocsc() for x in (A.M, A.G, A.K, A.B, A.Bt)), turn)
    filled = []
    for weights in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)):
        work.linearise(*weights)
        filled.append(sparse(model, work.F))
    blocks = [S[v][:, v] for S in filled]
    B = filled[0][lam][:, v]
    return (*blocks, B, filled[0][v][:, lam], turn)


def _differences(
    work: Workspace, vector: int, unknowns: np.ndarray, steps: np.ndarray, of: int = m.X
) -> tuple[np.ndarray, np.ndarray]:
    """Return the derivatives of X or PHID by entries of a vector, and what is too small in each."""
    x, r = work.vector(vector), work.vector(of)
    derivatives = np.empty((len(r), len(unknowns)))
    noise = np.empty(len(unknowns))
    for c, (i, h) in enumerate(zip(unknowns, steps, strict=True)):
        start, size = x[i], 0.0
        total = np.zeros(len(r))
        for at, weight in ((-2, 1.0), (-1, -8.0), (1, 8.0), (2, -1.0)):
            x[i] = start + at * h
            work.evaluate(row_rate=1.0)
            if of == m.PHID:
                work.run(rates_kernel)
            total += weight * r
            size = max(size, float(np.abs(r).max()), float(np.abs(work.vector(m.FY)).max()))
        x[i] = start
        derivatives[:, c] = total / (12 * h)
        noise[c] = TANGENT_VISIBLE * size / h
    work.evaluate()
    return derivatives, noise


def _error(
    block: str, matrix: Any, expected: np.ndarray, noise: np.ndarray, rows: Any, columns: Any
) -> BlockError:
    """Return the worst entry of a block; those that differences do not tell count as so large."""
    A = matrix.toarray()
    size = np.maximum(np.abs(A), np.abs(expected))
    scale = np.minimum(size.max(1)[:, None], size.max(0)[None, :]) + noise
    error = np.abs(A - expected) / np.maximum(scale, np.finfo(float).tiny)
    error[~np.isfinite(error)] = np.inf
    i, j = np.unravel_index(int(np.argmax(error)), error.shape)
    return BlockError(
        block, float(error[i, j]), str(rows[i]), str(columns[j]), float(A[i, j]),
        float(expected[i, j]),
    )  # fmt: skip


def _model(item: Any) -> tuple[Model, str]:
    """Return a model that contains the item, and what to call it."""
    if isinstance(item, Model):
        return item, repr(item)
    if isinstance(item, System):
        return item.build(), repr(item)
    if isinstance(item, Formulation):
        body = RigidBody(
            "body", mass=2.3, inertia=(0.7, 0.9, 1.1), center_of_mass=(0.11, -0.23, 0.17),
            formulation=item,
        )  # fmt: skip
        return _with_partner(body).build(), f"formulation {item.name!r}"
    if isinstance(item, Part) and item.nodes() == (item,) and item.drawer:
        return _with_partner(item.nodes()[0]).build(), repr(item)
    what = "a System, a Model, a body, a joint, a force or a Formulation"
    return with_its_bodies("check_tangents: item", item, what).build(), repr(item)


def with_its_bodies(who: str, part: Any, what: str = "a joint or a force") -> System:
    """Return a system of a joint or force and its bodies."""
    if not isinstance(part, Part) or not part.elements():
        raise TypeError(f"{who} must be {what}, got {shown(part)}")
    system = System(gravity=(1.3, -0.7, -9.81))
    for body in part.bodies:
        owner = body.owner or body
        for other in (body, *owner.bodies):  # nodes may be held by ground
            if not other.moves:
                system.ground = other
        if not body.moves:
            continue
        if owner is not part and owner.name not in system:
            system.add(owner)
    system.add(part)
    return system


def _with_partner(body: Body) -> System:
    """Return a system in which all maps of a body are used."""
    shift, turn = allowed(body.formulation, body.rotation)
    system = System(gravity=shift @ (1.3, -0.7, -9.81))
    system.add(body)
    at = body.position + np.array([0.31, 0.17, -0.23])
    other = system.add(
        RigidBody("partner of " + body.name, mass=1.7, inertia=(0.5, 0.6, 0.7), position=at)
    )
    if not body.formulation.axes:
        system.add(Spherical("check joint", body, other, at=body.position))
        system.add(Spring("check spring", body, other, stiffness=3.1, damping=1.9, length=0.1))
        system.add(PointForce("check force", body, (0.7, -1.1, 1.3)))
        return system
    where = body.position + np.array([0.13, -0.29, 0.37])
    system.add(Revolute("check joint", body, other, at=where, axis=(0.6, 0.0, 0.8)))
    six = np.array([3.1, 2.3, 1.7, 1.1, 0.7, 1.3])
    if not body.formulation.rigid:  # has no turns against a helicoid
        six[3:] = 0.0
    system.add(Bushing("check bushing", other, body, at=where, stiffness=six, damping=six / 1.7))
    system.add(PointForce("check force", body, shift @ (0.7, -1.1, 1.3), at=at))
    system.add(Moment("check moment", body, turn @ (-0.9, 0.5, 1.7), follow=True))
    return system
