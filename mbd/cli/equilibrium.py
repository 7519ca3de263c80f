"""``mbd equilibrium``: a pose in which all forces are in balance."""

from __future__ import annotations

import argparse
import math

from mbd.cli.codes import DONE, components, print_json
from mbd.cli.scene import FILE, read, reading

HELP = "find a pose in balance, with its reactions and stability"
NEXT = ("`mbd modes {file} --equilibrium` has the small motions about it",)


def arguments(command: argparse.ArgumentParser) -> None:
    """Add the options."""
    command.add_argument("file", metavar="FILE", help=FILE)
    reading(command)
    command.add_argument(
        "--seek", choices=("minimum", "nearest"), default="minimum",
        help="go downhill, or take the nearest one, stable or not",
    )  # fmt: skip
    command.add_argument("--load-factor", type=float, default=1.0, help="of weight and loads")
    command.add_argument("--load-steps", type=int, default=1, metavar="N", help="in so many steps")
    command.add_argument(
        "--rotating", type=float, nargs=3, metavar=("X", "Y", "Z"),
        help="rate of a frame in which the pose shall be at rest [rad/s]",
    )  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Print an equilibrium."""
    scene, parameters = read(options)
    system = scene.build(parameters)
    from mbd.analyses.equilibrium import equilibrium

    pose = equilibrium(
        system, seek=options.seek, load_factor=options.load_factor, load_steps=options.load_steps,
        rotating=options.rotating,
    )  # fmt: skip
    bodies = {name: pose[name].position.tolist() for name in pose.model.bodies}
    forces = {name: pose[name].force.tolist() for name in pose.model.system.joints}
    if options.json:
        print_json({
            "message": pose.message, "stable": pose.stable,
            "stiffness": pose.stiffness if math.isfinite(pose.stiffness) else None,
            "free": list(pose.free), "out_of_balance": vars(pose.out_of_balance),
            "loads": vars(pose.loads), "positions": bodies, "forces": forces,
        })  # fmt: skip
        return DONE
    print(pose.message)
    far = max((abs(c) for x in bodies.values() for c in x), default=0.0)
    for name, x in bodies.items():
        print(f"  body  {name}: position ({components(x, far)}) m")
    for name, f in forces.items():
        print(f"  joint {name}: force ({components(f, pose.loads.force)}) N on its second body")
    return DONE
