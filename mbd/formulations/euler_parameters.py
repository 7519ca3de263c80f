r"""Floor 1. ``euler_parameters``: four Euler parameters p and the row :math:`\tfrac12(p^Tp - 1)`.

:math:`q = (r, p)`, :math:`v = \dot q`, faces by the homogeneous map (`homogeneous.py`). On the
unit sphere, about the centre of mass, J the inertia, n the moment in body axes:

==============  =========  ====================================================================
form            force_map  rotational equations, and the multiplier at the solution
==============  =========  ====================================================================
``full``        ``B2``     virtual work, :math:`B_2^T (W\otimes I) \ddot y + p\lambda = B_2^T f`;
                           :math:`\lambda = 4T + 2\sum_k d_k\cdot f_k`
``full``        ``B1``     (23): :math:`4L^TJL\ddot p + 8L^TL\dot L^TJL\dot p + p\lambda =
                           2L^T n`; :math:`\lambda = 0`
``full``        ``H``      (82): the same with :math:`2H^TG^Tf`; :math:`\lambda = 2p^TH^TG^Tf`
``reduced``     ``B1``     (29): :math:`4L^TJL\ddot p + 8\dot L^TJL\dot p + p\lambda = 2L^T n`;
                           (30): :math:`\lambda = 8\dot p^TL^TJL\dot p = 4T`
``reduced``     ``H``      the same with :math:`2H^TG^Tf`; the sum of both multipliers
``projected``              (25): :math:`2JL\ddot p + 4L\dot L^TJL\dot p = n`, and
                           :math:`\lambda = 0`
==============  =========  ====================================================================

T is the kinetic energy of the rotation. Of the homogeneous map :math:`B_2 = 2GH`, so the forces
of B2 and H are the same; they differ in what tests the inertia. With an eccentric centre of mass
inertia is :math:`Z^T(W\otimes I)(Y\dot v + \dot Y v)` with the Z of the form, and weight is a
force.

The default is ``full`` with ``B2``: its mass matrix is symmetric and positive definite. All others
have rotational blocks of rank three, whose factorisation exchanges rows with the row of the norm.
Motions and reactions are the same. On the sphere the default is the rigid ``scalable`` body in
rates.

References
----------
.. [1] Sherif, Nachbagauer, Steiner, On the rotational equations of motion in rigid body dynamics
   when using Euler parameters, Nonlinear Dynamics 81 (2015) 343-352; numbers of equations.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from mbd.algebra.checked import numbers, one_of
from mbd.algebra.given import remembered
from mbd.algebra.quaternions import L
from mbd.formulations.formulation import Formulation
from mbd.formulations.homogeneous import BODY, MOMENT, WORK, formulation

__all__ = [
    "EULER_PARAMETERS",
    "EulerParameters",
    "augmented_inverse",
    "augmented_matrix",
    "augmented_right_side",
    "parameter_acceleration",
]

_FORMS = ("full", "reduced", "projected")
_MAPS = ("B2", "B1", "H")


@remembered
def EulerParameters(form: str = "full", force_map: str | None = None) -> Formulation:
    """Return a formulation with Euler parameters.

    Parameters
    ----------
    form : {"full", "reduced", "projected"}
        Equation (23), (29) or (25) of the paper.
    force_map : {"B2", "B1", "H"}, optional
        Virtual displacement that forces are tested with: virtual work, moment about the origin, or
        the reduced form (82). Default "B2" of the full form (which then tests the inertia with it
        too), "B1" of the others. "projected" takes the moment in body axes whatever the map.

    Examples
    --------
    >>> import mbd
    >>> mbd.EulerParameters("reduced").name
    'euler_parameters (reduced, B1)'
    """
    one_of("EulerParameters", "form", form, _FORMS)
    if force_map is None:
        force_map = "B2" if form == "full" else "B1"
    one_of("EulerParameters", "force_map", force_map, _MAPS)
    return _made(form, force_map)


@cache
def _made(form: str, force_map: str) -> Formulation:
    """Return the one formulation of each pair of words."""
    name = f"euler_parameters ({form}, {force_map})"
    if form == "projected":
        return formulation("euler_parameters (projected)", inertia=BODY, force=BODY)
    if (form, force_map) == ("full", "B2"):
        return formulation("euler_parameters")
    force = MOMENT if force_map == "B1" else WORK
    return formulation(name, inertia=MOMENT, force=force, reduced=form == "reduced")


EULER_PARAMETERS = EulerParameters()


# --- the augmented system of one free rotation ----------------------------------------------------
def augmented_matrix(p: np.ndarray, J: np.ndarray) -> np.ndarray:
    """Return [[4 L^T J L, p], [p^T, 0]], (5, 5), Eq. (34)."""
    p = numbers("augmented_matrix", "p", p, ((4,),), "-")
    J = numbers("augmented_matrix", "J", J, ((3, 3),), "kg m^2")
    made = np.zeros((5, 5))
    made[:4, :4] = 4 * L(p).T @ J @ L(p)
    made[:4, 4] = made[4, :4] = p
    return made


def augmented_inverse(p: np.ndarray, J: np.ndarray) -> np.ndarray:
    """Return [[L^T J^-1 L / 4, p], [p^T, 0]], (5, 5), Eq. (35), for unit p."""
    p = numbers("augmented_inverse", "p", p, ((4,),), "-")
    J = numbers("augmented_inverse", "J", J, ((3, 3),), "kg m^2")
    norm = float(np.linalg.norm(p))
    if abs(norm - 1.0) > 1e-9:
        raise ValueError(
            "augmented_inverse: p must be at unit length, for others this is no inverse, got "
            f"|p| = {norm:.12g}; use p / |p|"
        )
    made = np.zeros((5, 5))
    made[:4, :4] = 0.25 * L(p).T @ np.linalg.solve(J, L(p))
    made[:4, 4] = made[4, :4] = p
    return made


def augmented_right_side(
    p: np.ndarray, rate: np.ndarray, J: np.ndarray, moment: np.ndarray, *, form: str = "full"
) -> np.ndarray:
    """Return the right side of Eq. (34), or of Eq. (39) for ``form="reduced"``, (5,).

    Parameters
    ----------
    p, rate : (4,) arrays [-], [1/s]
        Unit Euler parameters and their rates.
    J : (3, 3) array [kg m^2]
    moment : (3,) array [N m]
        In body axes, about the centre of mass.
    form : {"full", "reduced"}
    """
    if form not in ("full", "reduced"):
        raise ValueError(f"augmented_right_side: form must be 'full' or 'reduced', got {form!r}")
    gyroscopic = 8 * L(rate).T @ J @ L(p) @ rate
    if form == "full":
        gyroscopic = L(p).T @ L(p) @ gyroscopic
    return np.append(2 * L(p).T @ moment - gyroscopic, -rate @ rate)


def parameter_acceleration(
    p: np.ndarray, rate: np.ndarray, J: np.ndarray, moment: np.ndarray
) -> np.ndarray:
    """Return the second rates of the Euler parameters, (4,), Eq. (38)."""
    inner = L(rate).T @ J @ L(p) @ rate
    turn = np.linalg.solve(J, 0.5 * moment - 2 * L(p) @ inner)
    made: np.ndarray = L(p).T @ turn - p * (rate @ rate)
    return made
