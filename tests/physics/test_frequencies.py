"""Small motions from the assembled M, G, K, B: chains of masses, hanging chains, a whirling rotor.

Nothing but `assemble` is asked: these are tests of the matrices, the part of the multipliers in K
and the gyroscopic terms included.
"""

import numpy as np
import pytest
import scipy.linalg

import mbd

from .tools import RIGID, published, scene


def frequencies(system):
    """Circular frequencies of the motions that the rows allow about rest, zero ones left out."""
    model = system.build()
    A = model.assemble(mbd.consistent(model))
    assert np.abs(A.residual).max() < 1e-7
    M, K = A.M.toarray(), A.K.toarray()
    N = scipy.linalg.null_space(A.B.toarray()) if A.B.shape[0] else np.eye(len(M))
    squares = scipy.linalg.eigvals(N.T @ K @ N, N.T @ M @ N)
    assert np.abs(squares.imag).max() < 1e-6 * np.abs(squares).max()
    squares = np.sort(squares.real)
    return np.sqrt(squares[squares > 1e-6])


@pytest.mark.parametrize("formulation", [None, *RIGID])
@pytest.mark.parametrize("ends", ["fixed-free", "fixed-fixed", "free-free"])
def test_frequencies_of_a_chain_of_masses(ends, formulation):
    system = scene("spring_mass").build(ends=ends, amplitude=0.0, formulation=formulation)
    exact = [w for w in published("E01")[ends.replace("-", "_")] if w > 1e-9]
    assert np.allclose(frequencies(system), exact, rtol=1e-10, atol=0)


def test_damping_of_the_springs_is_in_G():
    A = scene("spring_mass").build(amplitude=0.0, damping=0.3).build().assemble()
    assert np.allclose(A.G.toarray(), 1e-3 * A.K.toarray(), rtol=1e-12, atol=1e-12)


# sqrt(g x / l), x zeros of the Laguerre polynomial L_N: points on massless links, g = 9.81, l = 1
POINTS = {
    2: (2.3971993978641, 5.7873512980361),
    3: (2.0195911472489, 4.7441427396672, 7.8552123627319),
    5: (1.6079573179767, 3.7236385444663, 5.9397758218564, 8.3373734567593, 11.135809637487),
}
RODS = {
    1: (3.8360135557633,),
    2: (2.6801140122534, 7.1886708702877),
    3: (2.1810876126705, 5.4249423960075, 10.248872878878),
    10: (
        1.1912959338622, 2.7601376236998, 4.44153975778, 6.302157957034, 8.4010178124615,
        10.822172038787, 13.670082766186, 17.06784862951, 21.217447473986, 26.637701525004,
    ),
}  # fmt: skip


def hanging(n, formulation):
    """Uniform rods of 1 m on hinges about y, hanging."""
    system = mbd.System(gravity=(0, 0, -9.81))
    last = system.ground
    for i in range(n):
        rod = mbd.RigidBody(
            f"rod {i}", mass=1.0, inertia=(1 / 12, 1 / 12, 1e-2), position=(0, 0, -i - 0.5),
            formulation=formulation,
        )  # fmt: skip
        system.add(rod)
        system.add(mbd.Revolute(f"hinge {i}", last, rod, at=(0, 0, -i), axis=(0, 1, 0)))
        last = rod
    return system


def points(n):
    """Points on massless links of 1 m, hanging."""
    system = mbd.System(gravity=(0, 0, -9.81))
    last = system.ground
    for i in range(n):
        point = system.add(mbd.PointMass(f"mass {i}", mass=2.0, position=(0, 0, -i - 1.0)))
        system.add(mbd.Distance(f"link {i}", last, point))
        last = point
    return system


@pytest.mark.parametrize("n", POINTS)
def test_hanging_points_swing_at_laguerre_frequencies_in_both_planes(n):
    assert np.allclose(frequencies(points(n)), np.repeat(POINTS[n], 2), rtol=1e-10, atol=0)


@pytest.mark.parametrize("formulation", RIGID)
@pytest.mark.parametrize("n", RODS)
def test_hanging_rods_swing_at_their_frequencies(n, formulation):
    assert np.allclose(frequencies(hanging(n, formulation)), RODS[n], rtol=1e-9, atol=0)


WHIRL = {  # rpm: signed whirl speeds of a rigid rotor on two bearings [rad/s]
    0: (-418.69344506442, -195.0105955927, 195.0105955927, 418.69344506442),
    1000: (-342.16178110172, -193.36644584303, 196.0184351386, 514.04271700558),
    5000: (-211.56080337561, -153.2259445034, 197.81530384834, 1039.6360700278),
    10000: (-202.97902679164, -89.895679212295, 198.6077807029, 1839.5961772954),
    30000: (-200.72494171731, -31.607571331468, 199.43316457162, 5268.8871044602),
}


@pytest.mark.parametrize("rpm", WHIRL)
def test_rotor_whirls_at_the_speeds_of_its_campbell_diagram(rpm):
    spin = rpm * 2 * np.pi / 60
    system = mbd.System()
    rotor = mbd.RigidBody(
        "rotor", mass=50.0, inertia=(3.0, 3.0, 5.0), angular_velocity=(0, 0, spin)
    )
    system.add(rotor)
    for name, z in (("left", -0.4), ("right", 0.6)):
        stiffness = (1e6, 1e6, 0, 0, 0, 0)
        system.add(
            mbd.Bushing(f"{name} bearing", system.ground, rotor, at=(0, 0, z), stiffness=stiffness)
        )
    model = system.build()
    A = model.assemble(mbd.consistent(model))
    M, G, K = (x.toarray() for x in (A.M, A.G, A.K))
    # small turns theta on top of the spin w: omega = w + theta' - w x theta
    W = np.zeros((6, 6))
    W[3:, 3:] = spin * np.array([[0, -1, 0], [1, 0, 0], [0, 0, 0]])
    G, K = G - M @ W, K - G @ W

    def complex_form(x):
        """On x + i y and its tilt: blocks [[a, -b], [b, a]] become a + i b."""
        x = x[np.ix_([0, 1, 3, 4], [0, 1, 3, 4])]
        assert np.allclose(x[0::2, 0::2], x[1::2, 1::2], rtol=0, atol=1e-9 * np.abs(x).max())
        assert np.allclose(x[0::2, 1::2], -x[1::2, 0::2], rtol=0, atol=1e-9 * np.abs(x).max())
        return x[0::2, 0::2] + 1j * x[1::2, 0::2]

    M, G, K = (complex_form(x) for x in (M, G, K))
    # z = c e^{i w t}: (-w^2 M + i w G + K) c = 0
    I, O = np.eye(2), np.zeros((2, 2))
    roots = scipy.linalg.eigvals(np.block([[O, I], [K, 1j * G]]), scipy.linalg.block_diag(I, M))
    assert np.abs(roots.imag).max() < 1e-8 * np.abs(roots).max()
    assert np.allclose(np.sort(roots.real), WHIRL[rpm], rtol=1e-9, atol=0)
