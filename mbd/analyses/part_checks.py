r"""Conformance of one joint or force: tangents, action and reaction, rates of rows, power.

With the face y of every body and of ground, the face force :math:`f_y` that the residual receives,
the rows :math:`\Phi` of the part and its multipliers,

.. math:: \sum_b f_0 = 0, \quad \sum_b\sum_k y_k\times f_k = 0, \qquad
   \dot\Phi = \frac{d}{dt}\Phi, \quad \ddot\Phi = \frac{d}{dt}\dot\Phi, \qquad
   -f_y\cdot\dot y + \lambda\cdot\dot\Phi = W - D - \dot V - \dot T ,

where the kinds of the part (``interactions/kind.py``) tell the potential V, the power D that is
dissipated, the power W that is supplied and, of parts with mass, momenta p on faces: these have the
kinetic energy :math:`T = \tfrac12 p\cdot\dot y`, and the sums of their forces without weight are
the rates of those of p and of :math:`y_k\times p_k`. Time derivatives on the right are central
differences of fourth order along a motion through a random state.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from mbd.analyses.checks import CheckError, CheckReport, PropertyError, rate_of, relative
from mbd.analyses.conformance import check_tangents, random_state, with_its_bodies
from mbd.base.checked import whole
from mbd.base.door import number
from mbd.machine import buffer as m
from mbd.model.workspace import Workspace


def check_part(part: Any, *, tolerance: float = 1e-6, seed: int = 60427) -> CheckReport:
    """Check what every joint and force must keep to, also one that is not of this package.

    - *tangents*: those of `mbd.check_tangents`.
    - *made again*: the recorded arguments make the same elements, as pickles do.
    - *force*, *moment*: action is reaction, or the rate of the momenta of a part with mass. Of a
      part whose ``bodies`` are two or more, and ``relative``; a load on one body acts from outside.
    - *rate of rows*, *second rate of rows*: those of the kinds against differences.
    - *power*: rate of the potential energy, dissipated and supplied power are those that the kinds
      tell, and an ideal joint does no work.

    Parameters
    ----------
    part : joint or force
        Comes with its bodies, which may have any formulation.
    tolerance : float
        Accepted error [-], relative to the largest number of the property.
    seed : int
        Of the random state.

    Returns
    -------
    CheckReport
        Of the properties that the part can have: rows for a part with rows, reaction for one
        between bodies.

    Raises
    ------
    CheckError
        If a tangent is beyond the tolerance, or else another property; it names each.

    Examples
    --------
    >>> import mbd
    >>> bar = mbd.RigidBody("bar", mass=2.0, inertia=(0.1, 0.2, 0.2))
    >>> spring = mbd.Spring("spring", mbd.System().ground, bar, at=(0, 0, 1), stiffness=3.0)
    >>> mbd.check_part(spring).ok
    True
    """
    system = with_its_bodies("check_part: part", part)
    tolerance = number("check_part", "tolerance", tolerance, "-", positive=True)
    rng = np.random.default_rng(whole("check_part", "seed", seed, 0))
    tangents = check_tangents(part, tolerance=tolerance, seed=seed)
    model = system.build()
    again = part.call.maker(*part.call.args, **part.call.options)
    same = type(again) is type(part) and part.agrees_with(again)
    properties = [PropertyError("made again", 0.0 if same else np.inf)]
    state = random_state(model, rng)
    lam = state.lam.copy()
    for name in model.nodes:  # rows that bodies have of their own are no concern of the part
        lam[model.numbering.owners[name]] = 0.0
    state = state.replace(v=model.units * state.v, a=model.units * state.a, lam=lam)
    described = state.replace(q=model.state.q)
    if part.relative and len({x.name for x in (*part.bodies, *part.nodes())}) > 1:
        rows = any(x.kind.n_rows for x in model.elements[part.name])
        properties += _reaction(Workspace(model, described if rows else state))
    properties += _rates(Workspace(model, state), model.numbering.owners.get(part.name))
    properties.append(_power(Workspace(model, state)))
    report = CheckReport(repr(part), tuple(properties), tolerance, tangents)
    if not report.ok:
        failed = f"fails {len(report.failed)} of {len(properties)} checks"
        raise CheckError(
            report,
            f"{part!r} {failed} (tolerance {tolerance:g})",
            "correct the elements of the part, or the forces, rates or energy of their kind",
        )
    return report


def _faces(work: Workspace) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return faces, rates and forces (n, 4, 3) of ground and all bodies."""
    work.faces(m.FY)[0] = 0.0  # ground's, which nobody else needs
    work.evaluate()
    y, yd, f = (work.faces(x).copy() for x in (m.Y, m.YD, m.FY))
    return y, yd, f


