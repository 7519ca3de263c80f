"""Central differences: that of order four, and distances of values."""

from collections.abc import Callable
from typing import Any

import numpy as np


def fourth_order(f: Callable[[float], Any]) -> Any:
    r"""Return :math:`f'(0) = \tfrac1{12}(8(f(1) - f(-1)) - (f(2) - f(-2))) + O(f^{(5)})`."""
    near, far = (f(k) - f(-k) for k in (1.0, 2.0))
    return (8.0 * near - far) / 12.0


EPS = float(np.finfo(float).eps)
# Distances of the values of a smooth function that varies over one: what differences of order four
# and eight leave out is round-off; that of order two leaves out as much as round-off over it makes.
SECOND, FOURTH, EIGHTH = EPS ** (1 / 3), EPS ** (1 / 4), EPS ** (1 / 8)
