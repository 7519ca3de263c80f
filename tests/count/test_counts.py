"""Deterministic guards of speed: iterations, factorisations, compilations, allocations."""

import gc
import sys
import tracemalloc

import numba
import numpy as np
import pytest
from scenes import chain, four_bar, hinged

import mbd
from mbd.formulations import NAMES
from mbd.integration.newton_loop import advance
from mbd.machine import buffer as m
from mbd.machine import jit
from mbd.runs.interrupts import Interrupt
from mbd.runs.plan import Plan
from mbd.runs.stretch import Stretch


@pytest.mark.parametrize("joint", ["Spherical", "Revolute"])
@pytest.mark.parametrize("n", [1, 10, 60])
def test_iterations_and_factorisations_of_a_chain(n, joint):
    stats = mbd.simulate(chain(n, joint=joint), 0.3, 1e-3).stats
    assert stats["steps"] == 300
    assert stats["iterations"] <= 2.85 * stats["steps"]
    assert stats["factorizations"] <= 0.3 * stats["steps"]
    assert stats["rejected"] == 0
    assert stats["pivoting_steps"] == 0
    # one evaluation an iteration, and nothing beside
    assert stats["evaluations"] <= stats["iterations"] + 10


@pytest.mark.parametrize(("n", "most"), [(3, 3.9), (10, 4.4)])
def test_no_guess_goes_on_along_a_parabola_over_a_jump(n, most):
    """A force that comes and goes five steps at a time: along a parabola 4.6 and 4.9 iterations.

    Along a line that knows nothing of the ringing of multipliers 4.1 and 4.1.
    """
    system = chain(n)
    last = list(system.bodies.values())[-1]

    def force(t):
        return 0.0, 0.0, 200.0 * (20 * t % 1 > 0.5)

    system.add(mbd.PointForce("wind", last, force=force))
    stats = mbd.simulate(system, 1.0, 5e-3).stats
    assert stats["iterations"] <= most * stats["steps"]


@pytest.mark.slow
def test_iterations_of_a_long_chain_are_those_of_a_short_one():
    """Round-off of forces adds up along 10 000 bodies: it costs hardly an iteration."""
    short, long = (mbd.simulate(chain(n), 0.02, 1e-3).stats for n in (100, 10_000))
    assert long["evaluations"] <= 1.2 * short["evaluations"]


@pytest.mark.parametrize(
    ("formulations", "iterations", "factorizations"),
    [(("directors",), 3.2, 0.2), (NAMES, 3.0, 0.6)],
)
def test_iterations_of_other_chains(formulations, iterations, factorizations):
    """A matrix of many pivots is kept while it costs more than the iterations that it saves."""
    stats = mbd.simulate(chain(10, formulations), 0.3, 1e-3).stats
    assert stats["iterations"] <= iterations * stats["steps"]
    assert stats["factorizations"] <= factorizations * stats["steps"]


def test_a_matrix_is_made_anew_before_an_iteration_is_lost():
    """Its contraction grows from step to step; what gains less than a half begins in vain."""
    stats = mbd.simulate(chain(3000), 0.04, 1e-3).stats
    assert stats["iterations"] <= 2.95 * stats["steps"]
    assert stats["factorizations"] <= 0.5 * stats["steps"]


def test_full_newton_factors_each_time():
    method = mbd.GeneralizedAlpha(newton="full")
    stats = mbd.simulate(chain(3), 0.1, 1e-3, method=method).stats
    assert stats["factorizations"] >= stats["iterations"]
    assert stats["iterations"] <= 2.6 * stats["steps"]


def test_a_loop_with_redundant_rows_is_not_slower():
    stats = mbd.simulate(four_bar(NAMES), 0.3, 1e-3).stats
    assert stats["iterations"] <= 3.0 * stats["steps"]
    assert stats["rejected"] == 0


def resting():
    system, *_ = hinged("bar", "pin", kind="Spherical", inertia=(1, 1, 1), position=(0, 0, -1))
    return mbd.simulate(system, 1.0, 1e-2)


def test_nothing_moves_nothing_costs():
    """In equilibrium one iteration a step is enough."""
    solution = resting()
    assert solution.stats["iterations"] <= 110
    assert np.abs(solution.v).max() < 1e-12


