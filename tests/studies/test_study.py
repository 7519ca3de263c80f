"""Studies: bits of a plain loop, failures as data, workers, interruption, summaries."""

import errno
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from families import spread
from scenes import hinged, with_point

import mbd
from mbd.drawing.curves import curves
from mbd.history.columns import model_columns
from mbd.machine.jit import PYTHON
from mbd.model import model as models
from mbd.model import system as systems
from mbd.model import workspace
from mbd.runs.large_steps import judged, paces_of, step_errors
from mbd.studies import batch_run
from mbd.studies import chunk as chunks
from mbd.studies.study import study
from mbd.studies.summary import Summary

H, T = 1e-3, 0.02
OUTPUTS = [
    "two.position", ("pin.force", "max"), "hinge.angle", "hinge.angle_rate", "energy.total",
    "energy.balance", ("energy.work", "max"), ("energy.kinetic", "final"), "momentum.angular",
    "momentum.linear.z", "gap",
]  # fmt: skip


def pair(length=0.4, mass=1.2, k=35.0):
    """Two links and a spring."""
    system = mbd.System(gravity=(0, 0, -9.81))
    one = system.add(mbd.RigidBody("one", mass=mass, inertia=(0.01, 0.02, 0.02),
                                   position=(0.5 * length, 0, 0)))  # fmt: skip
    two = system.add(mbd.RigidBody("two", mass=0.7, inertia=(0.02, 0.03, 0.03),
                                   position=(1.5 * length, 0, 0)))  # fmt: skip
    system.add(mbd.Revolute("hinge", system.ground, one, at=(0, 0, 0), axis=(0, 1, 0)))
    system.add(mbd.Spherical("pin", one, two, at=(length, 0, 0)))
    system.add(mbd.Spring("spring", system.ground, two, at=(0, 0, 1), to=(2 * length, 0, 0),
                          stiffness=k, damping=0.3))  # fmt: skip
    system.add(mbd.PointForce("wind", two, (0.2, 0.1, 0.0)))
    return system


def kept(solution):
    """Return what OUTPUTS stand for, of one solution."""
    return [
        solution["two"].position, solution["pin"].force.max(axis=0),
        solution["hinge"].angle, solution["hinge"].angle_rate, solution.energy.total,
        solution.energy.balance, solution.energy.work.max(), solution.energy.kinetic[-1],
        solution.momentum.angular, solution.momentum.linear[:, 2], solution.gap,
    ]  # fmt: skip


def names(outputs):
    return [x if isinstance(x, str) else " ".join(x) for x in outputs]


GRIDS = {
    "paths": (pair(), {"one.mass": [0.8, 1.2, 3.0], "spring.stiffness": [0.0, 35.0]}),
    "function, constants": (pair, {"mass": [0.8, 1.2, 3.0], "k": [0.0, 35.0]}),
    "function, geometry": (pair, {"length": [0.3, 0.4, 0.7], "k": [0.0, 35.0]}),
    "vectors": (pair(), {"one.inertia": [(0.01, 0.02, 0.02), (0.03, 0.03, 0.04)]}),
}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("case", GRIDS)
def test_the_bits_of_a_plain_loop(case, threads):
    build, grid = GRIDS[case]
    with ThreadPoolExecutor(threads) as pool:
        done = mbd.study(build, grid, t_end=T, step=H, outputs=OUTPUTS, on=pool, chunk=2)
    shape = tuple(map(len, grid.values()))
    assert done.status.shape == shape
    assert not done.status.any()
    for at in np.ndindex(*shape):
        values = {k: x[i] for (k, x), i in zip(grid.items(), at, strict=True)}
        system = build(**values) if callable(build) else build.build().with_values(values)
        alone = mbd.simulate(system, T, H)
        for name, x in zip(names(OUTPUTS), kept(alone), strict=True):
            assert np.array_equal(done[name].values[at], x), (name, at)
    assert np.array_equal(done.time, alone.t)
    assert done["two.position"].dims == (*grid, "time", "component")
    assert done["pin.force max"].attrs["units"] == "N"


def test_every_quantity_has_the_bits_of_a_plain_run():
    """Also the components of each, by name, and what is left of them at the end."""
    model = pair().build()
    columns = {k: x for k, x in model_columns(model).items() if k not in ("t", "q", "v", "a")}
    every = [*columns, *(f"{k}.{c}" for k, x in columns.items() for c in x.components)]
    grid = {"one.mass": [0.8, 3.0]}
    done = mbd.study(model, grid, t_end=T, step=H, outputs=[*every, *((x, "final") for x in every)])
    assert not done.status.any()
    for i, mass in enumerate(grid["one.mass"]):
        alone = mbd.simulate(model.with_values({"one.mass": mass}), T, H)
        for name in every:
            (series,) = curves(alone, name)
            values = series.values[:, 0] if len(series.components) == 1 else series.values
            assert np.array_equal(done[name].values[i], values), name
            assert np.array_equal(done[f"{name} final"].values[i], values[-1]), name


