"""Campbell diagrams: signed whirl speeds of a rigid rotor, tracked; the bicycle over its speed."""

import numpy as np
import pytest

import mbd
from mbd.analyses.campbell import WhirlForms

from .test_modes import WHIRL
from .tools import RIGID, scene

SPEEDS = np.array(list(WHIRL)) * np.pi / 30


def rotor(formulation="so3", **options):
    return scene("rotor").build(formulation, rpm=0.0, amplitude=0.0, **options)


@pytest.mark.parametrize("formulation", RIGID)
def test_signed_whirl_speeds(formulation):
    found = mbd.campbell(rotor(formulation), SPEEDS, bodies="rotor")
    assert found.eigenvalues.shape == (5, 4)
    for signed, exact in zip(found.signed, WHIRL.values(), strict=True):
        assert np.allclose(np.sort(signed), exact, rtol=1e-12, atol=0)
    # a mode keeps its sense: forward speeds rise, backward ones fall
    assert np.all(np.sign(found.whirl) == np.sign(found.whirl[0]))
    assert np.allclose(np.abs(found.whirl), 1.0, atol=1e-9)
    for column in found.signed.T:
        assert np.all(np.diff(column) > 0.0)


def test_a_function_of_the_speed_does_the_same():
    build = scene("rotor").build
    found = mbd.campbell(
        lambda speed: build(rpm=speed * 30 / np.pi, amplitude=0.0), SPEEDS[:3], n=2
    )
    assert np.allclose(np.sort(found.signed[2]), sorted(WHIRL[5000], key=abs)[:2], rtol=1e-12)


def test_critical_speeds_are_those_of_synchronous_whirl():
    """Forward whirl with the speed: (2k - m w^2)(k sum z^2 - (Jd - Jp) w^2) = (k sum z)^2."""
    k, m, Jd, Jp = 1e6, 50.0, 3.0, 5.0
    z1, z2 = k * 0.2, k * 0.52
    roots = np.roots([-m * (Jp - Jd), 2 * k * (Jp - Jd) - m * z2, 2 * k * z2 - z1**2])
    exact = np.sqrt(roots[roots > 0])
    speeds = np.linspace(exact[0] - 1.0, exact[0] + 1.3, 9)
    found = mbd.campbell(rotor(), speeds, bodies="rotor")
    forward = found.critical_speeds()
    assert min(abs(forward - exact[0])) < 1e-3
    assert len(found.critical_speeds(100.0)) == 0


def test_bearings_that_differ_make_whirl_elliptic_and_tracks_cross():
    system = rotor()
    stiff = mbd.Spring("stay", system.ground, system["rotor"], at=(5, 0, 0), stiffness=8e5)
    system.add(stiff)
    found = mbd.campbell(system, np.linspace(0, 800, 9), bodies="rotor")
    assert np.abs(found.whirl[0]).max() < 0.2  # at rest along lines
    assert np.nanmax(np.abs(found.whirl[-1])) > 0.9
    assert not np.isnan(found.eigenvalues).any()


def test_damping_is_shown():
    found = mbd.campbell(rotor(damping=200.0), [100.0, 200.0], bodies=["rotor"])
    assert np.all(found.eigenvalues.real < 0.0)


def test_whirl_at_rest_is_told_apart():
    modes = mbd.modes(rotor())
    forms = WhirlForms(modes.motion, np.array([0.0, 0.0, 1.0]))
    values, shapes = forms.whirl(modes.eigenvalues, modes.shapes)
    assert np.sort(values[2:]).round(9).tolist() == [-1.0, -1.0, 1.0, 1.0]
    assert np.abs(shapes.imag).max() > 0.1


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match=r"at 100 rad/s: .*coefficients that change with time"):
        mbd.campbell(rotor(across=(2.5, 3.5)), [0.0, 100.0], bodies="rotor")
    with pytest.raises(ValueError, match="bodies must name what spins"):
        mbd.campbell(rotor(), [1.0])
    with pytest.raises(ValueError, match="speeds must be"):
        mbd.campbell(rotor(), [np.inf], bodies="rotor")
    with pytest.raises(TypeError, match="a function of the speed"):
        mbd.campbell(3, [1.0])


