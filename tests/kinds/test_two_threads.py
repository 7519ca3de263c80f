"""A step in two threads: the sides are independent, results are the same bits, nothing is left."""

import os
import pickle
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from families import some, spread
from numba import njit
from recipes import FORMS, JOINT_RECIPES, LOADS, PAIR_FORCES, ROW_PARTS, SCALINGS, STILL, WORN, pair
from scenes import GRAVITY, body, chain, random_system

import mbd
from mbd.analyses.conformance import random_state
from mbd.formulations import NAMES
from mbd.integration.newton_loop import advance
from mbd.machine import buffer as m
from mbd.machine import two_threads
from mbd.machine.two_threads import TASKS, Helper
from mbd.model.workspace import Workspace

SHAPES = ["chain", "tree", "star", "ladder", "grid", "ring", "floating", "web"]
PARTS = {**JOINT_RECIPES, **ROW_PARTS, **PAIR_FORCES}
ON_ONE = {**LOADS, **SCALINGS, **WORN}
HISTORIES = ("t", "q", "v", "a", "lam")


def run(monkeypatch, cores, model, *args, **options):
    monkeypatch.setattr(two_threads, "cores", lambda: cores)
    return mbd.simulate(model, *args, raise_on_failure=False, **options)


def same_bits(one, two):
    return one.message == two.message and all(
        getattr(one, x).tobytes() == getattr(two, x).tobytes() for x in HISTORIES
    )


def beside(system, first, formulation="so3", n=6):
    """Add a chain of bodies, held by the last of them, to the first, or by itself."""
    rng = np.random.default_rng(81001)
    last, name = first, "a" if first else "b"
    for i in range(n):
        here = system.add(body(f"{name}{i}", rng, formulation, (i, 9.0, 0.0)))
        x = (i - 0.5, 9, 0)
        if last is not None and i % 3 == 1:
            system.add(mbd.Revolute(f"{name} hinge {i}", last, here, at=x, axis=(0, 1, 0)))
        elif last is not None:
            system.add(mbd.Bushing(f"{name} bush {i}", last, here, at=x, stiffness=[90.0] * 6,
                                   damping=[0.1] * 6))  # fmt: skip
        last = here
    system.add(mbd.Spherical(f"{name} pin", system.ground, last, at=(n, 9, 0)))


def two_sides(first, second, make=None):
    """Return a model of a pair of bodies with a part on one side, bodies of all sorts beside it."""
    system, one, two = pair(first, second)
    if make is not None:
        system.add(make(one, two))
    beside(system, two)
    beside(system, None, first)
    return system.build(threads=2)


def beside_chains():
    """Return a chain of springs: bodies without rows."""
    system, last = mbd.System(gravity=GRAVITY), None
    rng = np.random.default_rng(81004)
    for i in range(20):
        here = system.add(body(f"b{i}", rng, ("so3", "unified")[i % 2], (i, 0, 0)))
        if last:
            system.add(mbd.Bushing(f"bush {i}", last, here, at=(i, 0, 0), stiffness=[50.0] * 6))
        last = here
    return system


def check_sides(model):
    """What one side changes the other one neither changes nor reads, in every task."""
    room = 1 + model.n_q + 2 * model.I[m.N_U]
    work = Workspace(model, random_state(model, np.random.default_rng(81002)), extra=int(room))
    I, F, S = work.I, work.F, work.S
    method = mbd.GeneralizedAlpha(rho=0.8)
    F[m.H] = 1e-3
    method.prepare(model, S, F)
    shared, S[m.SHARED] = S[m.SHARED], 0
    advance(I, F)  # no step: weights alone
    work.evaluate(declared=True)
    work.linearise(1.0, 1e-3, 1e-6)
    S[m.SHARED], S[m.RECORD] = shared, model.size
    rng = np.random.default_rng(81003)
    work.F[m.SOFT] = 1e-14  # pivots of rows that are filled from between the sides
    for vector in (m.D, m.X):
        work.vector(vector)[:] += 1e-3 * rng.normal(size=I[m.N_U])
    other = Helper(I, F).I
    own = np.zeros(len(F), bool)  # of a thread, or of nobody
    for first, end in (
        (I[m.FY], I[m.FY] + 12), (I[m.XS], I[m.XS] + I[m.N_U]), (I[m.SCRATCH], I[m.GATE]),
    ):  # fmt: skip
        own[first:end] = True
    for task, kernel in sorted(TASKS.items()):
        before, alone = F.copy(), []
        for tables, side in ((I, 0), (other, 1)):
            F[:] = before
            kernel(tables, F, side)
            alone.append((F.view(np.int64) != before.view(np.int64)) & ~own)
        kernel(I, F, 0)
        second_first = F.copy()
        F[:] = before
        kernel(I, F, 0)
        kernel(other, F, 1)
        assert not (alone[0] & alone[1]).any(), task
        assert np.array_equal(second_first.view(np.int64)[~own], F.view(np.int64)[~own]), task
        if task in (m.PUSH_TASK, m.FACTOR_TASK):
            tail, second, second_tail, _ = I[I[m.SIDES] :][:4]
            assert [x.any() for x in alone] == [tail > 0, second_tail > second], task
    check_room(model)


