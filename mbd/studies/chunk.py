"""Chunk of a study: some members, computed by one worker, in batches where that is possible."""

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
from mbd.studies.results import Packed, packed
from mbd.studies.samples import Recipe

FAILED, REFUSED = 1, 2  # status of a member whose run failed, or that cannot be described
_OF_PLANS = ("rtol", "atol", "max_step", "t_eval")  # options with which members run in batches
_LOCK = threading.Lock()
_KEPT = 4  # studies whose models a process keeps


@dataclass(frozen=True)
class Task:
    """Task of a study for each member; it goes to all workers.

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
        """Recipe by which another process makes the task again; it reads that once."""
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
        """Return a token that tells the task from all others."""
        return self.task.token, self.first


@dataclass
class Member:
    """A member of a study: the values of its parameters, and its results.

    Attributes
    ----------
    row : tuple
    t : array [s], optional
        Recorded instants.
    status : int
        0, or 1: the run failed, 2: the member cannot be described.
    message : str
    values : dict of arrays
        By output; empty where it failed.
    """

    row: Row
    t: Any = None
    status: int = 0
    message: str = ""
    values: dict[str, Any] = field(default_factory=dict)

    def fails(self, error: Exception, status: int = FAILED) -> None:
        """Note why there are no results."""
        self.status, self.message = status, f"{type(error).__name__}: {error}"
        self.values = {}


class Ready:
    """Models of a study that a process keeps, and the way of its batches."""

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


def run_chunk(share: Share) -> Packed:
    """Return the results of some members; what goes back from a worker is few arrays."""
    task, ready = share.task, _ready(share.task)
    members = [Member(row) for row in share.recipe.rows(share.first, share.count)]
    way = None if ready.direct is None else ready.batches(ready.direct.model)
    if way:
        for first in range(0, len(members), way.together):
            _go_on(task)
            _together(ready, way, members[first : first + way.together], None)
    else:
        _described_first(ready, members)
    names = (x.name for x in task.outputs)
    return packed(
        {x: [member.values.get(x) for member in members] for x in names},
        *([getattr(x, what) for x in members] for what in ("t", "status", "message")),
    )


def _described_first(ready: Ready, members: list[Member]) -> None:
    """Run members whose constants follow from their models, as many together as can be."""
    waiting: dict[int, Model] = {}
    for i, member in enumerate(members):
        _go_on(ready.task)
        model = _described(ready, member)
        if model is None:
            continue
        way = ready.batches(model)
        if way is None:
            _alone(ready, member, model)
            continue
        waiting[i] = model
        if len(waiting) == way.together:
            _together(ready, way, [members[j] for j in waiting], [*waiting.values()])
            waiting = {}
    if waiting and ready.way is not None:
        _together(ready, ready.way, [members[j] for j in waiting], [*waiting.values()])


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


def _described(ready: Ready, member: Member) -> Model | None:
    """Return the model of a member; note if it cannot be described."""
    try:
        return ready.family.model(member.row)
    except Exception as error:
        member.fails(error, REFUSED)
        return None


def _together(
    ready: Ready, way: Batches, members: Sequence[Member], models: Sequence[Model] | None
) -> None:
    """Run members in one batch; those that leave the straight way run alone.

    Without models their constants follow from the parameters.
    """
    direct, values = None if models else ready.direct, np.empty(0)
    if direct:
        values = np.array([x.row for x in members], float)
    F = direct.constants(values) if direct else np.array([x.F for x in models or ()])
    instants = way.go(F)
    good = np.flatnonzero(instants.clean).tolist()

    @cache
    def own(j: int) -> Model:
        return models[good[j]] if models else ready.family.model(members[good[j]].row)

    def masses() -> np.ndarray | None:
        return direct.masses(values[good]) if direct else None

    runs = Runs(instants.good(), direct is not None and direct.same_kinematics, own, masses)
    for output in ready.task.outputs if len(good) else ():
        for i, x in zip(good, of_batch(output, runs), strict=True):
            members[i].values[output.name] = x
    for i, member in enumerate(members):
        member.t = instants.t
        wrong = [x for x in member.values.values() if isinstance(x, Exception)]
        if wrong:
            member.fails(wrong[0])
        if not instants.clean[i]:
            model = models[i] if models else _described(ready, member)
            if model is not None:
                _alone(ready, member, model)


def _alone(ready: Ready, member: Member, model: Model) -> None:
    """Run one member by itself; a failure is noted."""
    task = ready.task
    try:
        with _quiet():
            solution = task.solution(model)
        if solution.status < 0:
            raise KeyboardInterrupt(f"study: {solution.message}")
        how, _, more = solution.message.partition("; ")
        member.message = more or ("" if how.startswith("reached") else how)
        if not solution.success:
            member.status, member.message = FAILED, solution.message
            return
        member.t = solution.t
        for output in task.outputs:
            member.values[output.name] = of_solution(output, solution)
    except Exception as error:
        member.fails(error)


@contextmanager
def _quiet() -> Any:
    """Leave the warnings of a run to its message; filters are those of the main thread."""
    if threading.current_thread() is threading.main_thread():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            yield
    else:
        yield