@pytest.mark.parametrize("options", [
    {"every": 5},
    {"rtol": 1e-5, "t_eval": [0.0, 0.01, 0.02]},
    {"method": mbd.GeneralizedAlpha(rho=0.5, constraints="stabilized")},
    {"step": 0.0015},
], ids=str)  # fmt: skip
def test_options_of_runs(options):
    options = {"step": H} | options
    done = mbd.study(pair(), [{"one.mass": 2.0}, {"one.mass": 0.9}], t_end=T,
                     outputs={"tip": "two.position.z"}, **options)  # fmt: skip
    alone = mbd.simulate(pair().build().with_values({"one.mass": 0.9}), T, **options)
    assert np.array_equal(done.tip.values[1], alone["two"].position[:, 2])
    assert done.tip.dims == ("member", "time")


def test_nothing_is_built_for_a_member(monkeypatch):
    """Members that differ in constants: models, work spaces and runs do not grow in number.

    A work space of many runs counts as one: two for each batch.
    """
    counts = dict.fromkeys(("build", "prepare", "workspace", "simulate"), 0)

    def counting(name, function):
        def counted(*args, **options):
            counts[name] += 1
            return function(*args, **options)

        return counted

    monkeypatch.setattr(systems, "build", counting("build", systems.build))
    monkeypatch.setattr(models.Model, "prepare", counting("prepare", models.Model.prepare))
    monkeypatch.setattr(
        workspace.Workspace, "__init__", counting("workspace", workspace.Workspace.__init__)
    )
    monkeypatch.setattr(chunks, "simulate", counting("simulate", chunks.simulate))
    members = mbd.sample({"one.mass": (0.5, 2.0), "spring.stiffness": (10.0, 40.0)}, 400)
    outputs = ["two.position", ("pin.force", "max"), ("hinge.angle", "final"), "energy.balance"]
    mbd.study(pair(), members, t_end=T, step=H, outputs=outputs, chunk=64)
    assert counts.pop("build") == 1
    assert counts.pop("simulate") == 0
    assert counts.pop("prepare") <= 12  # of some members, by which places are seen
    assert counts.pop("workspace") <= 24 + (2 + 6) * 7  # some for energies of what fits the cache


def test_failures_are_data():
    """A mass that cannot be, an open joint, a run that is lost; the others are as they are."""

    def build(mass, at):
        system = pair(mass=mass)
        ends, length = {"at": (0.2, 0, 0.1), "to": (0.6, 0, 0)}, np.hypot(0.4, 0.1) + at
        system.add(mbd.Distance("rod", system["one"], system["two"], length=length, **ends))
        return system

    grid = {"mass": [1.2, -1.0, float("nan")], "at": [0.0, 1e-3]}
    done = mbd.study(build, grid, t_end=T, step=H, outputs=OUTPUTS)
    assert done.status.values.tolist() == [[0, 1], [2, 2], [2, 2]]
    assert "mass must be positive" in str(done.message.values[1, 0])
    assert "initial positions violate constraints" in str(done.message.values[0, 1])
    for name in names(OUTPUTS):
        assert np.isfinite(done[name].values[0, 0]).all()
        assert np.isnan(done[name].values[1:]).all()
        assert np.isnan(done[name].values[0, 1]).all()

    def picky(z):
        if z.max() > -0.1:
            raise ValueError("too high")
        return z.min()

    done = mbd.study(pair(), {"spring.stiffness": [0.0, 400.0]}, t_end=0.3, step=H,
                     outputs=[("two.position.z", picky)])  # fmt: skip
    assert done.status.values.max() == 1
    assert "too high" in str(done.message.values[done.status.values == 1][0])


def raised(error, k):
    """Return a system, or raise for a spring that pushes."""
    if k < 0:
        raise error("no spring")
    return pair(k=k)


BAD = {  # what is studied, a parameter, a good and a bad value
    "argument": (pair(), "one.mass", 1.0, -1.0),
    "argument alone": (pair(), "one.mass", 1.0, None),
    "no number": (pair(), "one.mass", 1.0, np.nan),
    "component": (pair(), "one.inertia.zz", 0.02, 0.5),
    "another formulation": (pair(), "one.formulation", "so3", "so4"),
    "start": (pair(), "one.velocity.z", 0.0, 0.7),
    **{error.__name__: (lambda k, error=error: raised(error, k), "k", 30.0, -1.0)
       for error in (ValueError, TypeError, KeyError, ZeroDivisionError, AssertionError)},
}  # fmt: skip