def check_room(model):
    """Whole vector registers behind what a side writes at the same time are its own, too."""
    I, spill = model.I, 3
    tail, second, second_tail, between = I[I[m.SIDES] :][:4]
    for start, free, end in ((0, tail, second), (second, second_tail, between)):
        last = I[m.N_U] + spill + 1
        if end < I[m.N_FRONTS]:
            last = I[I[m.FRONTS] + end * m.FR_SIZE + m.FR_U]
        for f in range(start, free):
            j = I[m.FRONTS] + f * m.FR_SIZE
            assert I[j + m.FR_U] + I[j + m.FR_NP] + spill <= last
            for g in range(I[j + m.FR_NG]):
                at = I[j + m.FR_GROUPS] + g * m.UG_SIZE
                assert I[at + m.UG_U] + I[at + m.UG_N] + spill <= last


@pytest.mark.parametrize("name", PARTS)
def test_sides_are_independent(name):
    make = PARTS[name]
    model = two_sides("so3", "directors", lambda one, two: make(one, two, STILL))
    assert model.threads == 2
    check_sides(model)


@pytest.mark.parametrize("form", FORMS)
def test_sides_of_all_formulations(form):
    system = random_system("ladder", np.random.default_rng(81005), 8)
    plain = mbd.System(gravity=GRAVITY)
    for b in system.bodies.values():
        plain.add(body(b.name, np.random.default_rng(81006), FORMS[form], b.position))
    for i in range(8):
        for k in (2 * i, 2 * i + 1):
            above = plain[f"b{k - 2}"] if i else plain.ground
            plain.add(
                mbd.Spherical(f"pin {k}", above, plain[f"b{k}"], at=(0.1 * i, 0.3 * (k % 2), 0))
            )
    model = plain.build(threads=2)
    assert model.threads == 2
    check_sides(model)


@pytest.mark.parametrize("name", ON_ONE)
def test_sides_with_loads(name):
    make = ON_ONE[name]
    form = {"ScalingForce": "scalable", "NonTwisting": "directors"}.get(name[0], "so3")
    check_sides(two_sides(form, "so3", lambda one, two: make(one, STILL)))


@spread(seed=range(81010, 81013), shape=SHAPES)
def test_sides_of_all_shapes(shape, seed):
    """The matrix is that of the model for one thread; who is divided has independent sides."""
    rng = np.random.default_rng(seed)
    system = random_system(shape, rng, 30)
    one, two = system.build(), system.build(threads=2)
    state = random_state(one, rng)
    matrices = [x.assemble(state).iteration_matrix(1e-3).toarray() for x in (one, two)]
    scale = np.abs(matrices[0]).max()
    assert np.allclose(*matrices, rtol=0, atol=1e-13 * scale)
    if two.threads == 2:
        check_sides(two)


def test_what_falls_into_two_is_divided():
    rng = np.random.default_rng(81020)
    for shape in ("chain", "ladder", "ring", "floating", "tree"):
        assert random_system(shape, rng, 40).build(threads=2).threads == 2
        assert random_system(shape, rng, 40).build().threads == 1
    assert chain(2).build(threads=2).threads in (1, 2)
    assert chain(1).build(threads=2).threads == 1
    for threads in (0, 3, 1.5, "2"):
        with pytest.raises(ValueError, match="threads"):
            chain(3).build(threads=threads)


