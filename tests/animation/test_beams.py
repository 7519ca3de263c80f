"""Beams and cables in pictures: sections along the deformed line, coloured by what they bear."""

from functools import cache

import numpy as np
import pytest
from animation.browser import Browser, needs_chromium
from animation.test_drawing import still
from PIL import Image

import mbd
from mbd.animation.beams import surface_of
from mbd.beams.swept import beam_rings
from mbd.drawing.surfaces import COLORS, hanging, shade, tube_rings

STEEL = {"young": 210e9, "poisson": 0.3, "density": 7850}


def arc(p):
    """Return points of three quarters of a circle of radius 1 m in the plane y = 0."""
    angle = 1.5 * np.pi * p
    return np.sin(angle), 0.0, 1 - np.cos(angle)


@cache
def hooks():
    """Return a curved strip of three elements, a tapered one, a slack cable and a taut one."""
    system = mbd.System(gravity=(0, 0, -9.81))
    flat, thick = (mbd.Section.rectangle(0.3, h, **STEEL) for h in (0.02, 0.1))
    with pytest.warns(UserWarning, match="turns by"):
        system.add(mbd.Beam("arc", points=arc, section=flat, elements=3, up=(0, 1, 0)))
    pole = system.add(mbd.Beam("pole", points=[(3, 0, 0), (3, 0, 2)], up=(0, 1, 0),
                               section=[thick, mbd.Section.circle(0.05, **STEEL)]))  # fmt: skip
    ends = [(4, 0, 2), (6, 0, 2)]
    for name, length in (("slack", 3.0), ("taut", 2.0)):
        system.add(mbd.Cable(name, points=[(x, 0, z - 2 * (name == "taut")) for x, _, z in ends],
                             stiffness=1e3, mass=0.1, elements=1, length=length))  # fmt: skip
    system.add(mbd.PointForce("load", pole.last, (1, 0, 0)))
    return still(system)


def drawing(**options):
    return hooks().animate(arrows=False, **options).drawing


def test_sections_lie_on_the_line_of_the_solution():
    d = drawing()
    assert [x.label for x in d.sweeps] == ["arc", "pole"]
    assert not d.solids  # no boxes at the nodes
    for x in d.sweeps:
        vertices, faces, _ = surface_of(d, x, 0)
        k, n = len(x.ends), x.outline.shape[2]
        rings = vertices[:-2].reshape(k, 5, n, 3)
        curve = hooks()[x.label].curve(4)[0]
        assert np.allclose(rings[:, :4].mean(2).reshape(-1, 3), curve[:-1], atol=1e-9)
        assert np.allclose(rings[-1, -1].mean(0), curve[-1], atol=1e-9)
        assert set(faces.ravel()) == set(range(len(vertices)))
    wide = surface_of(d, d.sweeps[0], 0)[0][:4]
    assert np.allclose(np.sort(np.ptp(wide, axis=0)), (0, 0.02, 0.3), atol=1e-6)


def test_rings_are_those_of_a_helix():
    """Between two frames of a screw motion the axis is the screw's own line."""
    from scipy.spatial.transform import Rotation

    turn, rise, radius = 2.0, 0.7, 1.3
    angle = np.linspace(0, turn, 5)
    path = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), rise * angle])
    R = Rotation.from_rotvec(angle[:, None] * [0, 0, 1]).as_matrix()
    outline = np.full((1, 2, 3, 2), [(0, 0), (0.1, 0), (0, 0.2)])
    rings = beam_rings(path[None, [0, -1]], R[None, [0, -1]], outline)
    assert np.allclose(rings[0, :, 0], path)
    assert np.allclose(rings[0, :, 1], path + 0.1 * R[:, :, 1])
    assert np.allclose(rings[0, :, 2], path + 0.2 * R[:, :, 2])


@pytest.mark.parametrize(("distance", "tolerance"), [(1.999, 1e-3), (1.5, 0.06), (0.0, 0.11)])
def test_what_hangs_has_about_its_length(distance, tolerance):
    ends, down = np.array([(0, 0, 0), (distance, 0, 0)]), np.array([0, 0, -1.0])
    path = hanging(ends, np.array([2.0]), down)
    s = np.linspace(0, 1, 2001)
    sag = -path[0, 2, 2]
    fine = np.column_stack([s * distance, 4 * s * (1 - s) * sag])
    length = np.linalg.norm(np.diff(fine, axis=0), axis=1).sum()
    assert length == pytest.approx(2.0, rel=tolerance)
    assert np.allclose(hanging(ends, np.array([0.5 * distance]), down)[0, :, 2], 0)
    assert np.isfinite(tube_rings(path, 0.1)).all()


