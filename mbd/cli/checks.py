"""Checks that ``mbd doctor`` runs in processes of their own, so that a crash is reported.

``python -m mbd.cli.checks NAME`` prints what one of them returns as JSON.
"""

import io
import json
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

_EXACT = (-0.0902292085737, 0.0, -0.9959210259454)  # [m], sin(theta/2) = k sn(K - w t), at 0.5 s
TOLERANCE = 2e-5  # [m], for steps of 1 ms


def smoke() -> dict[str, Any]:
    """Swing a rod from the horizontal; return what came out, and how long it took."""
    clock = time.perf_counter()
    import mbd

    system = mbd.System(gravity=(0, 0, -9.81))
    J = (1e-4, 1 / 12, 1 / 12)
    rod = system.add(mbd.RigidBody("rod", mass=1.0, inertia=J, position=(0.5, 0, 0)))
    system.add(mbd.Revolute("hinge", system.ground, rod, at=(0, 0, 0), axis=(0, 1, 0)))
    model = system.build()
    mbd.simulate(model, 1e-3, 1e-3)
    first = time.perf_counter() - clock
    solution = mbd.simulate(model, 0.5, 1e-3)
    tip = solution["rod"].at((0.5, 0, 0)).position[-1].tolist()
    stats = solution.stats
    from mbd.integration.newton_loop import advance
    from mbd.machine.jit import PYTHON

    return {
        "tip": tip,
        "error": max(abs(a - b) for a, b in zip(tip, _EXACT, strict=True)),
        "tolerance": TOLERANCE,
        "seconds_to_first_step": first,
        "microseconds_per_step": 1e6 * stats["seconds"] / stats["steps"],
        "cache": None if PYTHON else str(advance.file.parent) if advance.file else "",
    }


def render() -> dict[str, Any]:
    """Draw the matrix of a small model without a display; return how many bytes of PNG it has."""
    import matplotlib as mpl

    mpl.use("Agg")
    import mbd

    system = mbd.System()
    system.add(mbd.RigidBody("body", mass=1.0, inertia=(1, 1, 1)))
    buffer = io.BytesIO()
    system.build().assemble().spy("M").savefig(buffer)
    data = buffer.getvalue()
    if data[:4] != b"\x89PNG":
        raise ValueError("the picture is no PNG")
    return {"bytes": len(data)}


def usual_systems() -> Iterator[Any]:
    """Yield systems whose kernels are the usual ones: of all formulations, then of all scenes."""
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
    yield mixed
    yield from (scenes.load(path).build({}) for path in scenes.shipped().values())


def warm() -> dict[str, Any]:
    """Compile the kernels of the usual models, of all formulations, methods and results."""
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
    built = list(usual_systems())
    for system in built:
        system.build()
    compile_all(loops)
    solution = mbd.simulate(built[0], 1e-3, 1e-4)
    solution.energy  # noqa: B018  # evaluates all there is
    return {"seconds": time.perf_counter() - clock, "systems": len(built)}


if __name__ == "__main__":
    print(json.dumps({"smoke": smoke, "render": render, "warm": warm}[sys.argv[1]]()))
