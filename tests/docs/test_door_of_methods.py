"""The page on adding an integrator, followed to the letter in a package outside the library."""

import importlib
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from scenes import hinged
from test_examples import ROOT, blocks, file_of, write

import mbd
from mbd.integration.method import Facts, is_method

PAGE = ROOT / "docs" / "contributing" / "integrator.rst"


@contextmanager
def outside(folder):
    """Yield the classes of the page by name, from files in a folder outside the library."""
    sys.path.insert(0, str(folder))
    methods = {}
    for language, code in blocks(PAGE):
        if language == "python" and (file := file_of(code)):
            write(folder / file, code)
            module = importlib.import_module(file[:-3].replace("/", "."))
            assert Path(module.__file__).is_relative_to(folder)
            methods |= {k: x for k, x in vars(module).items() if is_method_class(x)}
    yield methods
    sys.path.remove(str(folder))
    for name in [x for x in sys.modules if x.startswith("my_machine")]:
        del sys.modules[name]


def is_method_class(value):
    return isinstance(value, type) and isinstance(getattr(value, "facts", None), Facts)


@pytest.fixture(scope="module")
def methods(tmp_path_factory):
    with outside(tmp_path_factory.mktemp("outside")) as found:
        assert set(found) == {"Alpha", "ImplicitEuler"}  # one method is one file
        yield found


@pytest.fixture(scope="module")
def euler(methods):
    return methods["ImplicitEuler"]


def swing(formulation="so3", redundant=False):
    """Return a rod on a hinge, or on two hinges on one axis."""
    system, rod, _ = hinged(
        mass=1.3, inertia=(0.02, 0.1, 0.09), position=(0.7, 0, 0), formulation=formulation
    )
    if redundant:
        system.add(mbd.Revolute("second", system.ground, rod, at=(0, 0.2, 0), axis=(0, 1, 0)))
    return system


def test_the_library_does_not_know_the_methods(methods):
    for name, method in methods.items():
        assert not hasattr(mbd, name)
        assert f"class {name}" not in "".join(p.read_text() for p in (ROOT / "mbd").rglob("*.py"))
        assert is_method(method())
        assert not is_method(method)


@pytest.mark.parametrize("name", ["Alpha", "ImplicitEuler"])
@pytest.mark.parametrize("formulation", ["so3", "directors"])
def test_they_have_the_order_that_they_declare(methods, name, formulation):
    method = methods[name](**({"tol": 1e-11} if name == "ImplicitEuler" else {}))
    ends = [
        mbd.simulate(swing(formulation), 0.4, h, method=method)["rod"].position[-1]
        for h in (8e-3, 4e-3, 2e-3)
    ]
    ratio = np.linalg.norm(ends[0] - ends[1]) / np.linalg.norm(ends[1] - ends[2])
    assert np.log2(ratio) == pytest.approx(method.facts.orders[0], abs=0.1)


@pytest.mark.parametrize("name", ["Alpha", "ImplicitEuler"])
def test_they_meet_rows_and_share_redundant_ones(methods, name):
    method = methods[name]()
    one, two = (mbd.simulate(swing(redundant=x), 0.2, 2e-3, method=method) for x in (0, 1))
    assert two.gap.max() < 1e-11
    assert np.allclose(one["rod"].position, two["rod"].position, atol=1e-9)
    forces = two["hinge"].force + two["second"].force
    assert np.allclose(forces, one["hinge"].force, atol=1e-6)


@pytest.mark.parametrize("name", ["Alpha", "ImplicitEuler"])
def test_events_files_and_the_last_short_step_are_those_of_all_methods(methods, name, tmp_path):
    euler = methods[name]

    def height(instants):
        return instants["rod"].position[:, 2] + 0.3

    falls = mbd.Event("low", height, terminal=True)
    run = mbd.simulate(swing(), 2.0, 3e-3, method=euler(), events=falls)
    assert run["rod"].position[-1, 2] == pytest.approx(-0.3, abs=1e-12)
    assert run.events[0].t == run.t[-1]
    short = mbd.simulate(swing(), 0.01, 3e-3, method=euler())
    assert np.allclose(short.t, [0, 3e-3, 6e-3, 9e-3, 0.01])
    kept = mbd.load(short.save(tmp_path / "run.nc"))
    assert np.array_equal(kept["rod"].position, short["rod"].position)
    assert name in str(kept.method)


def test_a_run_goes_on_as_if_it_had_not_stopped(euler):
    whole = mbd.simulate(swing(), 0.2, 1e-2, method=euler())
    half = mbd.simulate(swing(), 0.1, 1e-2, method=euler())
    rest = mbd.simulate(swing(), 0.2, 1e-2, method=euler(), state=half.state)
    assert np.allclose(rest["rod"].position[-1], whole["rod"].position[-1], atol=1e-12)


def test_it_is_compared_and_told_of_large_steps(euler):
    table = mbd.compare(swing, formulations=["so3", "directors"],
                        steps=[4e-3, 2e-3], t_end=0.1, method=euler())  # fmt: skip
    assert "implicit Euler" in str(table)
    with pytest.warns(RuntimeWarning, match="too large"):
        mbd.simulate(swing(), 2.0, 0.1, method=euler())


def test_what_it_does_not_declare_is_refused_by_name(euler):
    with pytest.raises(ValueError, match="got ImplicitEuler, which has steps of one size"):
        mbd.simulate(swing(), 0.1, rtol=1e-5, method=euler())
    with pytest.raises(ValueError, match=r"ImplicitEuler: tol must be in \(0, 1\) \[-\], got 2"):
        euler(tol=2)
    with pytest.raises(TypeError, match="method must be an integrator as an object"):
        mbd.simulate(swing(), 0.1, 1e-3, method=euler)


def test_a_value_of_facts_is_what_counts():
    class Almost:
        facts = "second order"

    class Whole:
        facts = Facts(title="none", orders=(1, 1))

    assert not is_method(Almost())
    assert is_method(Whole())
