"""No array of a part, a model, a state or a solution can be written to."""

import copy
import pickle
import types

import numpy as np
import pytest
import scipy.sparse as sp

import mbd

from .test_inputs import PARTS, driven, lattice, ran, world

SMALL = (str, bytes, int, float, complex, type(None), type, types.FunctionType, types.MethodType)


def inside(thing):
    """Return what a thing has: its public attributes and properties, or its members, by name."""
    if isinstance(thing, dict | types.MappingProxyType):
        return {f"[{key!r}]": x for key, x in thing.items()}
    if isinstance(thing, tuple | list | set):
        return {f"[{i}]": x for i, x in enumerate(thing)}
    if sp.issparse(thing):
        return vars(thing)
    if not type(thing).__module__.startswith("mbd.") or "machine" in type(thing).__module__:
        return {}
    names = {*getattr(thing, "__dict__", {})}
    for cls in type(thing).__mro__:
        names |= {x for x, value in vars(cls).items() if hasattr(value, "__get__")}
    found = {}
    for name in sorted(x for x in names if not x.startswith("_")):
        try:
            with np.errstate(invalid="ignore"):  # the inertia of ground
                found[f".{name}"] = getattr(thing, name)
        except (AttributeError, ValueError, TypeError):
            continue  # what this one has not
    return found


def arrays(thing, name, done):
    """Yield each array that is reached from a thing, with how."""
    if isinstance(thing, SMALL) or id(thing) in done:
        return
    done[id(thing)] = thing  # kept: an id belongs to what is alive
    if isinstance(thing, np.ndarray):
        yield name, thing
        return
    for word, x in inside(thing).items():
        yield from arrays(x, name + word, done)


def writable(thing):
    """Return how one reaches the arrays that can be written to, and how many there are in all."""
    found = list(arrays(thing, "", {}))
    return [name for name, x in found if x.flags.writeable], len(found)


def refuse(array):
    with pytest.raises(ValueError, match="read-only"):
        array[...] = 1.0


@pytest.mark.parametrize("name", PARTS)
def test_nobody_writes_to_an_array_of_a_part(name):
    part = getattr(mbd, name)(**PARTS[name](world()))
    for one in (part, copy.deepcopy(part)):
        assert writable(one)[0] == []


@pytest.mark.parametrize("name", PARTS)
def test_what_a_user_writes_to_later_is_not_reached(name):
    """Arrays, lists and dicts of arguments are copied when a part is made."""
    mine = {
        k: x for k, x in PARTS[name](world()).items() if isinstance(x, np.ndarray | list | dict)
    }
    own = {k: np.array(x) if isinstance(x, list) and k != "points" else x for k, x in mine.items()}
    own = {k: x for k, x in own.items() if isinstance(x, np.ndarray) and x.dtype == float}
    arguments = {**PARTS[name](world()), **{k: x.copy() for k, x in own.items()}}
    part = getattr(mbd, name)(**arguments)
    before = [(how, x.copy()) for how, x in arrays(part, "", {})]
    for k in own:
        arguments[k][...] = 7.5
    for (how, x), (_, now) in zip(before, arrays(part, "", {}), strict=True):
        assert x.dtype == object or np.array_equal(x, now, equal_nan=True), how


def test_nobody_writes_to_an_array_of_a_model():
    model = driven()
    for one in (model, model.with_values({"a.mass": 2.0}), pickle.loads(pickle.dumps(model))):
        found, n = writable(one)
        assert found == []
        assert n > 50
    refuse(model.F)


def test_nobody_writes_to_an_array_of_a_state():
    q = driven().state.q.copy()
    state = driven().state.replace(q=q, lam=np.zeros(driven().n_lam).tolist())
    q[:] = np.nan  # that of the user
    for one in (state, copy.deepcopy(state), pickle.loads(pickle.dumps(state)), state.replace(t=1)):
        found, n = writable(one)
        assert found == []
        assert n >= 4
        assert np.array_equal(one.q, driven().state.q)
        refuse(one.q)
    stepper = mbd.Stepper(driven(), 1e-3)
    for one in (mbd.consistent(driven()), stepper.state, mbd.assemble_pose(driven())):
        assert writable(one)[0] == []


def test_nobody_writes_to_an_array_of_a_solution(tmp_path):
    solution = ran()
    loaded = mbd.load(solution.save(tmp_path / "run.npz"))
    streamed = mbd.simulate(driven(), 0.02, 1e-2, stream=tmp_path / "run.nc")
    piece = solution.part(slice(0, 2))
    for one in (solution, piece, pickle.loads(pickle.dumps(solution)), loaded, streamed):
        assert writable(one)[0] == []
        for name in ("a", "b", "h", "i"):
            assert writable(one[name])[0] == []
        assert writable(one["a"].at((0, 0, 1)))[0] == []
        refuse(one["a"].velocity)
        refuse(one.energy.total)
    for again in (pickle.loads(pickle.dumps(solution)), copy.deepcopy(solution)):
        assert writable(again)[0] == []  # with all that was asked for, and kept


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_array, sp.coo_array, sp.lil_matrix])
def test_a_sparse_matrix_is_copied(kind):
    options = lattice()
    K = kind(options["K"])
    body = mbd.FlexibleBody("x", **{**options, "K": K})
    K *= 0.0
    other = pickle.loads(pickle.dumps(body))
    assert np.array_equal(other.frequencies, body.frequencies)
    assert writable(body)[0] == []
