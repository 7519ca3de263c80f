"""``mbd info``, ``equilibrium`` and ``modes``: what a model is, its balance, its small motions."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, cast

from mbd.cli.output import answer, components, report_values, wrote
from mbd.cli.scene import check_outputs, read, stored, whole_run

if TYPE_CHECKING:
    from mbd.model.model import Model
    from mbd.store.source import Source


def info(options: argparse.Namespace) -> int:
    """Report a model; of a file of results also how its run ended."""
    check_outputs("info", (options.spy, ()))
    of_run = stored(options.file)
    model, notes, step, how = (_of_results if of_run else _of_scene)(options)
    written = [] if model is None else _written(options, model, step)
    report = None if model is None else model.report()
    values: dict[str, Any] = {"model": report and report_values(report)}
    lines = [report or f"the model is not in {options.file}: it has laws in Python"]
    if of_run:
        values["run"] = how
        lines += [
            f"run: {how['message']}",
            f"  {how['instants']} instants, t = {how['t_start']:g} to {how['t_end']:g} s, "
            f"{how['method']}, mbd {how['version']}",
        ]
    lines += [f"note: {note}" for note in notes]
    values |= {"notes": notes, "written": written}
    return answer(options, values, *lines, *wrote(*written))


def _of_scene(options: argparse.Namespace) -> tuple[Model, list[str], float, dict[str, Any]]:
    """Return the model of a scene, what is noted of it, its step."""
    scene, parameters = read(options)
    model = scene.build(parameters).build()
    return model, list(scene.notes), scene.run.get("step", 1e-3), {}


def _of_results(
    options: argparse.Namespace,
) -> tuple[Model | None, list[str], float, dict[str, Any]]:
    """Return the model in a file of results, if it is there, and how the run ended."""
    from mbd.store.load import load
    from mbd.store.stored import Stored

    if options.parameters:
        raise ValueError(f"{options.file} is a run that was done; -p is for a model")
    needs_model = options.matrices or options.spy
    without = "so there are no matrices; name the scene itself"
    run = whole_run(options.file, without) if needs_model else load(options.file)
    model = None if isinstance(run, Stored) else run.model
    source = run.source if isinstance(run, Stored) else run.stored
    return model, [], 1e-3, _run_of(cast("Source", source))


def _run_of(source: Source) -> dict[str, Any]:
    """Return what a file of results says of its run as plain values."""
    t, about = source["t"], source.about
    return {
        "success": int(about["status"]) == 0,
        "message": str(about["message"]),
        "instants": len(t),
        "t_start": float(t[0]) if len(t) else 0.0,
        "t_end": float(t[-1]) if len(t) else 0.0,
        "method": str(about["method"]),
        "options": about["options"],
        "version": str(about["version"]),
        "stats": {name: float(value) for name, value in about["stats"].items()},
    }


def _written(options: argparse.Namespace, model: Model, step: float) -> list[str]:
    """Write matrices and pictures that were asked for; return their paths."""
    written = []
    if options.matrices:
        written += [str(path) for path in model.assemble().save(options.matrices)]
    if options.spy:
        figure = model.assemble().spy(step=step)
        from mbd.drawing.figure import save_figure

        save_figure(figure, options.spy, "info")
        written.append(options.spy)
    return written


def equilibrium(options: argparse.Namespace) -> int:
    """Print a pose in which all forces are in balance."""
    scene, parameters = read(options)
    system = scene.build(parameters)
    from mbd.analyses.equilibrium import equilibrium

    pose = equilibrium(
        system, seek=options.seek, load_factor=options.load_factor, load_steps=options.load_steps,
        rotating=options.rotating,
    )  # fmt: skip
    bodies = {name: pose[name].position.tolist() for name in pose.model.bodies}
    forces = {name: pose[name].force.tolist() for name in pose.model.system.joints}
    values = {
        "message": pose.message, "stable": pose.stable, "stiffness": pose.stiffness,
        "free": list(pose.free), "out_of_balance": vars(pose.out_of_balance),
        "loads": vars(pose.loads), "positions": bodies, "forces": forces,
    }  # fmt: skip
    far = max((abs(c) for x in bodies.values() for c in x), default=0.0)
    load = pose.loads.force
    return answer(
        options, values, pose.message,
        *(f"  body  {name}: position ({components(x, far)}) m" for name, x in bodies.items()),
        *(f"  joint {name}: force ({components(f, load)}) N on its second body"
          for name, f in forces.items()),
    )  # fmt: skip


def modes(options: argparse.Namespace) -> int:
    """Print the small motions of a model."""
    check_outputs("modes", (options.plot, ()), (options.animate, ()))
    scene, parameters = read(options)
    system = scene.build(parameters)
    from mbd.analyses.equilibrium import equilibrium
    from mbd.analyses.modes import modes

    base = equilibrium(system, rotating=options.rotating) if options.equilibrium else system
    bar = False if options.json else None
    all_modes = modes(base, n=options.n, rotating=options.rotating, progress=bar)
    if options.plot:
        all_modes.plot(options.plot)
    if options.animate:
        shown = all_modes if options.mode is None else all_modes[options.mode]
        shown.animate(options.animate)
    written = [path for path in (options.plot, options.animate) if path]
    rows = [
        {
            "frequency": mode.frequency, "damping": mode.damping, "label": mode.label,
            "eigenvalue": [mode.eigenvalue.real, mode.eigenvalue.imag],
            "kinetic": mode.kinetic, "potential": mode.potential,
        }
        for mode in all_modes
    ]  # fmt: skip
    values = {"modes": rows, "stable": all_modes.stable, "written": written}
    return answer(options, values, all_modes, *wrote(*written))
