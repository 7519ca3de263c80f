"""Bodies that move in a plane: the spatial model without what the plane makes constant."""

import numpy as np
import pytest

import mbd

AXES = "xyz"
SHARP = mbd.GeneralizedAlpha(tol=1e-12)


class Plane:
    """Points and directions in a plane by two numbers; a third one is along its normal."""

    def __init__(self, normal):
        self.axis = AXES.index(normal)
        self.across = np.eye(3)[self.axis]
        self.level = [i for i in range(3) if i != self.axis]

    def __call__(self, u, w, n=0.0):
        x = n * self.across
        x[self.level] = u, w
        return x


def linkage(seed, normal, formulation):
    """Return a crank, a coupler with a slider on it, a rocker, and a pendulum of random sizes."""
    rng, at = np.random.default_rng(seed), Plane(normal)
    O, A, B, C, D, E = (at(*x) + 0.1 * at(*rng.uniform(-1, 1, 2)) for x in (
        (0, 0), (0.3, 0.4), (1.2, 0.7), (1.0, -0.3), (0.8, 0.5), (1.7, 0.2)))  # fmt: skip
    system = mbd.System(gravity=at(1.0, -9.81))

    def bar(name, start, end):
        return system.add(
            mbd.RigidBody.bar(name, start, end, mass=rng.uniform(0.5, 2), formulation=formulation)
        )

    crank, coupler, rocker = bar("crank", O, A), bar("coupler", A, B), bar("rocker", C, B)
    turned = mbd.RigidBody(
        "block", mass=0.7, inertia=rng.uniform(0.02, 0.03, 3), position=D + at(0, 0, 0.2),
        center_of_mass=0.1 * rng.uniform(-1, 1, 3), formulation=formulation,
    )  # fmt: skip
    block, last = system.add(turned), bar("last", B, E)
    along = (B - A) / np.linalg.norm(B - A)
    system.add(mbd.Revolute("O", system.ground, crank, at=O, axis=at.across))
    system.add(mbd.Revolute("A", crank, coupler, at=A, axis=at.across))
    system.add(mbd.Cylindrical("B", coupler, rocker, at=B, axis=along))
    system.add(mbd.Revolute("C", system.ground, rocker, at=C, axis=-at.across))
    system.add(mbd.Prismatic("slider", coupler, block, at=D, axis=along))
    system.add(mbd.Fixed("weld", rocker, last, at=B))
    system.add(mbd.Spring("spring", system.ground, last, at=at(2, 1), to=E, stiffness=80.0))
    system.add(mbd.JointSpring("js", system["slider"].displacement, stiffness=50.0, damping=1.0))
    system.add(mbd.PointForce("push", block, at(2.0, -1.0), at=D))
    return system


@pytest.mark.parametrize(("seed", "normal"), [(1, "x"), (2, "y"), (3, "z")])
def test_a_planar_model_is_the_spatial_one(seed, normal):
    at = Plane(normal)
    planar, spatial = (linkage(seed, normal, f) for f in (mbd.InPlane(normal), "so3"))
    model = planar.build()
    report = model.report()
    rows = {x: sum(e.kind.n_rows for e in model.elements[x]) for x in planar.joints}
    assert rows == dict.fromkeys("OABC", 2) | {"slider": 2, "weld": 3}
    assert report.freedoms == report.gruebler_freedoms == 3 * 5 - sum(rows.values())
    assert report.redundant == ()
    assert model.n_v == 15
    assert spatial.build().report().n_redundant > 0
    assert mbd.check_tangents(model).ok
    assert {x.rsplit(" ", 1)[-1] for x in model.labels if ".force " in x and "along" not in x} == {
        AXES[i] for i in at.level
    }
    runs = [mbd.simulate(s, 0.3, 1e-3, method=SHARP, progress=False) for s in (planar, spatial)]
    for name in planar.bodies:
        a, b = (x[name] for x in runs)
        for what in ("position", "rotation", "velocity", "angular_velocity"):
            one, other = getattr(a, what), getattr(b, what)
            assert np.abs(one - other).max() < 1e-7 * max(1.0, np.abs(other).max()), (name, what)
    for name in ("O", "A", "C", "slider"):  # of a redundant loop the spatial ones are not unique
        a, b = (x[name].force[:, at.level] for x in runs)
        assert np.abs(a - b).max() < 1e-5 * np.abs(b).max(), name
    a, b = (x["slider"].moment @ at.across for x in runs)
    assert np.abs(a - b).max() < 1e-5 * np.abs(b).max()
    assert np.abs(runs[0].energy.total - runs[1].energy.total).max() < 1e-7


