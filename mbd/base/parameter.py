"""Parameters: numbers with a name, and formulas of them, usable wherever a number is.

A part records its arguments as they were written; that a formula is among them is how a model is
made again with other values of its parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from keyword import iskeyword
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from mbd.base.door import label, number
from mbd.base.recorded_call import Call, Recorded

_COMPARISONS = (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal)


class Formula(NDArrayOperatorsMixin):
    """A number computed from parameters; arithmetic and numpy's functions make further ones.

    Functions of ``math`` see its present value and forget where it came from; take ``np.sin``.
    """

    __slots__ = ("function", "operands")

    def __init__(self, function: Callable[..., Any], operands: tuple[Any, ...]) -> None:
        self.function, self.operands = function, operands

    def __float__(self) -> float:
        return float(self.function(*map(float, self.operands)))

    @property
    def parameters(self) -> dict[str, Parameter]:
        """The parameters that it depends on, by name."""
        inner = [x.parameters for x in self.operands if isinstance(x, Formula)]
        return {name: x for each in inner for name, x in each.items()}

    def with_values(self, values: Mapping[str, float]) -> Formula:
        """Return the formula with other values of some parameters, itself if it has none of them.

        Parameters
        ----------
        values : dict
            Numbers by names of parameters.
        """
        if not values.keys() & self.parameters.keys():
            return self
        anew = (x.with_values(values) if isinstance(x, Formula) else x for x in self.operands)
        return Formula(self.function, tuple(anew))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or options or ufunc.nout != 1:
            return NotImplemented
        if any(np.ndim(x) for x in inputs):  # an array of formulas
            return np.frompyfunc(ufunc, len(inputs), 1)(*(np.asarray(x, object) for x in inputs))
        if ufunc in _COMPARISONS:
            return bool(ufunc(*map(float, inputs)))
        return Formula(ufunc, inputs)

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        names = ", ".join(self.parameters)
        return f"Formula({float(self):.6g}, of {names})"


class Parameter(Formula):
    """A number with a name, which several arguments of parts may share.

    Arithmetic with it, and functions of numpy, give formulas that know it.

    Parameters
    ----------
    name : str
        A word; two parameters of a system with one name must have one value.
    value : float
        In the unit of the arguments it is used in [SI].

    Examples
    --------
    >>> import mbd
    >>> l, m = mbd.Parameter("l", 0.3), mbd.Parameter("m", 2.0)
    >>> rod = mbd.RigidBody("rod", mass=m, inertia=(0.01, m*l**2/12, m*l**2/12))
    >>> rod.mass
    2.0
    """

    __slots__ = ("name", "value")
    name: str
    value: float

    def __init__(self, name: str, value: float) -> None:
        if not label(name, "Parameter").isidentifier() or iskeyword(name) or name == "gravity":
            raise ValueError(
                "Parameter: name must be a word of letters, digits and _, which expressions can "
                f"use, and not 'gravity', got {name!r}"
            )
        x = number(f"Parameter {name!r}", "value", value, "-")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "value", x)
        object.__setattr__(self, "function", float)
        object.__setattr__(self, "operands", (x,))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(
            f"Parameter {self.name!r}: a parameter does not change after it is made, "
            f"got a new value of {name!r}; make a new one with its name, or take Model.with_values"
        )

    def __float__(self) -> float:
        return self.value

    @property
    def parameters(self) -> dict[str, Parameter]:
        """Itself, by its name."""
        return {self.name: self}

    def with_values(self, values: Mapping[str, float]) -> Parameter:
        """Return the parameter with its value among these, or itself."""
        return Parameter(self.name, values[self.name]) if self.name in values else self

    def __reduce__(self) -> Any:
        return Parameter, (self.name, self.value)

    def __repr__(self) -> str:
        return f"Parameter({self.name!r}, {self.value!r})"


def call_of(value: Any) -> Call | None:
    """Return the call by which a part, a frame, a motion or a shape was made."""
    return getattr(value, "call", None) if isinstance(value, Recorded) else None


def parameters_in(things: Any) -> dict[str, Parameter]:
    """Return the parameters among the arguments of things that were made, by name."""
    parameters: dict[str, Parameter] = {}
    done: set[int] = set()

    def look(value: Any) -> None:
        if isinstance(value, Formula):
            for name, x in value.parameters.items():
                if parameters.setdefault(name, x).value != x.value:
                    raise ValueError(
                        f"Parameter {name!r}: must have one value in a system, got "
                        f"{parameters[name].value:g} and {x.value:g}; name them apart"
                    )
        elif isinstance(value, dict):
            look(list(value.values()))
        elif isinstance(value, tuple | list) or (
            isinstance(value, np.ndarray) and value.dtype == object
        ):
            for x in value:
                look(x)
        elif id(value) not in done and (call := call_of(value)) is not None:
            done.add(id(value))
            look((call.args, call.options))

    look(things)
    return parameters
