"""Loops over all bodies of one formulation, built from its functions of one node.

The record of a family at ``I[k]``: number of nodes, where their records begin.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from mbd.algebra.vec import clear
from mbd.formulations.formulation import Formulation, MapRecord, NodeRecord, SecondMapRecord
from mbd.machine import buffer as m
from mbd.machine.jit import ints, jit, kernel, maps_kernel
from mbd.machine.unknowns import own_vector


@dataclass(frozen=True)
class Family:
    """The kernels of one formulation, compiled when first used; None of what it does not have."""

    place: Any
    velocities: Any
    residual: Any
    maps: Any
    accelerations: Any
    second_maps: Any
    tangent: Any
    rates: Any
    flow: Any
    convect: Any
    carry: Any
    energy: Any
    ending: Any = None  # of conserving steps alone


def family(formulation: Formulation) -> Family:
    """Return the kernels of a formulation."""
    return _family(formulation.like or formulation)


def conserving_family(formulation: Formulation) -> Family:
    """Return the kernels of a formulation with those of ``Formulation.conserving`` in a step."""
    return _conserving_family(formulation.like or formulation)


@jit
def _record(I: Any, i: int, n_v: int) -> Any:
    """Return the record of the node at I[i], which has so many velocities."""
    q, u, y = I[i + m.NODE_Q], I[i + m.NODE_U], I[i + m.NODE_Y]
    return NodeRecord(
        I[i + m.NODE_PAR], I[m.QN] + q, I[m.Q] + q, I[m.D] + u, I[m.V] + u, I[m.A] + u,
        I[m.Y] + y, I[m.YD] + y, I[m.YDD] + y, I[m.FY] + y, I[m.X] + u,
        I[i + m.NODE_S], I[i + m.NODE_LD], I[m.PHID] + u + n_v, I[m.PHIDD] + u + n_v, u,
    )  # fmt: skip


@jit
def _weights(I: Any, a: int, i: int) -> int:
    """Return where the weights of an attachment on all faces of its node begin."""
    return I[a + m.ATT_W] - (I[a + m.ATT_Y] - I[i + m.NODE_Y]) // 3


@jit
def _clear(F: Any, to: int, size: int, n_v: int, columns: int) -> None:
    """Write zeros after the columns of the velocities, in the rows of some maps."""
    for row in range(to, to + size, m.MAP_ROW):
        clear(F, row + n_v, columns - n_v)


def _every_node(function: Callable[..., Any], n_v: int) -> Any:
    """Return the kernel that calls ``function(I, F, n)`` with the record of every node."""
    of_one = jit(function)

    def of_all(I: Any, F: Any, k: int) -> None:
        for e in range(I[k]):
            of_one(I, F, _record(I, I[k + 1] + e * m.NODE_SIZE, n_v))

    of_all.__name__, of_all.__doc__ = function.__name__, function.__doc__
    return kernel(of_all)


@cache
def _family(formulation: Formulation) -> Family:
    form, n_v, n_faces = formulation, formulation.n_v, formulation.n_faces
    columns, own_map, galerkin = m.padded(n_v), m.P if form.galerkin else m.PV, form.galerkin
    retract, face, own_rates = form.retract, form.face, form.own_rates
    face_acceleration, residual_of = form.face_acceleration, form.residual
    maps_of, second_maps_of = form.maps, form.second_maps
    flow_of, convect_of, carry_of = form.flow, form.convect, form.carry

    def every_node(function: Callable[..., Any], needed: Any = True) -> Any:
        """Return the kernel of a function, None of one that is not there."""
        return None if needed is None else _every_node(function, n_v)

    def as_it_is(function: Any) -> Any:
        """Return the kernel that calls a function of one node, None of one that is not there."""

        def of_node(I: Any, F: Any, n: Any) -> None:
            function(F, n)

        of_node.__name__ = getattr(function, "__name__", "")  # for what does not compile
        return every_node(of_node, function)

    def place(I: Any, F: Any, n: Any) -> None:
        """Move every node to q = q_n [+] d and show its faces; clear the face forces."""
        retract(F, n)
        face(F, n)
        clear(F, n.f, 12 * n_faces)

    def residual(I: Any, F: Any, n: Any) -> None:
        """Write the residual of every node."""
        residual_of(F, n, F[m.SCALE_R])

    def rates(I: Any, F: Any, n: Any) -> None:
        """Write the acceleration of every face; of own rows both derivatives."""
        face_acceleration(F, n)
        own_rates(F, n)

    def flow(I: Any, F: Any, n: Any) -> None:
        """Write the rates of D at the velocities in V to vector 0 of the method."""
        flow_of(F, n, I[m.METHOD] + n.u)

    def convect(I: Any, F: Any, n: Any) -> None:
        """Turn the velocities in V with the increments in D (F[WAY] = 1), or accelerations back."""
        convect_of(F, F[m.WAY], n.d, n.v if F[m.WAY] > 0.0 else n.a)

    def carry(I: Any, F: Any, n: Any) -> None:
        """Write D and V of the motion in vector 0 of the method, at the velocities in its 1."""
        carry_of(F, n, I[m.METHOD] + n.u, own_vector(I, 1) + n.u)

    def maps(I: Any, F: Any, a: int, to: int, rate: int) -> None:
        """Write the maps of one attachment, with zeros after the columns of its velocities."""
        i = I[a + m.ATT_NODE]
        _clear(F, to, m.MAPS_SIZE if rate or not galerkin else m.DP, n_v, columns)
        n, still = _record(I, i, n_v), 1 - rate
        for j in range(n_v):
            if F[n.d + j] != 0.0:
                still = 0
        places = MapRecord(
            _weights(I, a, i), to + m.P, to + m.PT, to + m.DP, to + own_map, rate, still
        )
        maps_of(F, n, places)

    def second_maps(I: Any, F: Any, a: int, to: int, rate: int) -> None:
        """Write the maps of the acceleration of one attachment, with zeros after the columns."""
        i = I[a + m.ATT_NODE]
        _clear(F, to, m.SECOND_SIZE, n_v, columns)
        places = SecondMapRecord(_weights(I, a, i), to + m.AV, to + m.AQ)
        second_maps_of(F, _record(I, i, n_v), places)

    return Family(
        place=every_node(place), velocities=as_it_is(form.face_velocity), maps=maps_kernel(maps),
        residual=every_node(residual), accelerations=as_it_is(face_acceleration),
        second_maps=None if second_maps_of is None else maps_kernel(second_maps),
        tangent=as_it_is(form.tangent), rates=every_node(rates), flow=every_node(flow, flow_of),
        convect=every_node(convect, convect_of), carry=every_node(carry, carry_of),
        energy=as_it_is(form.energy),
    )  # fmt: skip


@cache
def _conserving_family(formulation: Formulation) -> Family:
    form, n_v, size = formulation, formulation.n_v, 12 * formulation.n_faces
    step, ordinary = form.conserving, _family(formulation)
    if step is None:
        raise ValueError(f"Formulation {form.name!r} must have functions of conserving steps")
    columns, retract, face = m.padded(n_v), form.retract, form.face
    face_velocity = form.face_velocity
    residual_of, tangent_of, maps_of = form.residual, form.tangent, form.maps
    residual_in, tangent_in, maps_in = step.residual, step.tangent, step.maps
    ending_of = step.ending

    def place(I: Any, F: Any, n: Any) -> None:
        """Move to q = q_n [+] d and show faces; in the middle to the end, means and differences."""
        middle = ints(F)[m.PHASE] == m.MIDDLE
        for j in range(n_v if middle else 0):
            F[n.d + j] *= 2.0
        retract(F, n)
        face(F, n)
        if middle:
            start = NodeRecord(
                n.par, n.q0, n.q0, n.d, n.v, n.a, n.yd, n.yd, n.ydd, n.f, n.x, n.S, n.ld, n.rate,
                n.second, n.u,
            )  # fmt: skip
            face(F, start)
            for j in range(size):
                first, last = F[n.yd + j], F[n.y + j]
                F[n.y + j], F[n.yd + j] = 0.5 * (first + last), (last - first) / F[m.ROW_RATE]
        clear(F, n.f, size)

    def velocities(I: Any, F: Any, n: Any) -> None:
        """Write the velocity of every face, where it is not a difference."""
        if ints(F)[m.PHASE] != m.MIDDLE:
            face_velocity(F, n)

    def residual(I: Any, F: Any, n: Any) -> None:
        """Write the residual of every node."""
        if ints(F)[m.PHASE] == m.MIDDLE:
            residual_in(F, n, I[m.VN] + n.u, F[m.SCALE_R])
        else:
            residual_of(F, n, F[m.SCALE_R])

    def tangent(I: Any, F: Any, n: Any) -> None:
        """Add the diagonal block of every node."""
        if ints(F)[m.PHASE] == m.MIDDLE:
            tangent_in(F, n, I[m.VN] + n.u)
        else:
            tangent_of(F, n)

    def ending(I: Any, F: Any, n: Any) -> None:
        """Write the velocities of every node at the end of the step."""
        ending_of(F, n, I[m.VN] + n.u)

    def maps(I: Any, F: Any, a: int, to: int, rate: int) -> None:
        """Write the maps of one attachment, with zeros after the columns of its velocities."""
        i = I[a + m.ATT_NODE]
        _clear(F, to, m.MAPS_SIZE if rate else m.DP, n_v, columns)
        places = MapRecord(_weights(I, a, i), to + m.P, to + m.PT, to + m.DP, to + m.P, rate, 0)
        n = _record(I, i, n_v)
        if ints(F)[m.PHASE] == m.MIDDLE:
            maps_in(F, n, I[m.VN] + n.u, places)
        else:
            maps_of(F, n, places)

    return replace(
        ordinary, place=_every_node(place, n_v), velocities=_every_node(velocities, n_v),
        residual=_every_node(residual, n_v), maps=maps_kernel(maps),
        tangent=_every_node(tangent, n_v), ending=_every_node(ending, n_v),
    )  # fmt: skip