@spread(case=BAD, options=[{}, {"every": 2}, {"rtol": 1e-5, "t_eval": [0.0, T]}])
def test_bad_members_are_told_of_wherever_they_are(case, options, tmp_path):
    """At the beginning of a study, however many there are, at its end, and kept in files."""
    build, name, good, bad = BAD[case]
    how = {"t_end": T, "outputs": ["two.position"]} | options
    how |= {} if "rtol" in options else {"step": H}
    for some in ([bad] * 20 + [good], [good, bad, good], [good] * 3 + [bad]):
        rows = [{name: x} for x in some]
        for _ in range(2):
            done = mbd.study(build, rows, directory=tmp_path / str(len(rows)), **how)
            assert done.status.astype(bool).values.tolist() == [x is bad for x in some]
            assert np.isfinite(done["two.position"].values[[x is good for x in some]]).all()
            assert all(str(x) for x in done.message.values[[x is bad for x in some]])
    with pytest.raises((ValueError, TypeError, ArithmeticError, RuntimeError)):
        mbd.study(build, [{name: bad}] * 20, **how)


@pytest.mark.parametrize("last", [None, "x", np.int64(3), np.float32(3), True, 3])
def test_one_value_of_another_type_leaves_the_others_their_numbers(last):
    """The extreme value may stand anywhere, also where none of the first members has it."""
    values = [1.0, 1.0, 1.0, 1.0, 2.0, last]
    done = mbd.study(pair(), [{"spring.stiffness": x} for x in values], t_end=T, step=H,
                     outputs=["two.position"])  # fmt: skip
    good = values[: 5 + (last not in (None, "x"))]
    for i, x in enumerate(good):
        alone = mbd.simulate(pair(k=float(x)), T, H)["two"].position
        assert np.array_equal(done["two.position"].values[i], alone)
    assert done.status.values.tolist() == [0] * len(good) + [2] * (6 - len(good))


@pytest.mark.parametrize("method", ["sobol", "latin", "random", "saltelli"])
def test_a_sample_with_bad_corners(method):
    """Pairs of values of which each alone is all right, in most corners of the sample."""
    members = mbd.sample({"one.inertia.xx": (0.01, 0.3), "one.inertia.yy": (0.01, 0.3)}, 16,
                         method=method)  # fmt: skip
    done = mbd.study(pair(), members, t_end=T, step=H, outputs=["two.position"])
    bad = [abs(x - y) > 0.02 for x, y in members.rows]
    assert 0 < sum(bad) < len(bad)
    assert done.status.values.tolist() == [2 * x for x in bad]


def test_warnings_are_messages():
    """A run with steps that are too large says so, like the run alone."""
    system = pair()
    system.add(mbd.Moment("wheel", system["two"], (0, 5.0, 0)))
    grid = {"one.mass": [1.2, 1e-3]}
    done = mbd.study(system, grid, t_end=1.5, step=0.03, outputs=[("two.position", "final")])
    with pytest.warns(RuntimeWarning) as told:
        alone = mbd.simulate(system.build(), 1.5, 0.03)
    assert str(told[0].message) in alone.message
    assert str(told[0].message) in str(done.message.values[0])


@pytest.mark.parametrize("every", [1, 5])
def test_large_steps_of_a_method_of_fourth_order(every):
    """Heavy masses swing slower, by steps that are small enough for them."""
    system, mass = with_point("mass", position=(1.2, 0, 0))
    system.add(mbd.Spring("spring", system.ground, mass, stiffness=25.0, length=1.0))
    method = mbd.LieRungeKutta4()
    done = mbd.study(system, {"mass.mass": [1.0, 4.0]}, t_end=4.0, step=0.2, method=method,
                     every=every, outputs=[("mass.position", "final")])  # fmt: skip
    assert ["too large" in str(x) for x in done.message.values] == [True, False]


@pytest.mark.parametrize("order", [0, 1, 3])
def test_many_runs_are_judged_as_each_by_itself(order):
    """To the bit, however many instants: there is no other judgement of them."""
    rng, h, c = np.random.default_rng(3), 0.02, 0.05
    units = np.array([1.0, 0.3, 1.0])
    for n in (order + 2, 50, 9000):
        v, a = rng.normal(size=(2, 4, n, 3)) * np.array([1e-2, 1.0, 30.0, np.nan])[:, None, None]
        apart = np.full(n - 1, h)
        paces = paces_of(v, a, units, order)
        whole = [step_errors(paces, apart, h, c)[0], *judged(paces, apart, h, c)]
        for i in range(4):
            paces = paces_of(v[i], a[i], units, order)
            alone = [step_errors(paces, apart, h, c)[0], *judged(paces, apart, h, c)]
            assert np.array_equal([x[i] for x in whole], alone, equal_nan=True)
        change = np.abs(np.diff(a[1], order, axis=0) / units).max(axis=1)[: n - 1]
        assert whole[0][1] == pytest.approx(c * h * h * change.sum(), rel=1e-12)
        assert all(x[3] for x in whole[1:])  # no number is no sound run


