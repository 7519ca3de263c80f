"""``mbd run``: simulate, report, write results."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mbd.cli.codes import DONE, FAILED, INTERRUPTED, collected, print_json, print_line
from mbd.cli.scene import (
    FILE,
    check_ending,
    integrator,
    read,
    reading,
    running,
    settings,
    stepping,
    writable,
)
from mbd.cli.summary import facts, summary, text
from mbd.store import file_kinds

if TYPE_CHECKING:
    from mbd.front.solution import Solution

HELP = "simulate a model, report and write results"
SHOWS = "`mbd view {results}` shows it moving, `mbd info {results}` how it went"
NEXT = (SHOWS, "`mbd view {timed}` shows it moving; -o run.nc keeps the results")

_SETTINGS = ("t_end", "step", "rtol", "max_step", "every", "project")


def arguments(command: argparse.ArgumentParser) -> None:
    """Add the options."""
    command.add_argument("file", metavar="FILE", help=FILE)
    reading(command)
    running(command)
    stepping(command)


def run(options: argparse.Namespace) -> int:
    """Simulate a scene."""
    scene, parameters = read(options)
    system = scene.build(parameters)
    how = settings(options, scene, _SETTINGS)
    _check_outputs(options)

    from mbd.front.simulate import kernels_of, simulate
    from mbd.machine.shared_work import ahead
    from mbd.runs.interrupts import listening

    talk = not options.quiet and not options.json
    method = integrator(how, options)
    if options.stream:
        how["stream"] = options.output
    ahead(kernels_of(method, free="rtol" in how))
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
        did = summary(solution)
    if options.json:
        values = {"model": facts(report), "run": did, "warnings": remarks}
        print_json({**values, "written": [str(p) for p in written]})
    elif talk:
        print(text(solution, did, None if "rtol" in how else how["step"]))
        for path in written:
            print(f"wrote {path} ({path.stat().st_size / 1e6:.2g} MB)")
    for remark in remarks:
        print_line(f"warning: {remark}", DONE)
    if interrupt.stop:
        return print_line("interrupted while results were written; they are whole", INTERRUPTED)
    if solution.status == 0:
        return DONE
    return print_line(solution.message, FAILED if solution.status > 0 else INTERRUPTED)


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
    check_ending(options.output, *file_kinds.writable())
    check_ending(options.csv, ".csv")
    if options.stream and Path(options.output or "").suffix != ".nc":
        raise ValueError("--stream writes a .nc file while it runs; give -o NAME.nc")
    if options.output and Path(options.output).suffix == ".nc":
        from mbd.store.netcdf import libraries

        libraries("run")
    writable("run", options.output, options.csv)
