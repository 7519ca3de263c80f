"""Small vectors and matrices as tuples, 3x3 row by row (9 numbers); ranges of numbers in F."""

from typing import Any

from mbd.machine.buffer import MAP_ROW
from mbd.machine.jit import jit

# ruff: noqa: E501

ZERO, EYE = (0.0,) * 9, (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)  # 3x3


@jit
def unit(i: int) -> Any:
    """Return the unit vector e_i."""
    return 1.0 * (i == 0), 1.0 * (i == 1), 1.0 * (i == 2)


@jit
def larger(x: float, y: float) -> float:
    """Return the larger one; not a number wins."""
    return y if x == x and not y <= x else x


@jit
def load3(F: Any, i: int) -> Any:
    """Return F[i:i+3] as a tuple."""
    return F[i], F[i + 1], F[i + 2]


@jit
def load4(F: Any, i: int) -> Any:
    """Return F[i:i+4] as a tuple."""
    return F[i], F[i + 1], F[i + 2], F[i + 3]


@jit
def dot4(a: Any, b: Any) -> Any:
    """Return a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]


@jit
def store_unit4(F: Any, i: int, p: Any) -> None:
    """Write a quaternion whose length is nearly one, at length one."""
    s = 1.5 - 0.5 * dot4(p, p)
    for k in range(4):
        F[i + k] = s * p[k]


@jit
def load6(F: Any, i: int) -> Any:
    """Return F[i:i+6] as two vectors."""
    return load3(F, i), load3(F, i + 3)


@jit
def load9(F: Any, i: int) -> Any:
    """Return F[i:i+9] as a tuple."""
    return F[i], F[i + 1], F[i + 2], F[i + 3], F[i + 4], F[i + 5], F[i + 6], F[i + 7], F[i + 8]


@jit
def store3(F: Any, i: int, a: Any) -> None:
    """Write a 3-vector."""
    F[i] = a[0]
    F[i + 1] = a[1]
    F[i + 2] = a[2]


@jit
def store6(F: Any, i: int, x: Any) -> None:
    """Write two vectors to F[i:i+6]."""
    store3(F, i, x[0])
    store3(F, i + 3, x[1])


@jit
def add3(F: Any, i: int, s: float, a: Any) -> None:
    """Add s*a to F[i:i+3]."""
    F[i] += s * a[0]
    F[i + 1] += s * a[1]
    F[i + 2] += s * a[2]


@jit
def store_column(F: Any, i: int, a: Any) -> None:
    """Write a 3-vector as the column of a map that begins at F[i]."""
    F[i] = a[0]
    F[i + MAP_ROW] = a[1]
    F[i + 2 * MAP_ROW] = a[2]


@jit
def store_multiple(F: Any, i: int, s: float) -> None:
    """Write s times the identity as three columns of a map, the first of which begins at F[i]."""
    store_column(F, i, (s, 0.0, 0.0))
    store_column(F, i + 1, (0.0, s, 0.0))
    store_column(F, i + 2, (0.0, 0.0, s))


@jit
def copy(F: Any, to: int, source: int, n: int) -> None:
    """F[to] = F[source], n numbers."""
    for i in range(n):
        F[to + i] = F[source + i]


@jit
def add(F: Any, to: int, weight: float, source: int, n: int) -> None:
    """F[to] += weight F[source], n numbers."""
    for i in range(n):
        F[to + i] += weight * F[source + i]


@jit
def clear(F: Any, to: int, n: int) -> None:
    """F[to] = 0, n numbers."""
    for i in range(n):
        F[to + i] = 0.0


@jit
def dot(a: Any, b: Any) -> Any:
    """Return a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@jit
def cross(a: Any, b: Any) -> Any:
    """Return a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@jit
def plus(a: Any, b: Any) -> Any:
    """Return a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@jit
