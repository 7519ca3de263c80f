"""Chunk of a study: some members, computed by one worker, in batches where that is possible."""

from __future__ import annotations

import pickle
import threading
import warnings
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from typing import Any

import numpy as np

from mbd.front.simulate import simulate
from mbd.front.solution import Solution
from mbd.integration.consistent import settled
from mbd.integration.method import Method
from mbd.model.model import Model
from mbd.runs.methods import usual
from mbd.runs.plan import checked_plan
from mbd.studies.batch_run import Batches
from mbd.studies.family import Direct, MemberModels, Row
from mbd.studies.outputs import Output, Runs, of_batch, of_solution
from mbd.studies.samples import Recipe

FAILED, REFUSED = 1, 2  # status of a member whose run failed, or that cannot be described
_OF_PLANS = ("rtol", "atol", "max_step", "t_eval")  # options with which members run in batches
_LOCK = threading.Lock()
_KEPT = 4  # studies whose models a process keeps


@dataclass(frozen=True)
class Task:
    """What a study computes of each member; it goes to all workers.

    Attributes
    ----------
    token : str
        The same for all chunks of a study.
    build, names
        See ``MemberModels``.
    probes : list of tuples
        Members that show which places of the constants parameters have.
    outputs : tuple of Output
    step, t_end : float [s]
    method : integrator, optional
    options : dict
        Of ``simulate``.
    """

    token: str
    build: Any
    names: tuple[str, ...]
    probes: list[Row]
    outputs: tuple[Output, ...]
    t_end: float
    step: float | None
    method: Method | None
    options: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def _contents(self) -> tuple[Any, ...]:
        """How another process makes the task again; it reads that once."""
        values = tuple(getattr(self, x.name) for x in fields(self))
        try:
            data = pickle.dumps(values)
        except Exception:  # of what has no place in a module a client of dask takes care
            return Task, values
        return (Task, values) if b"__main__" in data else (_task, (self.token, data))

    def __reduce__(self) -> tuple[Any, ...]:
        return self._contents

    def method_for(self, model: Model) -> Method:
        """Return the method of the runs of a model."""
        if self.method is not None:
            return self.method
        return usual(model, self.options.get("rtol"))

    def solution(self, model: Model) -> Solution:
        """Return the run of one member by itself."""
        return simulate(
            model, self.t_end, self.step, method=self.method, progress=False,
            raise_on_failure=False, **self.options,
        )  # fmt: skip


@dataclass(frozen=True)
class Share:
    """Members that a worker takes at a time: the task, their recipe, the first one, how many.

    A client of dask names what it is given by its contents: that takes longer than some runs.
    """

    task: Task
    recipe: Recipe
    first: int
    count: int

    def __dask_tokenize__(self) -> tuple[str, int]:
        """Return what tells it from all others."""
        return self.task.token, self.first


@dataclass(frozen=True)
class Chunk:
    """Results of some members.

    Attributes
    ----------
    values : dict
        By output a list of arrays, None where a member failed.
    t : list of arrays [s]
        Recorded instants.
    status : list of int
        0, or 1: the run failed, 2: the member cannot be described.
    message : list of str
    """

    values: dict[str, list[Any]]
    t: list[Any]
    status: list[int]
    message: list[str]


class Ready:
    """What a process keeps of a study: its models, and the way of its batches."""

    def __init__(self, task: Task) -> None:
        self.family = MemberModels(task.build, task.names)
        self.simple = not set(task.options) - {"every", *_OF_PLANS}
        self.direct = Direct.of(self.family, task.probes) if self.simple else None
        self.way: Batches | None = None
        self.task = task

    def batches(self, model: Model) -> Batches | None:
        """Return the way of batches of a model's family, or None if each member runs alone."""
        task = self.task
        if self.simple and self.way is None:
            options = dict.fromkeys(_OF_PLANS) | {"every": 1} | dict(task.options)
            try:
                first, saddle = settled(model)
                method = task.method_for(model)
                plan = checked_plan(
                    model, first, method, t_end=task.t_end, step=task.step, saddle=saddle,
                    **options,
                )  # fmt: skip
                self.way = Batches(model, method, plan)
            except Exception:  # this member fails; another one may not
                return None
        way = self.way
        if way is None or not way.open or way.model.I is not model.I:
            return None
        return way if way.model.redundant == model.redundant else None


_FAMILIES: OrderedDict[str, Ready] = OrderedDict()
_OVER: set[str] = set()  # studies of this process that have ended, some of them by Ctrl-C


def _task(token: str, data: bytes) -> Task:
    """Return the task of a study, which this process may have."""
    with _LOCK:
        ready = _FAMILIES.get(token)
    return Task(*pickle.loads(data)) if ready is None else ready.task


