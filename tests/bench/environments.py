"""What acting on robots costs, by turns with MuJoCo, CPU time of a step.

``python tests/bench/environments.py``: an arm of six, acted on every 5 steps, and the quadruped of
``models`` on its feet (contacts with dry friction), every 10 steps by efforts of some sizes about
those with which it stands. MuJoCo, if it is there, steps the same bodies.
"""

import sys
import time
from pathlib import Path

import numpy as np

import mbd

AXES = [(0, 0, 1), (0, 1, 0), (0, 1, 0), (1, 0, 0), (0, 1, 0), (1, 0, 0)]
LENGTHS, MASSES = [0.3, 0.4, 0.4, 0.2, 0.2, 0.1], [4.0, 3.0, 3.0, 1.5, 1.0, 0.5]
SUBSTEPS, MANY = 5, 64


def arm():
    """Return an arm of six links on hinges with motors, and the same for MuJoCo."""
    system, before, at = mbd.System(gravity=(0, 0, -9.81)), None, np.zeros(3)
    head, tail, motors, offset = "", "", "", np.zeros(3)
    for i, (axis, length, mass) in enumerate(zip(AXES, LENGTHS, MASSES, strict=True)):
        way = length * np.array([0.0, 0, 1] if i == 0 else [1.0, 0, 0])
        inertia = mass * np.array([0.02, 0.03, 0.03])
        link = mbd.RigidBody(f"link{i}", mass=mass, inertia=inertia, position=at + 0.5 * way)
        system.add(link)
        joint = mbd.Revolute(f"joint{i}", before or system.ground, link, at=at, axis=axis)
        system.add(joint)
        system.add(mbd.Motor(f"motor{i}", joint, 0.0))
        pos, axis_, com, diagonal = (
            " ".join(map(str, x)) for x in (offset, axis, 0.5 * way, inertia)
        )
        head += f'<body pos="{pos}"><joint name="j{i}" axis="{axis_}"/>'
        head += f'<inertial pos="{com}" mass="{mass}" diaginertia="{diagonal}"/>'
        tail, motors = tail + "</body>", motors + f'<motor joint="j{i}"/>'
        before, at, offset = link, at + way, way
    option = '<option timestep="1e-3" integrator="implicitfast"/>'
    body = f"<worldbody>{head}{tail}</worldbody><actuator>{motors}</actuator>"
    return system, f"<mujoco>{option}{body}</mujoco>"


def turns(calls, actions, steps):
    """Print the least time of a step [us] of calls (reset, step, rows), of turns."""
    best = dict.fromkeys(calls, np.inf)
    for _ in range(7):
        for name, (reset, step, n) in calls.items():
            reset()
            clock = time.process_time()
            for u in actions:
                step(u)
            spent = (time.process_time() - clock) / len(actions) / n / steps
            best[name] = min(best[name], spent)
    for name, spent in best.items():
        print(f"{name:>40}: {1e6 * spent:7.1f} us a step, {1 / spent:8.0f} steps a second")


def of_mujoco(model, steps, n):
    """Return the call of MuJoCo for `turns`, of which n efforts are set."""
    import mujoco

    data = mujoco.MjData(model)

    def act(u):
        data.ctrl[:n] = u[:n]
        mujoco.mj_step(model, data, steps)

    def reset():
        if model.nkey:
            mujoco.mj_resetDataKeyframe(model, data, 0)
        else:
            mujoco.mj_resetData(model, data)

    return reset, act, 1


def both(name, model, options, many=MANY):
    """Return the calls for `turns` of one environment and of many."""
    one = mbd.Environment(model, 1e-3, **options)
    rows = mbd.Environments(one, many)
    return {
        f"Environment, {name}": (one.reset, one.step, 1),
        f"Environments, {name}": (rows.reset, lambda u: rows.step([u] * many), many),
    }


def of_arm():
    """Print what the arm costs."""
    system, xml = arm()
    model, calls = system.build(), {}
    options = {
        "inputs": [f"motor{i}.effort" for i in range(6)], "substeps": SUBSTEPS,
        "observe": [f"joint{i}.{x}" for x in ("angle", "angle_rate") for i in range(6)],
    }  # fmt: skip
    for tol in (1e-9, 1e-6):
        method = mbd.GeneralizedAlpha(tol=tol)
        calls |= both(f"arm, tol={tol:g}", model, options | {"method": method})
    try:
        import mujoco
    except ImportError:
        print("no MuJoCo here")
    else:
        calls["mj_step, arm"] = of_mujoco(mujoco.MjModel.from_xml_string(xml), SUBSTEPS, 6)
    turns(calls, np.random.default_rng(0).normal(size=(200, 6)), SUBSTEPS)


def of_quadruped():
    """Print what the quadruped costs."""
    models = Path(__file__).parents[2] / "models"
    sys.path.insert(0, str(models))
    import quadruped

    system = quadruped.build()
    joints = [f"{leg} {x}" for leg in quadruped.LEGS for x in ("roll", "pitch", "knee")]
    for name in joints:
        system.add(mbd.Motor(f"{name} command", system.joints[name], 0.0))
    trunk = [f"trunk.{x}" for x in ("position", "velocity", "angular_velocity")]
    options = {
        "inputs": [f"{x} command.effort" for x in joints], "substeps": 10, "limits": (-15, 15),
        "observe": [*trunk, *(f"{x}.{y}" for y in ("angle", "angle_rate") for x in joints)],
        "reward": lambda y, u: y[3] - 1e-4 * u @ u, "done": lambda y: y[2] < 0.15,
    }  # fmt: skip
    calls, model = {}, system.build()
    for tol in (1e-9, 1e-6, 1e-4):
        method = mbd.NonsmoothAlpha(tol=tol)
        calls |= both(f"quadruped, tol={tol:g}", model, options | {"method": method}, 16)
    try:
        import mujoco
    except ImportError:
        print("no MuJoCo here")
    else:
        other = mujoco.MjModel.from_xml_path(str(models / "quadruped.xml"))
        other.opt.timestep = 1e-3
        calls["mj_step, quadruped that stands"] = of_mujoco(other, 10, 0)  # servos hold it
    actions = np.random.default_rng(0).normal(size=(20, 12))
    for size in (0.0, 1.0, 5.0):
        print(f"efforts of {size:g} N m")
        turns(calls, size * actions, 10)
        calls.pop("mj_step, quadruped that stands", None)


if __name__ == "__main__":
    of_arm()
    of_quadruped()
