"""Contacts of bodies with planes: laws against closed forms, families that must not fail.

F1, F3, F5 ... are elementary solutions of rigid bodies under Coulomb's and Newton's laws, derived
beside the tests; g = 9.81 m/s^2.
"""

import warnings

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mbd

G = 9.81
FORMULATIONS = ("so3", "se3", "unified", "euler_parameters", "directors", "scalable")


def ground(gravity=(0, 0, -G)):
    return mbd.System(gravity=gravity)


def ball_on(system, *, radius=0.1, mass=1.0, formulation="so3", name="ball", **motion):
    inertia = (0.4 * mass * radius**2,) * 3
    return system.add(
        mbd.RigidBody(
            name, mass=mass, inertia=inertia, shape=mbd.Sphere(radius), formulation=formulation,
            **motion,
        )
    )  # fmt: skip


def box_on(system, size=(0.3, 0.2, 0.1), mass=3.0, formulation="so3", name="box", **motion):
    a, b, c = size
    inertia = (
        mass / 12 * (b * b + c * c), mass / 12 * (a * a + c * c), mass / 12 * (a * a + b * b)
    )  # fmt: skip
    return system.add(
        mbd.RigidBody(
            name, mass=mass, inertia=inertia, shape=mbd.Box(size), formulation=formulation, **motion
        )
    )


def energy(solution):
    return solution.energy.kinetic + solution.energy.potential


@pytest.mark.parametrize("h", [4e-3, 1e-3])
@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_a_ball_bounces_to_rest(h, restitution):
    """Dropped by 1 m: impacts from t1 = sqrt(2/g) on, at rest at t1 (1 + e)/(1 - e)."""
    system = ground()
    ball = ball_on(system, position=(0, 0, 1.1), velocity=(4, 0, 0))
    system.add(mbd.Contact("floor", system.ground, ball, friction=0.2, restitution=restitution))
    solution = mbd.simulate(system, 2.0, h)
    height = solution["ball"].position[:, 2] - 0.1
    assert height.min() > -1e-14
    assert np.diff(energy(solution)).max() < 1e-13
    rest = np.sqrt(2 / G) * (1 + restitution) / (1 - restitution)
    moving = solution.t[np.abs(solution["ball"].velocity[:, 2]) > 1e-9]
    assert rest - 7 * h < moving[-1] < rest + h
    # in the end it rolls: v = 5/7 of 4 m/s, whatever the bounces were
    assert solution["ball"].velocity[-1] == pytest.approx([20 / 7, 0, 0], abs=1e-12)
    assert solution["floor"].force[-1] == pytest.approx([0, 0, G], abs=1e-12)
    on_floor = mbd.contacts(solution, "floor")
    assert set(on_floor.mode[:, 0]) >= {"open", "stick"}
    assert on_floor.gap[:, 0] == pytest.approx(height, abs=1e-13)


@pytest.mark.parametrize("formulation", ["point", *FORMULATIONS])
def test_a_body_on_a_slope_stays(formulation):
    a = np.radians(25)
    system = ground((-G * np.sin(a), 0, -G * np.cos(a)))
    if formulation == "point":
        body = system.add(mbd.PointMass("box", mass=3.0))
    else:
        body = box_on(system, position=(0, 0, 0.05), formulation=formulation)
    system.add(mbd.Contact("slope", system.ground, body, friction=0.6))
    solution = mbd.simulate(system, 10.0, 1e-2)
    assert np.abs(solution["box"].position - solution["box"].position[0]).max() < 1e-12
    force = 3.0 * G * np.array([np.sin(a), 0.0, np.cos(a)])
    assert solution["slope"].force == pytest.approx(np.tile(force, (len(solution.t), 1)), abs=1e-9)
    assert solution.stats["iterations"] <= 1.05 * solution.stats["steps"]
    assert solution.stats["factorizations"] <= 0.1 * solution.stats["steps"]


@pytest.mark.parametrize(("mu", "stays"), [(0.6, True), (0.3, False)])
def test_what_is_thrown_up_a_slope(mu, stays):
    """It stops after v^2/(2 g (sin + mu cos)); there it stays, or slides back."""
    a, v, errors = np.radians(25), 3.0, []
    for h in (1e-2, 5e-3, 2.5e-3):
        system = ground((-G * np.sin(a), 0, -G * np.cos(a)))
        body = system.add(mbd.PointMass("p", mass=1.0, velocity=(v, 0, 0)))
        system.add(mbd.Contact("slope", system.ground, body, friction=mu))
        solution = mbd.simulate(system, 1.0, h)
        deceleration = G * (np.sin(a) + mu * np.cos(a))
        x, after = v * v / 2 / deceleration, 1.0 - v / deceleration
        if not stays:  # in the step in which it turns friction has one direction
            x -= 0.5 * G * (np.sin(a) - mu * np.cos(a)) * after**2
        errors.append(abs(solution["p"].position[-1, 0] - x))
        assert errors[-1] < (2.2e-2 * h if stays else 2 * mu * G * np.cos(a) * h * after)


@pytest.mark.parametrize("h", [1e-2, 3e-3])
def test_the_step_in_which_a_body_stops_counts_its_work(h):
    """Of constant forces the mean of the velocities at both ends is exact: all of m v^2/2 goes."""
    system = ground()
    body = system.add(mbd.PointMass("p", mass=1.0, velocity=(1.03, 0, 0)))
    system.add(mbd.Contact("floor", system.ground, body, friction=0.4))
    solution = mbd.simulate(system, 0.5, h)
    assert solution.energy.impulsive[-1] == pytest.approx(-0.5 * 1.03**2, abs=1e-14)
    assert np.ptp(solution.energy.balance) < 1e-14


