"""Kernels stay within the blocks of the buffers; those that do not are named (Python mode)."""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
SCRIPT = """
import sys
sys.path[:0] = {paths!r}
import numpy as np, pytest, mbd
from recipes import *
from scenes import random_system, chain
from mbd.analyses.bounds import watched
from mbd.analyses.conformance import random_state
from mbd.formulations import NAMES
from mbd.linear.fronts import factor_and_solve, solve_transposed
from mbd.machine import buffer as m
from mbd.model.evaluation import evaluate_kernel, linearise, evaluate_rates, stage
from mbd.model.workspace import Workspace

def work_of(model, method=None):
    own = method.facts.own_floats(model) if method else 0
    work = Workspace(model, mbd.consistent(model) if method else None, own=own)
    work.fill(*m.STAGES[:7], m.ENERGY, m.LOADS, m.PIVOTS)
    work.S[m.LINEAR], work.F[m.H] = factor_and_solve.address, 1e-3
    work.S[m.N_STEPS], work.F[m.RTOL] = 2, float("inf")  # of one size
    if method:
        method.prepare(model, work.S, work.F)
    return work

def evaluate_all(model):
    work = work_of(model)
    I, F = watched(work)
    work.F[m.SCALE_R] = work.F[m.W_M] = work.F[m.W_G] = work.F[m.W_K] = 1.0
    evaluate_kernel(I, F)
    evaluate_rates(I, F)
    linearise(I, F)
    factor_and_solve(I, F, 1)
    solve_transposed(I, F)
    for which in (m.ACCEPT, m.ENERGY, m.LOADS):
        stage(I, F, which)
"""


def run(code):
    tests = HERE.parent
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    text = SCRIPT.format(paths=[str(HERE), str(tests)]) + code
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", text], capture_output=True, text=True,
        env=environment, cwd=tests.parent, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_all_formulations_and_parts_stay_within_their_blocks():
    run("""
for name in NAMES:
    evaluate_all(chain(3, (name,), joint="Revolute").build())
for shape in ("ladder", "web"):
    evaluate_all(random_system(shape, np.random.default_rng(5)).build())
recipes = [*JOINT_RECIPES.values(), *ROW_PARTS.values(), *PAIR_FORCES.values(), *EXAMPLES.values(),
           *(lambda a, b, s, f=f: f(a, s) for f in (*LOADS.values(), *WORN.values()))]
for make in recipes:
    system = mbd.System(gravity=(0, 0, -9.81))
    one, two = (
        system.add(mbd.RigidBody(n, mass=1.0, inertia=(.2, .3, .4), position=p, formulation=f))
        for n, p, f in (("one", (.1, .2, .3), "so3"), ("two", (.7, 0, 0), "unified"))
    )
    system.add(make(one, two, STILL))
    evaluate_all(system.build())
""")


def test_methods_stay_within_their_blocks():
    run("""
for method, formulation, jointed in (
    (mbd.GeneralizedAlpha(), "so3", True),
    (mbd.GeneralizedAlpha(constraints="stabilized"), "so3", True),
    (mbd.EnergyMomentum(), "directors", True),
    (mbd.RadauCollocation(), "so3", True),
    (mbd.ExplicitRungeKutta(), "so3", True),
    (mbd.LieRungeKutta4(), "so3", False),
    (mbd.LieRungeKutta4("commutator_free"), "so3", False),
    (mbd.LieRungeKutta4("quaternion"), "directors", False),
):
    system = chain(2, (formulation,))
    if not jointed:
        system = mbd.System(gravity=(0, 0, -9.81))
        for i in range(2):
            system.add(mbd.RigidBody(f"b{i}", mass=1.0, inertia=(.2, .3, .4),
                angular_velocity=(1, 2, 3), formulation=formulation))
    work = work_of(system.build(), method)
    method.kernel(*watched(work))
    assert work.S[m.STEPS_DONE] == 2, method
""")


LEAVING = {
    "F[I[m.SCRATCH] - 1] = 1.0": "number -1 of SCRATCH",
    "F[I[m.V] - 1] = 1.0": "number -1 of V",
    "F[I[m.X] + I[m.N_U] + 4] = 1.0": "number 16 of X",
    "F[I[i + m.E_NUMBERS] + 4]": "number 4 of part.0, which has 3",
    "F[I[m.METHOD] - 1] += 0.0": "number -1 of what the method keeps",
}


def test_a_kernel_that_leaves_its_block_is_named():
    """A force whose kernel counts one too far, in its numbers, a vector or the scratch."""
    force = """
from mbd.interactions.kind import Attachment, Element, Kind
from mbd.machine.jit import kernel
def tried(forces):
    KIND = Kind("far", 2, 0, (), forces, None, energy=forces)
    system = mbd.System()
    one, two = (system.add(mbd.RigidBody(n, mass=1.0, inertia=(1, 1, 1))) for n in ("one", "two"))
    ends = [Attachment(n, (1.0, 0.0, 0.0, 0.0)) for n in ("one", "two")]
    system.add(Raw("part", [one, two], [Element(KIND, ends, (1.0, 2.0, 3.0))]))
    try:
        evaluate_all(system.build())
    except IndexError as error:
        print(error)
    else:
        print("nothing")
"""
    for line in LEAVING:
        force += f"""
@kernel
def forces(I, F, k):
    for e in range(I[k]):
        i = I[k + 1] + e * I[k + 2]
        {line}
tried(forces)
"""
    for line, words in zip(run(force).splitlines(), LEAVING.values(), strict=True):
        assert words in line
