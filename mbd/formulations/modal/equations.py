r"""``modal``: a body with modes on the face of any formulation (floating frame of reference).

A point is :math:`x = \sum_k w_k(p)\,y_k` with :math:`w(p) = (1, \rho) + \sum_j p_j (0, \psi_j)`:
bilinear in the face y of the frame and the modal coordinates p. With the invariants

.. math::
   W_0 &= \int w_0 w_0^T dm, \quad W_{1,j} = \int w_0\psi_j^T dm, \quad
   W_{2,ij} = \int\psi_i\psi_j^T dm, \qquad U_j = W_{1,j} + \textstyle\sum_i p_i W_{2,ij} \\
   W &= W_0 + \textstyle\sum_j p_j (U_j + W_{1,j}^T), \qquad \ddot y_g = \ddot y - (g, 0, 0, 0) \\
   f_y &= W\ddot y_g + \textstyle\sum_j (2\dot p_j U_j\dot y + \ddot p_j U_j y) \\
   f_{p,j} &= y : (U_j^T\ddot y_g + 2\textstyle\sum_i\dot p_i W_{2,ji}\dot y)
              + \textstyle\sum_i (\mathrm{tr}W_{2,ji}\,\ddot p_i + D_{ji}\dot p_i + K_{ji}p_i),

where matrices act on the four vectors of a face and :math:`y:z = \sum_k y_k\cdot z_k`. What acts on
y is pulled back by the formulation of the frame, without mass; of rows :math:`y_k\cdot y_l =
\delta_{kl}` is used in the coefficient of the second rates only.

Geometric stiffness :math:`\sum_{ab}\Omega_a\Omega_b K_{ab}` of a spinning body is a change of its
second moments, :math:`-\tfrac12 p^TK_{ab}p\,\Omega_a\Omega_b = \tfrac12 p_ip_j G_{ij,kl}\dot d_k
\cdot\dot d_l` with :math:`G = K - \tfrac12\mathrm{tr}(K) I`: it is added to :math:`W_2`, except in
the coefficient of :math:`\ddot p`, so that a run conserves energy and momenta with it. Its energy
counts as potential; sums over nodes, kinetic energy and angular momentum, are without it. That of
loads is a force of its own on the modes, ``stress.py``.

Faces: that of the frame; of each interface :math:`r = y_0 + \sum_k (X + \sum_j p_j a_j)_k d_k` and
:math:`\sum_k (e_i + \vartheta\times e_i)_k d_k, \vartheta = \sum_j p_j\vartheta_j`, orthonormal to
first order; and of each mode the products :math:`p_j y`, which only carry mass: with them
:math:`T = \tfrac12\dot z^T(\mathbf W\otimes I_3)\dot z` with one constant matrix.

References
----------
Shabana, Dynamics of Multibody Systems (floating frame). Zwölfer, Gerstmayr, Multibody Syst. Dyn. 52
(2021): the invariants as nodal sums.
"""

from functools import cache
from typing import Any

from mbd.algebra.vec import add, add3, clear, copy, dot, load3
from mbd.formulations.formulation import Formulation, SecondMapRecord
from mbd.formulations.modal import constants as mc
from mbd.formulations.modal.constants import frame_of, loaded_frame, table, working_maps
from mbd.formulations.modal.faces import add_back, combined, motion, pull
from mbd.formulations.modal.stress import add_stress_force, add_stress_stiffness, prepare_stress
from mbd.machine.buffer import GX, MAP_ROW, W_G, W_K, W_M
from mbd.machine.jit import jit