def test_modes_are_those_of_the_spatial_model():
    found = []
    for formulation in ("so3", mbd.InPlane("y")):
        system = mbd.System(gravity=(0, 0, -9.81))
        last = system.ground
        for i in range(3):
            ends = (0.2 * i, 0, -i), (0.2 * i + 0.2, 0, -i - 1)
            bar = mbd.RigidBody.bar(f"bar {i}", *ends, mass=1.0 + i, formulation=formulation)
            joint = mbd.Revolute(f"pin {i}", last, system.add(bar), at=ends[0], axis=(0, 1, 0))
            system.add(joint)
            last = bar
        found.append([x.frequency for x in mbd.modes(mbd.equilibrium(system))])
    assert np.allclose(*found, rtol=1e-9)


def test_derivatives_are_those_of_the_spatial_model():
    names = ("crank.mass", "js.stiffness", "A.at.x", "block.center_of_mass.z")
    found = [
        mbd.sensitivities(linkage(2, "y", f), names, 0.05, 1e-3, method=SHARP)
        for f in ("so3", mbd.InPlane("y"))
    ]
    for name in names:
        one, other = (x[name]["block"].position[-1][[0, 2]] for x in found)
        assert np.allclose(one, other, rtol=1e-6, atol=1e-9), name


JOINTS = {
    "hinge": (mbd.Revolute, "n", 2), "ball": (mbd.Spherical, "", 2), "weld": (mbd.Fixed, "", 3),
    "slider": (mbd.Prismatic, "u", 2), "sleeve": (mbd.Cylindrical, "u", 2),
    "sleeve on the normal": (mbd.Cylindrical, "n", 2), "line": (mbd.PointOnLine, "u", 1),
    "line along the normal": (mbd.PointOnLine, "n", 2), "wall": (mbd.PointInPlane, "u", 1),
}  # fmt: skip


@pytest.mark.parametrize("normal", AXES)
@pytest.mark.parametrize("kind", JOINTS)
def test_joints_have_the_rows_of_the_plane(kind, normal):
    """Independent ones; with a body that is not in the plane all of them."""
    make, axis, n = JOINTS[kind]
    at, rng = Plane(normal), np.random.default_rng(4)
    u, w = rng.normal(size=2)
    axes = {"n": {"axis": at.across}, "u": {"axis": at(u, w)}, "": {}}[axis]
    counts = []
    for other in (mbd.InPlane(normal), "so3"):
        system = mbd.System()
        first, second = (
            system.add(mbd.RigidBody.bar(
                name, at(*rng.normal(size=2), 0.3), at(1, 2, 0.3), mass=1.0, formulation=f,
            ))
            for name, f in (("first", mbd.InPlane(normal)), ("second", other))
        )  # fmt: skip
        joint = system.add(make("joint", first, second, at=at(0.3, 0.4, -0.2), **axes))
        model = system.build()
        B = model.assemble().B
        counts.append(B.shape[0])
        if other != "so3":
            assert np.linalg.matrix_rank(B.toarray()) == n
            assert len(model.elements["joint"]) <= len(joint.elements())
    assert counts[0] == n <= counts[1]


def body(**more):
    return mbd.RigidBody("rod", mass=1.0, inertia=(1, 1, 1), formulation=mbd.InPlane("y"), **more)


def joined(make, **more):
    system = mbd.System()
    system.add(make("pin", system.ground, system.add(body()), **more))
    return system.build()


def lifted():
    system = mbd.System()
    rod = system.add(body())
    frames = system.ground.frame((0, 0.1, 0)), rod.frame()
    system.add(mbd.Spherical("pin", *frames))
    return system.build()


def turned():
    system = mbd.System()
    rod = system.add(body(position=(0, 0, 0.1)))
    table = system.ground.frame(axes=mbd.rotation((0, 0, 1), 0.3))
    system.add(mbd.RollingDisc("disc", table, rod, radius=0.1, axis=(0, 1, 0)))
    return system.build()


def falling():
    system = mbd.System(gravity=(0, -9.81, 0))
    system.add(body())
    return system.build()


