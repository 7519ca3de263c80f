"""The page as a file: its size, its numbers, and that it needs nothing from anywhere."""

import base64
import gzip
import json
import re
import sys

import numpy as np
import pytest
from animation.models import pendulum, run

import mbd
from mbd.animation.page import Pack


def block(page: str, name: str) -> str:
    return re.search(rf'id="{name}">(.*?)</script>', page, re.S)[1]


def unpacked(page: str, where: dict) -> np.ndarray:
    """Read a table as its description in pack.py says, number by number."""
    data = gzip.decompress(base64.b64decode(block(page, "numbers")))
    n, values = where["rows"] * where["columns"], []
    for column in range(where["columns"]):
        whole = 0
        for row in range(where["rows"]):
            k = where["at"] + column * where["rows"] + row
            z = sum(data[k + plane * n] << (8 * plane) for plane in range(4))
            whole += -(z + 1) // 2 if z % 2 else z // 2
            values.append(whole * where["step"])
    return np.array(values).reshape(where["columns"], where["rows"]).T


def test_poses_are_those_of_the_solution():
    solution = run()
    animation = solution.animate()
    page, fine = animation.html, 1.01e-5 * animation.drawing.length
    data = json.loads(block(page, "data"))
    t = unpacked(page, data["t"])[:, 0]
    k = np.searchsorted(solution.t, t - 1e-6)
    assert np.abs(solution.t[k] - t).max() < 1e-8
    assert (len(t), t[0], t[-1]) == (61, 0.0, pytest.approx(1.0, abs=1e-8))
    for frame in data["frames"]:
        body = solution[frame["name"]]
        assert np.abs(unpacked(page, frame["position"]) - body.position[k]).max() < fine
        p = unpacked(page, frame["quaternion"])
        assert np.abs(np.abs(np.einsum("ni,ni->n", p, body.quaternion[k])) - 1).max() < 1e-4
        assert np.abs(np.diff(p, axis=0)).max() < 0.1  # no jumps of sign


@pytest.mark.parametrize("seed", [48163, 90217])
def test_tables_come_back_within_half_a_step(seed):
    rng = np.random.default_rng(seed)
    pack, tables = Pack(), []
    for shape, step in (((7, 3), 1e-3), ((1, 1), 0.5), ((40,), 1e-8), ((3, 2), 2.0)):
        values = rng.normal(size=shape) * 10.0 ** rng.integers(-3, 1)
        tables.append((values.reshape(len(values), -1), pack.table(values, step)))
    page = f'<script id="numbers">{pack.text()}</script>'
    for values, where in tables:
        assert np.abs(unpacked(page, where) - values).max() <= 0.5000001 * where["step"]


def test_numbers_that_cannot_be_shown_are_refused():
    for values in ([1e300], [np.nan], [1.0, np.inf]):
        with pytest.raises(ValueError, match=r"animate: values must be finite.*blow up"):
            Pack().table(np.array(values), 1e-3)


def test_ten_seconds_of_twenty_bodies_are_below_a_megabyte():
    system = mbd.System(gravity=(0, 0, -9.81))
    for i in range(10):
        last = system.ground
        for x in (0.5, 1.5):
            name = f"rod {i} at {x}"
            place = {"position": (x, i, 0), "angular_velocity": (0.1 * i, 0, 0)}
            rod = system.add(mbd.RigidBody(name, mass=1.0, inertia=(0.01, 0.1, 0.1), **place))
            system.add(mbd.Spherical(f"ball {name}", last, rod, at=(x - 0.5, i, 0)))
            last = rod
    solution = mbd.simulate(system, t_end=10.0, step=5e-3, progress=False, project=True)
    animation = solution.animate()
    assert len(animation.drawing.tracks) == 20
    assert len(animation.drawing.t) >= 600
    assert len(animation.drawing.arrows) >= 20
    assert len(animation.html.encode()) < 500_000


def test_nothing_comes_from_a_network():
    page = pendulum().animate(title="a title").html
    library = gzip.decompress(base64.b64decode(block(page, "three"))).decode()
    rest = page.replace(block(page, "three"), "").replace(block(page, "numbers"), "")
    assert not re.findall(r"(?:https?:)?//[a-z0-9-]+\.[a-z]+", rest)
    assert set(re.findall(r"https?://[^\"'`\s)]+", library)) <= {"http://www.w3.org/1999/xhtml"}
    assert not re.findall(r"(?:src|href)\s*=|@import|url\(", rest)
    assert "default-src 'none'" in page  # and the browser is told so
    assert "Copyright © 2010-2026 three.js authors" in page
    assert "The above copyright notice and this permission notice" in page


def test_text_of_the_user_stays_text():
    system = mbd.System()
    system.add(mbd.PointMass("<script>alert(1)", mass=1.0, velocity=(1, 0, 0)))
    solution = mbd.simulate(system, t_end=0.1, step=0.05, progress=False)
    page = solution.animate(title="</title><script>alert(2)</script>{{DATA}}").html
    assert "<script>alert" not in page
    frames = json.loads(block(page, "data"))["frames"]
    assert frames[0]["name"] == "<script>alert(1)"


def test_same_run_same_page():
    assert run().animate().html == run().animate().html


def test_what_is_returned(tmp_path):
    animation = run().animate(tmp_path / "new" / "run.html", title='"quoted"')
    assert (tmp_path / "new" / "run.html").read_text(encoding="utf-8") == animation.html
    assert animation.save(tmp_path / "again.html").is_file()
    inline = animation._repr_html_()
    assert inline.startswith('<iframe srcdoc="&lt;!doctype html&gt;')
    assert inline.count('"') == 2 * inline.count('="')  # nothing ends an attribute early
    assert repr(animation) == "Animation(61 instants, 2 bodies)"
    with pytest.raises(
        ValueError, match=r"written as .html, .gif, .webp or .mp4, got .*use solution.snapshot"
    ):
        animation.save(tmp_path / "run.png")
    with pytest.raises(TypeError, match="a page takes no options, got fps"):
        animation.save(tmp_path / "run.html", fps=3)


def test_the_page_needs_no_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert "<canvas" in pendulum().animate().html
