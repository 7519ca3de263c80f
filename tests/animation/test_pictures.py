"""Pictures by matplotlib: what is painted is where the bodies are."""

import sys

import numpy as np
import pytest
from animation.browser import patch
from animation.models import BLUE, GREEN, RED, pendulum, run
from PIL import Image

from mbd.animation.painter import Camera

_NAMED = (("joints",), ("joints", "labels"))


def read(path):
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB")).astype(float)


@pytest.mark.parametrize("t", [0.0, 0.3712, 1.0])
@pytest.mark.parametrize("view", [None, (0, 0, 1), (-1, 2, 0.3)])
def test_bodies_are_where_the_solution_says(t, view, tmp_path):
    solution = run()
    options = {"show": "bodies", "view": view}
    picture = read(solution.snapshot(tmp_path / "a.png", t=t, size=(640, 480), **options))
    assert picture.shape == (480, 640, 3)
    drawing = solution.animate(**options).drawing
    k = int(np.argmin(np.abs(solution.t - t)))
    camera = Camera(drawing, 640, 480)
    for body, point, channel in (("marked", RED, 0), ("marked", GREEN, 1), ("bar", BLUE, 2)):
        (x, y), _ = camera.project(solution[body].at(point).position[k], 0)
        assert np.abs(patch(picture, channel)[0] - (x - 0.5, 479.5 - y)).max() < 1.5


def test_the_near_hides_the_far(tmp_path):
    """A disc before a ball, seen from both sides."""
    import mbd

    system = mbd.System()
    shapes = [
        mbd.Cylinder(0.5, 0.02, at=(0, 1, 0), axis=(0, 1, 0), color="#ff0000"),
        mbd.Sphere(0.3, color="#0000ff"),
    ]
    system.add(mbd.RigidBody("b", mass=1.0, inertia=(1, 1, 1), shape=shapes))
    solution = mbd.simulate(system, t_end=0.1, step=0.05, progress=False)
    front = read(solution.snapshot(tmp_path / "a.png", view=(0, 1, 0), show="bodies"))
    with pytest.raises(AssertionError, match="not in the picture"):
        patch(front, 2)
    back = read(solution.snapshot(tmp_path / "b.png", view=(0, -1, 0), show="bodies"))
    assert np.abs(patch(back, 2)[0] - patch(back, 0)[0]).max() < 1.5


def test_everything_that_is_shown_is_painted(tmp_path):
    solution = pendulum()
    names = ("bodies", "joints", "loads", "reactions", "grid")
    bare = read(solution.snapshot(tmp_path / "bare.png", show=()))
    for name in names:
        picture = read(solution.snapshot(tmp_path / f"{name}.png", show=name))
        assert np.abs(picture - bare).max() > 20, name
    joints = [read(solution.snapshot(tmp_path / "a.png", show=x)) for x in _NAMED]
    assert np.abs(np.diff(joints, axis=0)).max() > 20
    trails = {"trails": ["rod"], "show": "trails"}
    assert np.abs(read(solution.snapshot(tmp_path / "t.png", **trails)) - bare).max() > 20


@pytest.mark.parametrize("kind", ["gif", "webp"])
def test_a_film_has_the_frames_and_the_pace(kind, tmp_path):
    path = tmp_path / "new" / f"run.{kind}"
    animation = pendulum().animate(path, speed=0.5)
    with Image.open(path) as film:
        assert film.n_frames == 21  # 0.5 s at half speed, 20 per second
        film.load()
        assert film.info["duration"] == 50
        assert film.size == (640, 480)
        first = np.asarray(film.convert("RGB")).astype(float)
        film.seek(20)
        assert np.abs(np.asarray(film.convert("RGB")).astype(float) - first).max() > 50
    animation.save(path, fps=10, size=(160, 120))
    with Image.open(path) as film:
        assert (film.n_frames, film.size) == (11, (160, 120))


def test_a_title_is_drawn_if_there_is_one(tmp_path):
    pictures = [
        read(pendulum().snapshot(tmp_path / "a.png", show=(), **options))[:40, :400]
        for options in ({}, {"title": "A rod"}, {"title": "Many words " * 20})
    ]
    assert pictures[0].min() == 255  # not even the name of the package
    assert pictures[1].min() < 50
    assert read(tmp_path / "a.png")[40:80, :400].min() < 50  # a long one goes on below


def test_vector_graphics(tmp_path):
    path = pendulum().snapshot(tmp_path / "a.svg", title="cost: $5 & $6")
    assert "<svg" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(("path", "options", "match"), [
    ("a.jpeg", {}, r"must end in .png, .pdf or .svg, got 'a.jpeg'"),
    ("a.png", {"t": 0.7}, r"t must be within the run, 0 to 0.5 \[s\], got 0.7"),
    ("a.png", {"size": (5, 5)}, r"size must be 16 to 10000 pixels each, got \(5, 5\)"),
    ("a.png", {"size": 5}, r"size must be 2 numbers"),
])  # fmt: skip
def test_wrong_input(path, options, match):
    with pytest.raises(ValueError, match=match):
        pendulum().snapshot(path, **options)


def test_without_matplotlib_it_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.collections", None)
    with pytest.raises(ImportError, match=r"pip install 'mbd\[plot\]'"):
        pendulum().snapshot("a.png")
