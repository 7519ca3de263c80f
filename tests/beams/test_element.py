"""The beam element between any two bodies: every property that parts must have."""

import numpy as np
import pytest
from families import some
from scipy.spatial.transform import Rotation

import mbd
from mbd.formulations import NAMES
from mbd.interactions.beams.element import BEAM, BEAM_4
from mbd.interactions.kind import Element
from mbd.parts.part import Part

from .test_statics import cantilever


class Helicoid(Part):
    """An element between frames on two bodies, with all couplings, and damping of any kind."""

    def __init__(self, name, one, two, damping, order):
        self.name, self.A, self.B = name, one, two
        self.kind = BEAM if order == 2 else BEAM_4
        L = np.tril(np.arange(1.0, 37.0).reshape(6, 6) % 7 - 3) + 5 * np.eye(6)
        K, rest = L @ L.T, (0.9, 0.2, -0.1, 0.2, -0.3, 0.1)
        self.numbers = (*rest, *K.ravel(), *(damping * (K + np.eye(6))).ravel())
        if order == 4:  # compliances of any size, positive together, S_1 symmetric
            S2, W = 0.3 * np.linalg.inv(K) + 0.01 * np.eye(6), (1.0, 0.2, 0.4, 0.8, 0.9, 1.0)
            S1 = 0.02 * (L + L.T)
            Sc = np.linalg.inv(K) + S1 @ np.linalg.solve(S2, S1)
            self.numbers = (*self.numbers, *Sc.ravel(), *S1.ravel(), *S2.ravel(), *W)

    @property
    def ends(self):
        return self.A, self.B

    def elements(self):
        ends = [frame.end(axis) for frame in self.ends for axis in (None, 0, 1, 2)]
        return [Element(self.kind, ends, self.numbers)]


def helicoid(formulations, damping, order=2):
    turn = Rotation.from_rotvec((0.3, -0.5, 0.7))
    one, two = (
        mbd.RigidBody(name, mass=2.0, inertia=(0.3, 0.4, 0.5), position=p, formulation=f)
        for name, p, f in zip("ab", ((0, 0, 0), (0.8, 0.3, -0.1)), formulations, strict=True)
    )
    frames = one.frame((0.1, 0.2, -0.1)), two.frame((0.2, -0.1, 0.1), turn.as_matrix())
    return Helicoid("part", *frames, damping, order)


PAIRS = [*((x, x) for x in NAMES), *zip(NAMES, [*NAMES[1:], NAMES[0]], strict=True)]


@pytest.mark.parametrize("formulations", PAIRS, ids="-".join)
@pytest.mark.parametrize("damping", [0.0, 0.3])
def test_an_element_has_the_properties_of_every_part(formulations, damping):
    """Exact tangents, action and reaction, invariance, power and energy."""
    assert mbd.check_part(helicoid(formulations, damping)).ok


@pytest.mark.parametrize("member", some([(x, d) for x in PAIRS for d in (0.3, 0.0)], 12))
def test_an_element_of_order_four_has_them_too(member):
    assert mbd.check_part(helicoid(*member, order=4)).ok


def test_strains_are_the_logarithm_of_the_relative_motion():
    from scipy.linalg import expm

    from mbd.algebra.rotations import tilde
    from mbd.beams.helicoids import logarithm

    rng = np.random.default_rng(2)
    for size in (1e-9, 1e-3, 0.7, 3.0):
        a, b = Rotation.random(random_state=1), None
        b = a * Rotation.from_rotvec(size * np.array((0.6, -0.64, 0.48)))
        ra, rb = rng.normal(size=(2, 3))
        Ra, Rb = a.as_matrix(), b.as_matrix()
        turn = Rotation.from_matrix(Ra.T @ Rb).as_rotvec()
        # x = phi_1(tilde(turn)) u, a block of an exponential
        arm = expm(np.block([[tilde(turn), np.eye(3)], [np.zeros((3, 6))]]))[:3, 3:]
        one = np.concatenate([np.linalg.solve(arm, Ra.T @ (rb - ra)), turn])
        two = logarithm(ra, Ra, rb, Rb)
        assert np.allclose(one, two, rtol=1e-11, atol=1e-13)