def test_a_function_is_asked_for_every_member():
    """What it does between two members nobody foresees."""

    def build(k):
        return pair(k=400.0 if 3.0 < k < 4.0 else 5.0)

    values = [1.0, 2.0, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0]
    done = mbd.study(build, {"k": values}, t_end=T, step=H, outputs=["two.position"])
    last = done["two.position"].values[:, -1, 2]
    assert last[3] != last[0]
    assert set(np.delete(last, 3)) == {last[0]}


def test_arguments_that_do_not_go_together_are_refused_member_by_member():
    """Each alone is all right."""
    system = pair()
    system.add(mbd.Stop("stop", system["hinge"], lower=-9.0, upper=9.0, stiffness=30.0))
    pairs = [(-2.0, 3.0), (1.0, 0.5), (1.5, 2.5), (-1.9, 0.4), (-0.5, 1.0), (-0.7, 1.1)]
    rows = [{"stop.lower": a, "stop.upper": b} for a, b in pairs]
    done = mbd.study(system, rows, t_end=T, step=H, outputs=["two.position"])
    assert done.status.values.tolist() == [2 * (a >= b) for a, b in pairs]


def test_parameters_that_arguments_share():
    length = mbd.Parameter("length", 0.4)
    system, one = with_point("one", gravity=(0, 0, -9.81), position=(length, 0, 0))
    system.add(mbd.Distance("rod", system.ground, one, at=(0, 0, 0), length=length))
    done = mbd.study(system, {"length": [0.4, 0.9]}, t_end=T, step=H, outputs=["one.position"])
    for i, value in enumerate((0.4, 0.9)):
        alone = mbd.simulate(system.build().with_values({"length": value}), T, H)
        assert np.array_equal(done["one.position"].values[i], alone["one"].position)


def test_angles_count_their_turns():
    """A wheel that begins beyond half a turn, and turns on, in batches and alone."""

    def wheel(mass=1.0):
        system, _body, hinge = hinged(
            "wheel", "hinge", axis=(0, 0, 1), gravity=(0, 0, 0), mass=mass, inertia=(1, 1, 1),
            angular_velocity=(0, 0, 30.0), position=(0, 0, 0),
        )  # fmt: skip
        system.add(mbd.RotationalSpring("spring", hinge, stiffness=0.01))
        return system

    how = {"t_end": 1.0, "step": 1e-2, "outputs": ["hinge.angle"]}
    done = mbd.study(wheel(), {"wheel.mass": [1.0, 2.0]}, **how)
    alone = mbd.simulate(wheel(), 1.0, 1e-2)["hinge"].angle
    assert alone[-1] > 4 * np.pi
    assert np.array_equal(done["hinge.angle"].values[0], alone)


class Lent:
    """An executor that works at once, and stops after so many chunks."""

    def __init__(self, most):
        self.most, self.done = most, 0

    def submit(self, function, *args):
        future = Future()
        if self.done == self.most:
            raise KeyboardInterrupt
        self.done += 1
        future.set_result(function(*args))
        return future


def test_an_interrupted_study_goes_on(tmp_path):
    grid = {"one.mass": np.linspace(0.5, 2.0, 10), "spring.stiffness": [1.0, 30.0]}
    how = {"t_end": T, "step": H, "outputs": OUTPUTS, "directory": tmp_path / "results"}
    whole = mbd.study(pair(), grid, **{k: x for k, x in how.items() if k != "directory"})
    with pytest.raises(KeyboardInterrupt):
        mbd.study(pair(), grid, chunk=3, on=Lent(4), **how)
    files = sorted((tmp_path / "results").glob("*.npz"))
    assert len(files) >= 3
    files[1].write_bytes(files[1].read_bytes()[:100])  # damaged
    rest = Lent(100)
    done = mbd.study(pair(), grid, chunk=5, on=rest, **how)  # the chunks stay those of before
    assert rest.done == 7 - len(files) + 1
    for name in names(OUTPUTS):
        assert np.array_equal(done[name].values, whole[name].values)
    assert mbd.study(pair(), grid, on=Lent(0), **how).equals(done)
    with pytest.raises(ValueError, match=r"another study, which differs in .*values of one.mass"):
        mbd.study(pair(), grid | {"one.mass": np.linspace(0.5, 2.1, 10)}, **how)
    with pytest.raises(ValueError, match=r"which differs in position of RigidBody 'one' \(\(0.2,"):
        mbd.study(pair(length=0.5), grid, **how)
    with pytest.raises(ValueError, match=r"differs in t_end .*, outputs, output"):
        mbd.study(pair(), grid, **(how | {"t_end": 0.01, "outputs": ["two.position"]}))


def die(s):
    """End the worker."""
    os._exit(7)


