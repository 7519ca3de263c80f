r"""``euler_parameters``: four Euler parameters p and the row :math:`\tfrac12(p^Tp - 1)`.

:math:`q = (r, p)`, :math:`v = \dot q`, faces by the homogeneous map (`homogeneous.py`). On the
unit sphere, about the centre of mass, J the inertia, n the moment in body axes:

==============  =========  ====================================================================
form            force_map  rotational equations, and the multiplier at the solution
==============  =========  ====================================================================
``full``        ``B2``     virtual work, :math:`B_2^T (W\otimes I) \ddot y + p\lambda = B_2^T f`;
                           :math:`\lambda = 4T + 2\sum_k d_k\cdot f_k`
``full``        ``B1``     (23), (79), with :math:`Q_{p,1} = B_1^Tf = 2L^Tn` of (58):
                           :math:`4L^TJL\ddot p + 8L^TL\dot L^TJL\dot p + p\lambda = Q_{p,1}`;
                           (24), (37): :math:`\lambda = 0`
``full``        ``H``      (82): the same with :math:`2H^TG^Tf`; (84): :math:`\lambda =
                           2p^TH^TG^Tf`
``full``        ``Q_p2``   the same with :math:`Q_{p,2} = 2H^TG^Tf + 2p\,u^Tf` of (62), (69);
                           :math:`\lambda = 2p^TH^TG^Tf + 2u^Tf`
``reduced``     ``B1``     (29): :math:`4L^TJL\ddot p + 8\dot L^TJL\dot p + p\lambda = 2L^T n`;
                           (30): :math:`\lambda = 8\dot p^TL^TJL\dot p = 4T`
``reduced``     ``H``,     the same with :math:`2H^TG^Tf` or :math:`Q_{p,2}`; the sum of both
                ``Q_p2``   multipliers
``projected``              (25): :math:`2JL\ddot p + 4L\dot L^TJL\dot p = n`, and
                           :math:`\lambda = 0`
==============  =========  ====================================================================

T is the kinetic energy of the rotation; numbers are those of [Sherif 2015]. Of the homogeneous map
:math:`B_2 = 2GH`, so the forces of B2 and H are the same; they differ in what tests the inertia.
:math:`Q_{p,2}` comes from the rotation matrix (5), which is none off the sphere: :math:`u^Tf`
multiplies components in body axes with components in inertial axes, so that its multiplier, and
nothing else, depends on the inertial axes. With an eccentric centre of mass inertia is
:math:`Z^T(W\otimes I)(Y\dot v + \dot Y v)` with the Z of the form, and weight is a force.

The default is ``full`` with ``B2``: its mass matrix is symmetric and positive definite. All others
have rotational blocks of rank three, whose factorisation exchanges rows with the row of the norm.
Motions and reactions are the same. On the sphere the default is the rigid ``scalable`` body in
rates.

References
----------
[Sherif 2015]: see the page *From paper to code* of the documentation.
"""

from functools import cache
from typing import Literal

import numpy as np

from mbd.algebra.quaternions import L
from mbd.base.checked import numbers, one_of
from mbd.base.recorded_call import remembered
from mbd.formulations.formulation import Formulation
from mbd.formulations.homogeneous import BODY, INHOMOGENEOUS, MOMENT, WORK, formulation

_FORMS = ("full", "reduced", "projected")
_MAPS = {"B2": WORK, "B1": MOMENT, "H": WORK, "Q_p2": INHOMOGENEOUS}


@remembered
def EulerParameters(
    form: Literal["full", "reduced", "projected"] = "full",
    force_map: Literal["B2", "B1", "H", "Q_p2"] | None = None,
) -> Formulation:
    """Return a formulation with Euler parameters.

    Parameters
    ----------
    form : {"full", "reduced", "projected"}
        [Sherif 2015, (23), (29) or (25)].
    force_map : {"B2", "B1", "H", "Q_p2"}, optional
        What forces are tested with: "B2" virtual work, "B1" moment about the origin, Q_p1 of
        [Sherif 2015, (58)], "H" the part of both that turns the body, as in (82), "Q_p2" virtual
        work with the rotation matrix (5), as in (62), (69). Default "B2" of the full form (which
        then tests the inertia with it too), "B1" of the others. "projected" takes the moment in
        body axes whatever the map. Motions are the same, multipliers of the norm are not.

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
    return _formulation(form, force_map)


@cache
def _formulation(form: str, force_map: str) -> Formulation:
    """Return the one formulation of each pair of words."""
    name = f"euler_parameters ({form}, {force_map})"
    if form == "projected":
        return formulation("euler_parameters (projected)", inertia=BODY, force=BODY)
    if (form, force_map) == ("full", "B2"):
        return formulation("euler_parameters")
    force, reduced = _MAPS[force_map], form == "reduced"
    return formulation(name, inertia=MOMENT, force=force, reduced=reduced)


EULER_PARAMETERS = EulerParameters()


# --- the augmented system of one free rotation ----------------------------------------------------
def augmented_matrix(p: np.ndarray, J: np.ndarray) -> np.ndarray:
    """Return [[4 L^T J L, p], [p^T, 0]], (5, 5), [Sherif 2015, (34)]."""
    p = numbers("augmented_matrix", "p", p, ((4,),), "-")
    J = numbers("augmented_matrix", "J", J, ((3, 3),), "kg m^2")
    matrix = np.zeros((5, 5))
    matrix[:4, :4] = 4 * L(p).T @ J @ L(p)
    matrix[:4, 4] = matrix[4, :4] = p
    return matrix


def augmented_inverse(p: np.ndarray, J: np.ndarray) -> np.ndarray:
    """Return [[L^T J^-1 L / 4, p], [p^T, 0]], (5, 5), [Sherif 2015, (35)], for unit p."""
    p = numbers("augmented_inverse", "p", p, ((4,),), "-")
    J = numbers("augmented_inverse", "J", J, ((3, 3),), "kg m^2")
    norm = float(np.linalg.norm(p))
    if abs(norm - 1.0) > 1e-9:
        raise ValueError(
            "augmented_inverse: p must be at unit length, for others this is no inverse, got "
            f"|p| = {norm:.12g}; use p / |p|"
        )
    inverse = np.zeros((5, 5))
    inverse[:4, :4] = 0.25 * L(p).T @ np.linalg.solve(J, L(p))
    inverse[:4, 4] = inverse[4, :4] = p
    return inverse


def augmented_right_side(
    p: np.ndarray, rate: np.ndarray, J: np.ndarray, moment: np.ndarray, *, form: str = "full"
) -> np.ndarray:
    """Return the right side of [Sherif 2015, (34)], or of (39) for ``form="reduced"``, (5,).

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
    """Return the second rates of the Euler parameters, (4,), [Sherif 2015, (38)]."""
    inner = L(rate).T @ J @ L(p) @ rate
    turn = np.linalg.solve(J, 0.5 * moment - 2 * L(p) @ inner)
    acceleration: np.ndarray = L(p).T @ turn - p * (rate @ rate)
    return acceleration