def test_colours_are_symmetric_and_follow_the_force():
    assert np.allclose(shade(np.array([-2.0, 0.0, 2.0]), 2.0) * 255, [
        (0x3B, 0x4C, 0xC0), (0xDD,) * 3, (0xB4, 0x04, 0x26)
    ])  # fmt: skip
    assert np.allclose(shade(np.zeros(3), 0.0) * 255, 0xDD)
    system = mbd.System()
    bar = mbd.Section.rectangle(0.1, 0.1, **STEEL)
    arm = system.add(mbd.Beam("arm", points=[(0, 0, 0), (1, 0, 0)], section=bar, elements=2,
                              first=system.ground))  # fmt: skip
    system.add(mbd.PointForce("load", arm.last, (0, 0, -3.0)))
    d = mbd.equilibrium(system).solution.animate(color_by="M2").drawing
    assert d.largest["M2"] == pytest.approx(3.0)
    force = surface_of(d, d.sweeps[0], 0)[2]
    rings = force[:-2].reshape(2, 5, 4)
    assert np.allclose(
        rings[..., 0], 3 * (1 - np.linspace(0, 1, 9)[[[0, 1, 2, 3, 4], [4, 5, 6, 7, 8]]])
    )
    assert np.allclose(force[-2:], (3, 0), atol=1e-6)


