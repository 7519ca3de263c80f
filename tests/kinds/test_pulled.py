"""Formulations made by ``pulled``: tangents, inertia, motion; rebuilt ones equal the library's."""

import itertools
import re
import warnings

import numpy as np
import pytest
from charts import CHARTS
from scenes import GRAVITY, body, with_body

import mbd
from mbd.algebra.quaternions import scaled_rotation
from mbd.algebra.rotations import quaternion_from_matrix
from mbd.formulations.pulled import pulled
from mbd.machine.buffer import DIRECTOR, TRANSLATION
from mbd.model.workspace import Workspace

UPPER = (np.array([0, 1, 2, 1, 0, 0]), np.array([0, 1, 2, 2, 2, 1]))
SIX = ("|d1|", "|d2|", "|d3|", "d2.d3", "d1.d3", "d1.d2")
NAMES = ("x", "y", "z", *(f"d{k}_{c}" for k in "123" for c in "xyz"))


def gram(y):
    """Return the rows of ``directors``."""
    d = y.reshape(4, 3)[1:]
    return ((d @ d.T - np.eye(3)) * (1 - 0.5 * np.eye(3)))[UPPER]


def of_directors():
    kinds = (TRANSLATION,) * 3 + (DIRECTOR,) * 9
    return pulled(
        "pulled directors",
        dict(zip(NAMES, kinds, strict=True)),
        lambda q: q,
        lambda x, R: np.concatenate([x, R.T.ravel()]),
        SIX,
        gram,
    )


def of_parameters():
    """Return the homogeneous quaternion map; the row has gradient p on the unit sphere."""
    return pulled(
        "pulled parameters",
        dict.fromkeys("xyz", TRANSLATION) | {f"p{i}": DIRECTOR for i in range(4)},
        lambda q: np.concatenate([q[:3], scaled_rotation(q[3:]).T.ravel()]),
        lambda x, R: np.concatenate([x, quaternion_from_matrix(R)]),
        ("|p|",),
        lambda y: [(y[3:] @ y[3:] / 3 - 1) / 4],
    )


def of_squeezed():
    """Return skewed linear coordinates with a constant: full lists of L, c not zero."""
    S = np.array([[1, 0.5, 0.2, -0.1], [1, -0.4, 0.3, 0], [0, 0.1, 1, 0.2], [0, 0, -0.3, 1]])
    shift = np.linspace(-1, 1, 12)
    return pulled(
        "skew",
        dict(zip(NAMES, (TRANSLATION,) * 6 + (DIRECTOR,) * 6, strict=True)),
        lambda q: np.linalg.inv(S) @ (q + shift).reshape(4, 3),
        lambda x, R: (S @ np.vstack([x, R.T])).ravel() - shift,
        SIX,
        gram,
    )


MADE = {f.name: f for f in (of_directors(), of_parameters(), of_squeezed())} | CHARTS
TWINS = {"pulled directors": "directors", "pulled parameters": "euler_parameters"}


def loaded(law, *, seed=70313):
    """Return a free body on the law with an unsteady state on its own rows."""
    system = mbd.System(gravity=GRAVITY)
    one = system.add(body("one", np.random.default_rng(seed), law))
    model = system.build()
    work = Workspace(model, model.state)
    rng = np.random.default_rng(seed)
    a, lam = rng.normal(size=model.n_v), np.zeros(model.n_lam)
    v = model.state.v + rng.normal(size=model.n_v)
    work.load(model.state.replace(v=v, a=a, lam=lam))
    return one, model, work


@pytest.mark.parametrize("name", TWINS)
def test_twin_has_the_same_matrices(name):
    """On the own rows and without their multipliers (whose rows differ off the unit sphere)."""
    found = []
    for law in (MADE[name], TWINS[name]):
        _, model, work = loaded(law)
        found.append((model, model.assemble(work.store())))
    (model, mine), (_, theirs) = found
    for block in ("M", "G", "K", "B"):
        one, two = (getattr(x, block).toarray() for x in (mine, theirs))
        assert np.allclose(one, two, rtol=0, atol=2e-14 * max(1, np.abs(two).max())), block
    assert model.n_lam > 0
    assert np.abs(mine.residual - theirs.residual).max() < 2e-13
    assert np.abs(mine.residual).max() > 1


def pendulum(*laws):
    """Return two eccentric bars hung on a ball and a hinge."""
    system = mbd.System(gravity=GRAVITY)
    last = system.ground
    for i, law in enumerate(laws):
        bar = system.add(
            mbd.RigidBody(
                f"bar {i}", mass=1.0 + i, inertia=(0.1, 0.2, 0.25), position=(i + 0.5, 0, 0),
                center_of_mass=(0.1, 0.05, -0.02), velocity=(0, 2 * (i + 0.5), 0),
                angular_velocity=(0, 0, 2.0), formulation=law,
            )
        )  # fmt: skip
        if i:
            system.add(mbd.Revolute("hinge", last, bar, at=(i, 0, 0), axis=(0, 1, 0)))
            system.add(mbd.RotationalSpring("coil", system["hinge"], stiffness=3.0, damping=0.2))
        else:
            system.add(mbd.Spherical("pin", last, bar, at=(i, 0, 0)))
        last = bar
    return system


