"""``mbd run``, ``demo`` and ``view``: simulate, report, write results, show them moving."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mbd.cli.output import DONE, INTERRUPTED, answer, collected, ended, report_values, wrote
from mbd.cli.scene import (
    check_outputs,
    integrator,
    parameters_of,
    read,
    settings,
    stored,
    whole_run,
)
from mbd.store import file_kinds

if TYPE_CHECKING:
    from mbd.front.solution import Solution

_SETTINGS = ("t_end", "step", "rtol", "max_step", "every", "project")


def run(options: argparse.Namespace) -> int:
    """Simulate a scene."""
    scene, parameters = read(options)
    system = scene.build(parameters)
    how = settings(options, scene, _SETTINGS)
    _check_outputs(options)

    from mbd.front.simulate import kernels_of, simulate
    from mbd.machine.shared_work import ahead
    from mbd.runs.interrupts import listening
    from mbd.runs.methods import checked_method

    talk = not options.quiet and not options.json
    method = integrator(how, options)
    if options.stream:
        how["stream"] = options.output
    free = "rtol" in how
    ahead(kernels_of(checked_method("run", method, free), free))
    model = system.build(options.threads)
    report = model.report()
    if talk:
        print(report, flush=True)
        if scene.notes:
            print(f"note: {len(scene.notes)} things that {scene.path.name} says are not used as "
                  f"they stand; `mbd info {options.file}` lists them", flush=True)  # fmt: skip
    with collected() as remarks:
        bar = None if talk else False
        solution = simulate(model, method=method, progress=bar, raise_on_failure=False, **how)
        notes = {"scene": scene.path.name, "parameters": parameters, "step": how.get("step")}
        with listening(held=True) as interrupt:
            written = _written(solution, options, notes)
        did = _summary(solution)
    code, why = ended(solution)
    if interrupt.stop:
        code, why = INTERRUPTED, "interrupted while results were written; they are whole"
    values = {"model": report_values(report), "run": did, "warnings": remarks}
    values["written"] = [str(path) for path in written]
    lines = [_text(solution, did, None if "rtol" in how else how["step"])] if talk else []
    lines += wrote(*written, sizes=True) if talk else []
    return answer(options, values, *lines, remarks=remarks, code=code, why=why)


def demo(options: argparse.Namespace) -> int:
    """List the scenes that come along, or run one."""
    from mbd.files import scenes

    if options.file is not None:
        options.file = str(scenes.named(options.file))
        return run(options)
    summaries = {name: scenes.summary(path) for name, path in scenes.shipped().items()}
    width = max(map(len, summaries))
    lines = (f"  {name:{width}}  {text}" for name, text in summaries.items())
    title = "scenes that come with mbd; run one by `mbd demo NAME`:"
    return answer(options, summaries, title, *lines)


def view(options: argparse.Namespace) -> int:
    """Simulate or load, write the page, open it."""
    endings = (".html", ".htm", ".gif", ".webp", ".mp4")
    if options.output and Path(options.output).suffix.lower() not in endings:
        raise ValueError(
            f"the name of the page must end in .html, .gif, .webp or .mp4, got {options.output!r}"
        )
    import tempfile

    from mbd.animation.animation import animate

    check_outputs("view", (options.output, ()))
    done = stored(options.file)
    with collected() as remarks:
        name, title, solution = (_loaded if done else _simulated)(options)
    path = Path(options.output or f"{tempfile.mkdtemp(prefix='mbd-view-')}/{name}.html")
    look = {"trails": options.trails, "speed": options.speed, "plots": options.plots}
    animation = animate(solution, path, title=title or name.replace("_", " "), **look)
    if not options.no_open:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
    page = {"written": [str(path)], "instants": len(animation.drawing.t)}
    about = {"success": solution.success, "message": solution.message, "warnings": remarks}
    code, why = ended(solution)
    if done and why:  # it is shown as it was asked
        code, why = DONE, f"note: {why}"
    return answer(
        options, page | about, *wrote(path, sizes=True), remarks=remarks, code=code, why=why
    )


def _simulated(options: argparse.Namespace) -> tuple[str, str, Solution]:
    """Return the name of a scene, what a model file says of itself, and the run."""
    from mbd.files import modelfile, scenes

    scene = scenes.load(options.file)
    how = settings(options, scene, ("t_end", "step", "project"))

    from mbd.front.simulate import simulate

    method = integrator(how)
    system = scene.build(parameters_of(options))
    bar = False if options.json else None
    run = simulate(system, method=method, progress=bar, raise_on_failure=False, **how)
    path = Path(options.file)
    title = modelfile.reader(path)(path).title if path.suffix in modelfile.READERS else ""
    return scene.path.stem, title, run


def _loaded(options: argparse.Namespace) -> tuple[str, str, Solution]:
    """Return the name of a file of results, which has no title, and the run in it."""
    for key in ("t_end", "step", "project", "parameters"):
        if getattr(options, key):
            word = "-p" if key == "parameters" else f"--{key.replace('_', '-')}"
            raise ValueError(f"{options.file} is a run that was done; {word} is for a model")
    without = "so that shapes and joints are not known; view the scene itself"
    return Path(options.file).stem, "", whole_run(options.file, without)


def _written(solution: Solution, options: argparse.Namespace, notes: dict[str, Any]) -> list[Path]:
    """Write what was asked for; return the files."""
    from mbd.store.archive import save_csv

    written = [Path(options.output)] if options.stream else []
    if options.output and not options.stream:
        written.append(file_kinds.save(solution, options.output, **notes))
    if options.csv:
        written.append(save_csv(solution, options.csv))
    return written


def _check_outputs(options: argparse.Namespace) -> None:
    """Refuse before the run what could not be written after it."""
    check_outputs("run", (options.output, file_kinds.writable()), (options.csv, (".csv",)))
    if options.stream and Path(options.output or "").suffix != ".nc":
        raise ValueError("--stream writes a .nc file while it runs; give -o NAME.nc")
    if options.output and Path(options.output).suffix == ".nc":
        from mbd.store.netcdf import libraries

        libraries("run")


def _summary(solution: Solution) -> dict[str, Any]:
    """Return a summary of a run as plain values."""
    from dataclasses import asdict

    from mbd.history.columns import of_gap

    energy = solution.energy
    change = float(abs(energy.total - energy.total[0]).max())
    return {
        "success": solution.success,
        "message": solution.message,
        "t_end": float(solution.t[-1]),
        "method": repr(solution.method),
        "rho": asdict(solution.method).get("rho"),
        "energy_change": change,
        "energy_balance": float(abs(energy.balance - energy.balance[0]).max()),
        "kinetic_energy_max": float(energy.kinetic.max()),
        "conservative": energy.conservative,
        "gap": float(solution.gap.max()),
        "gap_unit": of_gap(solution.model),
        "stats": {name: float(value) for name, value in solution.stats.items()},
    }


def _text(solution: Solution, s: dict[str, Any], step: float | None) -> str:
    """Return the summary of a run as a few lines; without a step, the steps were chosen."""
    cost = solution.stats
    n = max(1, int(cost["steps"]))
    mean = (s["t_end"] - float(solution.t[0])) / n
    size = f"{mean:.2g} s (mean)" if step is None else f"{step:g} s"
    change = f"{s['energy_change']:.2e} J"
    if s["kinetic_energy_max"] > 0:
        change += f", {s['energy_change'] / s['kinetic_energy_max']:.1e} of the largest kinetic one"
    if not s["conservative"]:
        change += f"; less work done and dissipated at most {s['energy_balance']:.2e} J"
    again = f"{int(cost['rejected'])} repeated steps"
    if cost["divided_steps"]:
        again += f", {int(cost['divided_steps'])} taken in {int(cost['substeps'])} smaller ones"
    return "\n".join(
        (
            f"simulated to t = {s['t_end']:g} s: {n} steps of {size}, "
            f"{solution.method.facts.title}",
            f"  Newton          {cost['iterations'] / n:.2f} iterations per step, "
            f"{int(cost['factorizations'])} factorizations, {again}",
            f"  largest gap     {s['gap']:.1e} (of a constraint row) [{s['gap_unit']}]",
            f"  energy change   {change}",
            f"  time            {1e6 * cost['seconds'] / n:.3g} us per step, {cost['seconds']:.3g} "
            f"s for all steps; {cost['seconds_in_all']:.3g} s with all around them",
        )
    )
