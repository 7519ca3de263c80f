"""Inputs of a run by hand, one by one and as an array: loads, efforts, speeds of drives."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mbd.base.checked import shown, sized
from mbd.base.door import array, speaking_as
from mbd.base.tolerances import LARGEST
from mbd.machine import buffer as m
from mbd.model.description import WHO, argument_now, argument_of, component_now
from mbd.model.model import Model
from mbd.model.names import described_value

_AXES = "xyz"


class Settable:
    """An argument whose numbers stand in the constants of a model as they are.

    Parameters
    ----------
    who : str
        Named in errors.
    model : Model
    name : str
        Part and argument, "push.force", "motor.effort", "drive.velocity"; of an argument that has
        numbers by name one of them, "air.parameters.wind".

    Attributes
    ----------
    drives : bool
        Whether it prescribes a motion.
    """

    def __init__(self, who: str, model: Model, name: str) -> None:
        self.who, self.name = who, name
        with speaking_as(who, WHO):
            part, argument, places = argument_of(model.system, str(name))
            if part and isinstance(argument_now(model.system, part, argument), Mapping):
                places = []  # one of its numbers is a whole
            described = described_value(model, str(name).removesuffix("." + ".".join(places)))
            if places:  # says which there are
                component_now(name, described, places)
        if places:
            raise ValueError(
                f"{who}: {name!r} is a component; set the argument as a whole, "
                f"{name.rpartition('.')[0]!r}"
            )
        if not part and argument != "gravity":
            raise ValueError(
                f"{who}: {name!r} is a Parameter; name an argument of a part to be set, such as "
                "'motor.effort'"
            )
        rows = model.numbering.lam_kinds[model.numbering.owners.get(part, slice(0))]
        if (rows != m.VELOCITY_ROW).any():
            raise ValueError(
                f"{who}: {name!r} would make positions jump; drive a velocity, "
                "Drive(..., velocity=0.0), or push with a force"
            )
        self.drives = rows.size > 0
        (of,) = model.names.several([name], who)
        if not of.settable:
            raise ValueError(
                f"{who}: {name!r} cannot be set while a run goes on, for more than its numbers "
                "changes in the model; settable are constant loads, such as PointForce(force=), "
                "Moment, Motor, and Drive(velocity=)"
            )
        self.described, self.shape, self.size = of.value, of.value.shape, of.value.size
        slopes = of.slopes.reshape(len(of.places), of.value.size)
        self.places, self.which = of.places, np.abs(slopes).argmax(axis=1)
        self.sign = slopes.sum(axis=1)  # some parts keep the reaction
        self.unit = of.unit

    def set(self, F: np.ndarray, value: Any) -> bool:
        """Write a value; tell whether it is another one."""
        if type(value) is float and self.size == 1 and abs(value) <= LARGEST:  # as nearly always
            new = self.sign * value
        else:
            wanted = f"{self.size} finite numbers"
            x = array(self.who, repr(self.name), value, wanted).reshape(-1)
            if x.size != self.size or not np.isfinite(x).all():
                raise ValueError(f"{self.who}: {self.name!r} must be {wanted}, got {shown(value)}")
            sized(self.who, repr(self.name), x, "SI")
            new = self.sign * x[self.which]
        if F[self.places].tolist() == new.tolist():
            return False
        F[self.places] = new
        return True

    @property
    def labels(self) -> list[str]:
        """Labels of its numbers."""
        if self.shape == ():
            return [self.name]
        if self.shape == (3,):
            return [f"{self.name}.{axis}" for axis in _AXES]
        return [f"{self.name}[{', '.join(map(str, i))}]" for i in np.ndindex(self.shape)]


@dataclass(frozen=True, eq=False)
class InputArray:
    """Inputs one after the other, as an array u (n,).

    Attributes
    ----------
    labels, units : tuple of str
        Of each number: "motor.effort", "push.force.x"; "N m", "N".
    slices : dict of slice
        Of each input by name.
    places : (k, 2) array of int
        Place in F, number in u.
    slopes : (k,) array [-]
        Its factor there.
    """

    labels: tuple[str, ...]
    units: tuple[str, ...]
    slices: dict[str, slice]
    places: np.ndarray
    slopes: np.ndarray

    def of(self, F: np.ndarray) -> np.ndarray:
        """Return u (n,) as it stands in the floats of a run."""
        u = np.zeros(len(self.labels))
        u[self.places[:, 1]] = F[self.places[:, 0]] / self.slopes
        return u


def inputs_of(settable: Sequence[Settable]) -> InputArray:
    """Return the record of some inputs."""
    labels, units, slices = list[str](), list[str](), dict[str, slice]()
    rows, slopes = [np.zeros((0, 2), np.int64)], [np.zeros(0)]
    for x in settable:
        first = len(labels)
        labels += x.labels
        units += [x.unit] * x.size
        slices[x.name] = slice(first, len(labels))
        rows.append(np.stack([x.places, first + x.which], axis=1))
        slopes.append(x.sign)
    places = np.concatenate(rows).astype(np.int64)
    return InputArray(tuple(labels), tuple(units), slices, places, np.concatenate(slopes))
