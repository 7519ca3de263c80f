"""Differences of order four."""

from collections.abc import Callable
from typing import Any


def fourth_order(f: Callable[[float], Any]) -> Any:
    r"""Return :math:`f'(0) = \tfrac1{12}(8(f(1) - f(-1)) - (f(2) - f(-2))) + O(f^{(5)})`."""
    near, far = (f(k) - f(-k) for k in (1.0, 2.0))
    return (8.0 * near - far) / 12.0