def test_sections_of_simple_shapes():
    """A thin strip has the torsion constant b h^3/3; a thin tube 2 pi r^3 t."""
    material = {"young": 2.0, "poisson": 0.25, "density": 3.0}
    G = 2.0 / 2.5
    strip = np.diag(mbd.Section.rectangle(1.0, 1e-3, **material).stiffness)
    assert strip[3] == pytest.approx(G * 1e-9 / 3, rel=1e-3)
    assert strip[4] == pytest.approx(2 * 1e-9 / 12)
    assert strip[5] == pytest.approx(2 * 1e-3 / 12)
    square = np.diag(mbd.Section.rectangle(1.0, 1.0, **material).stiffness)
    assert square[3] == pytest.approx(G * 0.140577, rel=1e-5)  # Timoshenko and Goodier
    tube = mbd.Section.tube(1.0, 1e-3, **material)
    assert np.diag(tube.stiffness)[3] == pytest.approx(G * 2 * np.pi * 1e-3, rel=2e-3)
    assert np.diag(tube.stiffness)[1] == pytest.approx(0.53 * G * 2e-3 * np.pi, rel=0.01)
    whole = np.diag(mbd.Section.tube(0.5, 0.5, **material).stiffness)
    assert np.allclose(whole, np.diag(mbd.Section.circle(0.5, **material).stiffness))
    plate = mbd.Section.from_plate(0.5, 2e-3, **material)
    C = np.diag(plate.stiffness)
    D = 2.0 * 8e-9 / 12 / (1 - 0.25**2)
    assert C[4] == pytest.approx(D * 0.5)
    assert C[3] == pytest.approx(2 * (1 - 0.25) * D * 0.5)
    thin = np.diag(mbd.Section.rectangle(0.5, 2e-3, **material).stiffness)
    assert np.allclose(C[[0, 5]], thin[[0, 5]])
    assert C[3] == pytest.approx(thin[3], rel=3e-3)
    assert plate.mass == pytest.approx(3e-3)
    with pytest.raises(ValueError, match="give poisson .* or shear"):
        mbd.Section.circle(0.1, young=1.0, density=1.0)


def test_results_are_in_balance_with_the_load():
    system = cantilever(4, force=(0, 1, 0))
    pose = mbd.equilibrium(system)
    run = mbd.simulate(system, 0.01, 0.005, state=pose.state)
    result = run["beam"]
    assert np.allclose(result.force[0, 0, 0], (0, 1, 0), atol=1e-7)
    assert np.allclose(result.moment[0, 0, 0], (0, 0, pose["beam.4"].position[0]), atol=1e-7)
    assert np.allclose(result.moment[:, 1:, 0], result.moment[:, :-1, 1], atol=1e-6)
    assert np.allclose(result.curvature[0, 0, 0, 2], result.moment[0, 0, 0, 2])
    assert result.energy[0].sum() == pytest.approx(run.energy.potential[0], rel=1e-9)
    assert np.allclose(result.curve(3)[:, ::3], result.position)
    assert {"force", "moment", "position"} <= set(result.quantities)


def test_files_and_processes_carry_beams(tmp_path):
    import pickle

    section = mbd.Section.rectangle(0.05, 0.02, young=210e9, poisson=0.3, density=7850)
    system = mbd.System(gravity=(0, 0, -9.81))
    system.add(mbd.RigidBody("end", mass=1, inertia=(1, 1, 1), position=(1, 1, 0)))
    corner = ((0, 0, 0), (1, 0, 0), (1, 1, 0))
    beam = system.add(mbd.Beam("beam", points=corner, section=[section] * 2, elements=4,
                               first=system.ground, damping=1e-4, twist=[0, 0.2],
                               smooth=False))  # fmt: skip
    system.add(mbd.LineLoad("load", beam, (0, 1, 0)))
    system.add(mbd.Spherical("pin", beam.last, system["end"], at=beam.last.position))
    mbd.write(system, tmp_path / "beam.toml")
    again = mbd.read(tmp_path / "beam.toml").system
    carried = pickle.loads(pickle.dumps(system))
    for other in (again, carried):
        assert list(other.bodies) == list(system.bodies)
        assert np.array_equal(other.build().F, system.build().F)
