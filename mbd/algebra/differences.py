"""Central differences: that of order four, and distances of values."""

from collections.abc import Callable
from typing import Any

import numpy as np


def fourth_order(f: Callable[[float], Any]) -> Any:
    r"""Return :math:`f'(0) = \tfrac1{12}(8(f(1) - f(-1)) - (f(2) - f(-2))) + O(f^{(5)})`."""
    near, far = (f(k) - f(-k) for k in (1.0, 2.0))
    return (8.0 * near - far) / 12.0


def balanced_step(order: int) -> float:
    r"""Return the distance of values of a function that varies over one and is known to round-off.

    A difference of order p leaves out :math:`h^p` and has :math:`\epsilon/h` of round-off: both are
    alike at :math:`h = \epsilon^{1/(p+1)}`.
    """
    return float(np.finfo(float).eps) ** (1 / (order + 1))


SECOND, FOURTH, EIGHTH = map(balanced_step, (2, 4, 8))
