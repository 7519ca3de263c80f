"""Error against work of the methods, on ten smooth motions; a picture for the documentation.

    python tests/bench/work_precision.py [--picture docs/images/work_precision.png] [MOTION ...]

Errors are those of a position at the end, against published numbers (heavy top, Andrews' mechanism,
Bennett's linkage) or collocation at 1e-13. Work is the time of the steps, the fastest of some runs,
methods by turns; those of MuJoCo are a call of ``mj_step``. Pinocchio has no steps of its own: what
is counted is four times its forward dynamics, ``aba``, called from Python, a step of RK4; the
error of such a step is that of MuJoCo's. The table at the end has the times for an error of 1e-8 of
the largest coordinate, between the points in logarithms, and that of others over ours.
"""

import argparse
import importlib.util
import json
import time
import warnings
from pathlib import Path

import numpy as np

import mbd

ROOT = Path(__file__).parents[2]
PUBLISHED = json.loads((ROOT / "tests" / "physics" / "published.json").read_text())
LENGTH, MASS, RADIUS = 0.2, 0.5, 0.05  # of balls
LINK = 0.3  # m, of the arm; masses of its links [kg], their axes at a pose that is bent
MASSES, AXES = (4.0, 4.0, 3.0, 3.0, 2.0, 2.0, 1.0), ("z", "y", "x", "y", "x", "y", "x")
AXIS = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}


# --- motions --------------------------------------------------------------------------------------
def scene(name):
    """Return a module of ``models``."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "models" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def balls(n):
    """Return n balls on massless arms, spherical joints, hanging out horizontally."""
    system = mbd.System(gravity=(0, 0, -9.81))
    last, J = system.ground, 0.4 * MASS * RADIUS**2
    for i in range(n):
        ball = system.add(
            mbd.RigidBody(
                f"ball {i}", mass=MASS, inertia=(J, J, J), position=((i + 1) * LENGTH, 0, 0)
            )
        )
        system.add(mbd.Spherical(f"joint {i}", last, ball, at=(i * LENGTH, 0, 0)))
        last = ball
    return system


def rod(mass):
    """Return the inertia of a link about its centre: a cylinder of 8 cm along x."""
    J = mass * (LINK**2 / 12 + 0.04**2 / 4)
    return 0.5 * mass * 0.04**2, J, J


def arm():
    """Return an arm of seven hinges, stretched out along x, that falls."""
    system = mbd.System(gravity=(0, 0, -9.81))
    last = system.ground
    for i, (mass, axis) in enumerate(zip(MASSES, AXES, strict=True)):
        link = system.add(
            mbd.RigidBody(
                f"link {i}", mass=mass, inertia=rod(mass), position=((i + 0.5) * LINK, 0, 0.05 * i)
            )
        )
        at = (i * LINK, 0, 0.05 * i)
        system.add(mbd.Revolute(f"joint {i}", last, link, at=at, axis=AXIS[axis]))
        last = link
    return system


def xml(bodies):
    """Return a model of MuJoCo, of bodies each in the one before."""
    import mujoco

    return mujoco.MjModel.from_xml_string(
        '<mujoco><option integrator="RK4" gravity="0 0 -9.81"><flag contact="disable"/></option>'
        f"<worldbody>{''.join(bodies)}{'</body>' * len(bodies)}</worldbody></mujoco>"
    )


def their_balls(n):
    """Return the balls as a model of MuJoCo."""
    return xml(
        [
            f'<body pos="{0 if i == 0 else LENGTH} 0 0"><joint type="ball"/><geom type="sphere" '
            f'size="{RADIUS}" mass="{MASS}" pos="{LENGTH} 0 0"/>'
            for i in range(n)
        ]
    )


def their_arm():
    """Return the arm as a model of MuJoCo."""
    return xml(
        [
            f'<body pos="{LINK * (i > 0)} 0 {0.05 * (i > 0)}"><joint type="hinge" axis="'
            f'{" ".join(map(str, AXIS[axis]))}"/><inertial pos="{LINK / 2} 0 0" mass="{mass}" '
            f'diaginertia="{" ".join(map(str, rod(mass)))}"/>'
            for i, (mass, axis) in enumerate(zip(MASSES, AXES, strict=True))
        ]
    )


def dynamics_of_arm():
    """Return a call of pinocchio's forward dynamics of the arm, at some state."""
    import pinocchio as pin

    model, last = pin.Model(), 0
    for i, (mass, axis) in enumerate(zip(MASSES, AXES, strict=True)):
        joint = getattr(pin, f"JointModelR{axis.upper()}")()
        at = pin.SE3(np.eye(3), np.array([LINK, 0, 0.05]) * (i > 0))
        last = model.addJoint(last, joint, at, f"joint {i}")
        inertia = pin.Inertia(mass, np.array([LINK / 2, 0, 0]), np.diag(rod(mass)))
        model.appendBodyToJoint(last, inertia, pin.SE3.Identity())
    data, q, v, tau = model.createData(), np.full(7, 0.3), np.full(7, 0.7), np.zeros(7)
    return lambda: pin.aba(model, data, q, v, tau)


