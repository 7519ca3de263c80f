"""Members of a study a second and core, beside MuJoCo's rollout at equal error, by turns.

    python tests/bench/study_against_mujoco.py [error, m] [numbers of bars]

Chains of bars of 1 m, released from the horizontal under gravity, whose first one has other masses;
one second. Both have no more than this error: ours the largest tolerance of 1e-3, 1e-4, ... that
brings it, MuJoCo's RK4 (``mujoco.rollout``, one thread, a model for each member) the largest steps.
Errors are those of the last position, the worst of some members, against collocation at 1e-13.
CPU seconds, the least of turns.
"""

import copy
import sys
import time
from concurrent.futures import Future

import mujoco
import mujoco.rollout
import numpy as np

import mbd

INERTIA, T = (0.01, 0.08, 0.08), 1.0
METHODS = {"dop853": mbd.ExplicitRungeKutta(), "radau 5": mbd.RadauCollocation()}


class Here:
    """An executor that works at once."""

    def submit(self, function, *args):
        future = Future()
        future.set_result(function(*args))
        return future


def ours(n, joint):
    """Return a chain; its first bar is in the horizontal, pulled aside where joints are balls."""
    system = mbd.System(gravity=(0.0, 1.0 if joint == "ball" else 0.0, -9.81))
    last = system.ground
    for i in range(n):
        bar = system.add(
            mbd.RigidBody(f"bar{i}", mass=1.0, inertia=INERTIA, position=(i + 0.5, 0, 0))
        )
        at = {"at": (float(i), 0, 0)}
        system.add(mbd.Spherical(f"joint{i}", last, bar, **at) if joint == "ball" else
                   mbd.Revolute(f"joint{i}", last, bar, axis=(0, 1, 0), **at))  # fmt: skip
        last = bar
    return system.build()


def theirs(n, joint):
    """Return the same chain, frames at the joints."""
    axis = "" if joint == "ball" else ' axis="0 1 0"'
    gravity = "0 1 -9.81" if joint == "ball" else "0 0 -9.81"
    body, end = "", "</body>" * n
    for i in range(n):
        body += (
            f'<body pos="{min(i, 1)} 0 0"><joint type="{joint}"{axis}/><inertial pos="0.5 0 0" '
            f'mass="1" diaginertia="{" ".join(map(str, INERTIA))}"/>'
        )
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><option integrator="RK4" gravity="{gravity}"><flag contact="disable"/></option>'
        f"<worldbody>{body}{end}</worldbody></mujoco>"
    )


class Rollout:
    """Members of MuJoCo, with other masses of the first bar."""

    def __init__(self, n, joint, masses):
        one = theirs(n, joint)
        self.models, self.data = [], mujoco.MjData(one)
        for mass in masses:
            model = copy.copy(one)
            model.body_mass[1] = mass
            mujoco.mj_setConst(model, self.data)
            self.models.append(model)
        mujoco.mj_resetData(one, self.data)
        size = mujoco.mj_stateSize(one, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        start = np.empty(size)
        mujoco.mj_getState(one, self.data, start, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        self.start = np.tile(start, (len(masses), 1))

    def go(self, steps):
        """Return CPU seconds, and the last states."""
        for model in self.models:
            model.opt.timestep = T / steps
        clock = time.process_time()
        states, _ = mujoco.rollout.rollout(self.models, self.data, self.start, nstep=steps)
        return time.process_time() - clock, states[:, -1]

    def some(self, count):
        """Return some of the members."""
        other = copy.copy(self)
        other.models, other.start = self.models[:count], self.start[:count]
        return other

    def error(self, steps, exact):
        """Return the largest error of the last positions."""
        return np.abs(self.positions(self.go(steps)[1]) - exact).max()

    def steps_for(self, error, exact):
        """Return a number of steps with this error, and the error; they are of fourth order."""
        steps = 100
        for _ in range(4):
            there = self.error(steps, exact)
            if 0.7 * error < there <= error:
                break
            steps = int(max(10, steps * (there / (0.9 * error)) ** 0.25))
        return steps, there

    def positions(self, states):
        """Return where the last bars are."""
        done = []
        for model, state in zip(self.models, states, strict=True):
            mujoco.mj_setState(model, self.data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
            mujoco.mj_kinematics(model, self.data)
            done.append(self.data.xipos[-1].copy())
        return np.array(done)


def study(model, members, n, rtol, method):
    """Return CPU seconds, and where the last bars are."""
    clock = time.process_time()
    done = mbd.study(model, members, t_end=T, rtol=rtol, method=method, progress=False, on=Here(),
                     chunk=4096, outputs={"end": (f"bar{n - 1}.position", "final")})  # fmt: skip
    spent = time.process_time() - clock
    assert not done.status.any()
    return spent, done["end"].values


def tolerance_for(error, model, few, n, method, exact):
    """Return the largest tolerance that brings an error, and what it brings."""
    for k in range(3, 14):
        there = np.abs(study(model, few, n, 10.0**-k, method)[1] - exact).max()
        if there <= error:
            break
    return 10.0**-k, there


def main():
    """Print a table."""
    error = float(sys.argv[1]) if len(sys.argv) > 1 else 1e-9
    sizes = [int(x) for x in sys.argv[2:]] or [1, 3, 10]
    for joint in ("hinge", "ball"):
        for n in sizes:
            model, count = ours(n, joint), max(32, 256 // n)
            members = mbd.sample({"bar0.mass": (0.5, 2.0)}, count)
            rollout = Rollout(n, joint, [x[0] for x in members.rows])
            few = mbd.sample({"bar0.mass": (0.5, 2.0)}, 4)
            exact = study(model, few, n, 1e-13, mbd.RadauCollocation())[1]
            steps, theirs_there = rollout.some(4).steps_for(error, exact)
            for name, method in METHODS.items():
                rtol, there = tolerance_for(error, model, few, n, method, exact)
                turns = [
                    (study(model, members, n, rtol, method)[0], rollout.go(steps)[0])
                    for _ in range(4)
                ]
                own, other = (min(x) / count for x in zip(*turns, strict=True))
                print(
                    f"{n:2} {joint:5} {name:8} {rtol:.0e}, {there:.0e}: {1 / own:5.0f} a second "
                    f"and core; RK4 {theirs_there:.0e}, {steps} steps: {1 / other:5.0f} "
                    f"({other / own:.2f})", flush=True,
                )  # fmt: skip


if __name__ == "__main__":
    main()
