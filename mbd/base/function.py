"""Functions of a user with parameters that are handed in."""

from collections.abc import Callable
from typing import Any

from mbd.base.checked import function as callable_of
from mbd.base.checked import number_or_array
from mbd.base.recorded_call import Recorded


class Function(Recorded):
    """A function of yours and the parameters that it takes by name.

    It stands wherever a function does: laws of forces and motions, lines and sections of beams. A
    function that closes over an ``mbd.Parameter`` is refused, for other values would not reach it.

    Parameters
    ----------
    function : callable
        Python or numba-jitted; as a law it is compiled once, for all values of its parameters.
    **parameters : float, array or Parameter
        In the units that it takes them in [SI].

    Examples
    --------
    >>> import mbd
    >>> k = mbd.Parameter("k", 300.0)
    >>> law = mbd.Function(lambda u, rate, t, stiffness: stiffness * u**3, stiffness=k)
    >>> law(0.1, 0.0, 0.0)
    0.30000000000000004
    """

    __slots__ = ("function", "parameters")

    def __init__(self, function: Callable[..., Any], /, **parameters: Any) -> None:
        self.function = callable_of("Function", "the first argument", function, "f(t, k), for one")
        self.parameters = {
            name: number_or_array("Function", name, x, "-") for name, x in parameters.items()
        }

    def __call__(self, *values: Any) -> Any:
        """Return the value of the function with its parameters."""
        return self.function(*values, **self.parameters)

    def __repr__(self) -> str:
        return f"Function({', '.join([repr(self.function), *self.parameters])})"