def end_of(name, at=None):
    """Return the function of a run that gives the position of a body, or of a point, at the end."""
    if at is None:
        return lambda run: run[name].position[-1]
    return lambda run: run[name].at(at).position[-1]


def motions():
    """Return by name: system, end [s], what is compared, its exact value or none, coarsest step."""
    top, row = PUBLISHED["heavy top"]["values"]["1.0"], PUBLISHED["A03"]["values"]["0.03"]
    crank = 0.007 * np.array([np.cos(row[0]), np.sin(row[0]), 0.0])
    return {
        "heavy top": (scene("heavy_top").build(), 1.0, end_of("top"), np.array(top["x"]), 1e-3),
        "Andrews": (
            scene("andrews").build(), 0.03, end_of("K1", (0.007, 0, 0)), crank, 4e-5,
        ),
        "Bennett": (scene("bennett").build(), 1.0, end_of("link 1"), None, 0.02),
        "four-bar": (scene("fourbar").build(), 2.0, end_of("crank"), None, 0.01),
        "slider-crank": (scene("slider_crank").build(), 1.0, end_of("slider"), None, 4e-3),
        "rolling disc": (scene("rolling_disc").build(), 2.0, end_of("disc"), None, 0.01),
        "10 balls": (balls(10), 1.0, end_of("ball 9"), None, 4e-3),
        "30 balls": (balls(30), 1.0, end_of("ball 29"), None, 4e-3),
        "arm, 7 hinges": (arm(), 1.0, end_of("link 6"), None, 4e-3),
        "bending rod": (scene("bending_rod").build(), 0.02, end_of("rod.4"), None, 2e-4),
    }  # fmt: skip


def methods(step):
    """Return label and arguments of the runs of each method, coarse ones first."""
    steps = [step / 2**k for k in range(6)]
    tolerances = [10.0**-k for k in range(3, 13)]
    return {
        "generalized-alpha": [{"step": h} for h in steps],
        "generalized-alpha, order=4": [{"step": 2 * h, "order": 4} for h in steps],
        "explicit, order 8": [{"rtol": x, "method": mbd.ExplicitRungeKutta()} for x in tolerances],
        "explicit, order 4": [{"step": h, "method": mbd.ExplicitRungeKutta("rk4")} for h in steps],
        "collocation, 3 stages": [
            {"rtol": x, "method": mbd.RadauCollocation(3)} for x in tolerances
        ],
        "collocation, 5 stages": [
            {"rtol": x, "method": mbd.RadauCollocation()} for x in tolerances
        ],
    }


