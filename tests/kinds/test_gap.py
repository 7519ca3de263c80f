"""Violations of rows on positions and on velocities, in their units; what a report calls them."""

import numpy as np
import pytest
from recipes import JOINT_RECIPES, ROW_PARTS, STILL, WORN, elsewhere, pair

import mbd
from mbd.machine import buffer as m
from mbd.model.workspace import Workspace

ROWS = {
    **JOINT_RECIPES,
    **{"-".join(name): make for name, make in ROW_PARTS.items()},
    **{"-".join(name): lambda a, b, s, make=make: make(a, s) for name, make in WORN.items()},
}
UNITS = {
    "Spherical": {"m"}, "Revolute": {"m", "-"}, "Distance": {"m^2"}, "KnifeEdge": {"m/s"},
    "RollingBall": {"m", "m/s"}, "RollingDisc": {"m", "m/s"}, "NonTwisting-even": {"rad/s"},
    "Drive-law": {"rad"}, "Drive-speed": {"m"}, "Drive-velocity": {"rad/s"},
    "Drive-law of velocity": {"m/s"}, "Rope-two segments": {"m"}, "Gear-unlike angles": {"rad"},
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_gap_shows_rows_on_velocities(name):
    """The gap of a row on velocities is its value g, which rates() gives too."""
    system, one, two = pair("so3", "so3")
    system.add(ROWS[name](one, two, STILL))
    model = system.build()
    q, v = elsewhere(model, np.random.default_rng(70003))
    state = model.state.replace(q=q, v=v)
    A = model.assemble(state)
    work = Workspace(model, state)
    work.evaluate()
    value, rate = work.vector(m.X)[model.numbering.lam].copy(), work.rates()[0]
    velocity = model.numbering.lam_kinds == m.VELOCITY_ROW
    assert np.allclose(A.gap, np.where(velocity, rate, value), rtol=1e-14, atol=1e-15)
    assert (np.abs(A.gap[velocity]) > 1e-3).all()
    work.evaluate(row_rate=0.5)
    own = work.vector(m.X)[model.numbering.lam[velocity]]
    assert np.allclose(own, 0.5 * rate[velocity], rtol=1e-14)
    assert [u.endswith("/s") for u in A.gap_units] == velocity.tolist()
    if name in UNITS:
        assert set(A.gap_units) == UNITS[name]


@pytest.mark.parametrize("name", ["KnifeEdge", "Drive-velocity", "Revolute", "RollingBall"])
def test_gap_of_a_run_is_the_largest_of_all_rows(name):
    system, one, two = pair("so3", "so3")
    system.add(ROWS[name](one, two, STILL))
    state = mbd.assemble_pose(system)
    run = mbd.simulate(system, 0.01, 1e-3, state=state)
    assert run.gap.max() < 1e-6
    rng = np.random.default_rng(70009)
    wrong = run.part(slice(None))
    wrong.v = wrong.v + rng.normal(size=wrong.v.shape)
    q = wrong.q + 1e-3 * rng.normal(size=wrong.q.shape)
    for four in run.model.quaternions:
        q[:, four] /= np.linalg.norm(q[:, four], axis=1, keepdims=True)
    wrong.q = q
    for i in (0, 7):
        at = run.state.replace(t=wrong.t[i], q=wrong.q[i], v=wrong.v[i], memory=None)
        assert np.isclose(wrong.gap[i], np.abs(run.model.assemble(at).gap).max(), rtol=1e-9)
    assert wrong.gap.max() > 1e-4


@pytest.mark.parametrize(
    ("name", "words"),
    [("KnifeEdge", r"'part.across' by \S+ m/s;"), ("Drive-velocity", r"'part.\w+' by \S+ rad/s;"),
     ("Drive-law", r"'part.\w+' by \S+ rad/s;"), ("NonTwisting-even", r"'part.\w.*' by \S+ rad/s;"),
     ("Distance", r"'part.distance' by \S+ m\^2/s;")],
)  # fmt: skip
def test_messages_have_the_unit_of_the_rate(name, words):
    system, one, two = pair("so3", "so3")
    system.add(ROWS[name](one, two, STILL))
    pose = mbd.assemble_pose(system)
    rng = np.random.default_rng(70019)
    with pytest.raises(ValueError, match=words):
        mbd.consistent(system.build(), pose.replace(v=rng.normal(size=pose.v.shape)))


def test_report_names_one_body_and_counts_what_has_no_rows():
    system, one, two = pair("so3", "directors")
    hinge = system.add(mbd.Revolute("hinge", one, two, at=(0, 0, 0), axis=(0, 0, 1)))
    system.add(mbd.Drive("drive", hinge, position=0.0))
    system.add(mbd.NonTwisting("even", one))
    system.add(mbd.Spring("spring", system.ground, two, stiffness=3.0))
    report = system.build().report()
    assert (report.n_joints, report.n_constraints, report.n_forces) == (1, 2, 1)
    text = str(report)
    assert text.startswith("2 bodies, 1 joint, 2 other constraints, 1 force\n")
    assert "  joint hinge: Revolute between one and two, 5 rows\n" in text
    assert "  rows  drive: Drive between one and two, 1 row\n" in text
    assert "  rows  even: NonTwisting of one, 1 row" in text
