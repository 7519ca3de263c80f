r"""Conformance of one formulation: its face and rates, equations, maps, tangents, free flights.

With the faces :math:`y(q)`, their rates :math:`\dot y = Y v`, the mass matrix W, gravity g and the
residual :math:`r(\dot v, v, f_y, \lambda)` of one body, at random states on and off its own rows,

.. math::

   Yv &= \tfrac{d}{dt}\, y(q \boxplus t v), \qquad
   Y\dot v + \dot Y v = \tfrac{d}{dt}(Y v), \qquad
   \dot\Phi = \tfrac{d}{dt}\Phi, \quad \ddot\Phi = \tfrac{d}{dt}\dot\Phi \\
   \partial r/\partial f_y &= Y^T, \quad \partial r/\partial\lambda = B^T, \quad
   \partial r/\partial\dot v = Y^T (W\otimes I_3) Y, \\
   r(0, v) - r(0, 0) &= Y^T (W\otimes I_3)\,\dot Y v, \qquad
   r_g - r_0 = -Y^T (W\otimes I_3)\,\ddot y_g .

Where the test map Z of a formulation is not Y, both sides are compared after the multipliers of own
rows were eliminated from its equations, on the rows. The functions are called one by one, those
that others rest on first; what follows a failure is not tried, so that the function that is named
is the one to correct. Flights without forces close the list.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from mbd.analyses import formulation_properties as properties
from mbd.analyses.checks import CheckError, CheckReport, PropertyError, relative
from mbd.analyses.conformance import check_tangents
from mbd.analyses.formulation_properties import Motion
from mbd.analyses.one_body import OneBody
from mbd.base.checked import shown, whole
from mbd.base.door import number
from mbd.base.tolerances import FLIGHT_ORDER
from mbd.formulations import NAMES, named
from mbd.formulations.formulation import Formulation
from mbd.front.simulate import simulate
from mbd.front.solution import Solution
from mbd.integration.generalized_alpha import GeneralizedAlpha
from mbd.machine.buffer import DIRECTOR, ROTATION, TRANSLATION
from mbd.model.system import System
from mbd.parts.bodies import RigidBody, StackedBodies

# increments of each kind: small enough for directors, large enough to tell T from I
_SIZES = {TRANSLATION: 0.2, ROTATION: 0.4, DIRECTOR: 0.1}
_SPAN, _STEPS, _SHARP = 0.4, (16, 32, 64), 1e-12  # of flights: time [s], steps, Newton's tolerance

#: property -> what is wrong where it fails, and the functions or facts that may be
_WORDS = {
    "no increment": ("an increment of zero changes the coordinates", "retract, initial"),
    "pose": ("the face of what `initial` returns is not at the pose it was given", "initial, face"),
    "velocity": ("face_velocity of what `initial` returns is not the velocity", "initial"),
    "rate of the face": ("face_velocity is not the rate of the face along retract", "retract"),
    "way back": ("an increment and then its opposite do not lead back", "retract"),
    "all numbers": (
        "face_velocity leaves numbers of its faces as they were", "face_velocity, n_faces"
    ),
    "faces": ("`faces` returns other numbers than `face` writes", "faces"),
    "stacks": ("stacks of bodies get other numbers than each body alone", "constants, initial"),
    "own numbers": ("numbers beyond those of the body are written", "n_q, n_faces"),
    "acceleration of the face": (
        "face_acceleration is not the rate of face_velocity along a motion", "face_acceleration"
    ),
    "own rows": ("own rows are not zero in the pose that `initial` returns", "residual, own_rows"),
    "rate of own rows": ("the first rate is not that of the rows", "own_rates, residual"),
    "second rate of own rows": ("the second rate is not that of the first", "own_rates"),
    "free velocities": (
        "own rows depend on each other, or leave more or less than a rigid body has",
        "own_rows, rigid",
    ),
    "virtual work": (
        "a force on the face acts on other velocities than it does work on", "residual, galerkin"
    ),
    "multipliers": ("multipliers do not act along the gradients of own rows", "residual, galerkin"),
    "forces at rest": ("a body at rest without loads is pushed", "residual"),
    "mass matrix": (
        "inertia is not M = Y^T W Y, v^T M v / 2 not the kinetic energy of the face",
        "residual, constants, mass_matrix, galerkin",
    ),
    "Newton and Euler": (
        "forces by velocities (gyroscopic, centrifugal) are not rates of the momenta of the face",
        "residual",
    ),
    "weight": ("weight is not that of the masses on the face", "residual"),
    "power of inner forces": ("forces of the body do not take what it stores", "energy, residual"),
    "P": ("P is not Z^T w, what forces on the weighted point do in the residual", "maps"),
    "PV": ("PV is not Y^T w, the velocity of the weighted point", "maps"),
    "PT": ("PT is not the derivative of the weighted point by increments", "maps"),
    "DP": ("DP is not the derivative of its velocity by increments", "maps"),
    "AV": ("AV is not the derivative of its acceleration by velocities", "second_maps"),
    "AQ": ("AQ is not the derivative of its acceleration by increments", "second_maps"),
    "flow": ("the rate of increments that `flow` writes does not move the face as v", "flow"),
    "canonical": (
        "increments along one line add up, or do not, and `canonical` says else", "canonical, flow"
    ),
    "convect": ("a spin turned with the increment is another one in body axes", "convect"),
    "carry": ("increments and velocities of `carry` are not the given motion", "carry"),
    "tangent of the step": ("it is not the derivative of its residual", "conserving.tangent"),
    "P of the step": ("P is not what forces on mean faces do in the residual", "conserving.maps"),
    "PT of the step": ("PT is not the derivative of the face at the end", "conserving.maps"),
    "DP of the step": ("DP is not zero", "conserving.maps"),
    "displacements of the step": (
        "virtual displacements of mean faces lack a translation, a turn or the step itself",
        "conserving.residual",
    ),
    "momenta of the step": ("momenta change without forces", "conserving.residual, ending"),
    "energy of the step": ("the energy changes without forces", "conserving.residual, ending"),
    "linear": ("the face depends linearly on q, or does not, and `linear` says else", "linear"),
    "axes": ("the face has directors, or none, and `axes` says else", "axes"),
    "rigid": ("the rows keep the size of the body, or do not, and `rigid` says else", "rigid"),
    "scales": ("no velocity changes the length of the directors, which `scales` says", "scales"),
    "galerkin": ("virtual displacements are velocities, and `galerkin` says else", "galerkin"),
    "kinds": (
        "a velocity moves no face, or one of kind ROTATION or DIRECTOR no director",
        "velocity_kinds",
    ),
    "tangents": ("the tangent is not the derivative of the residual", "tangent"),
    "invariance": (
        "a flight elsewhere, and turned, is another one as steps shrink", "residual, retract"
    ),
    "energy": ("a free flight gains or loses energy as steps shrink", "residual, retract"),
    "momentum": ("a free flight changes its momentum as steps shrink", "residual, retract"),
    "moment of momentum": (
        "a free flight changes its moment of momentum as steps shrink", "residual, retract"
    ),
    "order": (
        "errors of a free flight do not shrink with the square of the steps", "residual, retract"
    ),
}  # fmt: skip


def check_formulation(
    formulation: Any, *, tolerance: float = 1e-6, seed: int = 60427
) -> CheckReport:
    """Check what every formulation must keep to, also one that is not of this package.

    One after the other, until one fails:

    - *no increment*, *pose*, *velocity*, *rate of the face*, *way back*,
      *acceleration of the face*: retract, initial, face and its two rates belong together.
    - *own rows*, *rate of own rows*, *second rate of own rows*, *free velocities*.
    - *virtual work*, *multipliers*, *mass matrix*, *Newton and Euler*, *weight*: the residual is
      that of the masses, and of the forces, on the face.
    - *P*, *PV*, *PT*, *DP*, *AV*, *AQ*, *flow*, *canonical*, *convect*, *carry*: maps of
      weighted points, and what methods ask for, if there is such a function.
    - *tangent*, *P*, *PT*, *DP*, *displacements*, *momenta*, *energy of the step*, if there are
      functions of steps that conserve energy and momenta.
    - *linear*, *axes*, *rigid*, *scales*, *galerkin*, *kinds*, *stacks*: what it declares is so.
    - *tangents*: those of `mbd.check_tangents`.
    - *invariance*, *energy*, *momentum*, *moment of momentum*, *order* of a free flight.

    Parameters
    ----------
    formulation : str or Formulation
    tolerance : float
        Accepted error [-], relative to the largest number of a property.
    seed : int
        Of the random states.

    Returns
    -------
    CheckReport

    Raises
    ------
    CheckError
        If a property fails; it says which, by how much, and what of the formulation is to blame.
    ValueError, TypeError
        If its facts contradict each other, or a function does not compile.

    Examples
    --------
    >>> import mbd
    >>> mbd.check_formulation(mbd.EulerParameters("reduced")).ok
    True
    """
    formulation = _checked(formulation)
    tolerance = number("check_formulation", "tolerance", tolerance, "-", positive=True)
    seed = whole("check_formulation", "seed", seed, 0)
    errors: list[PropertyError] = []
    to_blame = ""
    for measured in _stages(formulation, tolerance, np.random.default_rng(seed), seed):
        errors += measured
        failed = [x.what for x in measured if not x.error <= tolerance]
        if failed:
            to_blame = _to_blame(failed)
            break
    who = f"formulation {formulation.name!r}"
    report = CheckReport(who, tuple(errors), tolerance, to_blame=to_blame)
    if not report.ok:
        wrong = {what: words for what, (words, _) in _WORDS.items()}
        fails = f"{who} fails (tolerance {tolerance:g})"
        raise CheckError(report, fails, f"correct {to_blame}", wrong)
    return report


def _checked(formulation: Any) -> Formulation:
    """Return a formulation, or that of a name."""
    if isinstance(formulation, str):
        try:
            return named(formulation)
        except ValueError as error:
            raise ValueError(f"check_formulation: {error}") from None
    if not isinstance(formulation, Formulation):
        raise TypeError(
            f"check_formulation: formulation must be a name ({', '.join(NAMES)}) or a Formulation, "
            f"got {shown(formulation)}"
        )
    if formulation.like is not None and formulation.normal is None:
        raise ValueError(
            f"check_formulation: {formulation.name!r} is that of one flexible body, of its "
            "own mass; use mbd.check_tangents(body)"
        )
    several = formulation.n_faces > 1
    if several and (formulation.faces is None or formulation.mass_matrix is None):
        raise ValueError(
            f"Formulation {formulation.name!r}: n_faces = {formulation.n_faces} needs `faces` and "
            "`mass_matrix`"
        )
    return formulation


def _to_blame(failed: list[str]) -> str:
    """Return what the first failure comes from; of a face three functions bear witness."""
    if "no increment" in failed or "all numbers" in failed:
        return _WORDS[failed[0]][1]
    if "rate of the face" in failed and ("pose" in failed or "velocity" in failed):
        return "face, initial" if "pose" in failed else "face_velocity"
    return _WORDS["axes" if "axes" in failed else failed[0]][1]


def _body(formulation: Formulation, rng: np.random.Generator) -> RigidBody:
    """Return an eccentric body that is anywhere, and moves."""
    x, c, v, w, theta = (rng.uniform(-1, 1, 3) for _ in range(5))
    w[2] *= formulation.holonomic
    turned = Rotation.from_rotvec(theta)
    shift, turn = properties.allowed(formulation, np.eye(3))
    return RigidBody(
        "body", mass=2.3, inertia=(0.7, 0.9, 1.1), center_of_mass=0.4 * c, position=x,
        rotation=turned, velocity=shift @ v, angular_velocity=turn @ turned.apply(2.0 * w),
        formulation=formulation,
    )  # fmt: skip


def _stages(
    formulation: Formulation, tolerance: float, rng: np.random.Generator, seed: int
) -> Iterator[list[PropertyError]]:
    """Yield the properties, those that others rest on first."""
    bodies = [_body(formulation, rng), _body(formulation, rng)]
    stacked = StackedBodies.of(bodies)
    constants = stacked.constants(formulation)[0]
    q, v = (x[0] for x in stacked.q_and_v(formulation, np.zeros(3)))
    yield properties.stacks(formulation, bodies)
    one = OneBody(formulation, constants)
    a, d = rng.normal(size=(2, formulation.n_v))
    d *= [_SIZES[kind] for kind in formulation.velocity_kinds]
    on = Motion(q, v, a, d)
    yield properties.pose(one, bodies[0], on)
    off = Motion(properties.end_of_increment(one, on), rng.normal(size=formulation.n_v), a, d)
    yield properties.rate_of_the_face(one, off)
    yield properties.accelerations(one, off)
    yield properties.own_rows(one, on, off)
    rows = properties.gradient(one, on)
    yield properties.free_velocities(one, rows)
    mass = bodies[0].mass_matrix
    yield from properties.equations(one, off if formulation.galerkin else on, rows, mass, rng)
    yield properties.maps(one, on, rng)
    yield properties.for_methods(one, on, rng)
    if formulation.conserving is not None:
        yield from properties.step(OneBody(formulation, constants, True), on, mass, rng)
    yield properties.facts(one, on, rows)
    yield [PropertyError("tangents", _error_of_tangents(formulation, tolerance, seed))]
    yield _flights(bodies[0], rng)


def _error_of_tangents(formulation: Formulation, tolerance: float, seed: int) -> float:
    try:
        return check_tangents(formulation, tolerance=tolerance, seed=seed).error
    except CheckError as error:
        return error.report.error


# --- free flights ---------------------------------------------------------------------------------
def _flights(body: RigidBody, rng: np.random.Generator) -> list[PropertyError]:
    """Fly without forces, by steps of h, h/2, h/4, here and elsewhere."""
    flights = [_flight(body, steps) for steps in _STEPS]
    here = np.array([_face(x) for x in flights])
    coarse, middle, fine = here
    first, second = np.abs(coarse - middle).max(), np.abs(middle - fine).max()
    exact = second <= _SHARP * np.abs(fine).max()
    free = properties.allowed(body.formulation, np.eye(3))  # projections, diagonal
    turn, shift = Rotation.from_rotvec(free[1] @ rng.normal(size=3)), rng.normal(size=3)
    moved = _moved(body, turn.as_matrix(), shift)
    elsewhere = np.array([_face(_flight(moved, steps)) for steps in _STEPS])
    there = here @ turn.as_matrix().T
    there[:, 0] += shift
    errors = [PropertyError("invariance", relative(_limit(elsewhere - there), there))]
    kept = dict(_KEPT)
    if not body.formulation.holonomic:
        del kept["moment of momentum"]
    for what, of in kept.items():
        along = {"momentum": free[0], "moment of momentum": free[1]}.get(what, 1.0)
        start = np.dot(of(flights[0])[0], along)
        limit = np.dot(_limit(np.array([of(x)[-1] for x in flights])), along)
        errors.append(PropertyError(what, relative(limit - start, [start])))
    shrinks = exact or np.log2(first / second) >= FLIGHT_ORDER
    return [*errors, PropertyError("order", 0.0 if shrinks else np.inf)]


def _limit(values: np.ndarray) -> np.ndarray:
    """Return what steps of h, h/2, h/4 tend to, without errors of h^2 and h^3."""
    return np.tensordot([1 / 21, -12 / 21, 32 / 21], values, 1)


_KEPT: dict[str, Callable[[Solution], np.ndarray]] = {
    "energy": lambda x: x.energy.total,
    "momentum": lambda x: x.momentum.linear,
    "moment of momentum": lambda x: x.momentum.angular,
}


def _flight(body: RigidBody, steps: int) -> Solution:
    """Return the flight of a body in so many steps."""
    system = System()
    system.add(body)
    sharp = GeneralizedAlpha(tol=_SHARP)
    return simulate(system, _SPAN, _SPAN / steps, method=sharp, progress=False)


def _face(flight: Solution) -> np.ndarray:
    """Return origin and directors (4, 3) at the end of a flight."""
    body = flight["body"]
    directors = body.rotation[-1].T if flight.model.nodes["body"].formulation.axes else ()
    return np.array([body.position[-1], *directors])


def _moved(body: RigidBody, turn: np.ndarray, shift: np.ndarray) -> RigidBody:
    """Return the body elsewhere."""
    return RigidBody(
        body.name, mass=body.mass, inertia=body.inertia, center_of_mass=body.center_of_mass,
        position=turn @ body.position + shift, rotation=turn @ body.rotation,
        velocity=turn @ body.velocity, angular_velocity=turn @ body.angular_velocity,
        formulation=body.formulation,
    )  # fmt: skip
