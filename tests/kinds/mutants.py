"""Wrong versions of formulations, in plain Python (NUMBA_DISABLE_JIT=1): nothing to compile.

Of a function all that it writes is zero, of the other sign or half as large again, or what it reads
is taken as zero (a missing term: without velocities there are no gyroscopic forces); a fact has
another value. Printed is what `mbd.check_formulation` finds, a line of json for each.
"""

import json
import sys
from dataclasses import replace

import numpy as np
from recipes import FORMS, FORMULATIONS
from test_faces import FORK, STRUT

import mbd
from mbd.analyses.checks import CheckError
from mbd.formulations.formulation import _ARGUMENTS as ARGUMENTS
from mbd.machine import buffer as m

#: what a function writes, of the names of its arguments and of what is in its records
WRITES = {
    "retract": ["q"], "face": ["y"], "face_velocity": ["yd"], "face_acceleration": ["ydd"],
    "residual": ["x"], "tangent": ["S"], "maps": ["P", "PT", "DP", "PV"], "flow": ["k"],
    "own_rates": ["rate", "second"], "convect": ["w"], "carry": ["d", "v"],
    "second_maps": ["AV", "AQ"],
}  # fmt: skip
READS = {
    "retract": ["d"], "face": [], "face_velocity": ["v"], "face_acceleration": ["v", "a"],
    "residual": ["v", "a", "f", "gravity"], "tangent": ["v", "a", "f", "gravity", "d"],
    "maps": ["v", "d"], "flow": ["d", "v"], "own_rates": ["yd", "ydd"], "convect": ["d"],
    "carry": ["motion", "twist"], "second_maps": ["v", "a", "d"],
}  # fmt: skip
OPERATIONS = {"zero": 0.0, "sign": -1.0, "factor": 1.5}


def place(law, arguments, name):
    """Return the indices of an argument in F."""
    n_u, at = law.n_v + law.n_own, arguments.get(name, m.GX)
    size = {
        "q": law.n_q, "x": n_u, "f": 12 * law.n_faces, "gravity": 3, "rate": law.n_own,
        "second": law.n_own, **dict.fromkeys(("y", "yd", "ydd"), 12 * law.n_faces),
    }.get(name, law.n_v)  # fmt: skip
    if name == "S":
        return (at + arguments["ld"] * np.arange(n_u)[:, None] + np.arange(n_u)).ravel()
    if name in ("P", "PT", "DP", "PV", "AV", "AQ"):
        return (at + m.MAP_ROW * np.arange(3)[:, None] + np.arange(law.n_v)).ravel()
    if name in ("motion", "twist"):
        size = 6
    return at + np.arange(size)


class Wrong:
    """A function of a formulation that writes something else; whether it ever did."""

    def __init__(self, law, name, argument, factor=None):
        self.law, self.right, self.argument, self.factor = law, getattr(law, name), argument, factor
        self.names, self.differs = ARGUMENTS[name], False
        self.writes = WRITES[name]

    def __call__(self, F, *given):
        arguments = {}
        for name, value in zip(self.names[1:], given, strict=True):
            arguments |= value._asdict() if isinstance(value, tuple) else {name: value}
        before = F.copy()
        self.right(F, *given)
        there = place(self.law, arguments, self.argument)
        right = F.copy()
        if self.factor is not None:
            start = before[there] if self.argument == "S" else 0.0  # a tangent is added to it
            F[there] = self.factor * (F[there] - start) + start
        else:
            F[:] = before
            F[there] = 0.0
            self.right(F, *given)
            written = F.copy()
            F[:] = right
            for name in self.writes:
                out = place(self.law, arguments, name)
                F[out] = written[out]
        asked = self.argument != "DP" or arguments["rate"]
        self.differs |= bool(asked and np.nanmax(np.abs(F - right), initial=0.0) > 1e-9)


def wrong_functions(law):
    """Yield (what, mutant, function) for all functions of a node."""
    for name, writes in WRITES.items():
        if getattr(law, name) is None:
            continue
        changes = [(x, op) for x in writes for op in OPERATIONS] + [(x, None) for x in READS[name]]
        for argument, op in changes:
            wrong = Wrong(law, name, argument, OPERATIONS.get(op))
            yield f"{name} {argument} {op or 'not read'}", wrong, {name: signed(wrong, name)}


