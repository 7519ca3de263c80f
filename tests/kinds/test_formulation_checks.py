"""`mbd.check_formulation`: all formulations pass, and what is wrong with one is named."""

import json
import os
import subprocess
import sys
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import pytest
from charts import CHARTS
from recipes import FORMS, FORMULATIONS
from test_faces import FORK, STRUT
from test_pulled import MADE

import mbd
from mbd.analyses.checks import CheckError
from mbd.analyses.formulation_checks import _WORDS
from mbd.formulations import named
from mbd.formulations.formulation import _ARGUMENTS, _OF_ARRAYS
from mbd.machine.buffer import OWN, TRANSLATION
from mbd.machine.jit import jit

HERE = Path(__file__).parent
ALL = {
    **FORMULATIONS,
    **FORMS,
    **MADE,
    "s2": mbd.S2(),
    "in plane": mbd.InPlane("y"),
    "fork": FORK,
    "strut": STRUT,
}
TIGHT = 5e-8  # of differences
EXACT = {
    "no increment", "pose", "velocity", "own rows", "virtual work", "multipliers", "mass matrix",
    "weight", "forces at rest", "Newton and Euler", "P", "PV", "AV", "convect", "carry",
    "P of the step", "DP of the step", "displacements of the step",
    "momenta of the step", "energy of the step",
}  # fmt: skip
FLIGHTS = {"energy", "momentum", "moment of momentum"}  # steps of 6 ms, extrapolated


@pytest.mark.parametrize("name", ALL)
def test_library(name):
    report = mbd.check_formulation(ALL[name])
    assert report.ok
    limits = dict.fromkeys(EXACT, 1e-13) | dict.fromkeys(FLIGHTS, 1e-6)
    if name not in CHARTS:  # steps of three angles depend on the axes that they are about
        limits["invariance"] = 1e-12
    assert all(x.error <= limits.get(x.what, TIGHT) for x in report.properties), str(report)
    expected = set(_WORDS) - {"power of inner forces"}
    law = ALL[name]
    optional = {"flow", "convect", "carry", "faces", "stacks"}
    expected -= {x for x in optional if not getattr(law, x)}
    expected -= {"canonical"} if law.flow is None else set()
    if not law.holonomic:
        expected -= {"moment of momentum"}
    if law.conserving is None:
        expected -= {x for x in expected if x.endswith("of the step")}
    if not law.n_own:
        expected -= {"own rows", "rate of own rows", "second rate of own rows"}
    assert {x.what for x in report.properties} == expected


def test_by_name_and_report():
    report = mbd.check_formulation("so3")
    assert report["mass matrix"].error < 1e-14
    assert "Newton and Euler: " in str(report)
    with pytest.raises(KeyError, match="no property 'colour'; there are stacks"):
        report["colour"]
    with pytest.raises(FrozenInstanceError):
        report.who = "me"


def test_what_is_no_formulation_is_refused():
    with pytest.raises(TypeError, match="must be a name .* or a Formulation, got 3"):
        mbd.check_formulation(3)
    with pytest.raises(ValueError, match="check_formulation: formulation must be one of so3"):
        mbd.check_formulation("so4")


