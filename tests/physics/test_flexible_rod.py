"""The slider crank with a flexible rod: equations of motion of the source, and its solution.

The equations are those of B. Simeon (Math. Modelling of Systems 2, 1996) and of the Test Set for
IVP Solvers, in its letters: p = (phi1, phi2, q), M(p) and f(p, v), the slider x3 apart.
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mbd

from .tools import SHARP, converge, scene

ROD = scene("flexible_rod")
L1, L2, M2, M3, J1, J2, PI = ROD.CRANK, ROD.ROD, ROD.M2, ROD.M3, ROD.J1, ROD.J2, ROD.PI
T_END = 0.005


def finite_elements():
    """Return M_q, K_q, B_q, c1, c2, c12, c21 as published, with the density in all but K_q."""
    stiffness = ROD.E * ROD.SIDE**2 / L2
    M, K, B = np.zeros((3, 4, 4))
    M[0, 0] = M[1, 1] = M2 / 2
    M[2:, 2:] = M2 * np.array([[8, 1], [1, 2]])
    K[0, 0] = stiffness * PI**4 / 24 * (ROD.SIDE / L2) ** 2
    K[1, 1] = stiffness * PI**4 * 2 / 3 * (ROD.SIDE / L2) ** 2
    K[2:, 2:] = stiffness / 3 * np.array([[16, -8], [-8, 7]])
    B[:2, 2:] = M2 * np.array([[-16 / PI**3, 8 / PI**3 - 1 / PI], [0, 0.5 / PI]])
    c1, c2 = M2 * np.array([0, 0, 2 / 3, 1 / 6]), M2 * np.array([2 / PI, 0, 0, 0])
    c12, c21 = M2 * L2 * np.array([0, 0, 1 / 3, 1 / 6]), M2 * L2 * np.array([1, -0.5, 0, 0]) / PI
    return M, K, B - B.T, c1, c2, c12, c21


MQ, KQ, BQ, C1, C2, C12, C21 = finite_elements()


def equations(p, v):
    """Return mass matrix and forces of (phi1, phi2, q) without the slider."""
    q, qd, w1, w2 = p[2:], v[2:], v[0], v[1]
    s, c = np.sin(p[0] - p[1]), np.cos(p[0] - p[1])
    M = np.zeros((6, 6))
    M[0, 0] = J1 + M2 * L1**2
    M[0, 1] = M[1, 0] = L1 * L2 * M2 / 2 * c + L1 * (s * C2 + c * C1) @ q
    M[1, 1] = J2 + q @ MQ @ q + 2 * C12 @ q
    M[0, 2:] = M[2:, 0] = L1 * (c * C2 - s * C1)
    M[1, 2:] = M[2:, 1] = C21 + q @ BQ
    M[2:, 2:] = MQ
    f = np.zeros(6)
    f[0] = -L1 * L2 * M2 / 2 * w2**2 * s + L1 * w2**2 * (c * C2 - s * C1) @ q
    f[0] -= 2 * L1 * w2 * (c * C1 + s * C2) @ qd
    f[1] = L1 * L2 * M2 / 2 * w1**2 * s + L1 * w1**2 * (s * C1 - c * C2) @ q
    f[1] -= 2 * w2 * (C12 @ qd + qd @ MQ @ q)
    f[2:] = w2**2 * (MQ @ q + C12) + L1 * w1**2 * (c * C1 + s * C2) + 2 * w2 * BQ @ qd - KQ @ q
    return M, f


def slopes(t, y):
    """Return the rates of (phi2, q) and of their rates, the slider on its axis."""
    p, v = np.r_[ROD.SPEED * t, y[:5]], np.r_[ROD.SPEED, y[5:]]
    M, f = equations(p, v)
    (s1, s2), (c1, c2), r = np.sin(p[:2]), np.cos(p[:2]), L2 + p[5]
    x = np.array([-L1 * s1, -r * s2, 0, 0, 0, c2])  # dx3 = x.dp, 0 = y.dp
    y = np.array([L1 * c1, r * c2, 0, 0, 0, s2])
    x_rest = -L1 * c1 * v[0] ** 2 - r * c2 * v[1] ** 2 - 2 * s2 * v[1] * v[5]
    y_rest = -L1 * s1 * v[0] ** 2 - r * s2 * v[1] ** 2 + 2 * c2 * v[1] * v[5]
    M, f = M + M3 * np.outer(x, x), f - M3 * x * x_rest
    A = np.block([[M[1:, 1:], y[1:, None]], [y[None, 1:], np.zeros((1, 1))]])
    return np.r_[v[1:], np.linalg.solve(A, np.r_[f[1:], -y_rest])[:5]]


def velocities(p, v):
    """Return the velocities of all bodies, in the order of the model."""
    return ROD.mechanism(p, v).build().state.v


@pytest.mark.parametrize("seed", range(3))
def test_equations_are_those_of_the_source(seed):
    rng = np.random.default_rng(seed)
    p = np.r_[rng.uniform(-3, 3, 2), 0.02 * rng.normal(size=4)]
    v = np.r_[100 * rng.normal(size=2), 3 * rng.normal(size=4)]
    a = 1e3 * rng.normal(size=6)
    model = ROD.mechanism(p, v).build()
    J = np.array([velocities(p, e) for e in np.eye(6)]).T  # all velocities from those of p
    d = 2e-6
    central = [(velocities(p + e * v, v) - velocities(p - e * v, v)) / (2 * e) for e in (d, d / 2)]
    turning = (4 * central[1] - central[0]) / 3
    A = model.assemble(model.state.replace(a=J @ a + turning))
    free = [not label.startswith(("guide", "motor")) for label in A.constraints]
    assert sum(free) == len(free) - 2
    assert np.abs((A.B @ J)[free]).max() < 1e-12  # p meets every row but these two

    J[[label.startswith("slider") for label in A.rows]] = 0.0
    M, f = equations(p, v)
    size = np.sqrt(np.diag(M))
    assert np.abs((J.T @ A.M @ J - M) / np.outer(size, size)).max() < 1e-13
    assert np.abs((J.T @ A.residual - (M @ a - f)) / size).max() < 1e-10 * np.abs(f / size).max()


def ends(solution):
    """Return (phi2, q) and their rates at the end."""
    found = []
    for ending in ("", "_rate"):
        found.append(getattr(solution["chord"], "angle" + ending)[-1])
        q1, q2, *modes = (
            getattr(solution[x], "displacement" + ending)[-1]
            for x in ("q1", "q2", "mode 1", "mode 2")
        )
        found += [q1, q2, *ROD.MODES @ modes]
    return np.array(found)


def test_motion_is_that_of_the_source():
    start = np.r_[ROD.START[1:], ROD.RATES[1:]]
    exact = solve_ivp(slopes, (0, T_END), start, method="DOP853", rtol=1e-11, atol=1e-15).y
    size = np.abs(exact).max(axis=1)
    model = ROD.build().build()

    def run(h):
        y = ends(mbd.simulate(model, T_END, h, method=SHARP, every=10**6)) / size
        return {"phi2, q": y[:5], "rates": y[5:]}

    wanted = {"phi2, q": exact[:5, -1] / size[:5], "rates": exact[5:, -1] / size[5:]}
    tolerance = {"phi2, q": 1e-8, "rates": 1e-6}
    converge(run, wanted, step=2e-6, tolerance=tolerance)
