"""What the tests of this folder share: scenes, published numbers, orders, extrapolation."""

from __future__ import annotations

import importlib.util
import json
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
from models.test_scenes import quantity

import mbd
from mbd.formulations import NAMES

RIGID = list(NAMES)  # every formulation a rigid body may have
# Newton to the end, so that what remains is the error of the step; scenes run with the defaults
SHARP = mbd.GeneralizedAlpha(rho=0.8, tol=1e-10, newton="full")
_HERE = Path(__file__).parent
PUBLISHED = json.loads((_HERE / "published.json").read_text())


@cache
def scene(name: str) -> ModuleType:
    """Return a scene of the folder ``models``."""
    path = _HERE.parents[1] / "models" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"scene_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def published(problem: str) -> dict:
    """Return the values of a problem of ``published.json``."""
    return PUBLISHED[problem]["values"]


def ends(system, t_end, *, method=SHARP, **words):
    """Return a function of the step h: what is there at t_end, by name, as `converge` takes it.

    Of each name one text as in a REFERENCE of a scene, "top.position", or a list of some.
    """
    model = system.build()

    def run(h):
        solution = mbd.simulate(model, t_end, h, method=method, every=1_000_000)
        return {
            name: np.array([quantity(solution, x)[-1] for x in what])
            if isinstance(what, list)
            else quantity(solution, what)[-1]
            for name, what in words.items()
        }

    return run


def planar(x):
    """Return vectors of a plane as those of space."""
    return np.append(x, 0.0)


def converge(run, exact, *, step, tolerance, noise=1e-10, levels=3, coarse=(), scatter=0.15):
    """Check order and limit of everything that ``run(h)`` returns, by name.

    ``exact`` and what ``run`` returns are dicts of arrays. The step is halved ``levels - 1`` times.
    Errors must fall with h^2 (fit within ``scatter``) unless the finest is below ``noise``, and the
    values extrapolated with the orders 2 and 3 must agree with the exact ones within ``tolerance``;
    both are numbers or dicts by name. Names in ``coarse`` leave out the finest step (forces of
    constraints carry the round-off of positions over h^2), all others the coarsest.
    Returns errors, order and extrapolated error by name, to be looked at.
    """
    steps = step / 2.0 ** np.arange(levels)
    runs = [run(h) for h in steps]
    found = {}
    for name, wanted in exact.items():
        wanted = np.asarray(wanted, float)
        values = [np.asarray(r[name], float) for r in runs]
        used = steps
        if coarse:
            part = slice(0, -1) if name in coarse else slice(1, None)
            values, used = values[part], steps[part]
        assert values[0].shape == wanted.shape, name
        errors = np.array([np.abs(v - wanted).max() for v in values])
        slope = np.polyfit(np.log(used), np.log(np.maximum(errors, 1e-300)), 1)[0]
        table = values
        for p in (2, 3)[: len(values) - 1]:
            table = [
                (2**p * b - a) / (2**p - 1) for a, b in zip(table[:-1], table[1:], strict=True)
            ]
        limit = np.abs(table[-1] - wanted).max()
        found[name] = (errors, slope, limit)
        allowed, quiet = (x[name] if isinstance(x, dict) else x for x in (tolerance, noise))
        if errors[-1] > quiet:
            assert abs(slope - 2) < scatter, f"{name}: order {slope:.3f}, errors {errors}"
        assert limit <= allowed, f"{name}: extrapolated error {limit:.3g}, errors {errors}"
    return found
