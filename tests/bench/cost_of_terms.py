"""Cost of blocks and terms beside that of assembling: the least of many turns, and evaluations.

python tests/bench/cost_of_terms.py --bodies 100
"""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from scenes import chain, four_bar

import mbd
from mbd.formulations import NAMES


def least(run, turns):
    """Return the least time of a call [ms]."""
    times = []
    for _ in range(turns):
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return 1e3 * min(times)


def main():
    """Print a line for each model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bodies", type=int, default=100)
    parser.add_argument("--turns", type=int, default=30)
    options = parser.parse_args()
    models = {
        "four bars": four_bar().build(),
        f"{options.bodies} bodies": chain(
            options.bodies, NAMES, joint="Revolute", spin=0.5
        ).build(),
    }
    for name, model in models.items():
        state = mbd.consistent(model, project=True)
        body, joint = list(model.nodes)[-1], list(model.system.joints)[-1]
        assemble = least(lambda: model.assemble(state), options.turns)  # noqa: B023
        A = model.assemble(state)
        times = {
            "assemble": assemble,
            "terms": least(lambda: model.assemble(state).terms, options.turns) - assemble,  # noqa: B023
            "a part": least(lambda: A.terms[joint], options.turns),  # noqa: B023
            "block of M": least(lambda: A.block(body, body, of="M"), options.turns),  # noqa: B023
            "block of B": least(lambda: A.block(joint, body, of="B"), options.turns),  # noqa: B023
            "block of S": least(lambda: A.block(body, joint, step=1e-3), options.turns),  # noqa: B023
        }
        print(
            f"{name}: ", ", ".join(f"{k} {x:.2f} ms ({x / assemble:.2f})" for k, x in times.items())
        )


if __name__ == "__main__":
    main()