@pytest.mark.skipif(PYTHON, reason="slow")
def test_processes():
    """Workers of another process compute the same bits; one that dies is told of."""
    grid = {"one.mass": [0.8, 3.0], "spring.stiffness": [0.0, 35.0]}
    here = mbd.study(pair(), grid, t_end=T, step=H, outputs=OUTPUTS)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        there = mbd.study(pair(), grid, t_end=T, step=H, outputs=OUTPUTS, on=pool, chunk=2)
        assert there.equals(here)
        with pytest.raises(RuntimeError, match=r"a worker died .* with directory= a study goes on"):
            study(pair(), grid, t_end=T, step=H, outputs={"x": die}, on=pool)


def test_summaries():
    rng = np.random.default_rng(3)
    x = rng.normal(2.0, 3.0, (9001, 2)) ** 3
    x[17] = np.nan
    total = Summary((0.0, 0.05, 0.5, 0.95, 1.0))
    for first in range(0, len(x), 250):
        total.add(x[first : first + 250])
    good = np.delete(x, 17, axis=0)
    kinds, values = total.statistics()
    assert kinds == ["mean", "std", "min", "max", "0 %", "5 %", "50 %", "95 %", "100 %"]
    assert np.allclose(values[0], good.mean(axis=0), rtol=1e-12)
    assert np.allclose(values[1], good.std(axis=0, ddof=1), rtol=1e-12)
    assert np.array_equal(values[2:4], [good.min(axis=0), good.max(axis=0)])
    for level, row in zip(total.levels[1:4], values[5:8], strict=True):
        share = (good < row).mean(axis=0)
        assert np.abs(share - level).max() < np.log2(len(x) / 2048) / 2048 + 1e-3
    assert total.worst == np.nanargmax(np.abs(x).max(axis=1))
    few = Summary((0.25,))
    few.add(x[:1000][~np.isnan(x[:1000, 0])])
    exact = np.quantile(np.delete(x[:1000], 17, axis=0), 0.25, axis=0)
    assert np.allclose(few.statistics()[1][-1], exact, rtol=1e-12)


def test_a_study_with_a_summary():
    members = mbd.sample({"one.mass": (0.5, 2.0)}, 40, method="random", seed=5)
    how = {"t_end": T, "step": H, "outputs": ["two.position", ("pin.force.z", "min")], "chunk": 7}
    all_of_them = mbd.study(pair(), members, **how)
    done = mbd.study(pair(), members, summary=(0.1, 0.9), **how)
    force = all_of_them["pin.force.z min"].values
    assert int(done.members) == 40
    assert int(done.failed) == 0
    assert done["pin.force.z min"].sel(statistic="10 %") == pytest.approx(np.quantile(force, 0.1))
    assert int(done["pin.force.z min worst"]) == np.abs(force).argmax()
    assert done["two.position"].dims == ("statistic", "time", "component")
    assert np.allclose(
        done["two.position"].sel(statistic="mean"), all_of_them["two.position"].mean("member")
    )


def test_samples():
    spread = {"a": (1.0, 3.0), "b": scipy.stats.norm(5.0, 0.5)}
    for method in ("sobol", "latin", "random"):
        members = mbd.sample(spread, 512, method=method)
        assert members.rows == mbd.sample(spread, 512, method=method).rows
        a, b = members.column("a"), members.column("b")
        assert a.min() >= 1.0
        assert a.max() <= 3.0
        assert b.mean() == pytest.approx(5.0, abs=0.06)
        assert b.std() == pytest.approx(0.5, abs=0.05)
        per_bin = np.histogram(a, 64, (1.0, 3.0))[0]
        assert (np.ptp(per_bin) == 0) == (method != "random")


class Late:
    """An executor whose chunks arrive in the opposite order, some of them at a time."""

    def __init__(self):
        self.waiting = []

    def submit(self, function, *args):
        future = Future()
        self.waiting.append((future, function, args))
        if len(self.waiting) == 1:
            threading.Timer(0.01, self.work).start()
        return future

    def work(self):
        some, self.waiting = self.waiting[::-1], []
        for future, function, args in some:
            if future.set_running_or_notify_cancel():
                future.set_result(function(*pickle.loads(pickle.dumps(args))))


EACH_WAY = {
    "steps": {"step": H},
    "chosen": {"rtol": 1e-7, "method": mbd.ExplicitRungeKutta()},
    "asked for": {"rtol": 1e-5, "t_eval": [0.0, 0.01, T]},
}


