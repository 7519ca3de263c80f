"""Shares of redundant joints: against stiff seats, against hand calculation, and what is unique."""

import numpy as np
import pytest

import mbd

PLACES = {"hinge": (1.0, 0.2, 0.1), "ball": (-0.6, 0.9, 0.0), "weld": (-0.5, -0.8, 0.3)}
AXIS = (0.3, 0.2, 1.0)
SMALL = {"mass": 1.0, "inertia": (1.0, 1.0, 1.0)}


def seat(seed):
    """Return a full stiffness matrix, softer in turns than in displacements by a length."""
    rng = np.random.default_rng(seed)
    size = np.array([1.0, 1.0, 1.0, 0.2, 0.2, 0.2])
    A = rng.normal(size=(6, 6)) + 3 * np.eye(6)
    return 1e4 * A @ A.T * np.outer(size, size)


SEATS = {name: seat([86, i]) for i, name in enumerate(PLACES)}


def table(stiffer=None, formulation="so3"):
    """Return a plate on three joints and a bracket on it; with `stiffer` each joint has a seat."""
    system = mbd.System()
    plate = system.add(mbd.RigidBody("plate", position=(0, 0, 0), formulation=formulation, **SMALL))
    kinds = {"hinge": mbd.Revolute, "ball": mbd.Spherical, "weld": mbd.Fixed}
    for name, at in PLACES.items():
        second, axis = plate, {} if name != "hinge" else {"axis": AXIS}
        if stiffer is not None:
            second = system.add(mbd.RigidBody(f"{name} seat", position=at, **SMALL))
        joint = system.add(kinds[name](name, system.ground, second, at=at, **axis))
        if stiffer is not None:
            K = stiffer * SEATS[name]
            axes = joint.B.axes
            system.add(mbd.Bushing(f"{name} spring", second, plate, at=at, axes=axes, stiffness=K))
    system.add(mbd.PointForce("push", plate, (300.0, -200.0, -500.0), at=(0.4, 0.1, 0.2)))
    return system


@pytest.mark.parametrize("formulation", ["so3", "directors"])
def test_shares_are_those_of_stiff_seats(formulation):
    """In the limit, which is approached as 1/K."""
    run = mbd.equilibrium(table(formulation=formulation)).solution
    shared = mbd.share_reactions(run, SEATS)
    errors = []
    for stiffer in (1e3, 1e5):
        seats = mbd.equilibrium(table(stiffer))
        errors.append(
            max(
                np.abs(getattr(seats[name], what) - getattr(shared[name], what)[0]).max()
                for name in PLACES
                for what in ("force", "moment")
            )
            / 600.0
        )
    assert errors[1] < 1e-6
    assert 50 < errors[0] / errors[1] < 200
    changed = [np.abs(shared[x].force - run[x].force).max() for x in PLACES]
    assert min(changed) > 5.0
    total = sum(shared[name].force for name in PLACES)
    assert np.allclose(total, sum(run[name].force for name in PLACES), rtol=0, atol=1e-9)


