"""Elastic slider-crank: the rod is a flexible body on modes, the crank driven at constant speed.

The rod, of 8 mm steel, begins straight and unloaded and swings at its own frequency (201 Hz) while it
is bent by its inertia. Source of the numbers: the same mechanism with ``mbd.Beam`` of 32 elements, the
geometrically exact beam, steps of 1e-5 s (``build(rod="beam")``).
"""

from typing import Any

import mbd

CRANK, ROD, RADIUS, SPEED = 0.1, 0.3, 0.004, 60.0
RUN = {"t_end": 0.1, "step": 1e-4}
_SOURCE = "geometrically exact beam, 32 elements"
REFERENCE = (
    ("rod/middle.position", 0.02, (0.17887285345, 0.04678781431, 0), 3e-6, _SOURCE),
    ("rod/middle.position", 0.05, (0.05083380768, 0.00706496163, 0), 3e-6, _SOURCE),
    ("rod/middle.position", 0.1, (0.24537352981, -0.01405998356, 0), 3e-6, _SOURCE),
    ("slider.position", 0.02, (0.32138864685, 0, 0), 4e-6, _SOURCE),
    ("slider.position", 0.1, (0.39471317608, 0, 0), 4e-6, _SOURCE),
)


def build(rod: str = "modes", elements: int = 16) -> mbd.System:
    """Return the mechanism, stretched out along x; the rod on modes or a beam."""
    system = mbd.System()
    x = (1, 0, 0)
    crank = system.add(
        mbd.RigidBody(
            "crank", mass=0.2, inertia=(1e-5, 2e-4, 2e-4), position=(CRANK / 2, 0, 0),
            velocity=(0, SPEED * CRANK / 2, 0), angular_velocity=(0, 0, SPEED),
            shape=mbd.Capsule(0.01, CRANK, axis=x),
        )
    )  # fmt: skip
    slider = system.add(
        mbd.RigidBody("slider", mass=0.05, inertia=(1e-5,) * 3, position=(CRANK + ROD, 0, 0),
                      shape=mbd.Box((0.05, 0.03, 0.03)))
    )  # fmt: skip
    start: dict[str, Any] = {
        "velocity": (0, SPEED * CRANK, 0),
        "angular_velocity": (0, 0, -SPEED * CRANK / ROD),
    }
    section = mbd.Section.circle(RADIUS, young=210e9, poisson=0.3, density=7850)
    beam = mbd.Beam("rod", points=[(CRANK, 0, 0), (CRANK + ROD, 0, 0)], section=section,
                    elements=elements, **start)  # fmt: skip
    first: Any
    last: Any
    if rod == "beam":
        first, last = system.add(beam).first, beam.last
    else:
        mesh = mbd.System()  # of which only the matrices are taken
        mesh.add(mbd.Beam("rod", points=[(0, 0, 0), (ROD, 0, 0)], section=section,
                          elements=elements))  # fmt: skip
        matrices = mesh.build().assemble()
        nodes = [node.position for node in mesh["rod"].nodes()]
        ends = {"pin": [0], "middle": [elements // 2], "wrist": [elements]}
        first = last = system.add(
            mbd.FlexibleBody(
                "rod", matrices.M, matrices.K, nodes, ends, fixed_modes=4, position=(CRANK, 0, 0),
                shape=mbd.Cylinder(RADIUS, ROD, at=(ROD / 2, 0, 0), axis=x), **start,
            )
        )  # fmt: skip
    axle = system.add(mbd.Revolute("axle", system.ground, crank, at=(0, 0, 0), axis=(0, 0, 1)))
    system.add(mbd.Revolute("pin", crank, first, at=(CRANK, 0, 0), axis=(0, 0, 1)))
    system.add(mbd.Revolute("wrist", last, slider, at=(CRANK + ROD, 0, 0), axis=(0, 0, 1)))
    system.add(mbd.Prismatic("guide", system.ground, slider, at=(CRANK + ROD, 0, 0), axis=x))
    system.add(mbd.Drive("motor", axle, position=mbd.ConstantSpeed(SPEED)))
    return system