@pytest.mark.parametrize("contacts", ["capture", "locate"])
def test_a_damper_works_with_the_velocities_of_an_impact(contacts):
    """A mass held back by a damper alone is thrown back: the balance is of the second order."""
    drift, method = [], mbd.NonsmoothAlpha(contacts=contacts)
    for h in (4e-3, 2e-3):
        system = mbd.System()
        body = system.add(mbd.PointMass("p", mass=1.0, position=(0, 0, 1), velocity=(0, 0, -4)))
        system.add(mbd.Spring("d", system.ground.frame((0, 0, 5)), body, damping=2.0))
        system.add(mbd.Contact("floor", system.ground, body, restitution=0.7))
        solution = mbd.simulate(system, 1.0, h, method=method)
        assert len(solution.impacts) == 1
        drift.append(np.ptp(solution.energy.balance))
    assert drift[0] < 8e-4
    assert drift[1] < 0.3 * drift[0]


def test_a_ball_slides_until_it_rolls():
    """Rolling from 2 v/(7 mu g) on, at 5/7 of v; x(1 s) = 1.5117851421914 m; loss m v^2/7."""
    for h, bound in ((1e-2, 2.3e-5), (5e-3, 9.5e-6), (2.5e-3, 3.2e-6)):
        system = ground()
        ball = ball_on(system, position=(0, 0, 0.1), velocity=(2, 0, 0))
        system.add(mbd.Contact("floor", system.ground, ball, friction=0.2))
        solution = mbd.simulate(system, 1.0, h)
        assert abs(solution["ball"].position[-1, 0] - 1.5117851421914) < bound
        assert solution["ball"].velocity[-1, 0] == pytest.approx(10 / 7, abs=1e-12)
        loss = energy(solution)[0] - energy(solution)[-1]
        assert loss == pytest.approx(4 / 7, abs=1e-12)
        assert np.ptp(solution.energy.balance) < 20 * h * h


@pytest.mark.parametrize("formulation", ["so3", "directors"])
def test_a_ball_on_a_table_that_turns(formulation):
    """Its centre runs a circle at 2/7 of the table's speed (rolling), of order 2 in the step."""
    speed, errors = 3.0, []
    for h in (1e-2, 5e-3, 2.5e-3):
        system = ground()
        table = system.add(
            mbd.RigidBody(
                "table", mass=10.0, inertia=(1, 1, 1), angular_velocity=(0, 0, speed),
                formulation=formulation,
            )
        )  # fmt: skip
        axle = system.add(mbd.Revolute("axle", system.ground, table, at=(0, 0, 0), axis=(0, 0, 1)))
        system.add(mbd.Drive("motor", axle, position=mbd.ConstantSpeed(speed)))
        v = np.array([0.2, 0, 0])
        slip = np.cross([0, 0, speed], [0.3, 0, 0]) - v  # what the lowest point needs
        spin = np.cross([0, 0, 1], -slip) / -0.1 * -1.0
        assert np.cross(spin, [0, 0, -0.1]) == pytest.approx(slip)
        ball = ball_on(
            system, position=(0.3, 0, 0.1), velocity=v, angular_velocity=spin,
            formulation=formulation,
        )  # fmt: skip
        system.add(mbd.Contact("roll", table, ball, friction=1.0))
        end = mbd.simulate(system, 2.0, h)["ball"].position[-1, :2]
        k = 2 / 7 * speed
        radius = 0.2 / k
        there = [0.3 + radius * np.sin(2 * k), radius - radius * np.cos(2 * k)]
        errors.append(np.abs(end - there).max())
    assert errors[0] < (6e-6 if formulation == "so3" else 4e-3)
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert orders == pytest.approx([2, 2], abs=0.05 if formulation == "so3" else 0.6)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_pendulum_hits_a_stop(formulation):
    """A rod of two hinge rows: omega- = 1.7327110750609, omega+ = 0.6 of it, at any point of it."""
    length, mass = 1.2, 2.0
    inertia = mass * length**2 / 12
    turn = Rotation.from_rotvec([0, 0.5, 0]).as_matrix()
    for depth in (1.0, 0.8):  # 0.8: the centre of percussion
        system = ground()
        rod = system.add(
            mbd.RigidBody(
                "rod", mass=mass, inertia=(inertia, inertia, 1e-3),
                position=turn @ [0, 0, -length / 2], rotation=turn, formulation=formulation,
            )
        )  # fmt: skip
        system.add(mbd.Revolute("hinge", system.ground, rod, at=(0, 0, 0), axis=(0, 1, 0)))
        tip = rod.frame((0, 0, length / 2 - depth))
        system.add(mbd.Contact("stop", system.ground, tip, normal=(-1, 0, 0), restitution=0.6))
        solution = mbd.simulate(system, 0.6, 5e-3)
        spin = solution["rod"].angular_velocity[:, 1]
        hit = int(np.argmax(np.abs(np.diff(spin))))
        assert spin[hit] == pytest.approx(-1.7327110750609, abs=5e-5)
        assert spin[hit + 1] == pytest.approx(0.6 * 1.7327110750609, abs=5e-5)
        assert np.abs(solution.gap).max() < 1e-9
        assert solution.stats["iterations"] < 5 * solution.stats["steps"]


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_box_slides_and_falls_flat(formulation):
    """Four corners, 12 rows for 6 freedoms: it stops after v^2/(2 mu g), and lands flat."""
    system = ground()
    box = box_on(system, position=(0, 0, 0.05), velocity=(1, 0, 0), formulation=formulation)
    system.add(mbd.Contact("floor", system.ground, box, friction=0.4))
    solution = mbd.simulate(system, 0.5, 2e-3)
    assert abs(solution["box"].position[-1, 0] - 1 / (0.8 * G)) < 4e-6
    assert np.abs(solution.v[-1]).max() < 1e-12
    assert solution["floor"].force[-1] == pytest.approx([0, 0, 3 * G], abs=1e-9)
    assert solution.stats["iterations"] < 1.05 * solution.stats["steps"]
    assert solution.stats["factorizations"] < 0.06 * solution.stats["steps"]
    dropped = ground()
    box = box_on(dropped, position=(0, 0, 0.1), formulation=formulation)
    dropped.add(mbd.Contact("floor", dropped.ground, box, friction=0.4))
    end = mbd.simulate(dropped, 0.5, 2e-3)["box"]
    assert end.position[-1] == pytest.approx([0, 0, 0.05], abs=1e-13)
    assert end.rotation[-1] == pytest.approx(np.eye(3), abs=1e-12)