def signed(wrong, name):
    """Return a function with the arguments of the right one."""
    arguments, scope = ", ".join(ARGUMENTS[name]), {"wrong": wrong}
    exec(f"def {name}({arguments}):\n    wrong({arguments})", scope)
    return scope[name]


def scaled(factor, function):
    """Return a function of arrays whose result is multiplied."""
    return lambda *x: factor * function(*x)


def wrong_facts(law):
    """Yield (what, changed fields) of facts, and of functions of arrays."""
    for factor in OPERATIONS.values():
        yield "constants", {"constants": scaled(factor, law.constants)}
        for i in (0, 1) if factor or not law.sized else (1,):
            yield "initial", {"initial": lambda *x, c=factor, i=i: tuple(
                c * y if k == i else y for k, y in enumerate(law.initial(*x)))}  # fmt: skip
        for name in ("faces", "mass_matrix"):
            if getattr(law, name) is not None:
                yield name, {name: scaled(factor, getattr(law, name))}
    for name in ("linear", "axes", "rigid", "galerkin", *["canonical"] * (law.flow is not None)):
        yield name, {name: not getattr(law, name)}
    yield "n_q", {"n_q": law.n_q + 1}
    yield "n_q", {"n_q": law.n_q - 1}
    yield "n_faces", {"n_faces": law.n_faces + 1}
    if not law.stacks:
        yield "stacks", {"stacks": True}
    if law.n_own:
        yield "own_rows", {"own_rows": law.own_rows[1:], "own_kinds": law.own_kinds[1:]}
    if law.name in ("so3", "se3", "unified"):
        yield "scales", {"scales": True}
    if law.velocities[0] == "x":  # turns nothing
        yield "velocity_kinds", {"velocity_kinds": (m.ROTATION, *law.velocity_kinds[1:])}


def blamed(law):
    """Return what of a formulation is to blame, or the sentence that refuses it."""
    try:
        mbd.check_formulation(law)
    except CheckError as error:
        return error.report.to_blame.split(", ")
    except (ValueError, TypeError) as error:
        return [str(error)]
    return []


STIFFNESS = 7.0


def elastic(factor):
    """Return the strut with its stiffness in the formulation; the stored energy is multiplied."""

    def residual(F, n, s):
        STRUT.residual(F, n, s)
        F[n.x + 12] += s * STIFFNESS * F[n.q + 12]

    def tangent(F, n):
        STRUT.tangent(F, n)
        F[n.S + 12 * n.ld + 12] += F[m.W_K] * STIFFNESS

    def energy(F, n):
        F[m.POTENTIAL] += factor * 0.5 * STIFFNESS * F[n.q + 12] ** 2

    return replace(STRUT, name="elastic", residual=residual, tangent=tangent, energy=energy)


def tell(name, what, expected, found, differs=True):
    print(json.dumps([name, what, expected, found, differs]))


def main(every):
    """Try one mutant out of `every`, others for each formulation, or all."""
    laws = {**FORMULATIONS, **{x: FORMS[x] for x in ("euler projected None", "scalable u")}}
    for i, (name, law) in enumerate(laws.items()):
        for what, wrong, change in [*wrong_functions(law)][i % every :: every]:
            found = blamed(replace(law, name="wrong", **change))
            tell(name, what, what.split()[0], found, wrong.differs)
        for what, change in [*wrong_facts(law)][i % every :: every]:
            tell(name, what, what, blamed(replace(law, name="wrong", **change)))
    for what, change in wrong_facts(FORK):
        if what in ("faces", "mass_matrix", "n_faces"):
            tell("fork", what, what, blamed(replace(FORK, name="wrong", **change)))
    for factor in (0.0, -1.0, 1.5):
        tell("elastic", "energy", "energy", blamed(elastic(factor)))


if __name__ == "__main__":
    main(int(sys.argv[1]))
