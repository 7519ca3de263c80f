"""Integrators by name, and with other options."""

from dataclasses import fields, replace
from itertools import chain
from typing import Any

from mbd.base.checked import shown
from mbd.base.door import number
from mbd.base.spoken_options import call_of_literals
from mbd.formulations.families import family
from mbd.integration.energy_momentum import EnergyMomentum
from mbd.integration.explicit_runge_kutta import ExplicitRungeKutta
from mbd.integration.generalized_alpha import GeneralizedAlpha
from mbd.integration.lie_runge_kutta import LieRungeKutta4
from mbd.integration.method import Method, is_method
from mbd.integration.nonsmooth_alpha import LAWS_MET, NonsmoothAlpha
from mbd.integration.python_steps import PythonSteps, Stepping
from mbd.integration.radau_collocation import RadauCollocation
from mbd.interactions.beams.element import BEAM, BEAM_4
from mbd.model.frozen import FrozenModel, per_model

METHODS = {
    x.__name__: x
    for x in (
        GeneralizedAlpha, EnergyMomentum, ExplicitRungeKutta, LieRungeKutta4, NonsmoothAlpha,
        RadauCollocation,
    )
}  # fmt: skip


def method(value: Any, who: str = "") -> Method:
    """Return an integrator, given itself or as words, ``LieRungeKutta4(scheme="quaternion")``."""
    if is_method(value):
        return value  # type: ignore[no-any-return]
    if not isinstance(value, type) and isinstance(value, Stepping):
        return PythonSteps(value)
    if not isinstance(value, str):
        raise TypeError(
            f"{who}method must be one of {', '.join(METHODS)}, an object or its name, got "
            f"{shown(value)}"
        )
    one: Method = call_of_literals(
        value, METHODS, f"{who}method", "LieRungeKutta4(scheme='quaternion')"
    )
    return one


def example(value: Any) -> str:
    """Return how to write the integrator that was meant, or any one."""
    if any(value is x for x in METHODS.values()):  # the class in place of an object
        return f"{value.__name__}()"
    try:
        method(value)
    except (TypeError, ValueError):
        return "GeneralizedAlpha(rho=0.8)"
    return str(value) if "(" in value else f"{value}()"


def changed(integrator: Method, **options: Any) -> Method:
    """Return an integrator with other options; those that it does not have are named."""
    options_of: Any = integrator
    parameters = [f.name for f in fields(options_of)]
    for name, value in options.items():
        if name not in parameters:
            raise ValueError(
                f"{name} is no option of {type(integrator).__name__}, which has "
                f"{', '.join(parameters)}"
            )
        if reason := integrator.facts.fixed.get(name):
            raise ValueError(
                f"{name} is no option of a {type(integrator).__name__} {reason}, got "
                f"{name} = {value!r}; leave it out"
            )
    changed_one: Method = replace(options_of, **options)
    return changed_one


_ALPHA = GeneralizedAlpha()
_COLLOCATION = RadauCollocation(stages=3, fewest=40)  # instants enough for smooth curves


@per_model
def _beams(model: FrozenModel) -> bool:
    """Tell whether there are elements of beams."""
    elements = chain.from_iterable(model.elements.values())
    return any(e.kind in (BEAM, BEAM_4) for e in elements)


def usual(model: FrozenModel, rtol: float | None = None) -> Method:
    """Return the method of a run that names none.

    Steps of one size: generalized-alpha. Steps within a tolerance: collocation at the points of
    Radau, of order 5, or 9 where the tolerance is below 1e-6; below 1e-8 with beams, whose fast
    waves slow the sweeps of five stages more. Generalized-alpha again with beams from 1e-3 on,
    whose waves it damps, and where a formulation does not say how increments go along with
    velocities (flow). The nonsmooth method where there are contacts.
    """
    if model.set_valued and {law for _, law in model.set_valued} <= {*LAWS_MET}:
        return NonsmoothAlpha()
    if rtol is None:
        return checked_method("simulate", None, free=False)
    rtol = number("simulate", "rtol", rtol, "-", positive=True)
    still = any(family(x.formulation).flow is None for x in model.nodes.values())
    if model.set_valued or still or (rtol >= 1e-3 and _beams(model)):
        return checked_method("simulate", _ALPHA, free=True)
    if rtol < (1e-8 if _beams(model) else 1e-6):  # where five take less work
        return replace(_COLLOCATION, stages=5)
    return _COLLOCATION


def checked_method(who: str, value: Any, free: bool) -> Method:
    """Return an integrator with what it leaves to the run: whether steps are chosen.

    Without one, that of most models: see ``usual``.
    """
    if value is None:
        value = _COLLOCATION if free else _ALPHA
    one = value
    if not is_method(one) and not isinstance(one, type) and isinstance(one, Stepping):
        one = PythonSteps(one)
    elif not is_method(one):
        raise TypeError(
            f"{who}: method must be an integrator as an object, mbd.{example(one)}, got "
            f"{shown(one)}; one of your own has step(model, state, h)"
        )
    complete = one.facts.complete
    whole: Method = one if complete is None else complete(free)
    return whole


def sharp(integrator: Method) -> Method:
    """Return the integrator with its iteration carried to the end."""
    return changed(integrator, **integrator.facts.sharp)