def test_picture(tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    found = mbd.campbell(rotor(), np.linspace(0, 500, 6), bodies="rotor")
    found.plot(tmp_path / "campbell.png", orders=(1, 2))
    assert (tmp_path / "campbell.png").stat().st_size > 5000


# --- the bicycle: Meijaard, Papadopoulos, Ruina, Schwab 2007 --------------------------------------
BICYCLE = {  # speed [m/s]: eigenvalues with Im >= 0 [1/s]
    0: (5.53094371765393, 3.13164324790656, -3.13164324790656, -5.53094371765393),
    1: (3.52696170990069 + 0.80774027519931j, -3.13423125066578, -7.11008014637441),
    2: (2.68234517512745 + 1.68066296590676j, -3.07158645641514, -8.67387984831737),
    3: (1.70675605663974 + 2.31582447384324j, -2.63366137253665, -10.3510146724592),
    4: (0.413253315211241 + 3.07910818603205j, -1.42944427361326, -12.1586142657644),
    5: (-0.322866429004087, -0.775341882195842 + 4.46486771378822j, -14.0783896927982),
    6: (-0.00406690076970336, -1.52644486584142 + 5.87673060598708j, -16.0853712309803),
    7: (0.102681705747664, -2.13875644258363 + 7.19525913329804j, -18.157884661252),
    8: (0.14327879765713, -2.69348683581095 + 8.46037971396934j, -20.2794089439457),
    9: (0.157901840309173, -3.21675402252491 + 9.69377351531782j, -22.4378855904086),
    10: (0.161053386531716, -3.72016840437288 + 10.9068113947629j, -24.624596350174),
}


@pytest.mark.parametrize("formulation", RIGID)
def test_bicycle_has_the_published_eigenvalues(formulation):
    build = scene("bicycle").build
    for speed in BICYCLE if formulation == "so3" else (0, 3, 5, 10):
        found = mbd.modes(build(formulation, speed=float(speed), roll_rate=0.0))
        s = found.eigenvalues[found.eigenvalues != 0.0]
        assert len(s) == len(BICYCLE[speed])
        for exact in BICYCLE[speed]:
            assert np.abs(s - exact).min() < 1e-9 * abs(exact)
        assert found.stable == (speed in (5, 6))


def test_bicycle_by_arnoldi():
    found = mbd.modes(scene("bicycle").build(speed=5.0, roll_rate=0.0), n=6, solver="sparse")
    s = found.eigenvalues[found.eigenvalues != 0.0]
    assert np.abs(s - BICYCLE[5][1]).min() < 1e-7


def test_bicycle_as_a_linear_system_steers_itself():
    """Steering torque to lean angle at 5 m/s: four states matter, the rest is where it goes."""
    build = scene("bicycle").build
    found = mbd.linearize(
        build(speed=5.0, roll_rate=0.0), inputs=["head"], outputs=["frame.rotation.x", "head.angle"]
    )
    poles = found.poles[np.abs(found.poles) > 1e-5]
    for exact in BICYCLE[5]:
        assert np.abs(poles - exact).min() < 1e-9 * abs(exact)
    # M q'' + v C1 q' + (g K0 + v^2 K2) q = f, published; z up turns lean right into lean left
    M = np.array([[80.81722000000001, 2.319413322087091], [2.319413322087091, 0.2978418819968555]])
    K0 = np.array([[-80.95, -2.599516852498716], [-2.599516852498716, -0.8032948845861769]])
    K2 = np.array([[0, 76.59734589573222], [0, 2.65431523794604]])
    C1 = np.array([[0, 33.86641391492494], [-0.8503564145697844, 1.685403973975597]])
    f = np.array([0.3, 0.9, 2.5])
    H = found.frequency_response(f).values[:, :, 0]
    for x, h in zip(2j * np.pi * f, H, strict=True):
        exact = np.linalg.solve(M * x * x + 5 * C1 * x + 9.81 * K0 + 25 * K2, [0, -1.0])
        # steering torque about an axis that points up, lean about x forward
        assert np.allclose(h, [exact[0], -exact[1]], rtol=1e-8)


def test_a_shaft_is_named_by_its_part_and_its_critical_speeds_are_those_of_a_beam():
    """A thin steel shaft on pins: n^2 pi^2 sqrt(EI/mu)/L^2; few of its modes are shown."""
    r, L, n = 0.01, 1.0, 12
    EI, mu = 2.1e11 * np.pi * r**4 / 4, 7850 * np.pi * r**2
    section = mbd.Section(stiffness=(6.6e7, 1e10, 1e10, 2 * EI / 2.6, EI, EI), mass=mu,
                          inertia=(mu * r**2 / 2, mu * r**2 / 4, mu * r**2 / 4))  # fmt: skip
    system = mbd.System()
    beam = mbd.Beam("shaft", points=[(0, 0, 0), (0, 0, L)], section=section, elements=n,
                    up=(1, 0, 0))  # fmt: skip
    nodes = system.add(beam).nodes()
    for name, node, along in (("left", nodes[0], 1e9), ("right", nodes[-1], 0.0)):
        system.add(mbd.Bushing(name, system.ground, node, at=node.position,
                               stiffness=(1e9, 1e9, along, 0, 0, 0)))  # fmt: skip
    found = mbd.campbell(system, np.linspace(0, 1500, 6), bodies="shaft")
    first = np.pi**2 * np.sqrt(EI / mu) / L**2
    for order in (1, 2):
        nearest = np.abs(found.critical_speeds() / (order**2 * first) - 1).min()
        assert nearest < 3e-3, order
    assert 10 <= found.eigenvalues.shape[1] < 30
    assert np.allclose(found.damping, 0.0, atol=1e-9)
    assert "critical speeds" in str(found)
    every = mbd.campbell(system, [1500.0], bodies="shaft", n=200)
    for s in found.eigenvalues[-1]:
        assert np.abs(every.eigenvalues[-1] - s).min() < 1e-9 * abs(s)
