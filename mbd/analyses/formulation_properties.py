"""Properties of the functions of a formulation, each called by itself on one body.

Time derivatives and derivatives by increments are central differences of fourth order.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import null_space
from scipy.spatial.transform import Rotation

from mbd.analyses.checks import PropertyError, rate_of, relative
from mbd.analyses.one_body import OneBody
from mbd.formulations.formulation import Formulation
from mbd.machine.buffer import DIRECTOR, ROTATION
from mbd.parts.bodies import StackedBodies
from mbd.parts.part import Body

_ZERO = 1e-9  # numbers of the size of one below are zero


class Motion(NamedTuple):
    """Coordinates, velocities and accelerations of one body, and an increment."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    d: np.ndarray


def _compare(what: str, value: Any, expected: Any, *size: Any) -> PropertyError:
    return PropertyError(what, relative(value - expected, [value, expected, *size]))


def _fact(what: str, holds: bool) -> PropertyError:
    return PropertyError(what, 0.0 if holds else np.inf)


def allowed(formulation: Formulation, R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return projections of velocities and of spins, in axes R, to those that a body may have."""
    unit, axis = np.eye(3), formulation.normal
    if axis is None:
        return unit, unit
    return unit - np.diag(unit[axis]), np.outer(R[axis], R[axis])


def end_of_increment(one: OneBody, at: Motion) -> np.ndarray:
    """Return the coordinates at the end of the increment."""
    one.hold(at.q, at.v, at.a)
    one.move(at.d)
    return one.coordinates


# --- the face -------------------------------------------------------------------------------------
def pose(one: OneBody, body: Body, at: Motion) -> list[PropertyError]:
    """Compare what `initial` returns with the described motion, at an increment of zero."""
    one.hold(at.q, at.v, at.a)
    y, yd, _ = one.move(0.0)
    unmoved = one.coordinates
    shown = 4 if one.formulation.axes else 1
    directors = body.rotation.T
    place = np.vstack([body.position, directors])[:shown]
    lost = np.abs(y[0] - body.position).max() > _ZERO  # a face that is anywhere says nothing
    speed = np.vstack([body.velocity, np.cross(body.angular_velocity, directors)])[:shown]
    return [
        _compare("no increment", unmoved, at.q),
        _compare("pose", y[:shown], place),
        _compare("velocity", yd[:shown], speed),
        *rate_of_the_face(one, at),
        _fact("axes", lost or one.formulation.axes == bool(y[1:4].any())),
    ]


def rate_of_the_face(one: OneBody, at: Motion) -> list[PropertyError]:
    """Compare face_velocity with the rate of the face."""
    one.hold(at.q, at.v, at.a)
    start, yd, _ = one.move(0.0)
    rate = rate_of(lambda t: one.move(t * at.v)[0])
    one.move(at.d)
    one.hold(one.coordinates, at.v, at.a)
    errors = [
        _fact("all numbers", np.isfinite(yd).all()),
        _compare("rate of the face", yd, rate),
        _compare("way back", one.move(-at.d)[0], start),
    ]
    one.hold(at.q, at.v, at.a)
    faces = one.formulation.faces
    if faces is not None:
        y, of_q = one.move(0.0)[0], np.asarray(faces(at.q))
        same = of_q.size == y.size
        errors.append(_compare("faces", of_q.reshape(y.shape) if same else np.inf, y))
    return errors


def accelerations(one: OneBody, at: Motion) -> list[PropertyError]:
    """Compare face_acceleration with the rate of face_velocity."""
    one.hold(at.q, at.v, at.a)
    ydd = one.move(0.0)[2]
    rate = rate_of(lambda t: one.move(t * at.v, at.v + t * at.a)[1])
    return [_compare("acceleration of the face", ydd, rate)]


# --- own rows -------------------------------------------------------------------------------------
def own_rows(one: OneBody, on: Motion, off: Motion) -> list[PropertyError]:
    """Compare own rows with zero where the body is rigid, and their rates with differences."""
    if not one.formulation.n_own:
        return []

    def rows(t: float) -> Any:
        one.move(t * off.v, off.v + t * off.a)
        return one.residual()[1]

    def rates(t: float) -> Any:
        one.move(t * off.v, off.v + t * off.a)
        return one.rates()

    one.hold(on.q, on.v, on.a)
    one.move(0.0)
    zero = one.residual()[1]
    one.hold(off.q, off.v, off.a)
    first, second = rates(0.0)
    return [
        _compare("own rows", zero, 0.0, 1.0),
        _compare("rate of own rows", first, rate_of(rows)),
        _compare("second rate of own rows", second, rate_of(lambda t: rates(t)[0])),
    ]


def gradient(one: OneBody, at: Motion) -> np.ndarray:
    """Return the gradient B (n_own, n_v) of own rows, from their rates at unit velocities."""
    one.hold(at.q, at.v, at.a)
    columns = []
    for unit in np.eye(one.formulation.n_v):
        one.move(v=unit)
        columns.append(one.rates()[0])
    return np.array(columns).T


def free_velocities(one: OneBody, rows: np.ndarray) -> list[PropertyError]:
    """Count independent rows, and the velocities that they leave to a rigid body."""
    formulation = one.formulation
    independent = not formulation.n_own or np.linalg.matrix_rank(rows, _ZERO) == formulation.n_own
    alone = formulation.n_faces == 1 and formulation.rigid
    few = not formulation.axes or formulation.normal is not None
    counted = not alone or formulation.n_v - formulation.n_own == (
        3 if few else 6 if formulation.holonomic else 5
    )
    return [_fact("free velocities", independent and counted)]


# --- equations ------------------------------------------------------------------------------------
def _velocity_map(one: OneBody) -> np.ndarray:
    """Return Y (12 k, n_v) where the body was moved to."""
    return np.array([one.move(v=unit)[1].ravel() for unit in np.eye(one.formulation.n_v)]).T


def _test_map(one: OneBody) -> np.ndarray:
    """Return Z^T (n_v, 12 k) of the faces to which something may be attached; zero for others."""
    formulation, none = one.formulation, one.residual()[0]
    Z = np.zeros((formulation.n_v, 12 * formulation.n_faces))
    for j, force in enumerate(np.eye(12 * formulation.n_faces)[: 12 * formulation.n_shown]):
        Z[:, j] = one.residual(force)[0] - none
    return Z


def equations(
    one: OneBody, at: Motion, rows: np.ndarray, mass: np.ndarray, rng: np.random.Generator
) -> Iterator[list[PropertyError]]:
    """Yield what forces, multipliers, inertia and weight do in the residual."""
    formulation, shown = one.formulation, 12 * one.formulation.n_shown
    one.hold(at.q, at.v, at.a)
    one.move()
    none, Z = one.residual()[0], _test_map(one)
    Bt = np.array([one.residual(0.0, unit)[0] - none for unit in np.eye(formulation.n_own)])
    Bt = Bt.T.reshape(formulation.n_v, formulation.n_own)
    Y = _velocity_map(one)
    if formulation.galerkin:
        yield [
            _compare("virtual work", Z[:, :shown], Y.T[:, :shown]),
            _compare("multipliers", Bt, gradient(one, at).T),
        ]
        yield _inertia(one, at, np.eye(formulation.n_v), Y.T, mass, rng)
        return
    # combinations of equations that no multiplier enters, and of velocities that rows allow
    chosen, allowed = null_space(Bt.T).T, null_space(rows)
    work, forces = allowed.T @ Y.T, chosen @ Z
    turn = forces[:, :shown] @ np.linalg.pinv(work[:, :shown])
    sound = len(chosen) == len(work) and np.linalg.matrix_rank(turn, _ZERO) == len(work)
    yield [
        _compare("virtual work", forces[:, :shown], (turn @ work)[:, :shown]),
        _fact("multipliers", sound),
    ]
    yield _inertia(one, at, chosen, turn @ work, mass, rng)


def _inertia(
    one: OneBody, at: Motion, chosen: np.ndarray, Z: np.ndarray, mass: np.ndarray,
    rng: np.random.Generator,
) -> list[PropertyError]:  # fmt: skip
    """Compare M, forces by velocities and weight with those of the masses on the faces.

    Equations `chosen` are tested with Z, which takes forces on all faces.
    """
    formulation, W, zero = one.formulation, np.kron(mass, np.eye(3)), np.zeros(one.formulation.n_v)

    def forces(v: Any, a: Any, gravity: Any = (0.0, 0.0, 0.0)) -> Any:
        one.move(v=v, a=a)
        return one.residual(gravity=gravity)[0]

    one.hold(at.q, at.v, at.a)
    Y, rest = _velocity_map(one), forces(zero, zero)
    M = np.array([forces(zero, unit) - rest for unit in np.eye(formulation.n_v)]).T
    g = np.zeros((4 * formulation.n_faces, 3))
    g[::4] = rng.normal(size=3)
    weight = forces(zero, zero, g[0]) - rest
    moving, inertial = forces(at.v, zero), W @ one.move(v=at.v, a=zero)[2].ravel()
    as_tried = np.allclose(M, Y.T @ W @ Y, rtol=0, atol=_ZERO)
    errors = [
        _fact("galerkin", formulation.galerkin or not as_tried),
        _compare("mass matrix", chosen @ M, Z @ W @ Y),
        _compare("weight", chosen @ weight, -Z @ W @ g.ravel()),
    ]
    if formulation.energy is None:
        size = np.abs(Z) @ np.abs(inertial)
        errors += [
            _compare("forces at rest", chosen @ rest, 0.0, size),
            _compare("Newton and Euler", chosen @ (moving - rest), Z @ inertial, size),
        ]
    elif formulation.galerkin:
        errors.append(_power(one, at, moving - Z @ inertial))
    return errors


def _power(one: OneBody, at: Motion, inner: np.ndarray) -> PropertyError:
    """Compare the power of inner forces with the rate of what is stored, and what is dissipated."""

    def stored(t: float) -> Any:
        one.move(t * at.v, at.v)
        return one.energies()[0]

    change = rate_of(stored)
    one.move(0.0, at.v)
    dissipated = one.energies()[1]
    told = change + dissipated
    return _compare("power of inner forces", inner @ at.v, told, change, dissipated)


# --- maps of weighted points, and what methods ask for --------------------------------------------
def maps(one: OneBody, at: Motion, rng: np.random.Generator) -> list[PropertyError]:
    """Compare maps with what the functions of the face do, at the end of an increment."""
    formulation, units = one.formulation, np.eye(one.formulation.n_v)
    weights = rng.normal(size=4 * formulation.n_faces)
    weights[4 * formulation.n_shown :] = 0.0

    def point(d: Any, v: Any) -> Any:
        return np.einsum("k,nkc->nc", weights, one.move(d, v))

    one.hold(at.q, at.v, at.a)
    by_d = np.array([rate_of(lambda t, u=u: point(at.d + t * u, at.v)) for u in units])  # type: ignore[misc]
    by_v = np.array([point(at.d, at.v + u) - point(at.d, at.v - u) for u in units]) / 2
    point(at.d, at.v)
    Z = _test_map(one) @ np.kron(weights[:, None], np.eye(3))
    written, expected = one.maps(weights), {"P": Z.T, "PV": by_v[:, 1].T, "PT": by_d[:, 0].T}
    expected["DP"] = by_d[:, 1].T
    if formulation.second_maps is not None:
        written |= one.second_maps(weights)
        expected |= {"AV": by_v[:, 2].T, "AQ": by_d[:, 2].T}
    return [_compare(x, written[x], y, by_d[:, 0]) for x, y in expected.items()]


def for_methods(one: OneBody, at: Motion, rng: np.random.Generator) -> list[PropertyError]:
    """Compare flow, convect and carry, if they are declared, with what they are for."""
    formulation, errors = one.formulation, list[PropertyError]()
    one.hold(at.q, at.v, at.a)
    if formulation.flow is not None:
        yd, k = one.move(at.d, at.v)[1], one.flow()
        errors.append(_compare("flow", rate_of(lambda t: one.move(at.d + t * k)[0]), yd))
        one.move(at.d, at.d)
        along = np.abs(one.flow() - at.d).max() < _ZERO
        errors.append(_fact("canonical", formulation.canonical == bool(along)))
    if formulation.convect is not None:
        errors.append(_convect(one, at))
    if formulation.carry is not None:
        errors.append(_carry(one, at, rng))
    return errors


def _convect(one: OneBody, at: Motion) -> PropertyError:
    """Compare the spins in body axes before and after an increment; and turn back."""

    def spin(d: Any, v: Any) -> Any:
        y, yd, _ = one.move(d, v)
        return y[1:4] @ yd[1:4].T / np.linalg.norm(y[1])

    before = spin(0.0, at.v)
    one.move(at.d)
    turned = one.convect(1.0, at.v)
    back = one.convect(-1.0, turned)
    after = spin(at.d, turned)
    both = np.append(after.ravel(), back), np.append(before.ravel(), at.v)
    return _compare("convect", *both)


def _carry(one: OneBody, at: Motion, rng: np.random.Generator) -> PropertyError:
    """Compare a motion in increments and velocities with the same in vectors."""
    start = one.move(0.0)[0][:4]
    x, theta, velocity, omega = rng.normal(size=(4, 3))
    shift, turn = allowed(one.formulation, start[1:].T)
    x, theta, velocity, omega = shift @ x, turn @ theta, shift @ velocity, turn @ omega
    y, yd, _ = one.move(*one.carry(np.append(x, theta), np.append(velocity, omega)))
    there, speed = [start[0] + x], [velocity]
    if one.formulation.axes:
        axes = start[1:].T @ Rotation.from_rotvec(theta).as_matrix()
        there += [*axes.T]
        speed += [*np.cross(omega, np.eye(3)) @ axes.T]
    n = len(there)
    return _compare("carry", np.array([y[:n], yd[:n]]), np.array([there, speed]))


# --- conserving steps ---------------------------------------------------------------------------
def step(
    one: OneBody, on: Motion, mass: np.ndarray, rng: np.random.Generator
) -> Iterator[list[PropertyError]]:
    """Yield what a step that conserves energy and momenta must keep to, on the own rows."""
    formulation, h, units = one.formulation, 0.3, np.eye(one.formulation.n_v)
    force = rng.normal(size=12 * formulation.n_faces)
    multipliers, weights = rng.normal(size=formulation.n_own), rng.normal(size=4)

    def taken(d: Any) -> Any:
        one.hold(on.q, on.v, 0.0 * on.v)
        return one.step(d, h)

    def equations(d: Any) -> Any:
        taken(d)
        return np.append(*one.residual(force, multipliers))

    def derivative(d: Any) -> Any:
        return np.array([rate_of(lambda t, u=u: equations(d + t * u)) for u in units]).T  # type: ignore[misc]

    d = on.d
    for _ in range(5 if formulation.n_own else 0):  # to the own rows
        own = slice(formulation.n_v, None)
        d = d - np.linalg.pinv(derivative(d)[own]) @ equations(d)[own]
    by_d = derivative(d)
    ends = np.array([rate_of(lambda t, u=u: taken(d + t * u)[1]) for u in units])  # type: ignore[misc]
    equations(d)
    tangent, written = one.tangent(), one.maps(weights)
    middle = taken(d)[0]
    Z = _test_map(one)
    yield [
        _compare("tangent of the step", tangent, by_d),
        _compare("P of the step", written["P"].T, Z @ np.kron(weights[:, None], np.eye(3))),
        _compare("PT of the step", written["PT"], np.einsum("k,jkc->cj", weights, ends)),
        _compare("DP of the step", written["DP"], 0.0, 1.0),
    ]
    inertia, v = one.residual()[0], one.ending()
    after = Motion(one.coordinates, v, 0.0 * v, d)
    states = []
    for at in (on, after):
        one.hold(at.q, at.v, at.a)
        states.append(one.move(0.0)[:2])
    (first, before), (last, now) = states
    kinetic = [0.5 * np.sum(yd * (mass @ yd)) for yd in (before, now)]
    momenta = [
        [(mass @ yd)[0], np.einsum("kl,kli->i", mass, np.cross(y[:, None], yd[None]))]
        for y, yd in states
    ]
    change = np.subtract(momenta[1], momenta[0]).ravel()
    shifts, spins = allowed(formulation, np.eye(3))
    change = np.append(shifts @ change[:3], spins @ change[3:])
    moves = [np.cross(e, middle) for e in spins]
    moves = [*(np.outer([1, 0, 0, 0], e) for e in shifts), *moves, (last - first) / h]
    columns = np.array([x.ravel() for x in moves]).T
    c = np.linalg.lstsq(Z.T, columns, rcond=None)[0]
    gained = h * c.T @ inertia
    yield [
        _compare("displacements of the step", Z.T @ c, columns),
        _compare("momenta of the step", gained[:6], change, *np.ravel(momenta)),
        _compare("energy of the step", gained[6], kinetic[1] - kinetic[0], *kinetic),
    ]


# --- what is declared -----------------------------------------------------------------------------
def facts(one: OneBody, on: Motion, rows: np.ndarray) -> list[PropertyError]:
    """Compare what a formulation declares with what its functions do."""
    formulation = one.formulation
    one.hold(on.q, on.v, on.a)
    ends = [(one.move(d)[0], one.coordinates) for d in (on.d, -on.d, 0.0)]
    bent = max(np.abs(a + b - 2 * c).max() for a, b, c in zip(*ends, strict=True))
    directors = ends[2][0][1:4]
    Y = _velocity_map(one)
    of_directors = Y[3:12]
    allowed = (of_directors @ null_space(rows)).T.reshape(-1, 3, 3)
    strain = allowed @ directors.T + directors @ allowed.swapaxes(1, 2)
    growth = np.linalg.lstsq(of_directors, directors.ravel(), rcond=None)[0]
    grown = of_directors @ growth - directors.ravel()
    turning = np.isin(formulation.velocity_kinds, (ROTATION, DIRECTOR))
    moved = np.where(turning, np.abs(of_directors).max(0), np.abs(Y).max(0))
    return [
        _fact("linear", formulation.linear == bool(bent < _ZERO)),
        _fact("rigid", formulation.rigid == bool(np.abs(strain).max() < _ZERO)),
        _fact("scales", not formulation.scales or np.abs(grown).max() < _ZERO),
        _fact("kinds", bool(moved.min() > _ZERO)),
        _fact("own numbers", one.stays_inside),
    ]


def stacks(formulation: Formulation, bodies: Sequence[Body]) -> list[PropertyError]:
    """Compare the numbers of several bodies at once with those of each, to the last bit."""
    if not formulation.stacks:
        return []
    together = StackedBodies.of(bodies)
    both = zip(
        together.constants(formulation), *together.q_and_v(formulation, np.zeros(3)), strict=True
    )
    each = (
        (formulation.constants(b.mass, b.center_of_mass, b.second_moments), *b.q_and_v(b.position))
        for b in bodies
    )
    pairs = [x for some in zip(both, each, strict=True) for x in zip(*some, strict=True)]
    return [_fact("stacks", all(np.array_equal(x, y) for x, y in pairs))]
