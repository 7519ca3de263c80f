"""``mbd sweep``: a model with many values of its parameters."""

from __future__ import annotations

import argparse
from typing import Any

from mbd.cli.codes import DONE, FAILED, print_json, print_line
from mbd.cli.scene import FILE, check_ending, integrator, read, reading, running, writable

HELP = "run a model with many values of its parameters"
NEXT = ("`xarray.open_dataset` reads {results} by name", "-o members.nc keeps the results")


def arguments(command: argparse.ArgumentParser) -> None:
    """Add the options."""
    command.add_argument("file", metavar="FILE", help=FILE)
    command.add_argument(
        "--vary", metavar="NAME=VALUES", action="append", required=True,
        help="parameter of build, or a path such as rod.mass, with values 1,2,3 or low:high:n, or "
        "low:high with --sample; may be repeated: all combinations",
    )  # fmt: skip
    command.add_argument(
        "--keep", metavar="QUANTITY", action="append", required=True,
        help="what is kept of each run: rod.position, or hinge.force:max (final, max, min); may "
        "be repeated",
    )  # fmt: skip
    command.add_argument(
        "--sample", nargs=2, metavar=("METHOD", "N"),
        help="N members by sobol, latin or random instead of a grid",
    )  # fmt: skip
    command.add_argument("--step", type=float, metavar="S", help="step size [s]")
    command.add_argument(
        "--every", type=int, default=1, metavar="N", help="keep every so many steps"
    )
    command.add_argument("--directory", help="keep results by chunks here, and go on from there")
    command.add_argument("-o", "--output", metavar="FILE", help="write results: .nc")
    reading(command)
    running(command)


def run(options: argparse.Namespace) -> int:
    """Run all members."""
    check_ending(options.output, ".nc")
    check_ending(options.csv, ".csv")
    writable("sweep", options.output, options.csv)
    scene, parameters = read(options)
    varied = dict(_varied(text, options.sample is not None) for text in options.vary)
    paths = [name for name in varied if "." in name]
    if paths and len(paths) < len(varied):
        raise ValueError("--vary takes parameters of build or paths such as rod.mass, not both")
    how = dict(scene.run)
    t_end = how.get("t_end") if options.t_end is None else options.t_end
    step = how.get("step") if options.step is None else options.step
    if t_end is None or step is None:
        raise ValueError(f"{scene.path}: give --t-end and --step [s], or put them in RUN")

    from mbd.studies.samples import sample
    from mbd.studies.study import study

    method = integrator(how, options)

    def build(**values: Any) -> Any:
        return scene.build({**parameters, **values})

    done = study(
        build() if paths else build,
        sample(varied, int(options.sample[1]), method=options.sample[0])
        if options.sample else varied,
        t_end=t_end, step=step, outputs=[_output(text) for text in options.keep], method=method,
        every=options.every, directory=options.directory, progress=False if options.json else None,
    )  # fmt: skip
    if options.output:
        done.to_netcdf(options.output)
    if options.csv:
        done.to_dataframe().to_csv(options.csv)
    bad = done["status"].values != 0
    messages = [str(x) for x in done["message"].values[bad]]
    if options.json:
        print_json({"members": bad.size, "failed": int(bad.sum()), "messages": messages[:20]})
    else:
        print(done)
    if messages:
        return print_line(f"{len(messages)} of {bad.size} members failed: {messages[0]}", FAILED)
    return DONE


def _varied(text: str, sampled: bool) -> tuple[str, Any]:
    """Return name and values of ``name=1,2,3`` or ``name=low:high:n``."""
    name, _, values = text.partition("=")
    ends = values.split(":")
    try:
        if sampled:
            low, high = map(float, ends)
            return name, (low, high)
        if len(ends) == 3:
            import numpy as np

            return name, np.linspace(float(ends[0]), float(ends[1]), int(ends[2]))
        return name, [float(x) for x in values.split(",")]
    except ValueError:
        form = "low:high" if sampled else "1,2,3 or low:high:n"
        raise ValueError(f"--vary must be written NAME={form}, got {text!r}") from None


def _output(text: str) -> Any:
    """Return the output that ``hinge.force:max`` stands for."""
    quantity, colon, reduce = text.partition(":")
    return (quantity, reduce) if colon else quantity