# --- curves: rows of error, seconds ---------------------------------------------------------------
def curve(system, end, value, exact, runs, repeat):
    """Return (error, seconds) of runs, (n, 2), of those that succeed."""
    model, rows = system.build(), []
    for options in runs:
        fastest = np.inf
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for k in range(8 * repeat):
                if k >= repeat and fastest > 0.02:  # short ones more often
                    break
                try:
                    run = mbd.simulate(model, end, **options)
                except mbd.SimulationError:
                    break
                fastest = min(fastest, run.stats["seconds"])
                if fastest > 3.0:
                    break
        if fastest < np.inf:
            rows.append((np.abs(value(run) - exact).max(), fastest))
        if fastest > 3.0:  # smaller steps take longer
            break
    return np.array(rows).reshape(-1, 2)


def mujoco_curve(model, end, exact, point, repeat):
    """Return (error, seconds) of MuJoCo's RK4, the last body's centre compared, (n, 2)."""
    import mujoco

    rows = []
    for n in (125, 250, 500, 1000, 2000, 4000, 8000):
        model.opt.timestep, fastest = end / n, np.inf
        for k in range(8 * repeat):
            if k >= repeat and fastest > 0.02:
                break
            data = mujoco.MjData(model)
            began = time.perf_counter()
            mujoco.mj_step(model, data, nstep=n)
            fastest = min(fastest, time.perf_counter() - began)
        mujoco.mj_forward(model, data)
        rows.append((np.abs(point(data) - exact).max(), fastest))
    return np.array(rows)


def pinocchio_curve(call, of_mujoco, repeat):
    """Return (error, seconds) of RK4 with pinocchio's dynamics: errors of MuJoCo's, (n, 2)."""
    fastest = np.inf
    for _ in range(20 * repeat):
        began = time.perf_counter()
        for _ in range(200):
            call()
        fastest = min(fastest, (time.perf_counter() - began) / 200)
    steps = 125 * 2 ** np.arange(len(of_mujoco))
    return np.column_stack([of_mujoco[:, 0], 4 * fastest * steps])


def exudyn(exact, repeat):
    """Return (error, seconds) of Exudyn's generalized-alpha on the heavy top, (n, 2)."""
    import exudyn as exu
    from exudyn.rigidBodyUtilities import RigidBodyInertia

    rows = []
    for n in (1000, 4000, 16000, 64000):
        fastest = np.inf
        for _ in range(min(repeat, 2)):
            container = exu.SystemContainer()
            system = container.AddSystem()
            inertia = RigidBodyInertia(15.0, np.diag((0.234375, 0.46875, 0.234375)))
            body = system.CreateRigidBody(
                inertia=inertia, referencePosition=[0, 1, 0], gravity=[0, 0, -9.81],
                initialVelocity=[4.61538, 0, 0], initialAngularVelocity=[0, 150, -4.61538],
            )  # fmt: skip
            ground = system.CreateGround()
            system.CreateSphericalJoint(itemNumbers=[ground, body], position=[0, 0, 0], show=False)
            system.Assemble()
            settings = exu.SimulationSettings()
            settings.timeIntegration.numberOfSteps, settings.timeIntegration.endTime = n, 1.0
            settings.timeIntegration.verboseMode = 0
            settings.solution.file.write = False
            settings.timeIntegration.generalizedAlpha.spectralRadius = 0.8
            began = time.perf_counter()
            system.SolveDynamic(settings)
            fastest = min(fastest, time.perf_counter() - began)
        at = system.GetObjectOutputBody(body, exu.OutputVariableType.Position, [0, 0, 0])
        rows.append((np.abs(np.array(at) - exact).max(), fastest))
    return np.array(rows)