def stack(n, gap=0.0, speed=0.0, side=0.2):
    """Return n boxes on each other, `gap` apart, the topmost with a speed along x."""
    system = ground()
    below, height = system.ground, 0.0
    for k in range(n):
        middle = height + gap + side / 2
        box = box_on(
            system, (side,) * 3, 1.0, name=f"box {k}", position=(0, 0, middle),
            velocity=(speed if k == n - 1 else 0.0, 0, 0),
        )  # fmt: skip
        system.add(mbd.Contact(f"on {k}", below, box, friction=0.5, through=(0, 0, height)))
        below, height = box, middle + side / 2
    return system


@pytest.mark.parametrize(
    ("n", "gap", "speed"),
    [(2, 0, 0), (5, 0, 0), (2, 5e-3, 0), (5, 5e-3, 0), (2, 0, 0.5), (3, 0, 0.5)],
)
def test_stacks_come_to_rest(n, gap, speed):
    """Redundant corners between moving bodies: each plane carries what is above it."""
    solution = mbd.simulate(stack(n, gap, speed), 0.4, 2e-3)
    assert np.abs(solution.v[-1]).max() < 1e-9
    assert np.diff(energy(solution)).max() < 1e-9
    for k in range(n):
        force = solution[f"on {k}"].force[-1]
        assert force == pytest.approx([0, 0, (n - k) * G], abs=1e-6)
    assert solution.stats["rejected"] == 0
    assert solution.stats["iterations"] < 1.6 * solution.stats["steps"]
    assert solution.stats["factorizations"] < solution.stats["steps"]


def tumbling(seed, mu, restitution, h, *, scale=1.0, mass=3.0, origin=0.0, t_end=1.2):
    """Return a run of a box that is thrown, of a size, a mass, at a distance from the origin."""
    rng = np.random.default_rng(seed)
    turn = Rotation.from_quat(rng.normal(size=4)).as_matrix()
    spin = rng.normal(size=3)
    spin *= rng.uniform(4, 12) / np.linalg.norm(spin)
    time, there = np.sqrt(scale), np.full(3, origin)
    system = ground()
    box = box_on(
        system, np.array([0.3, 0.2, 0.1]) * scale, mass, rotation=turn,
        position=np.array([0, 0, 0.35]) * scale + there, angular_velocity=spin / time,
        velocity=np.array([rng.uniform(0, 1.5), 0, 0]) * scale / time,
    )  # fmt: skip
    system.add(
        mbd.Contact(
            "floor", system.ground, box, friction=mu, restitution=restitution, through=there
        )
    )
    return mbd.simulate(system, t_end * time, h * time)


FAMILY = [
    (0.4, 0.0, 2e-3), (0.4, 0.5, 2e-3), (0.8, 0.8, 2e-3), (0.2, 0.8, 4e-3), (0.4, 0.2, 1e-3),
    (0.0, 0.5, 2e-3),
]  # fmt: skip


def check_tumbling(seeds, mu, restitution, h):
    for seed in seeds:
        solution = tumbling(seed, mu, restitution, h)
        assert mbd.contacts(solution, "floor").gap.min() > -1e-9
        rises = np.diff(energy(solution)).max()
        assert rises < (5 * h if restitution < 0.7 else 100 * h)
        assert np.ptp(solution.energy.balance) < 300 * h


@pytest.mark.parametrize(("mu", "restitution", "h"), FAMILY)
def test_a_box_that_tumbles(mu, restitution, h):
    check_tumbling(range(5), mu, restitution, h)


@pytest.mark.slow
@pytest.mark.parametrize(("mu", "restitution", "h"), FAMILY)
def test_many_boxes_that_tumble(mu, restitution, h):
    check_tumbling(range(5, 200), mu, restitution, h)


@pytest.mark.parametrize(
    ("scale", "mass", "origin"),
    [(1e-3, 3.0, 0), (1.0, 3e-9, 0), (1.0, 3e9, 0), (1e-6, 3e-6, 0), (1.0, 3.0, 1e6)],
)
def test_the_motion_scales(scale, mass, origin):
    """Lengths, masses, the place of the origin: the same tumbling box but for round-off."""
    one = tumbling(1, 0.4, 0.3, 2e-3)["box"].position
    other = tumbling(1, 0.4, 0.3, 2e-3, scale=scale, mass=mass, origin=origin)["box"].position
    moved = (other - origin) / scale
    assert moved == pytest.approx(one, abs=1e-9 if origin else 1e-10)


def check_pendulum(seed, n, joint, method=None):
    """Rods in a chain, each tip above a floor: no gap opens, none closes, energy does not rise."""
    rng, formulation = np.random.default_rng(seed), FORMULATIONS[seed % len(FORMULATIONS)]
    system, at, tips = ground(), np.array([0, 0, 0.6 * n]), []
    last = system.ground
    for k in range(n):
        vector = [0, rng.uniform(-1.5, 1.5), 0] if joint == "Revolute" else rng.normal(size=3)
        turn = Rotation.from_rotvec(vector).as_matrix()
        along = turn @ [0, 0, -1.0]
        rod = system.add(
            mbd.RigidBody(
                f"rod {k}", mass=1.0, inertia=(1 / 12, 1 / 12, 1e-3), rotation=turn,
                position=at + along / 2, formulation=formulation,
            )
        )  # fmt: skip
        axis = {"axis": (0, 1, 0)} if joint == "Revolute" else {}
        system.add(getattr(mbd, joint)(f"pin {k}", last, rod, at=at, **axis))
        at, last = at + along, rod
        tips.append(rod.frame((0, 0, -0.5)))
    low = min(0.0, min(tip.start[0][2] for tip in tips) - 1e-3)
    restitution = 0.5 * (seed % 2)
    for k, tip in enumerate(tips):
        floor = {"through": (0, 0, low), "friction": 0.5, "restitution": restitution}
        system.add(mbd.Contact(f"tip {k}", system.ground, tip, **floor))
    solution = mbd.simulate(system, 1.0, 2e-3, method=method)
    for k in range(n):
        assert mbd.contacts(solution, f"tip {k}").gap.min() > -1e-10
    assert np.abs(solution.gap).max() < 1e-9
    assert np.diff(energy(solution)).max() < 0.02
    return solution.stats["rejected"]


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("joint", ["Revolute", "Spherical"])
def test_pendulums_whose_tips_hit(n, joint):
    for seed in range(len(FORMULATIONS)):
        check_pendulum(seed, n, joint)


