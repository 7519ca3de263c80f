"""Integrators by name: their options, titles, orders of convergence."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import singledispatch
from typing import Any

from mbd.base.checked import shown
from mbd.base.spoken_options import call_of_literals
from mbd.integration.energy_momentum import EnergyMomentum
from mbd.integration.generalized_alpha import GeneralizedAlpha
from mbd.integration.lie_runge_kutta import LieRungeKutta4

__all__ = ["METHODS", "changed", "example", "method", "method_title", "orders", "sharp"]

METHODS = {x.__name__: x for x in (GeneralizedAlpha, EnergyMomentum, LieRungeKutta4)}
Method = GeneralizedAlpha | EnergyMomentum | LieRungeKutta4


def method(value: Any, who: str = "") -> Method:
    """Return an integrator, given itself or as words, ``LieRungeKutta4(scheme="quaternion")``."""
    if isinstance(value, Method):
        return value
    if not isinstance(value, str):
        raise TypeError(
            f"{who}method must be one of {', '.join(METHODS)}, an object or its name, got "
            f"{shown(value)}"
        )
    integrator: Method = call_of_literals(
        value, METHODS, f"{who}method", "LieRungeKutta4(scheme='quaternion')"
    )
    return integrator


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
    parameters = [f.name for f in fields(integrator)]
    for name in options:
        if name not in parameters:
            raise ValueError(
                f"{name} is no option of {type(integrator).__name__}, which has "
                f"{', '.join(parameters)}"
            )
    weighted = isinstance(integrator, GeneralizedAlpha) and integrator.weights
    if weighted and "rho" in options:
        raise ValueError(
            "rho is no option of a GeneralizedAlpha with weights (hht, bossak, newmark), whose "
            f"damping they say, got rho = {options['rho']!r}; leave it out"
        )
    return replace(integrator, **options)


@singledispatch
def method_title(integrator: Any) -> str:
    """Return the name of an integrator in titles of tables."""
    return repr(integrator)


@method_title.register
def _(integrator: GeneralizedAlpha) -> str:
    rows = "" if integrator.level == "position" else f", {integrator.level} rows"
    member = f"rho = {integrator.rho:g}"
    if integrator.weights:
        member = "weights " + ", ".join(f"{x:g}" for x in integrator.weights)
    return f"generalized-alpha with {member}{rows}, {integrator.newton} Newton"


@method_title.register
def _(integrator: EnergyMomentum) -> str:
    return "energy-momentum scheme"


@method_title.register
def _(integrator: LieRungeKutta4) -> str:
    return f"Lie-group Runge-Kutta, {integrator.scheme}"


@singledispatch
def orders(integrator: Any) -> tuple[int, int]:
    """Return the order of motion, and that of forces of joints at recorded instants."""
    return 2, 2


@orders.register
def _(integrator: EnergyMomentum) -> tuple[int, int]:
    return 2, 1  # multipliers are those of the middle of the step


@orders.register
def _(integrator: LieRungeKutta4) -> tuple[int, int]:
    return 4, 4


@singledispatch
def sharp(integrator: Any) -> Any:
    """Return the integrator with its iteration carried to the end."""
    return integrator


@sharp.register
def _(integrator: GeneralizedAlpha) -> Any:
    return replace(integrator, newton="full", tol=1e-10)