@pytest.mark.parametrize("way", EACH_WAY)
def test_chunks_workers_and_their_order_change_no_bit(way):
    """Also where one member in the middle fails, and of one member."""
    members = mbd.sample({"one.mass": (-0.1, 2.0), "spring.stiffness": (0.0, 40.0)}, 13, seed=2)
    how = EACH_WAY[way] | {"t_end": T, "outputs": [("pin.force", "max"), ("hinge.angle", "final")]}
    whole = mbd.study(pair(), members, chunk=13, **how)
    assert 0 < whole.status.values.sum() < 13
    for chunk, on in ((1, None), (3, Late()), (5, ThreadPoolExecutor(3))):
        assert mbd.study(pair(), members, chunk=chunk, on=on, **how).equals(whole)
    alone = mbd.study(pair(), [dict(zip(members.names, members[7], strict=True))], **how)
    for name in ("pin.force max", "hinge.angle final"):
        assert np.array_equal(alone[name].values[0], whole[name].values[7])


def test_members_that_choose_their_steps_run_together(monkeypatch):
    """But one that needs very many steps: that runs alone."""
    system, ball = with_point("ball", gravity=(0, 0, -9.81), position=(1.0, 0, 0))
    system.add(mbd.Spring("spring", system.ground, ball, stiffness=10.0, length=1.0))
    alone = []
    run = chunks.simulate
    monkeypatch.setattr(
        chunks, "simulate", lambda model, *a, **k: alone.append(model) or run(model, *a, **k)
    )
    monkeypatch.setattr(batch_run, "_STEPS", 500)
    stiffness = [10.0, 20.0, 1e7, 30.0]
    how = {"t_end": 1.0, "rtol": 1e-8, "method": mbd.ExplicitRungeKutta()}
    done = mbd.study(system, {"spring.stiffness": stiffness}, outputs=[("gap", "final")], **how)
    assert not done.status.any()
    assert len(alone) == 1


@pytest.mark.parametrize("method", ["sobol", "latin", "random", "saltelli"])
def test_a_member_follows_from_its_number(method):
    """Whoever draws it, and however many others; what goes to a worker does not grow with them."""
    spread = {"a": (0.0, 1.0), "b": scipy.stats.norm(5.0, 0.5), "c": scipy.stats.beta(2.0, 3.0)}
    members = mbd.sample(spread, 2500, method=method, seed=7)
    n = len(members)
    for size in (1, 7, 1024, 1500, n):
        for first in range(0, n, max(size, 501)):
            some = members.recipe.rows(first, min(size, n - first))
            assert some == members.rows[first : first + size]
    assert members[-1] == members.rows[-1]
    assert [x for some in members.pieces() for x in some] == members.rows
    many = mbd.sample(spread, 10**7, method=method, seed=7)
    shares = [pickle.dumps(x.lent(40, 50)) for x in (members, many)]
    assert len(shares[1]) - len(shares[0]) < 8
    far = many.recipe.rows(len(many) - 5, 5)
    assert far[2:] == many.recipe.rows(len(many) - 3, 3)


def test_samples_of_others():
    """A Sobol sequence by scipy, draws by numpy; strata of a Latin hypercube each have a member."""
    unit = dict.fromkeys("abc", (0.0, 1.0))
    sobol = scipy.stats.qmc.Sobol(3, rng=np.random.default_rng(5)).random(4096)
    assert np.array_equal(mbd.sample(unit, 4096, seed=5).rows, sobol)
    drawn = np.random.default_rng(5).random((3000, 3))
    assert np.array_equal(mbd.sample(unit, 3000, method="random", seed=5).rows, drawn)
    for n in (*range(1, 34), 4000):
        x = np.array(mbd.sample(unit, n, method="latin", seed=n).rows)
        assert np.array_equal(np.sort((x * n).astype(int), axis=0).T, [range(n)] * 3)
    assert np.abs(np.corrcoef(x.T) - np.eye(3)).max() < 5 / np.sqrt(n)
    assert np.abs(np.corrcoef(x[1:].T, x[:-1].T)).max(initial=0.0, where=~np.eye(6, dtype=bool)) \
        < 5 / np.sqrt(n)  # fmt: skip


