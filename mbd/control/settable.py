"""Settable argument of a part: a load, a motor's effort, a drive's speed, while a run goes on."""

from __future__ import annotations

from typing import Any

import numpy as np

from mbd.base.checked import floats, shown, sized
from mbd.base.door import array, speaking_as
from mbd.base.parameter import evaluated
from mbd.base.recorded_call import signature
from mbd.base.tolerances import LARGEST
from mbd.machine import buffer as m
from mbd.model.description import WHO, argument_now, argument_of, component_now
from mbd.model.model import Model


class Settable:
    """An argument whose numbers stand in the constants of a model as they are.

    Parameters
    ----------
    who : str
        Named in errors.
    model : Model
    name : str
        Part and argument, "push.force", "motor.effort", "drive.velocity".
    """

    def __init__(self, who: str, model: Model, name: str) -> None:
        self.who, self.name = who, name
        part, _, argument = str(name).rpartition(".")
        self.described = self._described(model, part, argument)
        self.shape: tuple[int, ...] = np.shape(self.described)
        self.size = int(np.prod(self.shape))  # how many numbers it has
        row_kinds = model.numbering.lam_kinds[model.numbering.owners.get(part, slice(0))]
        if (row_kinds != m.VELOCITY_ROW).any():
            raise ValueError(
                f"{who}: {name!r} would make positions jump; drive a velocity, "
                "Drive(..., velocity=0.0), or push with a force"
            )
        tries, models = self._tried(model)
        self.shared = models[0].I is not model.I  # numbers, with a part that has the same
        self.apart = models[0]
        F = np.array([self.apart.with_values({name: self._value(x)}).F for x in tries])
        self.places = np.flatnonzero(F[0] != F[1])
        both = np.concatenate([tries, -tries], axis=1)  # some parts keep the reaction
        same = (F[:, self.places, None] == both[:, None, :]).all(axis=0)
        if not len(self.places) or not same.any(axis=1).all():
            raise ValueError(
                f"{who}: {name!r} cannot be set while a run goes on, for more than its numbers "
                "changes in the model; settable are constant loads, such as PointForce(force=), "
                "Moment, Motor, and Drive(velocity=)"
            )
        self.which = same.argmax(axis=1) % self.size
        self.sign = np.where(same.argmax(axis=1) < self.size, 1.0, -1.0)

    def _tried(self, model: Model) -> tuple[np.ndarray, list[Model]]:
        """Return two values (2, size), near the described one if others are refused, and models."""
        k, reason = np.arange(self.size), ""
        tries = np.array([0.71 + 0.1 * k, 1.37 + 0.3 * k * k])
        now = self.described.reshape(-1)
        for values in (
            tries,
            -tries,
            now + 2.0**-10 * (np.abs(now).max(initial=0.0) or 1.0) * tries,
        ):
            try:
                return values, [model.with_values({self.name: self._value(x)}) for x in values]
            except ValueError as error:
                reason = str(error).partition(", got ")[0]  # numbers that nobody wrote
        raise ValueError(f"{self.who}: {self.name!r} cannot be set while a run goes on: {reason}")

    def _described(self, model: Model, part: str, argument: str) -> Any:
        """Return the argument as it was described; refuse what there is not, and laws."""
        with speaking_as(self.who, WHO):
            owner, word, component = argument_of(model.system, str(self.name))
            if component:  # says which there are
                component_now(self.name, argument_now(model.system, owner, word), component)
                raise ValueError(
                    f"{self.who}: {self.name!r} is a component; set the argument as a whole, "
                    f"{self.name.rpartition('.')[0]!r}"
                )
        if not part and argument != "gravity":
            raise ValueError(
                f"{self.who}: {self.name!r} is a Parameter; name an argument of a part to be set, "
                "such as 'motor.effort'"
            )
        if not part:
            return np.array(model.system.gravity, float)
        call = model.system.parts[part].call
        bound = signature(call.maker).bind(*call.args, **call.options)
        bound.apply_defaults()
        value = bound.arguments[argument]
        try:
            return floats(evaluated(value))
        except TypeError:
            raise TypeError(
                f"{self.who}: {self.name!r} must be described by numbers to be set, got "
                f"{shown(value)}; give 0.0 or (0, 0, 0) there"
            ) from None

    def _value(self, x: np.ndarray) -> Any:
        return float(x[0]) if self.shape == () else x.reshape(self.shape)

    def model(self) -> Model:
        """Return the model in which it has places of its own."""
        return self.apart.with_values({self.name: self._value(self.described.reshape(-1))})

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