@cache
def equations_on(frame: Formulation) -> tuple[Any, Any]:
    """Return residual and tangent on a frame of this formulation, whatever the number of modes."""
    n_b, n_own, n_q = frame.n_v, frame.n_own, frame.n_q
    size = n_b + n_own
    base_rate, base_second = frame.face_velocity, frame.face_acceleration
    base_residual, base_tangent, base_maps = frame.residual, frame.tangent, frame.maps
    second_maps = frame.second_maps

    @jit
    def prepare(F: Any, n: Any) -> None:
        """Write rates of the frame, U, W, V1 = 2 p' U, V2 = p'' U, products, and all of f_y."""
        par, n_p, work = n.par, int(F[n.par]), table(F, n.par, mc.WORK)
        p, u, a, b = n.q + n_q, n.v + n_b, n.a + n_b, frame_of(F, n)
        yd, ydd, load = b.yd, b.ydd, work + mc.LOAD
        base_rate(F, b)
        base_second(F, b)
        for c in range(3):
            F[ydd + c] -= F[GX + c]
        copy(F, work + mc.W, par + mc.W0, 16)
        for i in range(12):
            F[work + mc.V1 + i] = F[work + mc.V2 + i] = 0.0
            F[load + i] = F[n.f + i]
        w1, w2 = table(F, par, mc.W1), table(F, par, mc.W2)
        for j in range(n_p):
            one = work + mc.U + 12 * j
            copy(F, one, w1 + 12 * j, 12)
            for i in range(n_p):
                add(F, one + 3, F[p + i], w2 + 9 * (n_p * i + j), 9)
            for t in range(4):
                for l in range(3):
                    F[work + mc.W + 4 * t + l + 1] += F[p + j] * F[one + 3 * t + l]
                    F[work + mc.W + 4 * (l + 1) + t] += F[p + j] * F[w1 + 12 * j + 3 * t + l]
            for i in range(12):
                F[work + mc.V1 + i] += 2 * F[u + j] * F[one + i]
                F[work + mc.V2 + i] += F[a + j] * F[one + i]
        for t in range(4):
            for l in range(4):
                add3(F, load + 3 * t, F[work + mc.W + 4 * t + l], load3(F, ydd + 3 * l))
            for l in range(3):
                d, dd = load3(F, n.y + 3 * l + 3), load3(F, yd + 3 * l + 3)
                add3(F, load + 3 * t, F[work + mc.V1 + 3 * t + l], dd)
                add3(F, load + 3 * t, F[work + mc.V2 + 3 * t + l], d)
                F[work + mc.GRAM + 3 * t + l] = dot(load3(F, ydd + 3 * t), d)
                F[work + mc.RATES + 3 * t + l] = dot(load3(F, yd + 3 * t), d)
        prepare_stress(F, par, p)
        at = table(F, par, mc.PLACES)
        for i in range(int(F[par + 1])):
            x, turn = motion(F, at + i * (3 + 6 * n_p), n_p, p, 1.0)
            add_back(F, n.f + 12 * (1 + i), load, 1.0, x, turn)
        copy(F, work + mc.OWN, n.a, n_b)
        for i in range(n_own):  # multipliers stand after all accelerations
            F[work + mc.OWN + n_b + i] = F[a + n_p + i]

    @jit
    def residual(F: Any, n: Any, s: float) -> None:
        """Write s Z^T f_y, s f_p and the own rows."""
        n_p, work, p, u, b = (
            int(F[n.par]),
            table(F, n.par, mc.WORK),
            n.q + n_q,
            n.v + n_b,
            n.a + n_b,
        )
        prepare(F, n)
        base_residual(F, loaded_frame(F, n, size), s)
        copy(F, n.x, work + mc.ROW, n_b)
        copy(F, n.x + n_b + n_p, work + mc.ROW + n_b, n_own)
        w2, mass = table(F, n.par, mc.W2), table(F, n.par, mc.MASS)
        stiff, damp = table(F, n.par, mc.STIFFNESS), table(F, n.par, mc.DAMPING)
        for j in range(n_p):
            total = pull(F, n.par, n.y, n.f, work + mc.COLUMN, j)
            for i in range(12):
                total += F[work + mc.U + 12 * j + i] * F[work + mc.GRAM + i]
            for i in range(n_p):
                turning = 0.0
                for t in range(9):
                    turning += F[w2 + 9 * (n_p * i + j) + t] * F[work + mc.RATES + 3 + t]
                total += (2 * turning + F[damp + n_p * j + i]) * F[u + i]
                total += F[mass + n_p * j + i] * F[b + i] + F[stiff + n_p * j + i] * F[p + i]
            F[n.x + n_b + j] = s * total
        add_stress_force(F, n.par, n.x + n_b, s)

    @jit
    def frame_maps(F: Any, n: Any, work: int) -> None:
        """Write weighted maps of accelerations, velocities and positions of the frame, and Z."""
        wM, wG, wK, one, b = F[W_M], F[W_G], F[W_K], work + mc.ONE, frame_of(F, n)
        for k in range(4):
            for i in range(4):
                F[one + i] = 1.0 * (i == k)
            base_maps(F, b, working_maps(work, one, 1))
            second_maps(F, b, SecondMapRecord(one, work + mc.AV, work + mc.AQ))
            for c in range(3):
                for i in range(n_b):
                    from_, to = work + MAP_ROW * c + i, work + n_b * (3 * k + c) + i
                    F[to + mc.Z] = F[from_ + mc.P]
                    F[to + mc.EY] = wK * F[from_ + mc.PT]
                    F[to + mc.EV] = wG * F[from_ + mc.P] + wK * F[from_ + mc.DP]
                    F[to + mc.EA] = (
                        wM * F[from_ + mc.P] + wG * F[from_ + mc.AV] + wK * F[from_ + mc.AQ]
                    )

    @jit
    def add_frame(F: Any, n: Any, work: int, n_p: int) -> None:
        """Add Z^T (W dy'' + V1 dy' + V2 dy), the curvature of f_y and the own rows."""
        for t in range(4):
            for c in range(3):
                for i in range(n_b):
                    value = 0.0
                    for l in range(4):
                        value += (
                            F[work + mc.W + 4 * t + l] * F[work + mc.EA + n_b * (3 * l + c) + i]
                        )
                    for l in range(3):
                        at = n_b * (3 * l + 3 + c) + i
                        value += F[work + mc.V1 + 3 * t + l] * F[work + mc.EV + at]
                        value += F[work + mc.V2 + 3 * t + l] * F[work + mc.EY + at]
                    F[work + mc.PRODUCT + n_b * (3 * t + c) + i] = value
        for r in range(12):
            for i in range(n_b):
                value = F[work + mc.Z + n_b * r + i]
                add(F, n.S + n.ld * i, value, work + mc.PRODUCT + n_b * r, n_b)
        clear(F, work + mc.BLOCK, size * size)
        base_tangent(F, loaded_frame(F, n, size))
        for i in range(size):
            for j in range(size):
                to = n.S + n.ld * (i + n_p * (i >= n_b)) + j + n_p * (j >= n_b)
                F[to] += F[work + mc.BLOCK + size * i + j]

    @jit
    def tangent(F: Any, n: Any) -> None:
        """Add the derivatives of f_y and f_p by accelerations, velocities and positions."""
        n_p, work, u, b = int(F[n.par]), table(F, n.par, mc.WORK), n.v + n_b, n.a + n_b
        wM, wG, wK = F[W_M], F[W_G], F[W_K]
        yd, ydd, row, column = (
            work + mc.VELOCITY,
            work + mc.ACCELERATION,
            work + mc.ROW,
            work + mc.COLUMN,
        )
        weighted = work + mc.WEIGHTED
        prepare(F, n)
        frame_maps(F, n, work)
        add_frame(F, n, work, n_p)
        add_stress_stiffness(F, n.par, n.S + n.ld * n_b + n_b, n.ld, wK)
        w2, mass = table(F, n.par, mc.W2), table(F, n.par, mc.MASS)
        stiff, damp = table(F, n.par, mc.STIFFNESS), table(F, n.par, mc.DAMPING)
        for j in range(n_p):
            one = work + mc.U + 12 * j
            pull(F, n.par, n.y, n.f, column, j)
            for l in range(3):  # what both f_y and f_p,j have: U_j^T y''
                for t in range(4):
                    add3(F, column + 3 * l + 3, F[one + 3 * t + l], load3(F, ydd + 3 * t))
            for i in range(12):
                F[row + i] = 0.0
                F[row + 12 + i] = F[column + i]
                F[column + i] *= wK
            for t in range(18):  # 2 sum p_i' W2_ij, and sum p_i'' W2_ij
                F[weighted + t] = 0.0
            for i in range(n_p):
                turning, growing, ij = 0.0, 0.0, w2 + 9 * (n_p * i + j)
                for t in range(9):
                    turning += F[ij + t] * F[work + mc.RATES + 3 + t]
                    growing += F[ij + t] * F[work + mc.GRAM + 3 + t]
                    F[weighted + t] += 2 * F[u + i] * F[ij + t]
                    F[weighted + 9 + t] += F[b + i] * F[ij + t]
                F[n.S + n.ld * (n_b + j) + n_b + i] += (
                    wM * F[mass + n_p * j + i]
                    + wG * (2 * turning + F[damp + n_p * j + i])
                    + wK * (growing + F[stiff + n_p * j + i])
                )
            for t in range(3):
                for l in range(3):
                    turn, grow, rt, rl = (
                        F[weighted + 3 * t + l],
                        F[weighted + 9 + 3 * t + l],
                        3 * t,
                        3 * l,
                    )
                    add3(F, row + rt + 3, turn, load3(F, n.y + rl + 3))
                    add3(F, row + rl + 15, turn, load3(F, yd + rt + 3))
                    add3(F, column + rl + 3, wK * turn, load3(F, yd + rt + 3))
                    add3(F, column + rl + 3, wK * grow, load3(F, n.y + rt + 3))
            for t in range(4):
                for l in range(3):
                    value, at = F[one + 3 * t + l], 3 * l + 3
                    add3(F, column + 3 * t, wM * value, load3(F, n.y + at))
                    add3(F, column + 3 * t, 2 * wG * value, load3(F, yd + at))
                    add3(F, column + 3 * t, wK * value, load3(F, ydd + at))
            for t in range(4):
                moved = combined(F, n.y, load3(F, one + 3 * t))
                for c in range(3):
                    r = 3 * t + c
                    for i in range(n_b):
                        at = n_b * r + i
                        F[n.S + n.ld * (n_b + j) + i] += (
                            moved[c] * F[work + mc.EA + at]
                            + F[row + r] * F[work + mc.EV + at]
                            + F[row + 12 + r] * F[work + mc.EY + at]
                        )
                        F[n.S + n.ld * i + n_b + j] += F[work + mc.Z + at] * F[column + r]

    return residual, tangent
