"""One full set of matrices of a rigid body on R^3 x SO(3), from the documentation of Kynema.

The mass matrix is not that of a body that can exist, so the law of the formulation is called.
"""

import numpy as np
import pytest

import mbd
from mbd.algebra.rotations import tilde
from mbd.formulations import named
from mbd.formulations.formulation import NodeRecord
from mbd.machine import buffer as m

MASS = np.array(
    [
        [2, 0, 0, 0, 0.6, -0.4],
        [0, 2, 0, -0.6, 0, 0.2],
        [0, 0, 2, 0.4, -0.2, 0],
        [0, -0.6, 0.4, 1, 2, 3],
        [0.6, 0, -0.2, 2, 4, 6],
        [-0.4, 0.2, 0, 3, 6, 9],
    ]
)
R = np.array(
    [
        [0.9246873610951006, 0.34700636042507577, -0.156652066872805],
        [-0.3426571011111718, 0.937858102036658, 0.05484789423748749],
        [0.16594997827377847, 0.002960788533623304, 0.9861297269843315],
    ]
)
OMEGA = np.array([2.5446043828620747e-3, -2.4798542682092656e-3, 6.5079641503882585e-5])
ACCELERATION = np.array([2.54460438286207e-3, -2.41510415355646e-3, 1.2982975615669e-4])
ALPHA = np.array([2.54460438286207e-3, -2.47985426820927e-3, -2.47985426820927e-3])
G = np.array(
    [
        [-0.0008012182534494841, 0.002003432464632351, 0.0015631511018243545],
        [-0.002297634478952118, 0.0006253629923483924, -0.0015967098417843995],
        [-0.0031711581076346268, 0.0031271320551441812, -0.0002573417597137699],
        [-0.009044140792420115, -0.016755394335528064, -0.022806270184157214],
        [-0.005674132164451402, -0.013394960837037522, -0.025943451454082944],
        [0.006396216051163168, 0.013413253109011812, 0.022439101629457635],
    ]
)
K = np.array(
    [
        [-0.0023904728226588536, 0.0005658527664274542, 0.0005703830914904407],
        [-0.0008599439459226316, -0.000971811812092634, 0.0008426153626567674],
        [-0.0015972403418206974, 0.0015555222717217175, -0.000257435063678694],
        [0.004762288305421506, -0.016524233223710137, 0.007213755243428677],
        [0.035164381478288514, 0.017626317482204206, -0.022463736936512112],
        [-0.0025828596476940593, 0.04278211835291491, -0.022253736971069835],
    ]
)
N = NodeRecord(
    par=100, q0=120, q=120, d=190, v=150, a=160, y=130, yd=0, ydd=0, f=170, x=200, S=210, ld=6,
    rate=0, second=0, u=0,
)  # fmt: skip


def buffer():
    """Memory of one body at the state of the table, no gravity."""
    so3 = named("so3")
    F = np.zeros(300)
    J = MASS[3:, 3:]
    second = 0.5 * np.trace(J) * np.eye(3) - J
    F[N.par : N.par + 13] = so3.constants(2.0, np.array([0.1, 0.2, 0.3]), second)
    F[N.q : N.q + 7], F[N.v : N.v + 6] = so3.initial(np.zeros(3), R, np.zeros(3), OMEGA)
    so3.face(F, N)
    F[N.a : N.a + 3], F[N.a + 3 : N.a + 6] = ACCELERATION, ALPHA
    return so3, F


def tangent(w_m, w_g, w_k):
    so3, F = buffer()
    F[m.W_M], F[m.W_G], F[m.W_K] = w_m, w_g, w_k
    so3.tangent(F, N)
    return F[N.S : N.S + 36].reshape(6, 6)


def test_gyroscopic_matrix_of_the_table():
    found = tangent(0, 1, 0)
    assert np.abs(found[:, 3:] - G).max() < 2e-16
    assert np.all(found[:, :3] == 0)


def test_stiffness_matrix_of_the_table():
    found = tangent(0, 0, 1)
    assert np.abs(found[:, 3:] - K).max() < 2e-16
    assert np.all(found[:, :3] == 0)


def test_mass_matrix_turns_with_the_body():
    turn = np.kron(np.eye(2), R)
    assert np.abs(tangent(1, 0, 0) - turn @ MASS @ turn.T).max() < 1e-14


def test_residual_is_mass_times_acceleration_and_gyroscopic_forces():
    so3, F = buffer()
    so3.residual(F, N, 1.0)
    turn = np.kron(np.eye(2), R)
    M = turn @ MASS @ turn.T
    eta, J = R @ [0.1, 0.2, 0.3], M[3:, 3:]
    W = tilde(OMEGA)
    expected = M @ np.r_[ACCELERATION, ALPHA] + np.r_[2 * W @ W @ eta, W @ J @ OMEGA]
    assert np.abs(F[N.x : N.x + 6] - expected).max() < 1e-16


def test_the_body_of_the_table_is_refused_by_name():
    """Its inertia, [1, 2, 3] times itself, is smaller than that of its mass at the offset."""
    with pytest.raises(ValueError, match=r"table: .*about the centre of mass \(0.1, 0.2, 0.3\)"):
        mbd.RigidBody.from_mass_matrix("table", MASS)


def test_bodies_from_mass_matrices_have_the_matrices_of_the_table():
    """The matrices are linear in the mass matrix, and the table is the difference of two bodies."""

    def matrices(mass_matrix):
        system = mbd.System()
        system.add(
            mbd.RigidBody.from_mass_matrix("b", mass_matrix, rotation=R, angular_velocity=OMEGA)
        )
        model = system.build()
        made = model.assemble(model.state.replace(a=np.r_[ACCELERATION, ALPHA]))
        return [getattr(made, x).toarray() for x in ("M", "G", "K")]

    more = np.kron(np.diag([40.0, 0]), np.eye(3)) + np.diag([0, 0, 0, 50.0, 60, 70])
    one, two = matrices(MASS + more), matrices(more)
    turn = np.kron(np.eye(2), R)
    wanted = (turn @ MASS @ turn.T, np.pad(G, ((0, 0), (3, 0))), np.pad(K, ((0, 0), (3, 0))))
    for a, b, exact in zip(one, two, wanted, strict=True):
        assert np.allclose(a - b, exact, rtol=0, atol=1e-13)
    assert np.abs(one[2][:, 3:] - K).max() > 1e-3  # the other body is not nothing