@pytest.mark.slow
@pytest.mark.parametrize("contacts", ["capture", "locate"])
@pytest.mark.parametrize("joint", ["Revolute", "Spherical"])
def test_many_pendulums_whose_tips_hit(joint, contacts):
    method = mbd.NonsmoothAlpha(contacts=contacts)
    halved = sum(check_pendulum(seed, 1 + seed % 4, joint, method) for seed in range(10, 210))
    assert halved < 1e-3 * 200 * 500


def test_order_two_while_it_slides_and_turns():
    """Three balls under a body that slides and spins: positions, velocities, contact forces."""
    ends = []
    for h in (4e-3, 2e-3, 1e-3, 5e-4):
        system = ground()
        feet = [
            mbd.Sphere(0.02, at=(x, y, -0.08)) for x, y in ((0.1, 0), (-0.06, 0.09), (-0.05, -0.1))
        ]
        body = system.add(
            mbd.RigidBody(
                "tripod", mass=2.0, inertia=(0.01, 0.012, 0.015), position=(0, 0, 0.1),
                velocity=(2, 0.5, 0), angular_velocity=(0, 0, 6), shape=feet,
            )
        )  # fmt: skip
        system.add(mbd.Contact("floor", system.ground, body, friction=0.3))
        solution = mbd.simulate(system, 0.3, h)
        on_floor = mbd.contacts(solution, "floor")
        assert (on_floor.mode == "slip").all()
        ends.append(
            [
                solution["tripod"].position[-1],
                solution["tripod"].velocity[-1],
                on_floor.pressure[-1],
            ]
        )
    for k in range(3):
        steps = [np.abs(a[k] - b[k]).max() for a, b in zip(ends, ends[1:], strict=False)]
        assert np.log2(steps[-2] / steps[-1]) == pytest.approx(2, abs=0.15)


def test_static_friction_breaks_away():
    """Pulled by a force that grows by 1 N/s, a block of 1 kg slips from mu_s g on, not before."""
    system = ground()
    block = system.add(mbd.PointMass("block", mass=1.0))
    system.add(mbd.PointForce("pull", block, lambda t: (t, 0.0, 0.0)))
    system.add(mbd.Contact("floor", system.ground, block, friction=0.1, friction_static=0.2))
    solution = mbd.simulate(system, 3.0, 2e-3)
    start = 0.2 * G
    x, t = solution["block"].position[:, 0], solution.t
    assert np.abs(x[t < start]).max() < 1e-10
    modes = mbd.contacts(solution, "floor").mode[1:, 0]
    assert (modes == np.where(t[1:] < start + 2e-3, "stick", "slip")).all()
    late = t[-1] - start  # then x'' = t - mu_k g
    there = (start - 0.1 * G) * late**2 / 2 + late**3 / 6
    assert x[-1] == pytest.approx(there, rel=0.01)


@pytest.mark.parametrize("n", [3, 5])
@pytest.mark.parametrize("gap", [0.0, 1e-3])
def test_a_row_of_balls(n, gap):
    """One hits n - 1 at rest, e = 1: at once -(n - 2)/n and 2/n; apart, the last one goes."""
    system, radius = mbd.System(), 0.1
    balls = [
        ball_on(
            system, name=f"ball {k}", velocity=(1.0 * (k == 0), 0, 0), formulation=FORMULATIONS[k],
            position=((2 * radius + gap) * k - 0.0505 * (k == 0), 0, 0),
        )
        for k in range(n)
    ]  # fmt: skip
    for k in range(n - 1):
        pair = {"plane": False, "restitution": 1.0}
        system.add(mbd.Contact(f"hit {k}", balls[k], balls[k + 1], **pair))
    solution = mbd.simulate(system, 0.2, 1e-3)
    last = [solution[x.name].velocity[-1, 0] for x in balls]
    there = [0.0] * (n - 1) + [1.0] if gap else [-(n - 2) / n] + [2 / n] * (n - 1)
    assert last == pytest.approx(there, abs=1e-6)
    assert np.ptp(energy(solution)) < 1e-6
    assert min(mbd.contacts(solution, f"hit {k}").gap.min() for k in range(n - 1)) > -1e-12


@pytest.mark.parametrize(("mu", "leaves"), [(0.0, 2 / 3), (5.0, 10 / 17)])
def test_a_ball_leaves_a_ball(mu, leaves):
    """It slips off at cos = 2/3, or rolls off, a solid one, at 10/17; forces of order 2 before."""
    system, big, small = ground(), 1.0, 0.1
    still = system.add(mbd.RigidBody("still", mass=1.0, inertia=(1, 1, 1), shape=mbd.Sphere(big)))
    system.add(mbd.Fixed("held", system.ground, still, at=(0, 0, 0)))
    start = 0.2
    ball = ball_on(
        system, radius=small, position=(1.1 * np.sin(start), 0, 1.1 * np.cos(start)),
    )  # fmt: skip
    system.add(mbd.Contact("on", still, ball, plane=False, friction=mu))
    for h, bound in ((2e-3, 1e-2), (1e-3, 5e-3)):
        solution = mbd.simulate(system, 1.5, h)
        on = mbd.contacts(solution, "on")
        held = on.pressure[:, 0] > 0
        off = int(np.argmin(held))
        assert held[:off].all()
        assert not held[off:].any()
        height = solution["ball"].position[:, 2] / (big + small)
        # energy of a drop from the start: cos = (10/17, or 2/3) cos(start)
        assert height[off] == pytest.approx(leaves * np.cos(start), abs=bound)
        # N = m g cos - m v^2/R, v^2 = g R (cos(start) - cos) 2, or 10/7
        part = 10 / 7 if mu else 2.0
        k = off // 2
        pressure = G * (height[k] - part * (np.cos(start) - height[k]))
        assert on.pressure[k, 0] == pytest.approx(pressure, abs=30 * h * h * G)
        assert set(on.mode[1:k, 0]) == ({"stick"} if mu else {"slip"})
        assert np.abs(on.gap[:off]).max() < 1e-12