def test_in_equilibrium_the_matrix_is_kept():
    assert resting().stats["factorizations"] <= 10


def test_cost_of_the_matrix_grows_with_the_number_of_bodies():
    """Fronts of a chain: memory of the matrix is linear in the number of bodies."""
    sizes = [int(chain(n).build().I[m.MATRIX_SIZE]) for n in (50, 100, 200)]
    assert (sizes[2] - sizes[1]) == 2 * (sizes[1] - sizes[0])


def test_memory_of_a_body():
    """Floats of a run and integers of the tables, by body; docs/performance.rst says what for."""
    short, long = (chain(n, ("so3",)).build() for n in (50, 100))
    assert long.size - short.size <= 50 * 398
    assert long.I.nbytes - short.I.nbytes <= 50 * 58 * 4


# --- compilation ---------------------------------------------------------------------------------
class Counter:
    """Counts what is compiled."""

    def __init__(self, monkeypatch):
        self.names = []
        real = jit.CFunction

        def counted(function, *args, **options):
            self.names.append(function.__qualname__)
            return real(function, *args, **options)

        monkeypatch.setattr(jit, "CFunction", counted)


def use_everything():
    """Run a model of every formulation, so that the time loop and the solvers are loaded."""
    mbd.simulate(chain(len(NAMES), NAMES, joint="Revolute"), 0.01, 1e-3)
    mbd.simulate(chain(len(NAMES), NAMES), 0.01, 1e-3)


def test_a_second_model_compiles_nothing(monkeypatch):
    use_everything()
    counter = Counter(monkeypatch)
    mbd.simulate(chain(7, NAMES[::-1], joint="Revolute", spin=0.0), 0.02, 2e-3)
    mbd.simulate(chain(5, NAMES), 0.02, 1e-3, method=mbd.GeneralizedAlpha(rho=0.5, newton="full"))
    assert counter.names == []


def test_a_new_kind_compiles_its_own_kernels_only(monkeypatch):
    """A measure from outside brings three kernels; the time loop is not compiled again."""
    from mbd.algebra.vec import load3, store3
    from mbd.interactions.kind import Attachment, Element
    from mbd.interactions.measures import GRAD, HESS, HXD, KAPPA, Measure
    from mbd.interactions.springs import spring
    from mbd.parts.part import Part

    @jit.jit
    def height(F, s):
        for i in range(GRAD, HXD):
            F[s + i] = 0.0
        F[s + KAPPA] = 0.0
        F[s + HESS] = 0.0
        store3(F, s + GRAD, (0.0, 0.0, 1.0))
        return load3(F, s)[2]

    kind = spring(Measure("height", 1, (), height))

    class Lift(Part):
        def __init__(self, name, body):
            self.name, self._bodies = name, (body,)

        @property
        def bodies(self):
            return self._bodies

        def elements(self):
            ends = (Attachment(self.bodies[0].name, (1.0, 0.0, 0.0, 0.0)),)
            return [Element(kind, ends, (4.0, 0.0, 0.0))]

    use_everything()
    counter = Counter(monkeypatch)
    system = chain(2, ("so3",))
    system.add(Lift("lift", system["bar 1"]))
    assert mbd.check_tangents(system).ok
    assert mbd.simulate(system, 0.02, 1e-3).success
    assert len(set(counter.names)) == 2  # forces and tangent, begun here or by another process
    assert all(name.startswith("_acting.<locals>") for name in counter.names)


@pytest.mark.parametrize("signature", [(), ("UniTuple(f8, 3)(f8[:], f8, f8[:, :])",)])
def test_a_further_law_of_motion_compiles_itself_and_a_jump(monkeypatch, signature):
    """Another function, another table: what calls them is that of the first."""

    def load(k, law, *shape):
        numbers = {"k": k, "table": np.full(shape, 2.0)}
        system = mbd.System()
        body = system.add(mbd.RigidBody("b", mass=1.0, inertia=(1.0, 1.0, 1.0), velocity=(3, 0, 0)))
        system.add(mbd.PointForce("f", body, mbd.Function(law, **numbers)))
        return mbd.simulate(system, 0.1, 1e-2)["b"].velocity[-1, 0]

    @numba.njit(*signature)
    def first(v, k, table):
        return -k * v[0] * table[0, 1], 0.0, 0.0

    @numba.njit(*signature)
    def second(v, k, table):
        return -k * v[0] * table[1, 0] * 2.0, 0.0, 0.0

    assert load(1.0, first, 2, 2) == pytest.approx(3 * np.exp(-0.2), rel=1e-4)
    counter = Counter(monkeypatch)
    assert load(0.25, second, 5, 3) == pytest.approx(3 * np.exp(-0.1), rel=1e-4)
    assert [x.split(".")[0] for x in counter.names] == ["external_of_table"]


