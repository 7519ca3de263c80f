"""Scenes of ``models`` in every formulation run and meet their REFERENCE."""

import importlib.util
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import mbd
from mbd.formulations import NAMES

FOLDER = Path(__file__).parents[2] / "models"
LONG = {"iea15"}  # its page runs it
PLANAR = {"fourbar": "y", "slider_crank": "z", "andrews": "z", "n_fourbar": "z"}  # and normals
SCENES = sorted(p.stem for p in FOLDER.glob("*.py") if not p.stem.startswith("_"))


def load(name):
    spec = importlib.util.spec_from_file_location(f"scene_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def default(name):
    """Return the formulation that a scene takes by itself."""
    return inspect.signature(load(name).build).parameters["formulation"].default


def cases():
    """Yield each scene as it is and in every formulation: two others than its own always run."""
    for i, name in enumerate(SCENES):
        parameters = inspect.signature(load(name).build).parameters
        if "formulation" not in parameters or parameters["formulation"].default is None:
            marks = pytest.mark.slow if name in LONG else ()
            yield pytest.param(name, {}, id=name, marks=marks)
        if "formulation" not in parameters:
            continue
        always = {default(name), *(NAMES[k % len(NAMES)] for k in (i, i + len(NAMES) // 2))}
        if axis := PLANAR.get(name):
            yield pytest.param(name, {"formulation": f"InPlane('{axis}')"}, id=f"{name}-in plane")
        for x in NAMES:
            marks = () if x in always else pytest.mark.slow
            yield pytest.param(name, {"formulation": x}, id=f"{name}-{x}", marks=marks)


def quantity(solution, words):
    """Return what "body.position", "body(x, y, z).position", "pin.force", "energy.total" name."""
    if axis := re.fullmatch(r"(.+\.\w+)\.([xyz])", words):
        return quantity(solution, axis[1])[..., "xyz".index(axis[2])]
    name, point, attribute = re.fullmatch(r"(.+?)(\(.*\))?\.(\w+)", words).groups()
    if name in ("energy", "momentum"):
        return getattr(getattr(solution, name), attribute)
    if attribute == "multipliers":  # of a joint, of a row that a body wears, of a body's own rows
        return solution.lam[:, solution.model.numbering.owners[name]]
    item = solution[name]
    if point:
        item = item.at([float(x) for x in point[1:-1].split(",")])
    return getattr(item, attribute)


def refused(module, options):
    """Return why a scene does not take a formulation, or None."""
    try:
        module.build(**options)
    except ValueError as reason:
        return str(reason)
    return None


def test_there_are_scenes():
    assert len(SCENES) >= 15


@pytest.mark.parametrize("name", SCENES)
def test_scene_says_what_it_is(name):
    module = load(name)
    text = module.__doc__
    assert text
    assert len(text.splitlines()[0]) < 100
    assert set(module.RUN) <= {"t_end", "step", "rtol", "every", "method", "events"}
    assert module.REFERENCE
    for words, t, value, tolerance, source in module.REFERENCE:
        assert isinstance(words, str)
        assert 0 < t <= module.RUN["t_end"]
        assert np.all(np.isfinite(value))
        # a tolerance that lets zero pass for the value would say nothing
        assert 0 < tolerance < 0.02 * max(1.0, np.abs(value).max())
        assert source
    defaults = inspect.signature(module.build).parameters.values()
    assert all(p.default is not p.empty for p in defaults)


# on SE(3) the fast spin carries the whole motion of the top: an error 56 times as large
FINER = {("heavy_top", "se3"): 4, ("heavy_top", "unified"): 4}


@pytest.mark.parametrize(("name", "options"), [*cases()])
# redundant rows and six velocities over a metre on bodies of a hand: their self-stress is round-off
@pytest.mark.filterwarnings("ignore:the multiplier of 'crank pin.moment about -a2':RuntimeWarning")
@pytest.mark.filterwarnings("ignore:the multiplier of 'left 1.moment about -a2':RuntimeWarning")
@pytest.mark.filterwarnings("ignore:the multiplier of 'ground 0.moment about a1':RuntimeWarning")
def test_scene_meets_its_reference(name, options):
    module = load(name)
    if (refusal := refused(module, options)) is not None:
        # says who refuses what and why; the default is never refused
        assert options["formulation"] != default(name)
        reason = rf"{name}: formulation must be .{{20,}}, got '{options['formulation']}'"
        assert re.fullmatch(reason, refusal), refusal
        return
    system = module.build(**options)
    assert isinstance(system, mbd.System)
    how = {key: module.RUN.get(key) for key in ("method", "rtol")}
    if "rtol" in module.RUN:
        how["t_eval"] = sorted({t for _, t, *_ in module.REFERENCE})
    else:
        how["step"] = module.RUN["step"] / FINER.get((name, options.get("formulation")), 1)
    events = module.RUN.get("events", ())
    solution = mbd.simulate(system, module.RUN["t_end"], events=events, **how)
    assert solution.success
    for words, t, value, tolerance, source in module.REFERENCE:
        i = int(np.argmin(np.abs(solution.t - t)))
        assert abs(solution.t[i] - t) < 1e-9, f"{words}: {t} s is no multiple of the step"
        error = np.abs(quantity(solution, words)[i] - np.asarray(value)).max()
        assert error <= tolerance, f"{words} at {t} s is off by {error:.2e} ({source})"
    assert solution.gap[:: max(1, len(solution.t) // 20)].max() < 1e-8