def others(name, end, exact, repeat):
    """Return the curves of other programs by label, of those that are installed."""
    of = {}
    there = {x: importlib.util.find_spec(x) for x in ("exudyn", "mujoco", "pinocchio")}
    if name == "heavy top" and there["exudyn"]:
        of["Exudyn"] = exudyn(exact, repeat)
    if name.endswith("balls") and there["mujoco"]:
        model, point = their_balls(int(name.split()[0])), lambda data: data.geom_xpos[-1]
        of["MuJoCo, RK4"] = mujoco_curve(model, end, exact, point, repeat)
    if name.startswith("arm") and there["mujoco"]:
        theirs = mujoco_curve(their_arm(), end, exact, lambda data: data.xipos[-1], repeat)
        of["MuJoCo, RK4"] = theirs
        if there["pinocchio"]:
            of["pinocchio, RK4"] = pinocchio_curve(dynamics_of_arm(), theirs, repeat)
    return of


def merged(curves):
    """Return curves of turns in one: for each error the fastest."""
    return np.column_stack([curves[0][:, 0], np.min([x[:, 1] for x in curves], axis=0)])


def seconds_at(rows, error):
    """Return the time for an error, between points in logarithms; nan beyond them."""
    if not len(rows) or not rows[:, 0].min() <= error <= rows[:, 0].max():
        return np.nan
    x, y = np.log(np.maximum(rows, 1e-300)).T
    order = np.argsort(x)
    return float(np.exp(np.interp(np.log(error), x[order], y[order])))


# --- tables and a picture -------------------------------------------------------------------------
def main():
    """Print the tables; draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("motions", nargs="*")
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--turns", type=int, default=2)
    options = parser.parse_args()
    results, table = {}, []
    for name, (system, end, value, exact, step) in motions().items():
        if options.motions and name not in options.motions:
            continue
        reference = mbd.simulate(system, end, rtol=1e-13, method=mbd.RadauCollocation())
        exact = value(reference) if exact is None else exact
        turns = []
        for _ in range(options.turns):
            of = {
                label: curve(system, end, value, exact, runs, options.repeat)
                for label, runs in methods(step).items()
            }
            turns.append(of | others(name, end, exact, options.repeat))
        of = results[name] = {label: merged([x[label] for x in turns]) for label in turns[0]}
        print(name)
        for label, rows in of.items():
            print(f"  {label}")
            for error, seconds in rows:
                print(f"    error {error:8.1e} m  {1e3 * seconds:9.3f} ms")
        size = 1e-8 * np.abs(reference.q).max()
        table.append((name, {label: seconds_at(rows, size) for label, rows in of.items()}))
    labels = dict.fromkeys(label for of in results.values() for label in of)
    print(f"ms for 1e-8      {''.join(f'{x[-13:]:>15s}' for x in labels)}   others/explicit")
    for name, times in table:
        cells = "".join(f"{1e3 * times.get(x, np.nan):15.3f}" for x in labels)
        ours = times["explicit, order 8"]
        rest = [t / ours for x, t in times.items() if x.startswith(("MuJoCo", "pinocchio"))]
        print(f"{name:17s}{cells}   {', '.join(f'{x:.2f}' for x in rest)}", flush=True)
    if options.picture:
        draw(results, options.picture)


def draw(results, path):
    """Draw error against time."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    rows = -(-len(results) // 5)
    figure, axes = plt.subplots(
        rows, min(5, len(results)), figsize=(13, 3.2 * rows + 0.4), layout="constrained",
        squeeze=False,
    )  # fmt: skip
    labels = dict.fromkeys(label for of in results.values() for label in of)
    colour = {label: f"C{i}" for i, label in enumerate(labels)}
    for ax, (name, of) in zip(axes.flat, results.items(), strict=False):
        for label, points in of.items():
            if len(points):
                ax.loglog(*(points * (1, 1e3)).T, "o-", ms=3, label=label, color=colour[label])
        ax.set_title(name, fontsize=10)
        ax.grid(alpha=0.3)
    for ax in axes[-1]:
        ax.set_xlabel("error of a position [m]")
    for ax in axes[:, 0]:
        ax.set_ylabel("time of the steps [ms]")
    lines = {line.get_label(): line for ax in axes.flat for line in ax.lines}
    figure.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=5, fontsize=8)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