def _reaction(work: Workspace) -> list[PropertyError]:
    """Sum forces and moments; of rows where the bodies are as described, so that they are met."""
    work.F[m.GX : m.GX + 3] = 0.0  # weight acts from outside
    y, _, f = _faces(work)
    lever, length = np.cross(y, f), work.F[m.LENGTH]
    _, force, moment = _rate_of_momenta(work)
    return [
        PropertyError("force", relative(f[:, 0].sum(0) - force, [f[:, 0], f])),
        PropertyError("moment", relative(lever.sum((0, 1)) - moment, [lever, length * f[:, 0]])),
    ]


def _rate_of_momenta(work: Workspace) -> tuple[Any, Any, Any]:
    """Return the rates of kinetic energy, linear and angular momentum of elements with mass."""
    kernels = work.model.kernels[m.MOMENTA]
    if not kernels:
        return 0.0, np.zeros(3), np.zeros(3)

    def momenta() -> np.ndarray:
        y, yd, p = (work.faces(x) for x in (m.Y, m.YD, m.FY))
        p[:] = 0.0
        work.run_each(kernels)
        return np.array([0.5 * np.sum(p * yd), *p[:, 0].sum(0), *np.cross(y, p).sum((0, 1))])

    rate = _along(work, momenta)
    return rate[0], rate[1:4], rate[4:]


def _along(work: Workspace, value: Callable[[], Any]) -> Any:
    """Return the time derivative of a value along the motion with the present v and a."""
    n = work.model.numbering
    v, a, t = work.vector(m.V)[n.v], work.vector(m.A)[n.v], float(work.F[m.T])

    def at(dt: float) -> Any:
        work.F[m.T] = t + dt
        work.vector(m.D)[n.v] = dt * v
        work.vector(m.V)[n.v] = v + dt * a
        work.evaluate()
        return value()

    rate = rate_of(at)
    at(0.0)
    return rate


def _rates(work: Workspace, mine: slice | None) -> list[PropertyError]:
    """Compare both rates of the rows of the part with differences."""
    n = work.model.numbering
    if mine is None or mine.stop == mine.start:
        return []

    def rows() -> np.ndarray:
        return work.vector(m.X)[n.lam][mine].copy()

    def rates() -> tuple[np.ndarray, np.ndarray]:
        first, second = work.rates()
        return first[mine].copy(), second[mine].copy()

    work.evaluate()
    first, second = rates()
    by_rows, by_rates = _along(work, rows), _along(work, lambda: rates()[0])
    placed = n.lam_kinds[mine] != m.VELOCITY_ROW
    error = (first - by_rows)[placed]
    return [
        PropertyError("rate of rows", relative(error, [first, by_rows[placed]])),
        PropertyError("second rate of rows", relative(second - by_rates, [second, by_rates])),
    ]


def _power(work: Workspace) -> PropertyError:
    """Compare the power of all forces with what the elements tell."""
    model, F = work.model, work.F
    told = {x.kind.energy for own in model.elements.values() for x in own}
    work.fill(m.ENERGY)
    _, yd, f = _faces(work)
    lam = work.vector(m.A)[model.numbering.lam].copy()
    rate, _ = work.rates()
    of_rows = lam * rate

    def energies() -> tuple[float, float, float]:
        F[[m.POTENTIAL, m.DISSIPATED, m.SUPPLIED]] = 0.0
        for kernel, record in model.kernels[m.ENERGY]:
            if kernel in told:  # what bodies store is not of the part
                kernel(work.I, F, record)
        return F[m.POTENTIAL], F[m.DISSIPATED], F[m.SUPPLIED]

    work.evaluate()
    _, dissipated, supplied = energies()
    change = _along(work, lambda: energies()[0])
    force = work.faces(m.FY)
    force[:] = 0.0
    work.run_each(model.kernels[m.LOADS])
    supplied -= float(np.vdot(force, work.faces(m.YD)))
    power, gained = -float(np.sum(f * yd)), _rate_of_momenta(work)[0]
    error = power + of_rows.sum() - (supplied - dissipated - change - gained)
    told_numbers = [f * yd, of_rows, dissipated, supplied, change, gained]
    return PropertyError("power", relative(error, told_numbers))
