r"""Points of bodies: Jacobians and their rates, momenta, the regressor of inertias.

The velocity of the point x of a body is :math:`\sum_j (S_{v,j} + S_{w,j}\times x)\dot\theta_j` over
the columns on the way to it, and :math:`J^C_j S_j` is the momentum that column j alone would give.
"""

from typing import Any

from mbd.algebra.vec import (
    add,
    clear,
    cross,
    load3,
    load6,
    mat_vec,
    minus,
    plus,
    store3,
    store6,
    times,
)
from mbd.joint_tree import layout as t
from mbd.joint_tree import recursions as r
from mbd.joint_tree.recursions import dot6
from mbd.machine.jit import jit, kernel


@jit
def _link(I: Any, F: Any, k: int) -> int:
    """Return the record of the link that is asked for."""
    return I[k + t.T_LINK] + int(F[I[k + t.T_ARGUMENT]]) * t.L_SIZE  # type: ignore[no-any-return]


@jit
def _point(I: Any, F: Any, k: int, l: int) -> Any:
    """Return the point that is asked for, about O."""
    x, R = r.body_pose(I, F, l)
    return plus(x, mat_vec(R, load3(F, I[k + t.T_ARGUMENT] + 1)))


@kernel
def jacobian(I: Any, F: Any, k: int) -> None:
    """Write, column by column, (velocity of the point, angular velocity of its body)."""
    l = _link(I, F, k)
    x, j = _point(I, F, k, l), I[l + t.L_LAST] - 1
    clear(F, I[k + t.T_RESULT], 6 * I[k + t.T_N])
    while j >= 0:
        w, v = load6(F, t.numbers_of(I, k, j))
        store6(F, I[k + t.T_RESULT] + 6 * j, (plus(v, cross(w, x)), w))
        j = t.before(I, k, j)


@kernel
def jacobian_rate(I: Any, F: Any, k: int) -> None:
    """Write the rates of what `jacobian` writes, after `move`."""
    l = _link(I, F, k)
    x, j = _point(I, F, k, l), I[l + t.L_LAST] - 1
    w, v = load6(F, I[l + t.L_NUMBERS] + t.N_V)
    speed = plus(v, cross(w, x))
    clear(F, I[k + t.T_RESULT], 6 * I[k + t.T_N])
    while j >= 0:
        s = t.numbers_of(I, k, j)
        w, (b, a) = load3(F, s), load6(F, s + t.C_RATE)
        along = plus(plus(a, cross(b, x)), cross(w, speed))
        store6(F, I[k + t.T_RESULT] + 6 * j, (along, b))
        j = t.before(I, k, j)


@kernel
def momentum(I: Any, F: Any, k: int) -> None:
    """Write (linear, angular momentum about the centre of mass) of each column; then the centre."""
    n, to, ground = I[k + t.T_N], I[k + t.T_RESULT], I[k + t.T_GROUND] + t.N_INERTIA
    for l in t.links_inward(I, k):
        J, below = I[l + t.L_NUMBERS] + t.N_INERTIA, I[l + t.L_PARENT] + t.N_INERTIA
        for j in t.columns(I, l):
            about, along = r.inertia_times(F, J, load6(F, t.numbers_of(I, k, j)))
            store6(F, to + 6 * j, (along, about))
        add(F, below, 1.0, J, 10)
    c = times(1.0 / F[ground], load3(F, ground + 1))
    for j in range(n):
        along, about = load6(F, to + 6 * j)
        store3(F, to + 6 * j + 3, minus(about, cross(c, along)))
    store3(F, to + 6 * n, c)
    F[to + 6 * n + 3] = F[ground]


@kernel
def regressor(I: Any, F: Any, k: int) -> None:
    """Write Y (n, 10 bodies): efforts of each inertial parameter of each body, of size one."""
    n, to = I[k + t.T_N], I[k + t.T_RESULT]
    width, body = 0, 0
    for l in t.links(I, k):
        width += 10 * (I[l + t.L_FACE] > 0)
    clear(F, I[k + t.T_RESULT], n * width)
    scratch = I[k + t.T_PARAMETER]
    for l in t.links(I, k):
        if I[l + t.L_FACE] == 0:
            continue
        link, (x, R) = I[l + t.L_NUMBERS], r.body_pose(I, F, l)
        V, A = load6(F, link + t.N_V), load6(F, link + t.N_A)
        for p in range(10):
            for j in range(10):
                F[scratch + j] = 1.0 if j == p else 0.0
            r.place_inertia(F, scratch, R, x, scratch + 10)
            momentum = r.inertia_times(F, scratch + 10, V)
            f = r.plus6(r.inertia_times(F, scratch + 10, A), 1.0, r.turned_force(V, momentum))
            j = I[l + t.L_LAST] - 1
            while j >= 0:
                F[to + j * width + 10 * body + p] = dot6(load6(F, t.numbers_of(I, k, j)), f)
                j = t.before(I, k, j)
        body += 1