WRONG = [
    (lambda: mbd.study(pair, 3, t_end=T, step=H, outputs=["two.position"]), "parameters must be"),
    (lambda: mbd.study(pair, {"k": 3.0}, t_end=T, step=H, outputs=["two.position"]), "a list of"),
    (lambda: mbd.study(pair, {"k": []}, t_end=T, step=H, outputs=["two.position"]), "at least one"),
    (
        lambda: mbd.study(pair, [{"k": 1.0}, {"m": 1.0}], t_end=T, step=H, outputs=["two.mass"]),
        "all members must have the parameters k",
    ),
    (lambda: mbd.study(pair, {"k": [1.0]}, t_end=T, step=H, outputs=["tow.position"]), "two"),
    (lambda: mbd.study(pair, {"k": [1.0]}, t_end=T, step=H, outputs=[]), "must name a quantity"),
    (
        lambda: mbd.study(pair, {"k": [1.0]}, t_end=T, step=H, outputs=[("two.position", "most")]),
        "an output must be",
    ),
    (
        lambda: mbd.study(pair, {"k": [1.0]}, t_end=T, step=H, outputs=["two"]),
        "several quantities; name one of two.position",
    ),
    (
        lambda: mbd.study(pair, {"k": [1.0]}, t_end=T, step=H, outputs=["two.position"], evry=2),
        "no option 'evry' .did you mean 'every'",
    ),
    (
        lambda: mbd.study(pair, {"k": [1.0]}, t_end=T, step=H, outputs=["two.position"], on=4),
        "on must be an executor",
    ),
    (
        lambda: mbd.study(pair, {"k": [1.0]}, t_end=T, rtol=1e-5, outputs=["two.position"]),
        "give t_eval, or reduce two.position",
    ),
    (
        lambda: mbd.study(pair(), {"one.maas": [1.0]}, t_end=T, step=H, outputs=["two.position"]),
        "did you mean 'mass'",
    ),
    (
        lambda: mbd.study(lambda k: k, {"k": [1.0]}, t_end=T, step=H, outputs=["two.position"]),
        "build must return a System",
    ),
    (
        lambda: mbd.study(pair, {"k": [1.0]}, t_end=T, step=H, outputs=["gap"], summary=(5.0,)),
        "quantiles from 0 to 1",
    ),
    (
        lambda: mbd.study(
            pair(), {"one.position": [(0, 0, 0)]}, t_end=T, step=H, outputs=["one.position"]
        ),
        "'one.position' is a parameter and an output; give the output a name",
    ),
    (lambda: mbd.sample({"k": (3.0, 1.0)}, 4), "low < high"),
    (lambda: mbd.sample({}, 4), "must have a parameter"),
    (lambda: mbd.sample({"k": (1, 2)}, 4, method="halton"), "sobol, latin, random"),
]


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_what_is_refused(case):
    call, text = WRONG[case]
    with pytest.raises((TypeError, ValueError, KeyError), match=text):
        call()


@pytest.mark.slow
def test_many_workers_of_a_cluster(tmp_path):
    """Workers of dask; one of them is killed, and no member is lost; chunks are kept."""
    distributed = pytest.importorskip("distributed")
    members = mbd.sample({"one.mass": (0.5, 2.0)}, 64)
    how = {"t_end": 1.0, "step": H, "outputs": ["two.position"], "chunk": 4}
    here = mbd.study(pair(), members, **how)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        workers = list(cluster.workers.values())

        assert mbd.study(pair(), members, on=client, directory=tmp_path, **how).equals(here)
        assert mbd.study(pair(), members, on=Lent(0), directory=tmp_path, **how).equals(here)
        own = {"x": lambda solution: solution.t[-1]}  # which has no place in a module
        some = mbd.sample({"one.mass": (0.5, 2.0)}, 4)
        done = mbd.study(pair(), some, on=client, t_end=T, step=H, outputs=own)
        assert np.array_equal(done.x, [T] * 4)
        killed = []

        class Killer:
            """The client, which kills a worker on the way."""

            def submit(self, *args):
                future = client.submit(*args, pure=False)
                if not killed:
                    killed.append(workers[0].pid)
                    os.kill(workers[0].pid, 9)
                return future

        assert mbd.study(pair(), members, on=Killer(), **how).equals(here)
        assert killed


def ishigami(a, b, c):
    return np.sin(a) + 7.0 * np.sin(b) ** 2 + 0.1 * c**4 * np.sin(a)


def test_sobol_indices_of_ishigamis_function():
    """Analytic ones: Ishigami and Homma, ISUMA (1990); a failed member costs its draw alone."""
    xr = pytest.importorskip("xarray")
    members = mbd.sample(dict.fromkeys("abc", (-np.pi, np.pi)), 1024, method="saltelli")
    columns = {k: members.column(k) for k in "abc"}
    f = ishigami(*columns.values())
    f[1500] = np.nan
    over = {k: ("member", x) for k, x in columns.items()}
    done = xr.Dataset(
        {"f": ("member", f), "status": ("member", np.isnan(f).astype(int))}, coords=over
    )
    got = mbd.sobol_indices(done, "f")
    pi4, pi8 = np.pi**4, np.pi**8
    V1, V2, V13 = 0.5 * (1 + 0.1 * pi4 / 5) ** 2, 49 / 8, 0.01 * pi8 * (1 / 18 - 1 / 50)
    V = V1 + V2 + V13
    exact = {"first": [V1 / V, V2 / V, 0.0], "total": [(V1 + V13) / V, V2 / V, V13 / V]}
    assert int(got.used) == 1023
    for name, values in exact.items():
        assert np.abs(got[name].values - values).max() < 0.02
        low, high = got[f"{name} interval"].values
        assert ((low < values) & (values < high)).all()
        assert (high - low < 0.25).all()
    with pytest.raises(ValueError, match=r"method='saltelli'"):
        mbd.sobol_indices(done.isel(member=slice(None, None, -1)), "f")
    with pytest.raises(TypeError, match="done must be what mbd.study returns"):
        mbd.sobol_indices(3.0, "f")


