"""What files of others can make a reader do: no code of theirs runs, nothing else is opened."""

import os

import numpy as np
import pytest

import mbd


class Trap:
    """An object whose pickle makes a file when it is read."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.fixture(scope="module")
def solution():
    system = mbd.System(gravity=(0, 0, -9.81))
    system.add(mbd.PointMass("ball", mass=1.0))
    return mbd.simulate(system, 0.01, 1e-3)


@pytest.mark.parametrize("name", ["about", "q", "ball.position"])
def test_pickles_in_results_are_not_read(solution, tmp_path, name):
    data = dict(np.load(solution.save(tmp_path / "good.npz")))
    data[name] = np.array(Trap(tmp_path / "trap"), dtype=object)
    np.savez(tmp_path / "bad.npz", **data)
    with pytest.raises(ValueError, match=r"bad\.npz"):
        np.asarray(mbd.load(tmp_path / "bad.npz")["ball"].position)
    assert not (tmp_path / "trap").exists()


MODEL = """
[bodies.ball]
type = "PointMass"
mass = {}

[forces.push]
type = "PointForce"
body = "ball"
force = [{}, 0, 0]
"""


@pytest.mark.parametrize("text", [
    "__import__('os').mkdir('trap')", "(lambda: 1)()", "t.__class__", "open('trap', 'w')",
    "[x for x in (1,)][0]", "(t := 1)",
])  # fmt: skip
def test_expressions_in_model_files_are_no_programs(tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    for mass, force in ((f'"{text}"', 0), (1, f'"{text}"')):
        (tmp_path / "m.toml").write_text(MODEL.format(mass, force))
        with pytest.raises(ValueError, match=r"m\.toml"):
            mbd.simulate(mbd.read("m.toml").system, 0.01, 1e-3)
    assert not (tmp_path / "trap").exists()


def test_a_robot_opens_no_other_file(tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    entity = f'<!DOCTYPE robot [<!ENTITY x SYSTEM "{(tmp_path / "secret.txt").as_uri()}">]>'
    path = tmp_path / "r.urdf"
    path.write_text(f'{entity}<robot name="r"><link name="&x;">&x;</link></robot>')
    with pytest.raises(ValueError, match=r"r\.urdf") as refused:
        mbd.read(path)
    assert "secret" not in str(refused.value).replace("secret.txt", "")


def test_entities_that_grow_without_end_are_refused(tmp_path):
    powers = "".join(f'<!ENTITY x{n} "{f"&x{n - 1};" * 10}">' for n in range(1, 12))
    path = tmp_path / "r.urdf"
    path.write_text(f'<!DOCTYPE r [<!ENTITY x0 "x">{powers}]><robot name="r">&x11;</robot>')
    with pytest.raises(ValueError, match=r"r\.urdf"):
        mbd.read(path)


XACRO = (
    '<robot name="r" xmlns:xacro="http://ros.org/wiki/xacro"><xacro:property name="m" value="{}"/>'
    '<link name="${{m}}"/></robot>'
)


@pytest.mark.parametrize(
    "expression", ["xacro.load_yaml('secret.txt')", "9**9**9**9", "'a'*10**10"]
)
def test_programs_that_expand_robots_run_only_if_they_are_trusted(
    tmp_path, monkeypatch, expression
):
    """Then they may read files, but neither hang nor fill the memory."""
    monkeypatch.setattr("mbd.files.robots.xacro._SECONDS", 2)
    (tmp_path / "secret.txt").write_text("{word: secret}")
    for name in ("r.urdf", "r.xacro"):
        (tmp_path / name).write_text(XACRO.format(f"${{{expression}}}"))
        with pytest.raises(ValueError, match="is a program: it may read any file") as refused:
            mbd.read(tmp_path / name)
        assert "word" not in str(refused.value)
    pytest.importorskip("xacro")
    if "secret" not in expression:
        with pytest.raises(ValueError, match=r"takes more .* than is allowed|cannot expand it"):
            mbd.read(tmp_path / "r.xacro", xacro=True)


@pytest.mark.parametrize("name", ["<!--<script>trap()", "<img src=x onerror=trap()>", "&lt;b"])
def test_names_are_text_in_a_page(tmp_path, name):
    system = mbd.System(gravity=(0, 0, -9.81))
    system.add(mbd.PointMass(name, mass=1.0))
    mbd.simulate(system, 0.01, 1e-3).animate(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<!--<script" not in page
    assert "<img src=x" not in page
