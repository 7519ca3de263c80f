"""``mbd modes``: small motions of a model."""

from __future__ import annotations

import argparse

from mbd.cli.codes import DONE, print_json
from mbd.cli.scene import FILE, read, reading, writable

HELP = "frequencies, damping and shapes of small motions"
NEXT = (
    "open {animate} in a browser",
    "`mbd modes {file} --animate mode.html` shows one of them moving",
)


def arguments(command: argparse.ArgumentParser) -> None:
    """Add the options."""
    command.add_argument("file", metavar="FILE", help=FILE)
    reading(command)
    command.add_argument(
        "-n",
        type=int,
        metavar="N",
        help="how many, slowest first (default all; 40 of large models)",
    )
    command.add_argument(
        "--equilibrium", action="store_true", help="go to the equilibrium downhill first"
    )
    command.add_argument(
        "--rotating", type=float, nargs=3, metavar=("X", "Y", "Z"),
        help="rate of the frame in which the motion is steady [rad/s]",
    )  # fmt: skip
    command.add_argument("--plot", metavar="PNG", help="draw them (needs the extra 'plot')")
    command.add_argument("--animate", metavar="HTML", help="write a page that shows one mode")
    command.add_argument("--mode", type=int, default=0, metavar="I", help="which one is animated")


def run(options: argparse.Namespace) -> int:
    """Print the modes of a model."""
    writable("modes", options.plot, options.animate)
    scene, parameters = read(options)
    system = scene.build(parameters)
    from mbd.analyses.equilibrium import equilibrium
    from mbd.analyses.modes import modes

    base = equilibrium(system, rotating=options.rotating) if options.equilibrium else system
    bar = False if options.json else None
    all_modes = modes(base, n=options.n, rotating=options.rotating, progress=bar)
    written = []
    if options.plot:
        all_modes.plot(options.plot)
        written.append(options.plot)
    if options.animate:
        all_modes[options.mode].animate(options.animate)
        written.append(options.animate)
    if options.json:
        rows = [
            {
                "frequency": mode.frequency, "damping": mode.damping, "label": mode.label,
                "eigenvalue": [mode.eigenvalue.real, mode.eigenvalue.imag],
                "kinetic": mode.kinetic, "potential": mode.potential,
            }
            for mode in all_modes
        ]  # fmt: skip
        print_json({"modes": rows, "stable": all_modes.stable, "written": written})
        return DONE
    print(all_modes)
    for path in written:
        print(f"wrote {path}")
    return DONE
