"""Variables of a unit: inputs, outputs and parameters, each one number with a name and a unit."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from mbd.base.checked import floats, names, shown
from mbd.base.door import speaking_as
from mbd.base.parameter import evaluated
from mbd.control.inputs import Settable
from mbd.control.stepper import Stepper
from mbd.drawing.curves import curves
from mbd.front.solution import solution_of
from mbd.history.columns import parts
from mbd.history.observation import Observation, refuse_sum
from mbd.model import description
from mbd.model.model import Model

_AXES = ("x", "y", "z")


class Variable(NamedTuple):
    """A variable of a unit.

    Attributes
    ----------
    name : str
        "hinge.angle", "rod.position.x".
    causality : str
        "input", "output", "parameter", as the standard calls them.
    source : str
        What a ``Stepper`` or ``Model.with_values`` calls it: "rod.position".
    place : int
        Which of the numbers of the source it is.
    unit : str
        "m", "N m"; empty where it is not declared.
    start : float, optional
        Of inputs and parameters, what the model is described with.
    """

    name: str
    causality: str
    source: str
    place: int = 0
    unit: str = ""
    start: float | None = None


def settable(model: Model) -> list[str]:
    """Return the arguments of parts that can be set while a run goes on, by name."""
    arguments = [x for x in model.names if x.rpartition(".")[0] not in ("", *model.nodes)]
    of, able = model.names, list[str]()
    for name in arguments:
        with suppress(ValueError):  # one that decides what there is
            able += [name] * of[name].settable
    return able


def inputs_of(model: Model, sources: Sequence[str]) -> list[Variable]:
    """Return what is set from outside; of vectors each component."""
    variables: list[Variable] = []
    for source in sources:
        setter = Settable("export_fmu", model, source)
        words = _AXES if setter.shape == (3,) else [str(i) for i in range(setter.size)]
        for i, x in enumerate(setter.described.reshape(-1)):
            name = f"{source}.{words[i]}" if setter.shape else source
            variables.append(Variable(name, "input", source, i, setter.unit, float(x)))
    return variables


def outputs_of(stepper: Stepper, sources: Any) -> list[Variable]:
    """Return quantities by the names of results; None stands for the main ones of every part."""
    model, solution = stepper.model, solution_of(stepper.model, [stepper.state])
    sources = [*parts(solution.columns)] if sources is None else sources
    wanted: dict[str, None] = {}
    for source in names("export_fmu", "outputs", sources):
        refuse_sum(source, "export_fmu: outputs")
        wanted |= dict.fromkeys(x.title for x in curves(solution, source, "export_fmu"))
    for name in wanted:
        refuse_sum(name, "export_fmu: outputs")
    observed = Observation(model, [*wanted], "export_fmu")
    labels, units = observed.labels, observed.units
    return [
        Variable(labels[i], "output", source, i - here.start, units[i])
        for source, here in observed.slices.items()
        for i in range(here.start, here.stop)
    ]


def parameters_of(system: description.Description, sources: Any) -> list[Variable]:
    """Return numbers of parts by name; None stands for the ``mbd.Parameter`` of the system."""
    if sources is None:
        sources = list(description.described_parameters(system))
    with speaking_as("export_fmu", description.WHO):
        return list(_numbers(system, names("export_fmu", "parameters", sources)))


def _numbers(system: description.Description, sources: Sequence[str]) -> Iterator[Variable]:
    for source in dict.fromkeys(sources):
        part, argument, places = description.argument_of(system, source)
        now = evaluated(description.argument_now(system, part, argument))
        try:
            x = floats(description.component_now(source, now, places) if places else now)
        except TypeError:
            x = np.empty(0)
        if x.shape:
            raise ValueError(
                f"export_fmu: parameters: {source!r} must be one number, got {shown(now)}; name a "
                "component of it, such as 'rod.inertia.xx'"
            )
        yield Variable(source, "parameter", source, start=float(x))