@pytest.mark.parametrize(("options", "message"), [
    ({"color_by": "M"}, "color_by must be one of N, V2, V3, T, M2, M3, strain, stress, got 'M'"),
    ({"ghosts": range(9)}, "up to 8 instants"),
    ({"ghosts": "now"}, "ghosts must be"),
])  # fmt: skip
def test_wrong_options(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        drawing(**options)


def test_colours_are_for_beams():
    system = mbd.System()
    system.add(mbd.PointMass("ball", mass=1.0))
    with pytest.raises(ValueError, match="color_by='N' is for beams"):
        still(system).animate(color_by="N")


def moved():
    """Return a vertical pole that moves sideways by 1 m in 1 s."""
    system = mbd.System()
    bar = mbd.Section.circle(0.05, **STEEL)
    system.add(mbd.Beam("pole", points=[(0, 0, 0), (0, 0, 1)], section=bar, elements=2,
                        up=(1, 0, 0)))  # fmt: skip
    model = system.build()
    x = model.state
    q = np.stack([x.q, x.q]).reshape(2, 3, -1)
    q[1, :, 0] += 1.0
    twice = {k: np.stack([getattr(x, k)] * 2) for k in ("v", "a", "lam")}
    return mbd.Solution(model, np.array([0.0, 1.0]), q.reshape(2, -1), **twice, last=x)


PLAIN = {"arrows": False, "show": ("bodies",), "view": (0, -1, 0)}
ON = ([(3, 0, 1.0), (4.5, 0, 2 - 0.75 * 0.45 * 5**0.5), (5, 0, 0)], [(3.3, 0, 1), (5, 0, 2.0)])


def on_the_line():
    """Return points that are on bodies, and points that are not, seen from the front."""
    curve = hooks()["arc"].curve(4)[0]
    hidden = 0.5 * (curve[0] + curve[4])  # of the chord
    assert np.linalg.norm(hidden - curve[2]) > 0.2
    return [*curve[[2, 6, 10]], *ON[0]], [hidden, *ON[1]]


def test_pictures_show_the_line(tmp_path):
    from mbd.animation.painter import Camera

    d = drawing(**{k: x for k, x in PLAIN.items() if k != "arrows"})
    path = hooks().snapshot(tmp_path / "hooks.png", 0.0, size=(800, 400), **PLAIN)
    picture = np.asarray(Image.open(path).convert("L")).astype(int)
    for points, seen in zip(on_the_line(), (True, False), strict=True):
        for p in points:
            x, y = Camera(d, 800, 400).project(np.array(p), 0)[0]
            box = picture[int(400 - y) - 2 : int(400 - y) + 3, int(x) - 2 : int(x) + 3]
            assert (box.min() < 230) == seen, p


@needs_chromium
def test_the_page_shows_the_same(tmp_path):
    browser = Browser(tmp_path)
    try:
        page = browser.open(hooks().animate(**PLAIN).html, "t=0")
        picture = page.picture()
        for points, seen in zip(on_the_line(), (True, False), strict=True):
            for p in points:
                x, y = np.round(page.project(p)).astype(int)
                box = picture[y - 2 : y + 3, x - 2 : x + 3]
                assert (box.min() < 230) == seen, p
        assert int(page.canvas("calls")) <= 8
        # colours, and the bar that explains them
        x, y = np.round(page.project((3, 0, 1.2))).astype(int)
        assert page.evaluate("!document.getElementById('coloured').hidden")
        page.evaluate("location.hash = '#t=0&show=bodies&color=T'")
        page.wait("document.getElementById('legend').textContent.startsWith('T, torsion [N m]')")
        page.evaluate("new Promise((done) => setTimeout(done, 100))")
        colored = page.picture()[y, x]
        assert np.ptp(colored) < 30  # no torsion: grey
        assert np.ptp(picture[y, x]) > 45
        assert len(page.evaluate("document.querySelector('.bar span').style.background")) > 40
        # a faint one where the pole was
        page = browser.open(moved().animate(ghosts=[0.0], **PLAIN).html, "t=1")
        picture = page.picture()
        at = [np.round(page.project((x, 0, 0.6))).astype(int) for x in (0.0, 0.5, 1.0)]
        ghost, none, pole = (picture[y, x].mean() for x, y in at)
        assert none > 250
        assert pole + 50 < ghost < 245
    finally:
        browser.close()


def test_ghosts_are_painted_faintly(tmp_path):
    from mbd.animation.painter import Camera

    solution = moved()
    options = {"ghosts": [0.0], **PLAIN}
    path = solution.snapshot(tmp_path / "moved.png", 1.0, size=(600, 400), **options)
    picture = np.asarray(Image.open(path).convert("L")).astype(int)
    camera = Camera(solution.animate(**options).drawing, 600, 400)
    at = [camera.project(np.array((x, 0, 0.6)), 0)[0] for x in (0.0, 0.5, 1.0)]
    ghost, none, pole = (picture[int(400 - y), int(x)] for x, y in at)
    assert none > 250
    assert pole + 50 < ghost < 245


@needs_chromium
def test_many_bodies_are_a_handful_of_calls(tmp_path):
    system = mbd.System()
    shapes = [mbd.Box((0.3, 0.2, 0.1)), mbd.Sphere(0.2), mbd.Cylinder(0.1, 0.3),
              mbd.Capsule(0.1, 0.2)]  # fmt: skip
    place = np.stack(np.unravel_index(np.arange(100), (4, 5, 5)), axis=-1)
    for i, x in enumerate(place.tolist()):
        system.add(mbd.RigidBody(f"body {i}", mass=1.0, inertia=(1, 1, 1), position=x,
                                 shape=shapes[i % 4]))  # fmt: skip
    browser = Browser(tmp_path)
    try:
        page = browser.open(still(system).animate(**PLAIN).html, "t=0")
        assert int(page.canvas("calls")) <= 8
        page.point_at(page.project((0, 0, 0)))
        page.wait("!document.getElementById('tip').hidden")
        assert page.text("tip") == "body 0"
    finally:
        browser.close()


def test_colours_of_the_page_are_those_of_pictures():
    assert f'"colors":["{COLORS[0]}"' in hooks().animate(arrows=False).html


@needs_chromium
def test_models_far_from_the_origin_are_drawn_as_near_ones(tmp_path):
    """1 m at 100 km: solids, ground, beams and cables are where they are, and do not tremble."""
    at = np.array([1e5, -2e5, 3e4])
    x, z = np.eye(3)[[0, 2]]
    system = mbd.System()
    bar = mbd.Section.circle(0.05, **STEEL)
    system.add(mbd.Beam("pole", points=[at, at + z], section=bar, elements=2,
                        up=(1, 0, 0)))  # fmt: skip
    ball = system.add(mbd.RigidBody("ball", mass=1, inertia=(1, 1, 1), position=at + x,
                                    shape=mbd.Sphere(0.1)))  # fmt: skip
    system.add(mbd.Spring("rod", system.ground, ball, at=at + x + z, stiffness=1.0))
    solution = still(system)
    assert np.abs(solution.animate().drawing.origin - at).max() < 1.5
    browser = Browser(tmp_path)
    try:
        page = browser.open(
            solution.animate(arrows=False, show=("bodies", "springs"), view=(0, -1, 0)).html, "t=0"
        )
        picture = page.picture()
        points = [(0, 0, 0.5), (0.04, 0, 0.9), (1.08, 0, 0), (1, 0, 0.5), (0.07, 0, 0.5)]
        for p, seen in zip(points, (True, True, True, True, False), strict=True):
            i, j = np.round(page.project(at + p)).astype(int)
            w = 20 if p == (1, 0, 0.5) else 2  # the coil is hollow
            assert (picture[j - 2 : j + 3, i - w : i + w + 1].min() < 230) == seen, p
    finally:
        browser.close()
