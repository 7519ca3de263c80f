"""The kernels of the usual models, compiled and kept: ``python -m mbd.cli.checks.warm``.

Those of all scenes that come along, of all formulations, methods and results. Prints JSON.
"""

from __future__ import annotations

import json
import time
from itertools import pairwise
from typing import Any


def systems() -> list[Any]:
    """Return the systems whose kernels are the usual ones."""
    import mbd
    from mbd.files import scenes
    from mbd.formulations import NAMES

    bodies = [
        mbd.RigidBody(name, mass=1.0, inertia=(0.1, 0.1, 0.1), position=(i, 0, 0), formulation=name)
        for i, name in enumerate(NAMES)
    ]
    mixed = mbd.System(gravity=(0, 0, -9.81))
    for body in bodies:
        mixed.add(body)
    for i, (one, two) in enumerate(pairwise([mixed.ground, *bodies])):
        joint = mbd.Revolute if i % 2 else mbd.Spherical
        place: dict[str, Any] = {"at": (i - 0.5, 0, 0)} | ({"axis": (0, 1, 0)} if i % 2 else {})
        mixed.add(joint(f"joint {i}", one, two, **place))
    mixed.add(mbd.Spring("spring", mixed.ground, bodies[-1], stiffness=1.0, at=(0, 1, 0)))
    return [mixed, *(scenes.load(path).build({}) for path in scenes.shipped().values())]


def main() -> None:
    """Build and run them."""
    clock = time.perf_counter()
    import mbd
    from mbd.front.simulate import kernels_of
    from mbd.machine.shared_work import ahead, compile_all

    methods = (
        mbd.GeneralizedAlpha(), mbd.EnergyMomentum(), mbd.LieRungeKutta4(),
        mbd.LieRungeKutta4("commutator_free"), mbd.LieRungeKutta4("quaternion"),
    )  # fmt: skip
    loops = [k for method in methods for free in (False, True) for k in kernels_of(method, free)]
    ahead(dict.fromkeys(loops))
    built = systems()
    for system in built:
        system.build()
    compile_all(loops)
    solution = mbd.simulate(built[0], 1e-3, 1e-4)
    solution.energy  # noqa: B018  # evaluates all there is
    print(json.dumps({"seconds": time.perf_counter() - clock, "systems": len(built)}))


if __name__ == "__main__":
    main()
