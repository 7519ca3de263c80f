"""``mbd export``: a model as a unit of co-simulation for other tools."""

from __future__ import annotations

import argparse

from mbd.cli.codes import DONE, collected, print_json, print_line
from mbd.cli.scene import FILE, check_ending, integrator, read, reading, settings, writable

HELP = "write a model as a unit of co-simulation (FMI 3.0), which other tools run"
NEXT = ("a tool that knows FMI 3.0 opens {output}",)


def arguments(command: argparse.ArgumentParser) -> None:
    """Add the options."""
    command.add_argument("kind", choices=("fmu",), help="what to write: fmu")
    command.add_argument("file", metavar="FILE", help=FILE)
    command.add_argument(
        "-o", "--output", metavar="FMU", help="where to write it (default the model's name)"
    )
    reading(command)
    command.add_argument("--step", type=float, metavar="S", help="largest step of the unit [s]")
    command.add_argument("--method", metavar="NAME", help="integrator, as of mbd run")
    command.add_argument("--rho", type=float, help="as of mbd run")
    command.add_argument("--project", action="store_true", default=None, help="as of mbd run")
    for option, name, help in (
        ("inputs", "ARGUMENT", "what the tool sets, motor.effort (default all that can be set)"),
        ("outputs", "QUANTITY", "what the tool reads, rod or hinge.angle (default of all parts)"),
        ("parameters", "ARGUMENT", "what is set before a run, rod.mass (default the named ones)"),
    ):
        command.add_argument(f"--{option}", nargs="*", metavar=name, help=help)


def run(options: argparse.Namespace) -> int:
    """Write the unit."""
    check_ending(options.output, ".fmu")
    writable("export", options.output)
    scene, values = read(options)
    how = settings(options, scene, ("step", "project"), ("step",))
    if "step" not in how:
        raise ValueError("export: give --step, the largest step of the unit [s]")

    from mbd.fmi.export import export_fmu

    with collected() as remarks:
        path = export_fmu(
            scene.build(values), options.output or f"{scene.path.stem}.fmu", step=how["step"],
            inputs=options.inputs, outputs=options.outputs, parameters=options.parameters,
            method=integrator(how, options), project=how.get("project"),
        )  # fmt: skip
    if options.json:
        print_json({"written": [str(path)], "warnings": remarks})
    else:
        print(f"wrote {path}")
    for remark in remarks:
        print_line(f"warning: {remark}", DONE)
    return DONE