def beam(n=5):
    """Return a beam on n posts that hold it upright: a push off the middle has no unique share."""
    system = mbd.System(gravity=(0, 0, -10.0))
    bar = system.add(mbd.RigidBody("bar", position=(0, 0, 0), **SMALL))
    for i in range(n):
        system.add(mbd.Fixed(f"post {i}", system.ground, bar, at=(i - n // 2, 0, 0)))
    system.add(mbd.PointForce("push", bar, (0, 0, -90.0), at=(1, 0, 0)))
    return system


def test_a_rigid_beam_on_springs_shares_as_by_hand():
    """Posts of one kind: F_i = F/n + F e x_i / sum x^2, where they resist no turn."""
    run = mbd.simulate(beam(), 0.02, 0.01)
    even = {f"post {i}": (1e6, 1e6, 1e6, 1e-6, 1e-6, 1e-6) for i in range(5)}
    shared = mbd.share_reactions(run, even)
    for i in range(5):
        upright = 100.0 / 5 + 90.0 * (i - 2) / 10
        assert np.allclose(shared[f"post {i}"].force[:, 2], upright, rtol=0, atol=1e-6)
    assert np.array_equal(shared.q, run.q)
    assert shared.gap.max() == run.gap.max()
    assert np.array_equal(shared.state.lam, shared.lam[-1])


def test_rigid_joints_carry_what_soft_ones_leave():
    run = mbd.simulate(beam(3), 0.01, 0.01)
    soft = mbd.share_reactions(run, {"post 0": (1e3,) * 6, "post 2": (1e3,) * 6})
    assert np.allclose(soft["post 1"].force[:, 2], 100.0, rtol=0, atol=1e-9)
    assert np.allclose(soft["post 1"].moment[:, 1], -90.0, rtol=0, atol=1e-9)
    for name in ("post 0", "post 2"):
        assert np.abs(soft[name].reactions.force).max() < 1e-9


def test_only_ratios_count_over_many_decades():
    run = mbd.equilibrium(table()).solution
    one = mbd.share_reactions(run, SEATS)
    for factor in (1e-12, 1e12):
        other = mbd.share_reactions(run, {x: factor * K for x, K in SEATS.items()})
        assert np.allclose(other.lam, one.lam, rtol=0, atol=1e-8)


def door():
    system = mbd.System(gravity=(0, 0, -9.81))
    leaf = system.add(
        mbd.RigidBody("leaf", mass=20.0, inertia=(7.0, 7.5, 1.1), position=(0.4, 0, 1),
                      velocity=(0, 0.4, 0), angular_velocity=(0, 0, 1.0))
    )  # fmt: skip
    system.add(mbd.Cylindrical("lower", system.ground, leaf, at=(0, 0, 0.3), axis=(0, 0, 1)))
    system.add(mbd.PointOnLine("middle", system.ground, leaf, at=(0, 0, 1.0), axis=(0, 0, 1)))
    system.add(mbd.Revolute("upper", system.ground, leaf, at=(0, 0, 1.7), axis=(0, 0, 1)))
    knob = system.add(mbd.RigidBody("knob", mass=1.0, inertia=(1e-3,) * 3, position=(0.8, 0, 1)))
    system.add(mbd.Revolute("spindle", leaf, knob, at=(0.8, 0, 1), axis=(0, 1, 0)))
    return mbd.simulate(system, 0.1, 1e-3, every=20, project=True)


def test_the_unique_part_is_the_same_for_every_split():
    run = door()
    unique = mbd.unique_reactions(run)
    assert (unique["spindle"].open_forces == 0).all()  # no loop passes it
    assert np.allclose(unique["spindle"].force, run["spindle"].force, rtol=0, atol=1e-9)
    # the weight hangs on the upper hinge alone; along x and y all three share
    assert (unique["upper"].open_forces == 2).all()
    assert np.allclose(unique["upper"].force[:, 2], 21.0 * 9.81, rtol=1e-6)
    assert (unique["middle"].open_moments == 0).all()
    rng = np.random.default_rng(52817)
    for _ in range(3):
        stiffness = {x: 10.0 ** rng.uniform(2, 6, 6) for x in ("lower", "middle", "upper")}
        shared = mbd.share_reactions(run, stiffness)
        assert np.abs(shared["lower"].force - run["lower"].force).max() > 0.1
        again = mbd.unique_reactions(shared)
        for name, x in unique.items():
            assert np.allclose(again[name].force, x.force, rtol=0, atol=1e-7)
            assert np.allclose(again[name].moment, x.moment, rtol=0, atol=1e-7)
            open_moment = x.open_moments == 3
            assert np.allclose(x.moment[open_moment], 0.0, atol=1e-9)


def test_without_redundant_rows_all_is_unique():
    system = mbd.System(gravity=(0, 0, -9.81))
    bob = system.add(mbd.RigidBody("bob", position=(1, 0, 0), **SMALL))
    system.add(mbd.Revolute("hinge", system.ground, bob, at=(0, 0, 0), axis=(0, 1, 0)))
    run = mbd.simulate(system, 0.1, 0.01)
    unique = mbd.unique_reactions(run)["hinge"]
    assert np.array_equal(unique.force, run["hinge"].force)
    assert not unique.open_forces.any()
    assert np.array_equal(mbd.share_reactions(run, {"hinge": (1.0,) * 6}).lam, run.lam)


def test_a_hinge_that_is_switched_off_takes_no_share():
    system = beam(3)
    drop = mbd.Event("drop", lambda s: s.t - 0.05, release="post 1")
    run = mbd.simulate(system, 0.1, 0.01, events=[drop])
    shared = mbd.share_reactions(run, {f"post {i}": (1.0,) * 6 for i in range(3)})
    before, after = shared.part(slice(0, 5)), shared.part(slice(-4, None))
    assert np.abs(before["post 1"].force[:, 2]).min() > 1.0
    assert np.abs(after["post 1"].force).max() == 0.0
    assert np.allclose(sum(after[f"post {i}"].force[:, 2] for i in (0, 2)), 100.0, atol=1e-6)


def test_what_is_no_joint_or_no_stiffness_is_refused_by_name():
    run = mbd.simulate(beam(2), 0.01, 0.01)
    with pytest.raises(ValueError, match="joints are post 0, post 1.*did you mean 'post 1'"):
        mbd.share_reactions(run, {"pots 1": (1.0,) * 6})
    with pytest.raises(ValueError, match="'post 1' must be positive in all six directions"):
        mbd.share_reactions(run, {"post 1": (1.0, 1, 1, 0, 0, 0)})
    with pytest.raises(ValueError, match="must name a joint"):
        mbd.share_reactions(run, {})
    with pytest.raises(TypeError, match=r"must be a Solution .* got 3"):
        mbd.unique_reactions(3)


def test_runs_from_files_are_shared_too(tmp_path):
    pytest.importorskip("h5py")
    run = mbd.simulate(beam(3), 0.01, 0.01)
    run.save(tmp_path / "run.nc")
    stiffness = {"post 0": (1.0,) * 6, "post 1": (2.0,) * 6, "post 2": (3.0,) * 6}
    here, there = (mbd.share_reactions(x, stiffness) for x in (run, mbd.load(tmp_path / "run.nc")))
    assert np.allclose(here["post 2"].force, there["post 2"].force, rtol=0, atol=1e-9)
