"""The formulation of a body with modes."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from mbd.algebra.vec import copy, dot, load3
from mbd.formulations.formulation import Formulation
from mbd.formulations.modal import constants as mc
from mbd.formulations.modal.constants import ModalConstants, frame_of, table
from mbd.formulations.modal.equations import equations_on
from mbd.formulations.modal.faces import faces_on
from mbd.formulations.modal.stress import prepare_stress
from mbd.machine.buffer import DISSIPATED, MAP_ROW, POTENTIAL, TRANSLATION
from mbd.machine.jit import jit


def modal(frame: Formulation, constants: ModalConstants) -> Formulation:
    """Return the formulation of one body with modes.

    Parameters
    ----------
    frame : Formulation
        Of the frame; one that tests as it tries and says how accelerations depend on the state
        (``second_maps``).
    constants : ModalConstants
    """
    like, numbers = _modal(frame, len(constants.W1), len(constants.places)), constants.table(frame)
    return replace(
        like,
        like=like,
        constants=lambda *_: numbers,
        mass_matrix=lambda *_: constants.mass_matrix(),
    )


@cache
def _modal(frame: Formulation, n_p: int, interfaces: int) -> Formulation:
    """Return the formulation of n modes and some interfaces, without constants."""
    n_q, n_b = frame.n_q, frame.n_v
    tests_as_it_tries = frame.galerkin and frame.second_maps is not None
    moves = frame.axes and frame.holonomic
    if not tests_as_it_tries or not moves or frame.n_faces > 1:
        raise ValueError(
            f"the frame of modes cannot be carried by {frame.name!r}; take 'so3', 'directors', "
            "'euler_parameters', 'scalable', 'se3' or 'unified'"
        )
    if n_b + n_p > MAP_ROW:
        raise ValueError(
            f"a frame carried by {frame.name!r} takes at most {MAP_ROW - n_b} modes, got {n_p}; "
            "take fewer, or a lower cutoff"
        )
    shown, (residual, tangent) = faces_on(frame), equations_on(frame)
    base_retract, base_flow, base_turn = frame.retract, frame.flow, frame.convect
    base_face, base_rate = frame.face, frame.face_velocity

    @jit
    def retract(F: Any, n: Any) -> None:
        """Move the frame, and write p + d."""
        base_retract(F, n)
        for j in range(n_p):
            F[n.q + n_q + j] = F[n.q0 + n_q + j] + F[n.d + n_b + j]

    @jit
    def flow(F: Any, n: Any, k: int) -> None:
        """Write the rates."""
        base_flow(F, n, k)
        copy(F, k + n_b, n.v + n_b, n_p)

    @jit
    def energy(F: Any, n: Any) -> None:
        """Add the energies of modes and of geometric stiffness, and what modal dampers take."""
        work, p, u, b = table(F, n.par, mc.WORK), n.q + n_q, n.v + n_b, frame_of(F, n)
        stiff, damp = table(F, n.par, mc.STIFFNESS), table(F, n.par, mc.DAMPING)
        yd, second = b.yd, table(F, n.par, mc.GEOMETRIC)
        F[POTENTIAL] += prepare_stress(F, n.par, p)
        base_face(F, b)
        base_rate(F, b)
        for k in range(3):
            for l in range(3):
                F[work + mc.GRAM + 3 * k + l] = dot(
                    load3(F, yd + 3 * k + 3), load3(F, yd + 3 * l + 3)
                )
        for i in range(n_p):
            for j in range(n_p):
                k = F[stiff + n_p * i + j]
                for t in range(9):
                    k += F[second + 9 * (n_p * i + j) + t] * F[work + mc.GRAM + t]
                F[POTENTIAL] += 0.5 * k * F[p + i] * F[p + j]
                F[DISSIPATED] += F[damp + n_p * i + j] * F[u + i] * F[u + j]

    def initial(*motion: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the frame at its pose, without deformation."""
        q, v = frame.initial(*motion)
        return np.concatenate([q, np.zeros(n_p)]), np.concatenate([v, np.zeros(n_p)])

    return Formulation(
        name=f"modal ({frame.name}, {n_p} modes, {interfaces} interfaces)",
        velocities=(*frame.velocities, *(f"mode{j + 1}" for j in range(n_p))),
        velocity_kinds=(*frame.velocity_kinds, *(TRANSLATION,) * n_p), own_rows=frame.own_rows,
        own_kinds=frame.own_kinds, n_q=n_q + n_p, quaternion=frame.quaternion, axes=True,
        constants=frame.constants, initial=initial, retract=retract, face=shown.face,
        face_velocity=shown.face_velocity, face_acceleration=shown.face_acceleration,
        residual=residual, tangent=tangent, maps=shown.maps, second_maps=shown.second_maps,
        own_rates=frame.own_rates, flow=None if frame.flow is None else flow, convect=base_turn,
        energy=energy, rigid=frame.rigid, scales=frame.scales, sized=frame.sized,
        n_faces=1 + interfaces + n_p, n_inner=n_p,
    )  # fmt: skip
