"""``mbd.load``: the solution of a run from a file of results."""

import warnings
from pathlib import Path

import numpy as np

from mbd.base.checked import file_path
from mbd.front.solution import Solution
from mbd.history.columns import model_columns
from mbd.history.joint_coordinates import freedoms
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.turns_so_far import Before
from mbd.store import file_kinds
from mbd.store.fields import impulses_in
from mbd.store.source import Source
from mbd.store.stored import Stored


def load(path: str | Path) -> Solution | Stored:
    """Read results that ``solution.save`` or ``simulate(..., stream=...)`` wrote.

    Parameters
    ----------
    path : str or Path
        Ends in ``.nc`` or ``.npz``. A ``.nc`` file is read where it is asked for, not at once. The
        run that writes it may have been killed or may still go on: then everything up to the last
        time it wrote is there.

    Returns
    -------
    Solution or Stored
        A ``Solution`` with its model, where the file has the model as text, and q, v, a and the
        multipliers; a run can go on from its ``state``. Otherwise, for models that a model file
        cannot say (laws in Python), a ``Stored``, which has everything in the file by the same
        names.
    """
    path = file_path("load", path)
    source = file_kinds.read(path)
    model = _model(source) if source.exact else None
    return Stored(source) if model is None else _solution(source, model)


def _model(source: Source) -> Model | None:
    """Return the model of a file of results, or None where the file does not have it."""
    from mbd.files.modelfile import from_text

    if not source.about["model"]:
        return None
    path = source.path
    try:
        model = from_text(source.about["model"], folder=path.parent).system.build(
            int(source.about["threads"])
        )
    except (ValueError, OSError) as error:
        warnings.warn(
            f"load: the model in {path} cannot be rebuilt ({error}); what was stored by name is "
            "there",
            RuntimeWarning,
            stacklevel=3,
        )
        return None
    expected = (source["q"].shape[1], source["v"].shape[1])
    if (model.n_q, model.n_v) != expected:
        raise ValueError(
            f"load: {path}: the model in the file has {model.n_q} coordinates and {model.n_v} "
            f"velocities, its results {expected[0]} and {expected[1]}; was the file changed?"
        )
    for one, other in zip(model.numbering.v_labels, source.speeds, strict=True):
        if one != other:
            raise ValueError(
                f"load: {path}: the model in the file has {one} where its results have {other}; "
                "was the file changed, or written by an earlier version?"
            )
    return model


def _solution(source: Source, model: Model) -> Solution:
    """Return the solution of a model that was rebuilt."""
    t, q, v, a = (source[name] for name in ("t", "q", "v", "a"))
    lam = source["lam"] if "lam" in source else np.zeros((len(t), 0))
    about, whole = source.about, source.keys() >= model_columns(model).keys()
    if not whole:  # what is missing is computed again
        q, v, a, lam = map(np.asarray, (q, v, a, lam))
    last = model.state  # of a stream that was stopped before its first instant
    before: Before = {}
    if len(t):  # angles of joints at the first instant, with their turns before it
        angles = [x for x in freedoms(model) if x in model.remembered and x in source]
        before = {x: np.array([t[0], source[x][0], 0.0]) for x in angles}
        alg, memory, numbers = source.last_alg, source.last_memory, source.last_set_valued
        off, step = tuple(about["off"]), about["last_step"]
        last = State(float(t[-1]), q[-1], v[-1], a[-1], lam[-1], alg, memory, off, step, numbers)
    return Solution(
        model, t, q, v, a, lam, impulsive=impulses_in(source), status=int(about["status"]),
        message=str(about["message"]), stats=about["stats"], last=last, method=about["method"],
        stored=source if whole else None, options=about["options"], before=before,
        events=source.events, impacts=source.impacts,
    )  # fmt: skip