def test_parallel_coordinates():
    """An axis for each parameter and each output of one number; failed members end between."""
    pytest.importorskip("matplotlib")
    grid = {"mass": [1.2, -1.0, 3.0], "k": [0.0, 35.0]}
    done = mbd.study(pair, grid, t_end=T, step=H,
                     outputs=[("two.position.z", "final"), "two.position"])  # fmt: skip
    ax = mbd.parallel_coordinates(done, color="mass").axes[0]
    labels = [x.get_text() for x in ax.get_xticklabels()]
    assert labels == ["mass", "k", "two.position.z\nfinal"]
    gray, whole = ax.collections
    assert [len(x) for x in gray.get_segments()] == [2, 2]
    heights = np.array([x[:, 1] for x in whole.get_segments()])
    assert heights.min() == 0.0
    assert heights.max() == 1.0
    assert np.array_equal(whole.get_array(), heights[:, 0])
    with pytest.raises(ValueError, match="outputs must be one of two.position.z final"):
        mbd.parallel_coordinates(done, "two.position")


def test_a_full_disk_loses_no_chunk_that_was_kept(tmp_path, monkeypatch):
    """The study says so, and returns what it has computed; called again it goes on."""
    grid = {"one.mass": np.linspace(0.5, 2.0, 12)}
    how = {"t_end": T, "step": H, "outputs": ["two.position"], "directory": tmp_path, "chunk": 2}
    save, saved = np.savez, []

    def full(stream, **arrays):
        if len(saved) == 3:
            stream.write(b"half")
            raise OSError(errno.ENOSPC, "No space left on device")
        saved.append(arrays)
        save(stream, **arrays)

    monkeypatch.setattr(np, "savez", full)
    with pytest.warns(RuntimeWarning, match=r"study: .*chunk_.* cannot be written: the disk is fu"):
        done = mbd.study(pair(), grid, **how)
    assert not done.status.any()
    monkeypatch.setattr(np, "savez", save)
    assert len([*tmp_path.glob("chunk_*")]) == 3
    rest = Lent(100)
    again = mbd.study(pair(), grid, on=rest, **how)
    assert rest.done == 3
    assert np.array_equal(again["two.position"], done["two.position"])


KILLED = """
import sys
import threading
from studies.test_study import H, pair
import mbd
import numpy as np
if __name__ == "__main__":
    mbd.study(pair(), {"one.mass": np.linspace(0.5, 2.0, 64)}, t_end=2.0, step=H, chunk=2,
              outputs=["two.position"], directory=sys.argv[1])
"""


@pytest.mark.slow
@pytest.mark.skipif(PYTHON, reason="slow")
def test_killed_in_the_middle_and_two_at_once(tmp_path):
    """Two processes on one directory, one killed (SIGKILL): the other ends, all bits are there."""
    place, tests = tmp_path / "results", str(Path(__file__).parents[1])
    env = os.environ | {"PYTHONPATH": os.pathsep.join([tests, *sys.path])}
    one, two = (subprocess.Popen([sys.executable, "-c", KILLED, str(place)], env=env)
                for _ in range(2))  # fmt: skip
    while len([*place.glob("chunk_*")]) < 4 and one.poll() is None:
        time.sleep(0.01)
    one.kill()
    assert one.wait() == -signal.SIGKILL
    assert two.wait(timeout=300) == 0
    how = {"t_end": 2.0, "step": H, "chunk": 2, "outputs": ["two.position"]}
    grid = {"one.mass": np.linspace(0.5, 2.0, 64)}
    done = mbd.study(pair(), grid, directory=place, on=Lent(0), **how)
    assert done.equals(mbd.study(pair(), grid, **how))


def test_ctrl_c_ends_the_threads_of_a_study(tmp_path, monkeypatch):
    """Behind the batches at hand; finished chunks are kept, and the study goes on from there."""
    go, calls = chunks.Batches.go, []

    def counted(self, F):
        calls.append(len(F))
        if len(calls) == 5:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        return go(self, F)

    grid = {"one.mass": np.linspace(0.5, 2.0, 300)}
    how = {"t_end": 1.5, "step": H, "outputs": [("two.position", "final")], "chunk": 150}
    with monkeypatch.context() as patch:
        patch.setattr(chunks.Batches, "go", counted)
        patch.setattr(batch_run, "_STEPS", 6000)  # four members
        with pytest.raises(KeyboardInterrupt):
            mbd.study(pair(), grid, directory=tmp_path, **how)
    assert sum(calls) < 150
    assert not any(x.name.startswith("ThreadPool") for x in threading.enumerate())