@spread(seed=range(81030, 81032), shape=SHAPES)
def test_same_bits(monkeypatch, shape, seed):
    """Mixed formulations, loops, redundant rows: one thread, two; the undivided model agrees."""
    system = random_system(shape, np.random.default_rng(seed), 24)
    model, n = system.build(threads=2), 40
    one, two = (run(monkeypatch, k, model, n * 1e-4, 1e-4, project=True) for k in (1, 2))
    assert same_bits(one, two)
    plain = mbd.simulate(system, n * 1e-4, 1e-4, project=True, raise_on_failure=False)
    if plain.success and one.success:
        assert np.allclose(one.q, plain.q, rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    "options",
    [{"method": mbd.GeneralizedAlpha(constraints="velocity")},
     {"method": mbd.GeneralizedAlpha(constraints="stabilized")},
     {"method": mbd.GeneralizedAlpha(newton="full", linear_solver="splu")},
     {"rtol": 1e-5}, {"method": mbd.RadauCollocation()}, {"t_eval": [0.0, 0.013, 0.02]},
     {"method": mbd.ExplicitRungeKutta()},
     {"order": 4}, {"method": mbd.EnergyMomentum()}, {"method": mbd.LieRungeKutta4()}],
    ids=lambda x: str(next(iter(x.values())))[:40],
)  # fmt: skip
def test_same_bits_of_all_methods(monkeypatch, options):
    method = options.get("method", mbd.GeneralizedAlpha())
    system = chain(30, NAMES if "method" not in options else ("directors",))
    if isinstance(method, mbd.LieRungeKutta4):
        system = beside_chains()
    model, step = system.build(threads=2), None if "rtol" in options else 1e-3
    one, two = (run(monkeypatch, k, model, 0.02, step, **options) for k in (1, 2))
    assert one.success, one.message
    assert same_bits(one, two)
    plain = mbd.simulate(system, 0.02, step, **options)
    assert np.allclose(one.q[-1], plain.q[-1], rtol=0, atol=1e-8)


def test_the_other_thread_takes_part(monkeypatch):
    """In a run of many chunks jobs are done by it, and it is gone afterwards."""
    model, before, jobs = chain(300).build(threads=2), threading.active_count(), []
    end = Helper.__exit__

    def noted(self, *error):
        jobs.append(int(self.gate[m.GATE_DONE]))
        end(self, *error)

    monkeypatch.setattr(Helper, "__exit__", noted)
    until = time.monotonic() + 60
    while not any(jobs) and time.monotonic() < until:
        run(monkeypatch, 2, model, 0.1, 1e-3)
    assert any(jobs)
    assert threading.active_count() == before


def laws(compiled, fails=False):
    """Return a chain with a law on each side, and between them."""
    calls = []

    def pull(u, rate, t):
        calls.append(t)
        if fails and t > 0.012:
            raise ValueError("too late")
        return 20.0 * u + 0.1 * rate + np.sin(t)

    if compiled:
        pull = njit(lambda u, rate, t: 20.0 * u + 0.1 * rate + np.sin(t))
    system = chain(30)
    bars = list(system.bodies.values())
    for i in range(0, 28, 3):
        system.add(mbd.Spring(f"spring {i}", bars[i], bars[i + 2], at=(i, 0, 1), to=(i + 2, 0, 0),
                              law=pull))  # fmt: skip
    return system.build(threads=2)


@pytest.mark.parametrize("compiled", [False, True])
def test_laws(monkeypatch, compiled):
    model = laws(compiled)
    one, two = (run(monkeypatch, k, model, 0.02, 1e-3) for k in (1, 2))
    assert one.success
    assert same_bits(one, two)


def test_a_law_that_fails(monkeypatch):
    before = threading.active_count()
    model = laws(False, fails=True)
    one, two = (run(monkeypatch, k, model, 0.02, 1e-3) for k in (1, 2))
    assert not one.success
    assert "too late" in one.message
    assert same_bits(one, two)
    monkeypatch.setattr(two_threads, "cores", lambda: 2)
    with pytest.raises(mbd.SimulationError, match="too late") as caught:
        mbd.simulate(model, 0.02, 1e-3)
    assert isinstance(caught.value.__cause__, ValueError)
    assert threading.active_count() == before


def test_events(monkeypatch):
    """One that releases a joint of a side, and one that ends the run."""
    model = chain(30).build(threads=2)

    release = mbd.Event("release", lambda x: x["bar 29"].position[:, 2] + 1e-3, release=("pin 20",))
    stop = mbd.Event("stop", lambda x: x["bar 29"].position[:, 2] + 2e-2, terminal=True)
    one, two = (run(monkeypatch, k, model, 0.2, 1e-3, events=[release, stop]) for k in (1, 2))
    assert one.success
    assert "stop" in one.message
    assert same_bits(one, two)


@pytest.mark.parametrize("contacts", some(["capture", "locate"], 2))
def test_a_contact(monkeypatch, contacts):
    """Its laws are solved by one thread, between the sides of both."""
    system = chain(60)
    low = system["bar 59"].position[2] - 0.02
    floor = {"through": (0, 0, low), "friction": 0.3, "restitution": 0.2}
    system.add(mbd.Contact("floor", system.ground, system["bar 59"].frame(), **floor))
    model, method = system.build(threads=2), mbd.NonsmoothAlpha(contacts=contacts)
    assert model.threads == 2
    one, two = (run(monkeypatch, k, model, 0.2, 1e-3, method=method) for k in (1, 2))
    assert one.success
    assert len(one.impacts) > 0
    assert same_bits(one, two)


