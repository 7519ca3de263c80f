"""``mbd.study``: many runs of one system with other parameters."""

import inspect
import queue
import uuid
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from contextlib import ExitStack
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np

from mbd.base.checked import check_options, flag, floats, shown, whole
from mbd.base.door import number
from mbd.front.simulate import kernels_of, simulate
from mbd.front.solution import solution_of
from mbd.integration.consistent import settled
from mbd.integration.method import refuse_unmoved
from mbd.machine.shared_work import compile_all
from mbd.machine.two_threads import cores
from mbd.model.model import Model
from mbd.model.system import System
from mbd.runs.methods import checked_method
from mbd.runs.plan import number_of_steps
from mbd.runs.progress import Progress
from mbd.studies.chunk import Share, Task, give_up, run_chunk
from mbd.studies.family import MemberModels
from mbd.studies.kept_chunks import KeptChunks
from mbd.studies.outputs import described, outputs_of
from mbd.studies.results import Packed, StudyTable, inner_dimensions, joined, table_of
from mbd.studies.samples import Members, members_of
from mbd.studies.summary import Summary

_WHO = "study"
_CORNERED = 6  # arguments of one part whose corners are described
_AHEAD = 4  # chunks that wait for each worker


def study(
    build: Any, parameters: Any, *, t_end: float, step: float | None = None, outputs: Any,
    on: Any = None, method: Any = None, summary: Sequence[float] | None = None,
    directory: str | Path | None = None, chunk: int | None = None, progress: bool | None = None,
    **options: Any,
) -> Any:  # fmt: skip
    """Run one system with many values of its parameters.

    Members that differ in constants only, such as masses and stiffnesses, are run together in
    compiled code; what is computed is, bit for bit, what ``mbd.simulate`` does for each of them,
    however many threads or workers there are.

    Parameters
    ----------
    build : callable, System or Model
        A function of the parameters that returns a System; or a System, the parameters being paths
        such as "rod.mass".
    parameters : dict, list of dict, or Members
        ``{"rod.mass": [1.0, 2.0], "spring.stiffness": [10.0, 20.0, 30.0]}``: all combinations, a
        grid; a list of dicts with one value each: these members; ``mbd.sample(...)``.
    t_end, step : float [s]
    outputs : list or dict
        Quantities by name at the recorded instants, ``"rod.position"``, ``"hinge.force.x"``,
        ``"energy.total"``; or reduced, ``("hinge.force", "max")``, with "final", "max", "min" over
        time or a function of the values (n, ...). In a dict they have names of your own, and
        functions of the whole solution may stand there: ``{"reach": lambda s: ...}``.
    on : executor, optional
        Where members are computed: any ``concurrent.futures`` executor, or a ``dask.distributed``
        client. Default: threads of this process, one for each core.
    method : integrator, optional
    summary : tuple of float, optional [-]
        Keep no members but their mean, standard deviation, extremes, these quantiles and the number
        of the member of the largest absolute value: for very many members.
    directory : str or Path, optional
        Keep the results of each chunk in a file there. A study that was interrupted goes on where
        it stopped when it is called again.
    chunk : int, optional
        Members that one worker takes at a time; default a 64th of all, at most 256.
    progress : bool, optional
        Show a progress bar; default on a terminal, if it takes long.
    **options
        Of ``mbd.simulate``, such as ``every``, ``rtol``, ``t_eval``, ``events``, ``project``; with
        others than ``every`` members run one by one.

    Returns
    -------
    xarray.Dataset
        Each output over the parameters (of a grid) or over "member", then "time" and "component".
        ``status`` is 0, 1 where a run failed, 2 where a member cannot be described, with NaN in the
        outputs and the reason in ``message``; a run with a warning has it there too. Without
        xarray a ``StudyTable``, whose arrays have the same names.

    Examples
    --------
    >>> import mbd
    >>> system = mbd.System(gravity=(0, 0, -9.81))
    >>> ball = system.add(mbd.PointMass("ball", mass=1.0, velocity=(1, 0, 0)))
    >>> done = mbd.study(system, {"ball.mass": [1.0, 2.0]}, t_end=0.1, step=0.01,
    ...                  outputs=[("ball.position", "final")])
    >>> done["ball.position final"].shape
    (2, 3)
    """
    members = members_of(_WHO, parameters)
    if isinstance(build, System):
        build = build.build()
    elif not isinstance(build, Model):
        _check_build(build, members.names)
    if progress is not None:
        flag(_WHO, "progress", progress)
    kept = outputs_of(_WHO, outputs)
    if both := [x.name for x in kept if x.name in members.names]:
        raise ValueError(
            f"{_WHO}: {both[0]!r} is a parameter and an output; give the output a name of its own, "
            f"{{'result': {both[0]!r}}}"
        )
    check_options(study, options, simulate, ("method", "progress", "stream", "raise_on_failure"))
    if method is not None:
        method = checked_method(_WHO, method, "rtol" in options)
    t_end = number(_WHO, "t_end", t_end, "s", positive=True)
    if step is not None:
        step = number(_WHO, "step", step, "s", positive=True)
        number_of_steps(_WHO, t_end, step)
    whole(_WHO, "every", options.get("every", 1), 1)
    moving = "rtol" in options and "t_eval" not in options
    if moving and (loose := [x.name for x in kept if x.over_time]):
        raise ValueError(
            f"{_WHO}: with rtol members have instants of their own; give t_eval, or reduce "
            f"{', '.join(loose)} to its final, max or min"
        )
    n = len(members)
    size = max(1, min(256, -(-n // 64))) if chunk is None else whole(_WHO, "chunk", chunk, 1)
    probes = [] if callable(build) else _probes(members)  # of a function each member is described
    task = Task(uuid.uuid4().hex, build, members.names, probes, kept, t_end, step, method, options)
    model, about = _about(task, members)
    place = None if directory is None else KeptChunks(directory, task, members, size, model)
    size = size if place is None else place.size
    starts = range(0, n, size)
    pieces: list[Packed] = []
    totals = {x.name: Summary(_levels(summary)) for x in kept} if summary is not None else {}
    t, failed = np.empty(0), 0
    bar = Progress(n, "member", progress)
    with bar, warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # they are in the messages
        for piece in _computed(task, members, starts, size, on, place, bar):
            if not totals:
                pieces.append(piece)
                continue
            for name, total in totals.items():
                total.add(piece[f"={name}"])
            bad = piece["status"] != 0
            failed += int(bad.sum())
            t = max(t, piece["t"], key=len)
    if place is not None and place.unwritten:
        warnings.warn(
            f"{place.unwritten[0]}; the results are returned, but {len(place.unwritten)} chunks "
            "are in no file",
            RuntimeWarning,
            stacklevel=3,
        )
    if totals:
        done = _summarised(totals, about, t, n, failed)
    else:
        done = table_of(joined(pieces), members, about)
    return done.labelled()


def _check_build(build: Any, names: Sequence[str]) -> None:
    """Refuse what cannot be called with the parameters."""
    try:
        inspect.signature(build).bind(**dict.fromkeys(names))
    except Exception:  # also what the value's own methods raise
        raise TypeError(
            f"{_WHO}: build must be a System, a Model, or a function of {', '.join(names)} that "
            f"returns one, got {shown(build)}"
        ) from None


def _levels(summary: Any) -> tuple[float, ...]:
    try:
        levels = tuple(floats(list(summary)).reshape(-1).tolist())
    except Exception:  # also what the value's own methods raise
        levels = (np.nan,)
    if not all(0.0 <= x <= 1.0 for x in levels):
        raise ValueError(
            f"{_WHO}: summary must be quantiles from 0 to 1, such as (0.05, 0.5, 0.95), or (), got "
            f"{shown(summary)}"
        )
    return levels


def _probes(members: Members) -> list[Any]:
    """Return members with the extremes of each parameter, some between, and corners.

    Corners are what the extremes of arguments of one part make together: where all of these can be
    described, so can what lies between.
    """
    k, n = len(members.names), len(members)
    undescribed: list[Any] = [(np.nan,) * k]  # each member is described
    parts: dict[str, list[int]] = {}
    for i, name in enumerate(members.names):
        parts.setdefault(name.rpartition(".")[0], []).append(i)
    if any(len(some) > _CORNERED for some in parts.values()):
        return undescribed
    ends: list[Any] = [None] * (2 * k)  # the rows with the least and the largest of each
    for rows in members.pieces():
        for i, column in enumerate(zip(*rows, strict=True)):
            if not all(issubclass(x, int | float) for x in set(map(type, column))):
                return undescribed
            for j, at in ((2 * i, int(np.argmin(column))), (2 * i + 1, int(np.argmax(column)))):
                row, sign = rows[at], 1 - 2 * (j % 2)
                if ends[j] is None or not sign * ends[j][i] <= sign * row[i]:
                    ends[j] = row
    some = [tuple(map(float, x)) for x in (members[0], members[n // 3], members[n // 2], *ends)]
    for which in parts.values():
        ranges = [(float(ends[2 * i][i]), float(ends[2 * i + 1][i])) for i in which]
        for corner in product(*ranges) if len(which) > 1 else ():
            there = dict(zip(which, corner, strict=True))
            some.append(tuple(there.get(i, x) for i, x in enumerate(some[0])))
    return list(dict.fromkeys(some))


def _about(task: Task, members: Members) -> tuple[Model, dict[str, dict[str, Any]]]:
    """Return a member that has a start, and components and units of outputs there."""
    family, reason = MemberModels(task.build, task.names), None
    for row in chain.from_iterable(members.pieces()):  # what cannot be described is told later
        try:
            model = family.model(row)
            method = task.method_for(model)
            refuse_unmoved(method, model)
            x = settled(model, project=task.options.get("project"))[0]
        except Exception as error:
            reason = reason or error
            continue
        compile_all(kernels_of(method, False))
        start = solution_of(model, [x])
        return model, {
            x.name: described(x, start) | {"over_time": x.over_time and bool(x.quantity)}
            for x in task.outputs
        }
    assert reason is not None
    raise reason


def _computed(
    task: Task, members: Members, starts: range, size: int, on: Any, place: Any, bar: Progress
) -> Iterator[Packed]:
    """Yield the results of chunks in their order, each computed wherever there is room."""
    done: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()

    def rescue() -> None:
        """Keep what was computed when the study ends early."""
        while place is not None and not done.empty():
            at, future = done.get()
            if not future.cancelled() and future.exception() is None:
                place.write(at, future.result())

    with ExitStack() as stack:
        stack.callback(rescue)
        if on is None:
            on = ThreadPoolExecutor(cores())
            stack.callback(on.shutdown, wait=True, cancel_futures=True)
        if not callable(getattr(on, "submit", None)):
            raise TypeError(
                f"{_WHO}: on must be an executor of concurrent.futures or a client of "
                f"dask.distributed, got {shown(on)}"
            )
        room = _AHEAD * (getattr(on, "_max_workers", None) or 16)
        ready: dict[int, Packed] = {}
        running: dict[int, Any] = {}
        stack.callback(lambda: [x.cancel() for x in running.values()])
        stack.callback(give_up, task)
        sent = 0
        for turn, first in enumerate(starts):
            while first not in ready:
                while sent < len(starts) and sent < turn + room:
                    start, sent = starts[sent], sent + 1
                    old = None if place is None else place.read(start)
                    if old is not None:
                        ready[start] = old
                        bar.update(len(old["status"]))
                        continue
                    count = min(size, len(members) - start)
                    lent = members.lent(start, count)
                    future = on.submit(run_chunk, Share(task, lent, start, count))
                    running[start] = future
                    future.add_done_callback(lambda x, at=start: done.put((at, x)))
                if first in ready:
                    break
                at, future = done.get()
                ready[at] = _result(future, len(starts) - len(running), place)
                del running[at]
                if place is not None:
                    place.write(at, ready[at])
                bar.update(len(ready[at]["status"]))
            yield ready.pop(first)


def _result(future: Any, finished: int, place: Any) -> Any:
    """Return what a worker has computed."""
    try:
        return future.result()
    except BrokenExecutor as error:
        more = (
            "the same call goes on from there" if place is not None
            else "with directory= a study goes on where it stopped"
        )  # fmt: skip
        raise RuntimeError(
            f"{_WHO}: a worker died ({error}); {finished} chunks were done, {more}"
        ) from error


def _summarised(
    totals: Mapping[str, Summary], about: Mapping[str, Any], t: np.ndarray, n: int, failed: int
) -> StudyTable:
    """Return the statistics of all members."""
    values: dict[str, np.ndarray] = {"members": np.array(n), "failed": np.array(failed)}
    dimensions: dict[str, tuple[str, ...]] = {"members": (), "failed": ()}
    coordinates: dict[str, np.ndarray] = {}
    units = {name: str(facts["unit"]) for name, facts in about.items()}
    for name, total in totals.items():
        names, values[name] = total.statistics()
        coordinates["statistic"] = np.array(names)
        inner, own = inner_dimensions(name, about[name], values[name].shape[1:], t)
        dimensions[name] = ("statistic", *inner)
        coordinates |= own
        values[f"{name} worst"], dimensions[f"{name} worst"] = np.array(total.worst), ()
    return StudyTable(values, dimensions, coordinates, units)