REFUSED = {
    "velocity": (lambda: body(velocity=(1, 1e-3, 0)), "rod: velocity .* got 0.001 along y"),
    "spin": (lambda: body(angular_velocity=(1, 2, 0)), "rod: angular_velocity .* 1 normal to y"),
    "gravity": (falling, r"gravity must be in the plane of 'rod'.*got \[0.0, -9.81, 0.0\]"),
    "force": (lambda: mbd.PointForce("f", body(), (1, 1, 0)), "f: force must be in the plane"),
    "moment": (lambda: mbd.Moment("f", body(), (1, 1, 0)), "f: moment must be along the normal"),
    "askew": (lambda: joined(mbd.Revolute, at=(0, 0, 0), axis=(0, 1, 1)), "pin: .* turn the joint"),
    "apart": (lifted, "pin: .* frames are 0.1 apart out of it"),
    "slip": (turned, "disc: .* turn the joint, or its frames"),
    "nothing": (lambda: joined(mbd.Planar, at=(0, 0, 0), axis=(0, 1, 0)), "a Planar holds nothing"),
    "row": (lambda: joined(mbd.PrescribedMotion, position=(0, 0, 0)), r"pin\.y: .* is constant"),
    "normal": (lambda: mbd.InPlane("w"), "InPlane: normal must be one of x, y, z, got 'w'"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_out_of_the_plane_is_refused(what):
    make, message = REFUSED[what]
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("normal", AXES)
@pytest.mark.parametrize("kind", ["RollingBall", "RollingDisc"])
def test_what_rolls_down_a_ramp_does_not_slip(kind, normal):
    """Two rows; down by g sin(a) / (1 + J/(m r^2)), and omega r = v to round-off."""
    at, r, slope = Plane(normal), 0.2, 0.4
    u, n = at(np.cos(slope), -np.sin(slope)), at(np.sin(slope), np.cos(slope))

    def model(formulation):
        system = mbd.System(gravity=at(0, -9.81))
        wheel = system.add(
            mbd.RigidBody("wheel", mass=2.0, inertia=(0.03,) * 3, position=r * n + at(0, 0, 0.3),
                          formulation=formulation)
        )  # fmt: skip
        more = {"axis": at.across} if kind == "RollingDisc" else {}
        system.add(getattr(mbd, kind)("road", system.ground, wheel, radius=r, normal=n, **more))
        return system.build()

    planar = model(mbd.InPlane(normal))
    assert planar.n_lam == 2
    assert mbd.check_tangents(planar).ok
    run = mbd.simulate(planar, 1.0, 0.02, method=SHARP, progress=False)
    v = run["wheel"].velocity @ u
    expected = 9.81 * np.sin(slope) * run.t / (1 + 0.03 / (2.0 * r**2))
    assert np.allclose(v, expected, rtol=1e-9, atol=1e-10)
    assert np.abs(run["wheel"].angular_velocity @ np.cross(n, u) * r - v).max() < 1e-12
    assert np.allclose(run["road"].force @ n, 2.0 * 9.81 * np.cos(slope))
    if kind == "RollingBall":  # the row of a disc is not quadratic
        both = [mbd.simulate(x, 1.0, 0.02, method=mbd.EnergyMomentum(), progress=False)
                for x in (planar, model("euler_parameters"))]  # fmt: skip
        assert np.allclose(*(x["wheel"].position for x in both), rtol=0, atol=1e-11)
        assert np.ptp(both[0].energy.total) < 1e-12


def test_a_ball_slides_into_rolling_as_in_space():
    """By set-valued laws, whose sideways friction has nothing to act on."""
    ends = []
    for formulation in (mbd.InPlane("y"), "so3"):
        system = mbd.System(gravity=(0, 0, -9.81))
        ball = system.add(
            mbd.RigidBody("ball", mass=1.0, inertia=(4e-3,) * 3, position=(0, 0, 0.1),
                          velocity=(1, 0, 0), shape=mbd.Sphere(0.1), formulation=formulation)
        )  # fmt: skip
        system.add(mbd.Contact("floor", system.ground, ball, normal=(0, 0, 1), friction=0.3))
        ends.append(mbd.simulate(system, 0.3, 1e-3, progress=False)["ball"])
    assert np.allclose(ends[0].velocity[-1], (5 / 7, 0, 0), atol=1e-6)
    assert np.allclose(ends[0].position, ends[1].position, atol=1e-9)


# --- bars -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("radius", [None, 0.2])
def test_a_bar_swings_as_in_the_textbook(radius):
    system, L = mbd.System(gravity=(0, 0, -9.81)), 1.3
    ends = (1, 2, 3), (1, 2, 3 - L)
    rod = system.add(mbd.RigidBody.bar("rod", *ends, mass=2.0, radius=radius))
    system.add(mbd.Revolute("pin", system.ground, rod, at=ends[0], axis=(0.6, 0.8, 0)))
    (mode,) = mbd.modes(mbd.equilibrium(system))
    inertia = 2.0 * (L**2 / 3 + (radius or 0.0) ** 2 / 4)
    assert np.isclose(2 * np.pi * mode.frequency, np.sqrt(2.0 * 9.81 * L / 2 / inertia), rtol=1e-9)
    assert np.allclose(rod.rotation[:, 0], (0, 0, -1))
    assert np.isclose(np.linalg.det(rod.rotation), 1)


def test_a_bar_without_length_is_refused():
    with pytest.raises(ValueError, match=r"rod: start and end of a bar must differ.*PointMass"):
        mbd.RigidBody.bar("rod", (1, 0, 0), (1, 0, 0), mass=1.0)
