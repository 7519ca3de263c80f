"""Loops over all bodies of one formulation, built from its functions of one node.

The record of a family at ``I[k]``: number of nodes, where their records begin.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from mbd.formulations.formulation import Formulation
from mbd.machine import buffer as m
from mbd.machine.buffer import (
    AQ,
    ATT_NODE,
    ATT_W,
    ATT_Y,
    AV,
    DP,
    MAP_ROW,
    MAPS_SIZE,
    NODE_LD,
    NODE_PAR,
    NODE_Q,
    NODE_S,
    NODE_SIZE,
    NODE_U,
    NODE_Y,
    PT,
    PV,
    SECOND_SIZE,
    P,
    padded,
)
from mbd.machine.jit import kernel, maps_kernel
from mbd.machine.unknowns import own_vector

A, D, FY, Q, QN, V, X, Y, YD, YDD = m.A, m.D, m.FY, m.Q, m.QN, m.V, m.X, m.Y, m.YD, m.YDD
METHOD, PHID, PHIDD, SCALE_R = m.METHOD, m.PHID, m.PHIDD, m.SCALE_R


@dataclass(frozen=True)
class Family:
    """The kernels of one formulation; compiled when first used."""

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


def _place(retract: Callable[..., Any], face: Callable[..., Any], n_faces: int) -> Any:
    @kernel
    def place(I: Any, F: Any, k: int) -> None:
        """Move every node to q = q_n [+] d and show its faces; clear the face forces."""
        for e in range(I[k]):
            i = I[k + 1] + e * NODE_SIZE
            par, q, y = I[i + NODE_PAR], I[Q] + I[i + NODE_Q], I[Y] + I[i + NODE_Y]
            retract(F, I[QN] + I[i + NODE_Q], I[D] + I[i + NODE_U], q)
            face(F, par, q, y)
            f = I[FY] + I[i + NODE_Y]
            for j in range(12 * n_faces):
                F[f + j] = 0.0

    return place


def _velocities(of_node: Callable[..., Any]) -> Any:
    @kernel
    def velocities(I: Any, F: Any, k: int) -> None:
        """Write the velocity of every face."""
        for e in range(I[k]):
            i = I[k + 1] + e * NODE_SIZE
            u, y = I[i + NODE_U], I[i + NODE_Y]
            of_node(F, I[i + NODE_PAR], I[Q] + I[i + NODE_Q], I[Y] + y, I[V] + u, I[YD] + y)

    return velocities


def _residual(of_node: Callable[..., Any]) -> Any:
    @kernel
    def residual(I: Any, F: Any, k: int) -> None:
        """Write the residual of every node."""
        for e in range(I[k]):
            i = I[k + 1] + e * NODE_SIZE
            u, y = I[i + NODE_U], I[i + NODE_Y]
            of_node(F, I[i + NODE_PAR], I[Q] + I[i + NODE_Q], I[Y] + y, I[V] + u, I[A] + u,
                I[FY] + y, I[X] + u, F[SCALE_R])  # fmt: skip

    return residual


def _tangent(of_node: Callable[..., Any]) -> Any:
    @kernel
    def tangent(I: Any, F: Any, k: int) -> None:
        """Add the diagonal block of every node."""
        for e in range(I[k]):
            i = I[k + 1] + e * NODE_SIZE
            u, y = I[i + NODE_U], I[i + NODE_Y]
            of_node(F, I[i + NODE_PAR], I[Q] + I[i + NODE_Q], I[Y] + y, I[V] + u, I[A] + u,
                I[FY] + y, I[D] + u, I[i + NODE_S], I[i + NODE_LD])  # fmt: skip

    return tangent


def _maps(of_node: Callable[..., Any], n_v: int, galerkin: bool) -> Any:
    own, columns = P if galerkin else PV, padded(n_v)

    @maps_kernel
    def maps(I: Any, F: Any, a: int, to: int, rate: int) -> None:
        """Write the maps of one attachment, with zeros after the columns of its velocities."""
        i = I[a + ATT_NODE]
        u = I[i + NODE_U]
        used = MAPS_SIZE if rate or not galerkin else DP
        for row in range(to, to + used, MAP_ROW):
            for j in range(n_v, columns):
                F[row + j] = 0.0
        of_node(F, I[i + NODE_PAR], I[Q] + I[i + NODE_Q], I[Y] + I[i + NODE_Y], I[V] + u, I[D] + u,
            I[a + ATT_W] - (I[a + ATT_Y] - I[i + NODE_Y]) // 3, to + P, to + PT, to + DP, to + own,
            rate)  # fmt: skip

    return maps


def _accelerations(of_node: Callable[..., Any]) -> Any:
    @kernel
    def accelerations(I: Any, F: Any, k: int) -> None:
        """Write the acceleration of every face."""
        for e in range(I[k]):
            i = I[k + 1] + e * NODE_SIZE
            u, y, q = I[i + NODE_U], I[i + NODE_Y], I[Q] + I[i + NODE_Q]
            of_node(F, I[i + NODE_PAR], q, I[Y] + y, I[V] + u, I[A] + u, I[YDD] + y)

    return accelerations


def _second_maps(of_node: Callable[..., Any], n_v: int) -> Any:
    columns = padded(n_v)

    @maps_kernel
    def second_maps(I: Any, F: Any, a: int, to: int, rate: int) -> None:
        """Write the maps of the acceleration of one attachment, with zeros after the columns."""
        i = I[a + ATT_NODE]
        u, q, y = I[i + NODE_U], I[Q] + I[i + NODE_Q], I[Y] + I[i + NODE_Y]
        w = I[a + ATT_W] - (I[a + ATT_Y] - I[i + NODE_Y]) // 3
        for row in range(to, to + SECOND_SIZE, MAP_ROW):
            for j in range(n_v, columns):
                F[row + j] = 0.0
        of_node(
            F, I[i + NODE_PAR], q, y, I[V] + u, I[A] + u, I[D] + u, w, to + AV, to + AQ
        )  # fmt: skip

    return second_maps


def _rates(acceleration: Callable[..., Any], own: Callable[..., Any], n_v: int) -> Any:
    @kernel
    def rates(I: Any, F: Any, k: int) -> None:
        """Write the acceleration of every face; of own rows both derivatives."""
        for e in range(I[k]):
            i = I[k + 1] + e * NODE_SIZE
            u, y, q = I[i + NODE_U], I[i + NODE_Y], I[Q] + I[i + NODE_Q]
            acceleration(F, I[i + NODE_PAR], q, I[Y] + y, I[V] + u, I[A] + u, I[YDD] + y)
            u += n_v
            own(F, q, I[Y] + y, I[YD] + y, I[YDD] + y, I[PHID] + u, I[PHIDD] + u)

    return rates


def _flow(of_node: Callable[..., Any]) -> Any:
    @kernel
    def flow(I: Any, F: Any, k: int) -> None:
        """Write the rates of D at the velocities in V to vector 0 of the method."""
        for e in range(I[k]):
            i = I[k + 1] + e * NODE_SIZE
            u = I[i + NODE_U]
            of_node(F, I[QN] + I[i + NODE_Q], I[D] + u, I[V] + u, I[METHOD] + u)

    return flow


def _convect(of_node: Callable[..., Any]) -> Any:
    @kernel
    def convect(I: Any, F: Any, k: int) -> None:
        """Turn the velocities in V with the increments in D (F[WAY] = 1), or accelerations back."""
        to = I[V] if F[m.WAY] > 0.0 else I[A]
        for e in range(I[k]):
            u = I[I[k + 1] + e * NODE_SIZE + NODE_U]
            of_node(F, F[m.WAY], I[D] + u, to + u)

    return convect


def _carry(of_node: Callable[..., Any]) -> Any:
    @kernel
    def carry(I: Any, F: Any, k: int) -> None:
        """Write D and V of the motion in vector 0 of the method, at the velocities in its 1."""
        for e in range(I[k]):
            i = I[k + 1] + e * NODE_SIZE
            u, q0 = I[i + NODE_U], I[QN] + I[i + NODE_Q]
            of_node(F, q0, I[METHOD] + u, own_vector(I, 1) + u, I[D] + u, I[V] + u)

    return carry


def _energy(of_node: Callable[..., Any]) -> Any:
    @kernel
    def energy(I: Any, F: Any, k: int) -> None:
        """Add what every node stores and dissipates."""
        for e in range(I[k]):
            i = I[k + 1] + e * NODE_SIZE
            of_node(F, I[i + NODE_PAR], I[Q] + I[i + NODE_Q], I[V] + I[i + NODE_U])

    return energy


def family(formulation: Formulation) -> Family:
    """Return the kernels of a formulation."""
    return _family(formulation.like or formulation)


@cache
def _family(formulation: Formulation) -> Family:
    return Family(
        place=_place(formulation.retract, formulation.face, formulation.n_faces),
        velocities=_velocities(formulation.face_velocity),
        residual=_residual(formulation.residual),
        maps=_maps(formulation.maps, formulation.n_v, formulation.galerkin),
        accelerations=_accelerations(formulation.face_acceleration),
        second_maps=None
        if formulation.second_maps is None
        else _second_maps(formulation.second_maps, formulation.n_v),
        tangent=_tangent(formulation.tangent),
        rates=_rates(formulation.face_acceleration, formulation.own_rates, formulation.n_v),
        flow=None if formulation.flow is None else _flow(formulation.flow),
        convect=None if formulation.convect is None else _convect(formulation.convect),
        carry=None if formulation.carry is None else _carry(formulation.carry),
        energy=None if formulation.energy is None else _energy(formulation.energy),
    )
