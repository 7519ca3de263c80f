r"""Measures made of a user's function of points, vectors and numbers.

The function is recorded once (``algebra/expressions.py``); a compiled function writes the
measure, its gradient, the rate of the gradient and, for tangents, the Hessian,

.. math:: g = \frac{\partial u}{\partial x}, \qquad
   H = \frac{\partial^2 u}{\partial x\,\partial x}, \qquad \dot g = H\dot x ,

all exact. Kernels call it by its address, so that they are compiled once for all functions of so
many vectors. Equal functions are one measure whatever their numbers: a study or a fit over these
compiles nothing.
"""

from functools import cache
from typing import Any

from mbd.algebra import expressions as ex
from mbd.base.recorded_call import remembered
from mbd.interactions.measures import GRAD, HXD, NORMAL, XA, XD, Measure
from mbd.machine.jit import measure_function


@remembered
@cache
def measure_of(
    name: str,
    u: ex.Operation,
    vectors: tuple[ex.Operation, ...],
    numbers: tuple[ex.Operation, ...],
    unit: str,
) -> Measure:
    """Return the measure u, an expression of (3 n,) components of vectors and of numbers."""
    n = len(vectors) // 3
    rates = list(ex.variables("rate", 3 * n))
    g = list(ex.gradient(u, vectors))
    H = ex.jacobian(g, vectors)
    x, xd, hxd, gradient, hessian = (place // 4 * n for place in (XA, XD, HXD, GRAD, NORMAL))
    value = hessian + 9 * n * n + 3 * n  # after the Hessian and the gradient that waits there
    reads = {f"w + {x}": vectors, f"w + {xd}": rates, "k": numbers}
    of_pose = {f"w + {value}": [u], f"w + {gradient}": g}
    moving = {f"w + {hxd}": ex.along(g, vectors, rates)}
    write = ex.program("measure", "F, w, k", reads, of_pose | moving)
    bend = ex.program("hessian", "F, w, k", reads, {f"w + {hessian}": H})

    @measure_function
    def evaluate(F: Any, w: int, k: int, bends: int) -> float:
        if bends:
            bend(F, w, k)
        write(F, w, k)
        return F[w + value]  # type: ignore[no-any-return]

    curved = not ex.occurring(list(H.flat)).isdisjoint(vectors)
    pairs = tuple((a, b) for a in range(n) for b in range(n))
    return Measure(
        name, n, pairs, evaluate, curved=curved, unit=unit, full=True, numbers=len(numbers)
    )