@pytest.mark.parametrize("hollow", [False, True])
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_balls_that_collide_keep_their_momenta(formulation, hollow):
    """Oblique, with friction: linear and angular momentum stay, energy does not rise.

    One is beside the other, or within it.
    """
    system = mbd.System()
    one = ball_on(
        system, name="one", velocity=(1, 0, 0), angular_velocity=(3, 1, 2), formulation=formulation
    )
    two = ball_on(
        system, name="two", radius=0.15, mass=3.0, formulation=formulation,
        position=(0.1, 0.05, 0.02) if hollow else (0.5, 0.12, 0.05),
    )  # fmt: skip
    meets = {"inside": 0.4} if hollow else {"plane": False}
    system.add(mbd.Contact("hit", one, two, friction=0.3, restitution=0.6, **meets))
    solution = mbd.simulate(system, 0.6, 5e-4)
    for momenta in (solution.momentum.linear, solution.momentum.angular):
        assert np.abs(momenta - momenta[0]).max() < 1e-3
    assert np.diff(energy(solution)).max() < 1e-7
    assert np.ptp(energy(solution)) > 0.05
    assert solution["hit"].gap.min() > -1e-12
    apart = solution["two"].position - solution["one"].position
    gap = np.linalg.norm(apart, axis=1) - 0.25
    assert solution["hit"].gap[:, 0] == pytest.approx(-gap if hollow else gap, abs=1e-12)
    before, after = (solution["two"].velocity[k] - solution["one"].velocity[k] for k in (0, -1))
    assert np.linalg.norm(before - after) > 0.5


@pytest.mark.parametrize("contacts", ["capture", "locate"])
@pytest.mark.parametrize("rho", [0.5, 0.8])
def test_a_bead_slides_in_a_bowl(contacts, rho):
    """F9, an independent integration to 1e-13 (DOP853): order two of angle, rate and pressure."""
    errors = []
    for h in (1e-2, 5e-3, 2.5e-3):
        system, e = ground(), np.array([np.cos(1.2), 0, np.sin(1.2)])
        where = {"position": (np.sin(1.2), 0, -np.cos(1.2)), "velocity": -0.5 * e}
        bead = system.add(mbd.PointMass("bead", mass=1.0, **where))
        system.add(mbd.Contact("bowl", system.ground, bead, inside=1.0, friction=0.2))
        method = mbd.NonsmoothAlpha(rho=rho, contacts=contacts)
        run = mbd.simulate(system, 0.5, h, method=method)
        (x, _, z), v = run["bead"].position[-1], run["bead"].velocity[-1]
        now = np.arctan2(x, -z), -v[0] * z + v[2] * x, run["bowl"].pressure[-1, 0]
        errors.append(np.subtract(now, (0.18234383558131, -2.69456245902935, 16.90803053322727)))
        assert np.abs(run["bowl"].gap).max() < 1e-14
    assert (np.abs(errors[0]) < 2 * np.array([2.3e-4, 1.4e-4, 1.2e-3])).all()
    assert np.log2(np.divide(errors[:-1], errors[1:])) == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize(
    ("stiffness", "h", "t_end", "good"),
    [(1e6, 5e-6, 0.35, True), (1e6, 2e-3, 2.0, True), (1e7, 2e-3, 2.0, False)],
)
def test_steps_that_do_not_resolve_a_spring_are_warned_of(stiffness, h, t_end, good):
    """A light mass on a spring of 30 000 rad/s hits; of 100 000 steps of 2 ms put in energy."""
    system = ground()
    upper = system.add(mbd.PointMass("upper", mass=1.0, position=(0, 0, 1)))
    lower = system.add(mbd.PointMass("lower", mass=1e-3, position=(0, 0, 0.5)))
    system.add(mbd.Spring("spring", upper, lower, stiffness=stiffness))
    system.add(mbd.Contact("floor", system.ground, lower))
    system.add(mbd.Contact("again", system.ground, upper))
    if good:
        solution = mbd.simulate(system, t_end, h)
        assert np.ptp(solution.energy.balance) < 0.5  # of 10 J
    else:
        with pytest.warns(RuntimeWarning, match="too large for this motion: the balance of e"):
            mbd.simulate(system, t_end, h)