def minus(a: Any, b: Any) -> Any:
    """Return a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@jit
def times(s: float, a: Any) -> Any:
    """Return s*a."""
    return s * a[0], s * a[1], s * a[2]


@jit
def mat_vec(A: Any, x: Any) -> Any:
    """Return A x."""
    return (
        A[0] * x[0] + A[1] * x[1] + A[2] * x[2],
        A[3] * x[0] + A[4] * x[1] + A[5] * x[2],
        A[6] * x[0] + A[7] * x[1] + A[8] * x[2],
    )


@jit
def vec_mat(x: Any, A: Any) -> Any:
    """Return A^T x."""
    return (
        A[0] * x[0] + A[3] * x[1] + A[6] * x[2],
        A[1] * x[0] + A[4] * x[1] + A[7] * x[2],
        A[2] * x[0] + A[5] * x[1] + A[8] * x[2],
    )


@jit
def mat_mat(A: Any, B: Any) -> Any:
    """Return A B."""
    return (
        A[0] * B[0] + A[1] * B[3] + A[2] * B[6], A[0] * B[1] + A[1] * B[4] + A[2] * B[7], A[0] * B[2] + A[1] * B[5] + A[2] * B[8],
        A[3] * B[0] + A[4] * B[3] + A[5] * B[6], A[3] * B[1] + A[4] * B[4] + A[5] * B[7], A[3] * B[2] + A[4] * B[5] + A[5] * B[8],
        A[6] * B[0] + A[7] * B[3] + A[8] * B[6], A[6] * B[1] + A[7] * B[4] + A[8] * B[7], A[6] * B[2] + A[7] * B[5] + A[8] * B[8],
    )  # fmt: skip


@jit
def transposed(A: Any) -> Any:
    """Return A^T."""
    return (A[0], A[3], A[6], A[1], A[4], A[7], A[2], A[5], A[8])


@jit
def inner(A: Any, B: Any) -> float:
    """Return the sum of the products of the entries."""
    total = 0.0
    for i in range(9):
        total += A[i] * B[i]
    return total


@jit
def mat_mat_t(A: Any, B: Any) -> Any:
    """Return A B^T."""
    return (
        A[0] * B[0] + A[1] * B[1] + A[2] * B[2], A[0] * B[3] + A[1] * B[4] + A[2] * B[5], A[0] * B[6] + A[1] * B[7] + A[2] * B[8],
        A[3] * B[0] + A[4] * B[1] + A[5] * B[2], A[3] * B[3] + A[4] * B[4] + A[5] * B[5], A[3] * B[6] + A[4] * B[7] + A[5] * B[8],
        A[6] * B[0] + A[7] * B[1] + A[8] * B[2], A[6] * B[3] + A[7] * B[4] + A[8] * B[5], A[6] * B[6] + A[7] * B[7] + A[8] * B[8],
    )  # fmt: skip


@jit
def mat_plus(A: Any, s: float, B: Any) -> Any:
    """Return A + s*B."""
    return (
        A[0] + s * B[0], A[1] + s * B[1], A[2] + s * B[2],
        A[3] + s * B[3], A[4] + s * B[4], A[5] + s * B[5],
        A[6] + s * B[6], A[7] + s * B[7], A[8] + s * B[8],
    )  # fmt: skip


@jit
def tilde(a: Any) -> Any:
    """Return the cross-product matrix, tilde(a) b = a x b."""
    return 0.0, -a[2], a[1], a[2], 0.0, -a[0], -a[1], a[0], 0.0


@jit
def outer(a: Any, b: Any) -> Any:
    """Return a b^T."""
    return (
        a[0] * b[0], a[0] * b[1], a[0] * b[2],
        a[1] * b[0], a[1] * b[1], a[1] * b[2],
        a[2] * b[0], a[2] * b[1], a[2] * b[2],
    )  # fmt: skip


@jit
def tilde_mat(a: Any, B: Any) -> Any:
    """Return tilde(a) B, the cross product of a with every column of B."""
    return (
        a[1] * B[6] - a[2] * B[3], a[1] * B[7] - a[2] * B[4], a[1] * B[8] - a[2] * B[5],
        a[2] * B[0] - a[0] * B[6], a[2] * B[1] - a[0] * B[7], a[2] * B[2] - a[0] * B[8],
        a[0] * B[3] - a[1] * B[0], a[0] * B[4] - a[1] * B[1], a[0] * B[5] - a[1] * B[2],
    )  # fmt: skip


@jit
def mat_tilde(A: Any, b: Any) -> Any:
    """Return A tilde(b)."""
    return (
        A[1] * b[2] - A[2] * b[1], A[2] * b[0] - A[0] * b[2], A[0] * b[1] - A[1] * b[0],
        A[4] * b[2] - A[5] * b[1], A[5] * b[0] - A[3] * b[2], A[3] * b[1] - A[4] * b[0],
        A[7] * b[2] - A[8] * b[1], A[8] * b[0] - A[6] * b[2], A[6] * b[1] - A[7] * b[0],
    )  # fmt: skip


@jit
def add_mat(F: Any, i: int, ld: int, s: float, A: Any) -> None:
    """Add s*A to the 3x3 block at F[i], rows ld apart."""
    F[i] += s * A[0]
    F[i + 1] += s * A[1]
    F[i + 2] += s * A[2]
    i += ld
    F[i] += s * A[3]
    F[i + 1] += s * A[4]
    F[i + 2] += s * A[5]
    i += ld
    F[i] += s * A[6]
    F[i + 1] += s * A[7]
    F[i + 2] += s * A[8]


@jit
def add_identity(F: Any, i: int, ld: int, s: float) -> None:
    """Add s times the identity to the 3x3 block at F[i]."""
    F[i] += s
    F[i + ld + 1] += s
    F[i + 2 * ld + 2] += s


@jit
def weighted(F: Any, y: int, w: int) -> Any:
    """Return the point or vector sum_k w_k y_k of the face at F[y] with the weights at F[w]."""
    w0, w1, w2, w3 = F[w], F[w + 1], F[w + 2], F[w + 3]
    return (
        w0 * F[y] + w1 * F[y + 3] + w2 * F[y + 6] + w3 * F[y + 9],
        w0 * F[y + 1] + w1 * F[y + 4] + w2 * F[y + 7] + w3 * F[y + 10],
        w0 * F[y + 2] + w1 * F[y + 5] + w2 * F[y + 8] + w3 * F[y + 11],
    )


@jit
def spread(F: Any, y: int, w: int, s: float, f: Any) -> None:
    """Add the face force s * w (x) f to the four vectors at F[y]: the transpose of `weighted`."""
    for k in range(4):
        a = s * F[w + k]
        F[y + 3 * k] += a * f[0]
        F[y + 3 * k + 1] += a * f[1]
        F[y + 3 * k + 2] += a * f[2]