# --- every property must be able to fail ----------------------------------------------------------
@pytest.mark.parametrize("every", [20, pytest.param(1, marks=pytest.mark.slow)])
def test_wrong_versions_are_named(every):
    """Of each function and fact of all formulations; see mutants.py."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", HERE / "mutants.py", str(every)],
        capture_output=True, text=True, check=False,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1",
             "PYTHONPATH": os.pathsep.join(map(str, (HERE.parents[1], HERE.parent, HERE)))},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    told = [json.loads(x) for x in done.stdout.splitlines()]
    wrong = [x for *x, differs in told if differs]
    assert len(wrong) > 500 // every
    missed = [x for *x, expected, found in wrong if not any(expected in y for y in found)]
    assert not missed


@jit
def at_rest(F, n):
    for i in range(12):
        F[n.ydd + i] = 0.0


def test_a_failure_is_a_sentence():
    wrong = replace(named("so3"), name="mine", face_acceleration=at_rest)
    with pytest.raises(CheckError) as caught:
        mbd.check_formulation(wrong)
    assert str(caught.value) == (
        "formulation 'mine' fails (tolerance 1e-06):\n"
        "  acceleration of the face: 1.0e+00, face_acceleration is not the rate of face_velocity "
        "along a motion\ncorrect face_acceleration"
    )
    assert not caught.value.report.ok


# --- what the constructor and the compiler say ----------------------------------------------------
@jit
def of_nothing():
    """Take no arguments."""


@pytest.mark.parametrize("name", [*_ARGUMENTS, *_OF_ARRAYS, "initial"])
def test_functions_with_other_arguments_are_refused(name):
    right = named("so3")
    with pytest.raises(TypeError, match=rf"Formulation 'mine': {name} must take \(.+\), got \(\)"):
        replace(right, name="mine", **{name: of_nothing})
    with pytest.raises(TypeError, match=rf"Formulation 'mine': {name} must be a function .*got 3"):
        replace(right, name="mine", **{name: 3})
    if name in _ARGUMENTS:
        scope = {}
        exec(f"def f({', '.join(_ARGUMENTS[name])}): pass", scope)
        with pytest.raises(TypeError, match=f"{name} must be compiled .*@jit"):
            replace(right, name="mine", **{name: scope["f"]})


@jit
def of_places(F, par, q, y, v, a, f, d, S, ld):
    """Take places one by one, as functions did before they took records."""


@pytest.mark.parametrize("name", [x for x, names in _ARGUMENTS.items() if "n" in names])
def test_functions_of_places_are_told_of_records(name):
    text = rf"{name} must take \({', '.join(_ARGUMENTS[name])}\), got .*: a record n says where"
    with pytest.raises(TypeError, match=text):
        replace(named("so3"), name="mine", **{name: of_places})


@pytest.mark.parametrize(("change", "text"), [
    ({"velocities": "xyzabc"}, "velocities must be a tuple of names, got 'xyzabc'"),
    ({"velocities": ("x",) * 6}, "velocities must differ from each other"),
    ({"velocity_kinds": (TRANSLATION,) * 5}, "velocity_kinds must be a tuple of 6 kinds"),
    ({"velocity_kinds": (OWN,) * 6}, "velocity_kinds must be of TRANSLATION, ROTATION, DIR"),
    ({"own_rows": ("row",)}, "own_kinds must be a tuple of 1 kinds"),
    ({"own_rows": ["row"]}, "own_rows must be a tuple of names"),
    ({"own_rows": ("row",), "own_kinds": (TRANSLATION,)}, "own_kinds must be of FORCE"),
    ({"n_q": 0}, "n_q must be a whole number, at least 1"),
    ({"n_q": 7.0}, "n_q must be a whole number"),
    ({"n_faces": 0}, "n_faces must be a whole number, at least 1"),
    ({"n_inner": 1}, "n_inner must be below n_faces"),
    ({"sized": True}, "initial must take .* size"),
])  # fmt: skip
def test_facts_that_contradict_each_other_are_refused(change, text):
    with pytest.raises((TypeError, ValueError), match=f"Formulation 'mine': {text}"):
        replace(named("so3"), name="mine", **change)


@jit
def misspelt(F, n):
    F[n.yd] = cros(F[n.v])  # noqa: F821


def simulated(law):
    system = mbd.System()
    system.add(mbd.RigidBody("body", mass=1.0, inertia=(1, 1, 1), formulation=law))
    return mbd.simulate(system, 1e-3, 1e-3)


@pytest.mark.parametrize("run", [mbd.check_formulation, simulated])
def test_other_numbers_of_coordinates_and_misspelt_functions_are_named(run):
    for n_q in (6, 8):
        text = f"'mine': initial must return q of n_q = {n_q} numbers .* got q of .7,."
        with pytest.raises(ValueError, match=text):
            run(replace(named("so3"), name="mine", n_q=n_q))
    with pytest.raises(TypeError, match=r"^misspelt does not compile .*name 'cros' is not defined"):
        run(replace(named("so3"), name="mine", face_velocity=misspelt))
    with pytest.raises(ValueError, match="do not take the numbers of many bodies"):
        run(replace(named("euler_parameters"), name="mine", stacks=True))
