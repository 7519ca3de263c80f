"""Published problems over their published time, with steps of any size: what comes of them.

``python -m hard.published FILE`` (in ``tests``) writes the whole table.
"""

import inspect
import sys
import warnings
from dataclasses import dataclass

import numpy as np
from models.test_scenes import SCENES, load, refused

import mbd
from mbd.formulations import NAMES

STEPS = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4)


@dataclass(frozen=True)
class Outcome:
    """How a run ended: largest gap, change of the balance of energy over the energy that moves."""

    finished: bool
    steps: int
    gap: float
    departure: float
    warnings: tuple[str, ...]
    message: str


def formulations(name):
    """Return the formulations of a scene; one that chooses by itself, or points, has None."""
    parameters = inspect.signature(load(name).build).parameters
    if "formulation" not in parameters:
        return [None]
    return [*([None] if parameters["formulation"].default is None else []), *NAMES]


def build(name, formulation, **options):
    """Return a scene, or None if it refuses the formulation."""
    module = load(name)
    if formulation is not None:
        options["formulation"] = formulation
        if refused(module, options):
            return None
    return module.build(**options)


def outcome(system, t_end, step, **how):
    """Return how a run ends."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        run = mbd.simulate(system, t_end, step, raise_on_failure=False, **how)
        energy = run.energy
        gap = float(run.gap.max())
    return Outcome(
        run.success, int(run.stats["steps"]), gap, departure(energy),
        tuple(str(w.message) for w in seen), run.message,
    )  # fmt: skip


def departure(energy):
    """Return the largest change of the balance of energies over the largest of what moves."""
    balance = energy.balance
    moved = (np.ptp(x) for x in (energy.potential, energy.dissipated, energy.work))
    size = max(1e-9, energy.kinetic.max(), *moved)  # J; at rest there is none
    return float(np.abs(balance - balance[0]).max() / size)


def main(path):
    """Write the table of all scenes, formulations and steps."""
    with open(path, "w") as file:
        for name in SCENES:
            run = load(name).RUN
            how = {key: run[key] for key in ("method", "events") if key in run}
            for formulation in formulations(name):
                system = build(name, formulation)
                for step in STEPS if system is not None else ():
                    try:
                        x = outcome(system, run["t_end"], step, **how)
                    except Exception as error:
                        print(
                            name,
                            formulation,
                            step,
                            "RAISED",
                            repr(error)[:300],
                            sep="\t",
                            file=file,
                            flush=True,
                        )
                        continue
                    print(
                        name, formulation, step, "ok" if x.finished else "FAILED", x.steps,
                        f"{x.gap:.1e}", f"{x.departure:.1e}",
                        x.message[:200], *(w[:160] for w in x.warnings),
                        sep="\t", file=file, flush=True,
                    )  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1])