@pytest.mark.parametrize("contacts", ["capture", "locate"])
@pytest.mark.parametrize("ratio", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("turns", [0.1, 1.0, 10.0, 100.0])
def test_no_spring_beside_an_impact_gains_energy_in_silence(turns, ratio, contacts):
    """Of a light body that bounces, on springs of 0.1 to 100 rad a step, damped or not."""
    system, h, mass = ground(), 1e-3, 0.05
    upper = ball_on(system, name="upper", position=(0, 0, 0.5))
    lower = ball_on(system, name="lower", radius=0.05, mass=mass, position=(0, 0, 0.2))
    rate = turns / h
    system.add(
        mbd.Spring("s", upper, lower, stiffness=mass * rate**2, damping=2 * ratio * mass * rate)
    )
    system.add(mbd.Contact("floor", system.ground, lower, friction=0.3, restitution=0.5))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        run = mbd.simulate(system, 1.0, h, method=mbd.NonsmoothAlpha(contacts=contacts))
    if not told:  # 3 % of what moves is warned of
        rise = run.energy.total - np.minimum.accumulate(run.energy.total)
        assert rise.max() < 0.06 * run.energy.total[0]
    assert run.energy.total.max() < 40 * run.energy.total[0]
    assert turns > 1.0 or not told


@pytest.mark.filterwarnings("ignore:contacts that are closed approach")
def test_an_elastic_bar_bounces_off_a_wall():
    """A wave goes up and down: A sqrt(E rho) v for 2 L/c, then it leaves (Saint-Venant)."""
    young, density, radius, speed = 2e11, 7800.0, 0.01, 1.0
    stay = 2.0 / np.sqrt(young / density)
    system = mbd.System()
    section = mbd.Section.circle(radius, young=young, poisson=0.3, density=density)
    bar = mbd.Beam("bar", points=[(0, 0, 1e-9), (0, 0, 1)], section=section, elements=32,
                   up=(1, 0, 0), velocity=(0, 0, -speed))  # fmt: skip
    system.add(bar)
    system.add(mbd.Contact("wall", system.ground, bar.first.frame()))
    solution = mbd.simulate(system, 2 * stay, stay / 20)
    force, closed = (
        solution["wall"].force[:, 2],
        mbd.contacts(solution, "wall").mode[:, 0] != "open",
    )
    assert solution.t[closed].max() == pytest.approx(stay, rel=0.06)
    want = np.pi * radius**2 * np.sqrt(young * density) * speed
    assert np.median(force[closed]) == pytest.approx(want, rel=0.02)
    momentum = solution.momentum.linear[:, 2]
    assert momentum[-1] == pytest.approx(-momentum[0], rel=0.1)


@pytest.mark.parametrize("damping", [0.0, 1e-4])
def test_a_beam_falls_onto_its_tip(damping):
    """Its fastest motions are at 1e6 rad/s and, damped, decay within 1e-8 s; steps are 1 ms."""
    tips = []
    for h in (1e-3, 2.5e-4):
        system = ground()
        section = mbd.Section.rectangle(0.02, 0.005, young=210e9, poisson=0.3, density=7850)
        beam = mbd.Beam("beam", points=[(0, 0, 0), (1, 0, 0)], section=section, elements=8,
                        first=system.ground, damping=damping)  # fmt: skip
        system.add(beam)
        through = (0, 0, -0.03)
        system.add(
            mbd.Contact("c", system.ground, beam.last.frame(), through=through, friction=0.3)
        )
        solution = mbd.simulate(system, 0.2, h)
        assert len(solution.impacts) >= 1
        assert mbd.contacts(solution, "c").gap.min() > -1e-14
        assert np.ptp(solution.energy.balance) < 0.02  # 0.1 J are in motion
        tips.append(solution["beam.4"].position[-1, 2])
    assert tips[0] == pytest.approx(tips[1], abs=1e-3)


def test_joints_may_leave_a_contact_nothing_to_move():
    """A body that is held above the floor, let go by an event, comes to rest on it."""
    system = ground()
    box = box_on(system, position=(0, 0, 0.3))
    system.add(mbd.Fixed("hook", system.ground, box, at=(0, 0, 0.3)))
    system.add(mbd.Contact("floor", system.ground, box, friction=0.3, restitution=0.2))
    let_go = mbd.Event("let go", lambda s: s.t - 0.2, release=["hook"])
    solution = mbd.simulate(system, 1.0, 2e-3, events=let_go)
    assert solution["box"].position[-1] == pytest.approx([0, 0, 0.05], abs=1e-12)
    assert solution["floor"].force[-1] == pytest.approx([0, 0, 3 * G], abs=1e-9)


@pytest.mark.parametrize("h", [1e-3, 1e-4])
@pytest.mark.parametrize("mu", [1.0, 1.4, 2.0, 5.0])
def test_a_rod_that_jams(mu, h):
    """Painleve: sliding on its tip at tan theta = 2 has no forces from mu = 4/3 on; it jams.

    By an impulse that stops the tip: D P = (0, 1) with D = ((3.4, -1.2), (-1.2, 1.6)).
    """
    along = np.array([1.0, 0.0, 2.0]) / np.sqrt(5)
    system = ground()
    rod = system.add(
        mbd.RigidBody(
            "rod", mass=1.0, inertia=(1 / 12, 1 / 12, 1e-3), position=along / 2, velocity=(-1, 0, 0)
        )
    )
    tip = rod.frame(-along / 2)
    system.add(mbd.Contact("tip", system.ground, tip, friction=mu))
    solution = mbd.simulate(system, 0.05, h)
    at_tip = mbd.contacts(solution, "tip")
    assert at_tip.gap.min() > -1e-12
    assert (at_tip.mode[1, 0] == "stick") == (mu > 4 / 3)
    if mu > 4 / 3:
        hit = solution.impacts.impulse[0]
        assert [hit[0], np.linalg.norm(hit[1:])] == pytest.approx([0.3, 0.4], abs=10 * h)
    assert np.diff(energy(solution)).max() < 1e-6


def test_a_run_goes_on_and_a_stepper_takes_contacts():
    whole = tumbling(3, 0.4, 0.3, 2e-3)
    half = tumbling(3, 0.4, 0.3, 2e-3, t_end=0.6)
    rest = mbd.simulate(half.model, 1.2, 2e-3, state=half.state)
    assert rest["box"].position[-1] == pytest.approx(whole["box"].position[-1], abs=1e-6)
    stepper = mbd.Stepper(half.model, 2e-3, method=mbd.NonsmoothAlpha())
    for _ in range(300):
        stepper.step()
    assert stepper.state.q == pytest.approx(half.q[-1], abs=1e-12)


def test_an_event_leaves_the_rest_as_it_is():
    system = ground()
    ball = ball_on(system, position=(0, 0, 1.1))
    system.add(mbd.Contact("floor", system.ground, ball, restitution=0.5))
    falls = mbd.Event("half way", lambda s: s["ball"].position[:, 2] - 0.6, direction=-1)
    plain, watched = mbd.simulate(system, 1.0, 2e-3), mbd.simulate(system, 1.0, 2e-3, events=falls)
    assert (watched.q == plain.q).all()
    assert watched.events[0].t == pytest.approx(np.sqrt(1.0 / G), abs=1e-6)


def test_what_is_refused():
    system = ground()
    ball = ball_on(system, position=(0, 0, 1))
    bare = system.add(mbd.RigidBody("bare", mass=1.0, inertia=(1, 1, 1), position=(0, 0, 2)))
    tin = mbd.RigidBody("tin", mass=1.0, inertia=(1, 1, 1), shape=mbd.Cylinder(0.1, 0.2))
    for options, error, words in (
        ({"friction": -0.1}, ValueError, "friction must not be negative"),
        ({"friction": np.inf}, ValueError, "friction"),
        ({"friction": 0.3, "friction_static": 0.2}, ValueError, "must not be below friction"),
        ({"restitution": 1.1}, ValueError, r"restitution must be in \[0, 1\]"),
        ({"normal": (0, 0, 0)}, ValueError, "normal"),
    ):
        with pytest.raises(error, match=words):
            mbd.Contact("c", system.ground, ball, **options)
    with pytest.raises(ValueError, match="c: 'bare' must have a shape that touches"):
        mbd.Contact("c", system.ground, bare)
    with pytest.raises(TypeError, match="spheres, boxes or capsules, got .*Cylinder"):
        mbd.Contact("c", system.ground, tin)
    with pytest.raises(ValueError, match="one must have a radius"):
        mbd.Contact("c", mbd.PointMass("p", mass=1.0), mbd.PointMass("q", mass=1.0), plane=False)
    with pytest.raises(ValueError, match="must join two bodies, got 'ball' twice"):
        mbd.Contact("c", ball, ball)
    with pytest.raises(ValueError, match=r"c: inside must be above the radius .*, got 0.1 and 0.1"):
        mbd.Contact("c", system.ground, ball, inside=0.1)
    with pytest.raises(ValueError, match="c: give inside= or plane=False, got both"):
        mbd.Contact("c", system.ground, ball, inside=1.0, plane=False)
    floor = system.add(mbd.Contact("floor", system.ground, ball, through=(0, 0, 0.95)))
    with pytest.raises(ValueError, match=r"floor: must not overlap .* depth of 0.05 m"):
        mbd.simulate(system, 1.0, 1e-3)
    with pytest.raises(ValueError, match="order=3 needs errors that are powers of the step"):
        mbd.simulate(system, 1.0, 1e-3, order=3)
    with pytest.raises(ValueError, match="off: 'floor' has a set-valued law, which is not switch"):
        mbd.simulate(system, 1.0, 1e-3, off="floor")
    with pytest.raises(ValueError, match="rtol and t_eval need"):
        mbd.simulate(system, 1.0, rtol=1e-6)
    for call in (
        lambda: mbd.equilibrium(system), lambda: mbd.modes(system),
        lambda: mbd.simulate(system, 1.0, 1e-3, method=mbd.GeneralizedAlpha()),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="'floor' has the set-valued law 'contact'"):
            call()
    assert "3 rows of rank 0, 3 of contacts" in str(system.build().report())
    assert repr(floor) == "Contact('floor', 'ground', 'ball')"
    rolling = ground()
    ball = ball_on(rolling, position=(0, 0, 0.1))
    rolling.add(mbd.Contact("floor", rolling.ground, ball))
    solution = mbd.simulate(rolling, 0.01, 1e-3)
    with pytest.raises(KeyError, match="must be that of a Contact, got 'ball'; there are: floor"):
        mbd.contacts(solution, "ball")
    with pytest.raises(TypeError, match="solution must be a Solution, got 3"):
        mbd.contacts(3, "floor")


@pytest.mark.parametrize("n", [2, 5])
def test_islands_do_not_know_of_each_other(n):
    """Equal boxes tumble alike, one of them of a billion times the mass; none sees the others."""
    rng = np.random.default_rng(4)
    turn, spin = Rotation.from_quat(rng.normal(size=4)).as_matrix(), rng.normal(size=3) * 5
    system = ground()
    for k in range(n):
        box = box_on(
            system, mass=3e9 if k == 1 else 3.0, name=f"box {k}", position=(2.0 * k, 0, 0.35),
            rotation=turn, angular_velocity=spin,
        )  # fmt: skip
        system.add(mbd.Contact(f"floor {k}", system.ground, box, friction=0.4, restitution=0.2))
    solution = mbd.simulate(system, 1.0, 2e-3)
    for k in range(1, n):
        apart = solution[f"box {k}"].position - solution["box 0"].position
        assert apart == pytest.approx(np.tile([2.0 * k, 0, 0], (len(apart), 1)), abs=1e-8)
        assert solution[f"floor {k}"].force[-1, 2] == pytest.approx(
            (3e9 if k == 1 else 3.0) * G, rel=1e-9
        )


@pytest.mark.parametrize("contacts", ["capture", "locate"])
@pytest.mark.parametrize(("gap", "speed"), [(0.0, -1.0), (0.0, 0.0), (0.0, 1.0), (1e-3, -1.0)])
def test_what_approaches_at_the_start_is_told(contacts, gap, speed):
    """A closed contact that approaches begins with one impact, and a warning that names it."""
    system = ground()
    ball = ball_on(system, position=(0, 0, 0.1 + gap), velocity=(0, 0, speed))
    system.add(mbd.Contact("floor", system.ground, ball, restitution=0.5))
    method, hits = mbd.NonsmoothAlpha(contacts=contacts), gap == 0.0 and speed < 0.0
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        run = mbd.simulate(system, 0.1, 1e-4, method=method)
    assert ["'floor.0' at 1 m/s" in str(x.message) for x in told] == [True] * hits
    assert [x.filename for x in told] == [__file__] * hits
    assert (len(run.impacts) > 0 and run.impacts.t[0] <= 1e-4) == hits
    if hits:  # g h is what a step captures besides
        assert run.impacts.after[0, 0] == pytest.approx(0.5, abs=2e-3)


@pytest.mark.parametrize("contacts", ["capture", "locate"])
@pytest.mark.parametrize(("mu", "e"), [(0.0, 0.9), (0.8, 0.0), (0.8, 0.5), (0.8, 0.9)])
def test_no_impact_gains_energy(contacts, mu, e):
    """Kane's paradox: a rod that turns against its slip; e is then smaller, and that is told."""
    system = ground()
    rod = mbd.RigidBody(
        "rod", mass=1.0, inertia=(1 / 12, 1 / 12, 1e-3),
        position=(0, 0, 0.5 * np.cos(0.5) + 0.05), velocity=(2, 0, -1), angular_velocity=(0, 2, 0),
        rotation=Rotation.from_rotvec([0, 0.5, 0]).as_matrix(),
    )  # fmt: skip
    tip = system.add(rod).frame((0, 0, -0.5))
    system.add(mbd.Contact("floor", system.ground, tip, friction=mu, restitution=e))
    method = mbd.NonsmoothAlpha(contacts=contacts)
    run = mbd.simulate(system, 0.12, 1e-3, method=method)
    paradox = mu * e > 0.7
    assert ("restitution was smaller than given for 'floor' in 1 of 1" in run.message) == paradox
    assert (run.impacts.restitution < e).all() == paradox
    assert run.impacts.lost.min() > -1e-12
    assert np.ptp(run.energy.balance) < (1e-6 if contacts == "locate" else 10 * 1e-3)


@pytest.mark.parametrize("contacts", ["capture", "locate"])
@pytest.mark.parametrize("what", ["jam", "press", "floor", "stop", "freewheel", "dry"])
def test_what_a_drive_forces_into_a_law_is_refused(what, contacts):
    """No force stops a drive: a plane that comes to a ball or begins on it, a stop, a freewheel.

    Friction gives way. All that contradict each other are named, and nothing else.
    """
    system = ground()
    top = system.add(
        mbd.RigidBody("top", mass=1.0, inertia=(0.1,) * 3, position=(0, 0, 0.3))
    )  # fmt: skip
    rail = mbd.Prismatic("rail", system.ground, top, at=(0, 0, 0.3), axis=(0, 0, 1))
    system.add(rail)
    moves = (lambda t: -(max(t - 0.1, 0.0) ** 3)) if what == "press" else None
    system.add(mbd.Drive("drive", rail, position=moves or (lambda t: 0.5 * t * t - 2.0 * t**3)))
    far = ball_on(system, name="far", position=(1, 0, 0.1))
    system.add(mbd.Contact("other", system.ground, far, friction=0.3))
    names = {"drive", what}
    if what in {"jam", "press"}:
        ball = ball_on(system, position=(0, 0, 0.1))
        names = {"drive", "bottom", "press"}
        system.add(mbd.Contact("bottom", system.ground, ball, friction=0.3))
        press = {"normal": (0, 0, -1), "through": (0, 0, 0.2 if what == "press" else 0.3)}
        system.add(mbd.Contact("press", top, ball, friction=0.3, **press))
    elif what == "floor":
        system.add(mbd.Contact("floor", system.ground, top.frame((0, 0, -0.2)), friction=0.3))
    elif what == "stop":
        system.add(mbd.Stop("stop", rail, lower=-0.1, restitution=0.5))
    elif what == "freewheel":
        system.add(mbd.Freewheel("freewheel", rail))
    else:
        system.add(mbd.DryFriction("dry", rail, force=5.0))
    method = mbd.NonsmoothAlpha(contacts=contacts)
    run = mbd.simulate(system, 0.7, 1e-3, method=method, raise_on_failure=False)
    assert run.success == (what == "dry")
    if what == "dry":
        assert run["rail"].displacement[-1] == pytest.approx(0.245 - 2 * 0.343, abs=1e-9)
        return
    assert "rows contradict each other" in run.message
    assert {x for x in ("drive", "floor", "bottom", "press", "stop", "freewheel", "other")
            if f"'{x}." in run.message} == names  # fmt: skip
    # of 0.5 t^2 - 2 t^3 the slope is zero, or it is -0.1
    at = {"freewheel": 1 / 6, "press": 0.1}.get(what, 0.4733)
    assert run.t[-1] == pytest.approx(at, abs=2e-3)


@pytest.mark.parametrize("contacts", ["capture", "locate"])
@pytest.mark.parametrize("drop", [0.0, 0.05])
@pytest.mark.parametrize("ratio", [1e-6, 1.0, 1e5, 1e7])
def test_what_is_heavy_rests_on_what_is_light(ratio, drop, contacts):
    """Rows of a light body are softer than a heavy one is hard to move: that is no contradiction.

    From ratios of 1e9 on steps are refused by name.
    """
    system, light = ground(), 1e-2
    ball = ball_on(system, mass=light, position=(0, 0, 0.1))
    mass = ratio * light
    top = system.add(
        mbd.RigidBody("top", mass=mass, inertia=(0.1 * mass,) * 3, position=(0, 0, 0.25 + drop))
    )
    rail = mbd.Prismatic("rail", system.ground, top, at=(0, 0, 0.25), axis=(0, 0, 1))
    system.add(rail)
    press = {"normal": (0, 0, -1), "through": (0, 0, 0.2 + drop), "friction": 0.3}
    system.add(mbd.Contact("floor", system.ground, ball, friction=0.3))
    system.add(mbd.Contact("press", top, ball, **press))
    run = mbd.simulate(system, 0.3, 1e-3, method=mbd.NonsmoothAlpha(contacts=contacts))
    weight = (mass + light) * G
    assert run["floor"].pressure[-1, 0] == pytest.approx(weight, rel=1e-9)
    assert min(run[x].gap.min() for x in ("floor", "press")) > -1e-12


def test_a_stop_that_is_hit_at_the_start_is_told_in_its_unit():
    system = mbd.System()
    arm = system.add(mbd.RigidBody("arm", mass=1.0, inertia=(1, 1, 1), angular_velocity=(0, 2, 0)))
    hinge = mbd.Revolute("hinge", system.ground, arm, at=(0, 0, 0), axis=(0, 1, 0))
    system.add(hinge)
    system.add(mbd.Stop("stop", hinge, upper=0.0, restitution=0.5))
    with pytest.warns(RuntimeWarning, match="'stop.0' at 2 rad/s; the run begins with an impact"):
        mbd.simulate(system, 0.1, 1e-3)


def test_a_freewheel_that_runs_backwards_at_the_start_is_refused():
    system = mbd.System()
    body = system.add(mbd.RigidBody("b", mass=1.0, inertia=(1, 1, 1), velocity=(0, 0, -1)))
    rail = mbd.Prismatic("rail", system.ground, body, at=(0, 0, 0), axis=(0, 0, 1))
    system.add(rail)
    system.add(mbd.Freewheel("wheel", rail))
    with pytest.raises(ValueError, match=r"wheel: must not run backwards at the start, got -1 m/s"):
        mbd.simulate(system, 1.0, 1e-3)
