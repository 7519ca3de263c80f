"""Error against work of the methods, on smooth motions; a picture for the documentation.

    python tests/bench/work_precision.py [--picture docs/images/work_precision.png] [--repeat 5]

Motions: heavy top (24 turns in 1 s) and Andrews' squeezing mechanism (three loops, 30 ms), against
published numbers; ten balls on spherical joints, 1 s, against collocation at 1e-13. Work is the
time of the steps, the fastest of some runs, and evaluations of the model. Exudyn and MuJoCo are
drawn where they are installed.
"""

import argparse
import importlib.util
import json
import warnings
from pathlib import Path

import numpy as np

import mbd

ROOT = Path(__file__).parents[2]
PUBLISHED = json.loads((ROOT / "tests" / "physics" / "published.json").read_text())
N, LENGTH, MASS, RADIUS = 10, 0.2, 0.5, 0.05


def scene(name):
    """Return a module of ``models``."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "models" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def balls():
    """Return ten balls on massless arms, spherical joints, hanging out horizontally."""
    system = mbd.System(gravity=(0, 0, -9.81))
    last, J = system.ground, 0.4 * MASS * RADIUS**2
    for i in range(N):
        ball = system.add(
            mbd.RigidBody(
                f"ball {i}", mass=MASS, inertia=(J, J, J), position=((i + 1) * LENGTH, 0, 0)
            )
        )
        system.add(mbd.Spherical(f"joint {i}", last, ball, at=(i * LENGTH, 0, 0)))
        last = ball
    return system


def motions():
    """Return name, system, end [s], what is compared, its exact value, coarsest step [s]."""
    top, row = PUBLISHED["heavy top"]["values"]["1.0"], PUBLISHED["A03"]["values"]["0.03"]
    crank = 0.007 * np.array([np.cos(row[0]), np.sin(row[0]), 0.0])
    chain = mbd.simulate(balls(), 1.0, rtol=1e-13, method=mbd.RadauCollocation())
    return (
        ("heavy top", scene("heavy_top").build(), 1.0,
         lambda x: x["top"].position[-1], np.array(top["x"]), 1e-3),
        ("Andrews' mechanism", scene("andrews").build(), 0.03,
         lambda x: x["K1"].at((0.007, 0, 0)).position[-1], crank, 4e-5),
        ("ten balls", balls(), 1.0,
         lambda x: x[f"ball {N - 1}"].position[-1], chain[f"ball {N - 1}"].position[-1], 4e-3),
    )  # fmt: skip


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


def curve(system, end, value, exact, runs, repeat):
    """Return (error, seconds, evaluations) of runs, (n, 3)."""
    model, rows = system.build(), []
    for options in runs:
        fastest = np.inf
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for k in range(8 * repeat):
                if k >= repeat and fastest > 0.02:  # short ones more often
                    break
                run = mbd.simulate(model, end, **options)
                fastest = min(fastest, run.stats["seconds"])
        rows.append((np.abs(value(run) - exact).max(), fastest, run.stats["evaluations"]))
    return np.array(rows)


def mujoco(repeat):
    """Return (error, seconds, -) of MuJoCo's RK4 on the ten balls, or None."""
    try:
        import mujoco
    except ImportError:
        return None
    import time

    body = ""
    for i in range(N):
        at = 0 if i == 0 else LENGTH
        body += (
            f'<body pos="{at} 0 0"><joint type="ball"/><geom type="sphere" size="{RADIUS}" '
            f'mass="{MASS}" pos="{LENGTH} 0 0"/>'
        )
    text = (
        '<mujoco><option integrator="RK4" gravity="0 0 -9.81"><flag contact="disable"/></option>'
        f"<worldbody>{body}{'</body>' * N}</worldbody></mujoco>"
    )
    model, rows = mujoco.MjModel.from_xml_string(text), []
    exact = mbd.simulate(balls(), 1.0, rtol=1e-13, method=mbd.RadauCollocation())
    exact = exact[f"ball {N - 1}"].position[-1]
    for n in (125, 250, 500, 1000, 2000, 4000, 8000):
        model.opt.timestep, fastest = 1.0 / n, np.inf
        for _ in range(repeat):
            data = mujoco.MjData(model)
            began = time.perf_counter()
            mujoco.mj_step(model, data, nstep=n)
            fastest = min(fastest, time.perf_counter() - began)
        mujoco.mj_forward(model, data)
        rows.append((np.abs(data.geom_xpos[-1] - exact).max(), fastest, 4 * n))
    return np.array(rows)


def exudyn(repeat):
    """Return (error, seconds, -) of Exudyn's generalized-alpha on the heavy top, or None."""
    try:
        import exudyn as exu
        from exudyn.rigidBodyUtilities import RigidBodyInertia
    except ImportError:
        return None
    import time

    exact, rows = np.array(PUBLISHED["heavy top"]["values"]["1.0"]["x"]), []
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
        rows.append((np.abs(np.array(at) - exact).max(), fastest, 0))
    return np.array(rows)


def main():
    """Print the tables; draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    results = {}
    for name, system, end, value, exact, step in motions():
        of = results[name] = {
            label: curve(system, end, value, exact, runs, options.repeat)
            for label, runs in methods(step).items()
        }
        others = {"heavy top": ("Exudyn", exudyn), "ten balls": ("MuJoCo, RK4", mujoco)}
        if name in others:
            label, measure = others[name]
            if (rows := measure(options.repeat)) is not None:
                of[label] = rows
        print(name)
        for label, rows in of.items():
            print(f"  {label}")
            for error, seconds, evaluations in rows:
                print(f"    error {error:8.1e} m  {1e3 * seconds:9.3f} ms  {evaluations:9.0f}")
    if options.picture:
        draw(results, options.picture)


def draw(results, path):
    """Draw error against time."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(results), figsize=(10, 3.6), layout="constrained")
    labels = dict.fromkeys(label for of in results.values() for label in of)
    colour = {label: f"C{i}" for i, label in enumerate(labels)}
    for ax, (name, of) in zip(axes, results.items(), strict=True):
        for label, rows in of.items():
            ax.loglog(rows[:, 0], 1e3 * rows[:, 1], "o-", ms=3, label=label, color=colour[label])
        ax.set_title(name, fontsize=10)
        ax.set_xlabel("error of the position [m]")
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("time of the steps [ms]")
    lines = {line.get_label(): line for ax in axes for line in ax.lines}
    figure.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=6, fontsize=8)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