def test_ctrl_c(monkeypatch):
    """What was computed comes back; the other thread is gone; the next run is right."""
    model, before = chain(200).build(threads=2), threading.active_count()
    whole = run(monkeypatch, 2, model, 0.05, 1e-3)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    part = run(monkeypatch, 2, model, 1000.0, 1e-3, every=10**6)
    timer.join()
    assert part.status == -1
    assert threading.active_count() == before
    assert same_bits(whole, run(monkeypatch, 2, model, 0.05, 1e-3))


def test_two_runs_at_once(monkeypatch):
    models = [chain(n).build(threads=2) for n in (60, 60, 90)]
    ones = [run(monkeypatch, 1, x, 0.05, 1e-3) for x in models]
    monkeypatch.setattr(two_threads, "cores", lambda: 2)
    with ThreadPoolExecutor(3) as pool:
        twos = pool.map(lambda x: mbd.simulate(x, 0.05, 1e-3), models)
        assert all(map(same_bits, ones, twos))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_process_forked_within_a_law(monkeypatch):
    """It has no other thread, and goes on without; the one that forked has it still."""
    children = []

    def forking(u, rate, t):
        if t > 5e-3 and not children:
            children.append(os.fork())
        return 10.0 * u

    system = chain(30)
    system.add(mbd.Spring("law", system["bar 2"], system["bar 4"], at=(2, 0, 1), to=(4, 0, 0),
                          law=forking))  # fmt: skip
    model = system.build(threads=2)
    mine = os.getpid()
    solution = run(monkeypatch, 2, model, 0.02, 1e-3)
    if os.getpid() != mine:
        os._exit(0 if solution.success else 1)
    assert os.waitpid(children[0], 0)[1] == 0
    assert same_bits(run(monkeypatch, 1, model, 0.02, 1e-3), solution)


def test_without_threads(monkeypatch):
    """Where the system has no more threads a run goes on with the one it has."""

    def refuse(self):
        raise RuntimeError("can't start new thread")

    model = chain(30).build(threads=2)
    one = run(monkeypatch, 1, model, 0.02, 1e-3)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert same_bits(one, run(monkeypatch, 2, model, 0.02, 1e-3))


def test_models_made_of_it_are_divided(monkeypatch):
    """Pickled, with other values, with a part that changes its tables."""
    model = chain(30).build(threads=2)
    again = pickle.loads(pickle.dumps(model))
    assert again.threads == 2
    assert same_bits(*(run(monkeypatch, k, x, 0.02, 1e-3) for k, x in ((1, model), (2, again))))
    for value in (2.0, 0.0):
        assert model.with_values({"bar 3.mass": value or 3.0}).threads == 2


@pytest.mark.parametrize("kind", ["npz", "nc", "nc stream"])
def test_files_keep_it(tmp_path, kind):
    """So that a run that goes on from a file has the bits of one that goes on from the solution."""
    ending, _, streamed = kind.partition(" ")
    path = tmp_path / f"run.{ending}"
    for threads in (1, 2):
        model = chain(9).build(threads)
        options = {"stream": path} if streamed else {}
        solution = mbd.simulate(model, 0.01, 1e-3, **options)
        if not streamed:
            solution.save(path)
        loaded = mbd.load(path)
        assert loaded.model.threads == model.threads == threads
        again = [mbd.simulate(x.model, 0.02, 1e-3, state=x.state) for x in (solution, loaded)]
        assert same_bits(*again)


def test_sizes_of_loads_by_their_parts():
    """Loads are told apart by name where elements are sorted by side: the factor is of one part."""
    system = mbd.System(gravity=GRAVITY)
    last = system.ground
    for i in range(40):
        bar = system.add(mbd.RigidBody(f"bar {i}", mass=1.0, inertia=(0.1, 0.1, 0.1),
                                       position=(i + 0.5, 0, 0)))  # fmt: skip
        system.add(mbd.Bushing(f"bush {i}", last, bar, at=(i, 0, 0), stiffness=[1e6] * 6))
        system.add(mbd.PointForce(f"push {i}", bar, (0, 0, -float(i))))
        last = bar
    poses = [mbd.equilibrium(system.build(threads=k)) for k in (1, 2)]
    assert np.allclose(poses[0].state.q, poses[1].state.q, rtol=0, atol=1e-9)