def give_up(task: Task) -> None:
    """Let threads of this process leave the study after the batch, or member, at hand."""
    with _LOCK:
        _OVER.add(task.token)
        _FAMILIES.pop(task.token, None)


def run_chunk(share: Share) -> Chunk:
    """Return the results of some members."""
    task, rows = share.task, share.recipe.rows(share.first, share.count)
    ready = _ready(task)
    n = len(rows)
    chunk = Chunk({x.name: [None] * n for x in task.outputs}, [None] * n, [0] * n, [""] * n)
    if ready.direct is not None:
        way = ready.batches(ready.direct.model)
        if way:
            values = np.array(rows, float)
            for first in range(0, n, way.together):
                _go_on(task)
                here = range(first, min(first + way.together, n))
                F = ready.direct.constants(values[first : here.stop])
                _together(ready, chunk, rows, here, way, F, None)
            return chunk
    waiting: list[tuple[int, Model]] = []
    for i in range(n):
        _go_on(task)
        model = _described(ready, chunk, rows[i], i)
        if model is None:
            continue
        way = ready.batches(model)
        if way is None:
            _alone(ready, chunk, model, i)
            continue
        waiting.append((i, model))
        if len(waiting) == way.together:
            _some(ready, chunk, rows, waiting, way)
            waiting = []
    if waiting and ready.way is not None:
        _some(ready, chunk, rows, waiting, ready.way)
    return chunk


def _go_on(task: Task) -> None:
    if task.token in _OVER:
        raise InterruptedError("study: it has ended")


def _ready(task: Task) -> Ready:
    with _LOCK:
        if task.token not in _FAMILIES:
            while len(_FAMILIES) >= _KEPT:
                _FAMILIES.popitem(last=False)
            _FAMILIES[task.token] = Ready(task)
        return _FAMILIES[task.token]


def _described(ready: Ready, chunk: Chunk, row: Row, i: int) -> Model | None:
    """Return the model of a member; note if it cannot be described."""
    try:
        return ready.family.model(row)
    except Exception as error:
        chunk.status[i], chunk.message[i] = REFUSED, f"{type(error).__name__}: {error}"
        return None


def _some(ready: Ready, chunk: Chunk, rows: Any, waiting: Any, way: Batches) -> None:
    F = np.array([model.F for _, model in waiting])
    models = dict(waiting)
    _together(ready, chunk, rows, list(models), way, F, models)


def _together(
    ready: Ready, chunk: Chunk, rows: Any, members: Sequence[int], way: Batches, F: np.ndarray,
    models: dict[int, Model] | None,
) -> None:  # fmt: skip
    """Run members in one batch; those that leave the straight way run alone."""
    instants = way.go(F)
    good = [i for i, clean in zip(members, instants.clean, strict=True) if clean]

    @cache
    def own(j: int) -> Model:
        return models[good[j]] if models else ready.family.model(rows[good[j]])

    def masses() -> np.ndarray | None:
        return direct.masses(np.array([rows[i] for i in good], float)) if direct else None

    direct = None if models else ready.direct
    runs = Runs(instants.good(), direct is not None and direct.same_kinematics, own, masses)
    for output in ready.task.outputs if good else ():
        values = of_batch(output, runs)
        for i, x in zip(good, values, strict=True):
            chunk.values[output.name][i] = x
    for i, clean in zip(members, instants.clean, strict=True):
        chunk.t[i] = instants.t
        wrong = [x[i] for x in chunk.values.values() if isinstance(x[i], Exception)]
        if wrong:
            _fails(chunk, i, wrong[0])
        if not clean:
            model = models[i] if models else _described(ready, chunk, rows[i], i)
            if model is not None:
                _alone(ready, chunk, model, i)


def _alone(ready: Ready, chunk: Chunk, model: Model, i: int) -> None:
    """Run one member by itself; a failure is noted."""
    task = ready.task
    try:
        with _quiet():
            solution = task.solution(model)
        if solution.status < 0:
            raise KeyboardInterrupt(f"study: {solution.message}")
        how, _, more = solution.message.partition("; ")
        chunk.message[i] = more or ("" if how.startswith("reached") else how)
        if not solution.success:
            chunk.status[i], chunk.message[i] = FAILED, solution.message
            return
        chunk.t[i] = solution.t
        for output in task.outputs:
            chunk.values[output.name][i] = of_solution(output, solution)
    except Exception as error:
        _fails(chunk, i, error)


def _fails(chunk: Chunk, i: int, error: Exception) -> None:
    chunk.status[i], chunk.message[i] = FAILED, f"{type(error).__name__}: {error}"
    for values in chunk.values.values():
        values[i] = None


@contextmanager
def _quiet() -> Any:
    """Leave the warnings of a run to its message; filters are those of the main thread."""
    if threading.current_thread() is threading.main_thread():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            yield
    else:
        yield