@pytest.mark.parametrize("name", TWINS)
def test_twin_moves_the_same(name):
    """The same Newton iteration: agreement far below the error of the step."""
    mine = mbd.simulate(pendulum("so3", MADE[name]), t_end=0.4, step=2e-3)
    theirs = mbd.simulate(pendulum("so3", TWINS[name]), t_end=0.4, step=2e-3)
    for which in ("bar 0", "bar 1"):
        assert np.allclose(mine[which].position, theirs[which].position, rtol=0, atol=1e-8)
    assert np.allclose(mine["pin"].force, theirs["pin"].force, rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", MADE)
def test_mixed_motion_is_that_of_so3(name):
    solutions = [
        mbd.simulate(pendulum(*laws), t_end=0.5, step=1e-3)
        for laws in (("so3", "so3"), ("so3", MADE[name]), (MADE[name], "directors"))
    ]
    true = solutions[0]["bar 1"]
    assert np.abs(np.diff(true.position, axis=0)).max() > 1e-3
    for other in solutions[1:]:
        assert np.allclose(other["bar 1"].position, true.position, rtol=0, atol=3e-5)
        assert np.allclose(other["bar 1"].rotation, true.rotation, rtol=0, atol=3e-5)


def test_linear_face_keeps_energy():
    system = mbd.System(gravity=GRAVITY)
    top = system.add(body("top", np.random.default_rng(4), MADE["skew"], (0.3, 0.1, 0.2)))
    system.add(mbd.Spherical("pin", system.ground, top, at=top.position))
    solution = mbd.simulate(system, t_end=0.2, step=5e-3, method=mbd.EnergyMomentum(), project=True)
    total = solution.energy.total
    assert np.ptp(total) < 1e-9 * max(1.0, np.abs(total).max())


def test_refusals():
    kinds = {f"q{i}": DIRECTOR for i in range(12)}
    good = (lambda q: q, lambda x, R: np.concatenate([x, R.T.ravel()]), SIX, gram)
    with pytest.raises(ValueError, match="12 and 5"):
        pulled("few", kinds, *good[:2], SIX[:5], gram)
    with pytest.raises(ValueError, match="rows of cubic must be at most quadratic in its faces"):
        pulled("cubic", kinds, *good[:3], lambda y: gram(y) ** 3)
    with pytest.raises(ValueError, match="12 numbers of the face"):
        pulled("short", kinds, lambda q: q[:9], *good[1:])
    with pytest.raises(ValueError, match="whose face is the given"):
        pulled("elsewhere", kinds, lambda q: 2 * q, *good[1:])
    with pytest.raises(ValueError, match="rows of rank 6"):
        pulled("loose", kinds, *good[:3], lambda y: gram(y)[[0, 0, 1, 2, 3, 4]])


def test_faces_that_cannot_be_recorded_are_refused():
    def refused(face, match):
        with pytest.raises(TypeError, match=f"pulled: face of bent: .*{match}"):
            pulled("bent", dict.fromkeys("xyzabc", TRANSLATION), face, lambda x, R: x, (), list)

    refused(lambda q: [*q, *abs(q)], "recorded once and must be smooth: it branches on its arg")
    refused(lambda q: np.linalg.solve(np.eye(6), q), "recorded once, in arrays of objects")


@pytest.mark.parametrize("name", CHARTS)
def test_a_turn_past_a_singular_pose_is_right_or_says_that_it_is_not(name):
    """Half a turn is at infinity in Rodrigues parameters; a quarter of the middle angle is lock."""

    def turn(law, h, spin):
        system = mbd.System()
        system.add(mbd.RigidBody("rod", mass=1.0, inertia=(0.1, 0.2, 0.25), formulation=law,
                                 angular_velocity=spin))  # fmt: skip
        return mbd.simulate(system, 2.0, h)["rod"].rotation[-1]

    passed, failures = 0, []
    for axis, h in itertools.product(2.0 * np.eye(3) + 0.02, (0.05, 0.01)):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                end = turn(CHARTS[name], h, axis)
            except mbd.SimulationError as error:
                failures.append(str(error))
                continue
        wrong = np.abs(end - turn("so3", h, axis)).max() > 0.2
        assert not wrong or any("too large for this motion" in str(x.message) for x in told)
        passed += not wrong
    assert all(re.search("'rod.[abc]' moves by", x) for x in failures)
    assert (passed == 0) == (name == "rodrigues")


def test_singular_poses_are_refused():
    for law, pose, match in (
        (
            CHARTS["zyx"],
            [[0, 0, 1], [0, 1, 0], [-1, 0, 0]],
            "coordinates of zyx must move .* where .* b = 1.5708",
        ),
        (
            CHARTS["rodrigues"],
            np.diag([-1, -1, 1]),
            "coordinates of rodrigues must return 6 numbers",
        ),
    ):
        system, _ = with_body("rod", inertia=(1, 1, 1), formulation=law, rotation=pose)
        with (
            pytest.raises(ValueError, match=match),
            np.errstate(all="ignore"),
            warnings.catch_warnings(action="ignore"),  # scipy sees the lock of angles, too
        ):
            system.build()