# --- allocations ---------------------------------------------------------------------------------
def test_the_time_loop_allocates_nothing():
    model = chain(8, NAMES).build()
    plan = Plan(t_end=1.0, step=1e-3)
    run = Stretch(model, mbd.consistent(model), mbd.GeneralizedAlpha(), plan, Interrupt())
    I, S, F = run.work.I, run.work.S, run.work.F
    S[m.RECORD_EVERY] = 0
    S[m.N_STEPS] = 5
    advance(I, F)
    tracemalloc.start()
    try:
        advance(I, F)
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        for _ in range(20):
            advance(I, F)
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert int(S[m.STATUS]) == 0
    assert abs(after - before) < 500
    assert peak - before < 5000


def test_memory_of_a_run_is_its_record():
    """A run twice as long needs twice the record and little else."""
    model = chain(10).build()
    mbd.simulate(model, 0.05, 1e-3)
    peaks = []
    for t_end in (0.5, 1.0):
        tracemalloc.start()
        try:
            solution = mbd.simulate(model, t_end, 1e-3)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        kept = sum(x.nbytes for x in (solution.t, solution.q, solution.v, solution.a, solution.lam))
        peaks.append((peak, kept))
    (one, kept_one), (two, kept_two) = peaks
    assert kept_two > 1.9 * kept_one
    assert two - one < 2.5 * (kept_two - kept_one)


# --- calls of a whole call in Python, of what a body adds -----------------------------------------
def calls(work):
    """Return how many functions of Python and numpy are called while something is done.

    The same in whatever order tests run: public classes check the names of arguments from when they
    are first used on, which is not counted, and no collection of garbage calls back (hypothesis
    listens to them, and what other tests left may be finalised).
    """
    counted, names = [0], {"checked", "_check_names"}

    def note(frame, event, _argument):
        own = event == "call" and frame.f_code.co_name not in names
        counted[0] += own or event == "c_call"

    before = sys.getprofile()
    gc.disable()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
        gc.enable()
    return counted[0]


def of_a_body(work, few=6, many=46):
    """Return what a body adds to them, `work` done with few and with many bodies."""
    for n in (few, many):
        work(n)()  # what is loaded or kept once
    return (calls(work(many)) - calls(work(few))) / (many - few)


@pytest.mark.parametrize(("joint", "most"), [("Spherical", 190), ("Revolute", 388)])
def test_what_a_body_adds_to_building(joint, most):
    """A third of it is the elements that its joint declares."""
    systems = {n: chain(n, joint=joint) for n in (6, 46)}
    assert of_a_body(lambda n: systems[n].build) < most


@pytest.mark.parametrize(("every", "most"), [(1, 4), (4, 100)])
@pytest.mark.parametrize("joint", ["Spherical", "Revolute"])
def test_a_body_adds_next_to_nothing_to_the_first_run_of_a_model(joint, every, most):
    """All bodies of a formulation, all elements of a kind, are prepared and judged at once.

    Where not every step is kept, the balance of energies is judged: a program of all bodies.
    """
    few, many = (chain(n, joint=joint).build() for n in (6, 46))

    def run(model):
        return lambda: mbd.simulate(model, 4e-3, 1e-3, every=every)

    run(chain(6, joint=joint).build())()  # what is loaded once
    assert (calls(run(many)) - calls(run(few))) / 40 <= most


@pytest.mark.parametrize(("every", "most"), [(1, 1060), (4, 1800)])
def test_what_a_run_costs_besides_its_bodies(every, most):
    """Before and after the loop; large steps are judged by one program more."""
    models = [chain(6).build() for _ in range(2)]
    work = [lambda m=m: mbd.simulate(m, 4e-3, 1e-3, every=every) for m in models]
    work[0]()
    assert calls(work[1]) < most
