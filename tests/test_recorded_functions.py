"""Recorded functions: values, derivatives and compiled programs against numpy and differences."""

import math

import numpy as np
import pytest

import mbd  # noqa: F401  kernels are cached as the package says
from mbd.algebra.expressions import along, gradient, jacobian, program, record, stumpff, variables
from mbd.machine.jit import jit, kernel

RNG = np.random.default_rng(5)
FUNCTIONS = {
    "sums": lambda x: 3 * x[0] - x[1] / x[2] + (x[0] - 2) * x[1] - 4.5,
    "powers": lambda x: x[0] ** 3 + x[1] ** -2 + x[2] ** 0.5 + x[0] ** 1.7 + 2 ** x[1],
    "numpy": lambda x: np.sin(x[0]) * np.cos(x[1]) + np.exp(x[2]) + np.log(x[0]) * np.tan(x[1]),
    "math": lambda x: math.sqrt(x[0]) + math.atan2(x[1], x[2]) + math.hypot(x[0], x[1], x[2]),
    "hyperbolic": lambda x: np.sinh(x[0]) + np.cosh(x[1]) * np.tanh(x[2]),
    "arcs": lambda x: np.arcsin(x[0] / 4) + np.arccos(x[1] / 4) + np.arctan(x[2]),
    "arrays": lambda x: np.linalg.norm(x) + (np.diag([1.0, 2, 3]) @ x) @ np.cross(x, [1, 2, 3]),
    "numbers of numpy": lambda x: np.float64(2.0) * x[0] + x[1] * np.pi + np.hypot(1.0, x[2]),
    "stumpff": lambda x: sum(stumpff(k, x[k % 3] ** 2) for k in range(6)),
}  # fmt: skip


def differences(f, x, h=1e-5):
    return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(len(x))])


def evaluated(reads, values, writes):
    """Return what a compiled program writes, after its values."""
    n = sum(len(x) for x in values)
    places = np.cumsum([0, *(len(x) for x in values)])
    body = program(
        "test", "F", dict(zip(map(str, places), reads, strict=False)), {str(n): np.ravel(writes)}
    )

    @kernel
    def run(I, F, k):
        body(F)

    F = np.concatenate([*values, np.full(np.size(writes), np.nan)])
    run(np.zeros(8, np.int32), F, 0)
    return F[n:].reshape(np.shape(writes))


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
def test_derivatives_to_third_order(f):
    x, v = variables("x", 3), variables("v", 3)
    (z,) = record("f", f, x)
    g = gradient(z, x)
    H = jacobian(g, x)
    third = along(H.ravel(), x, v)  # the change of the Hessian along v
    at, rate = RNG.uniform(0.5, 1.5, 3), RNG.normal(size=3)
    got = evaluated([x, v], [at, rate], np.concatenate([[z], g, H.ravel(), third]))

    def value(y):
        return float(f(y))

    def hessian(y):
        return evaluated([x], [y], H)

    assert got[0] == pytest.approx(value(at), rel=1e-14)
    np.testing.assert_allclose(got[1:4], differences(value, at), rtol=1e-7, atol=1e-8)
    slope = np.array(differences(lambda y: evaluated([x], [y], g), at))
    np.testing.assert_allclose(got[4:13].reshape(3, 3), slope, rtol=1e-7, atol=1e-8)
    h = 1e-5
    change = (hessian(at + h * rate) - hessian(at - h * rate)) / (2 * h)
    np.testing.assert_allclose(got[13:].reshape(3, 3), change, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("k", range(8))
@pytest.mark.parametrize("x", [0.0, 1e-300, 1e-8, 0.3, 9.0, 39.9, 40.1, 1e4, -1e-3, -30.0, -50.0])
def test_stumpff_functions(k, x):
    """c_k(x) + x c_(k+2)(x) = 1/k!, down to the cosine and the sine."""
    a, b = stumpff(k, x), x * stumpff(k + 2, x)
    assert a + b == pytest.approx(1 / math.factorial(k), abs=4e-16 * max(abs(a), abs(b), 40))
    r = math.sqrt(abs(x))
    if k == 0:
        assert a == pytest.approx(math.cos(r) if x >= 0 else math.cosh(r), rel=1e-12, abs=1e-13)


def test_nothing_is_computed_twice_and_zeros_vanish():
    x = variables("x", 3)
    assert (x[0] + x[1]) is (x[1] + x[0])
    assert x[0] - x[0] == 0.0
    g = gradient(x[0] * x[1] + 0 * x[2], x)
    assert g[0] is x[1]
    assert g[1] is x[0]
    assert g[2] == 0.0


@jit
def helper(a):
    return math.sqrt(a) * FACTOR


FACTOR = 2.5


def test_a_compiled_function_and_all_that_it_calls_are_recorded():
    @jit
    def outer(a, b):
        return helper(a + b) - math.sin(b)

    x = variables("x", 2)
    (z,) = record("f", lambda x: outer(x[0], x[1]), x)
    got = evaluated([x], [np.array([0.7, 0.9])], np.array([z]))
    assert got[0] == pytest.approx(2.5 * math.sqrt(1.6) - math.sin(0.9))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x[0] if x[0] > 0 else -x[0], lambda x: abs(x[0]), lambda x: float(x[0]),
        lambda x: max(x[0], x[1]), lambda x: np.maximum(x[0], x[1]), lambda x: math.floor(x[0]),
        lambda x: x[0] % 2, lambda x: range(3)[x[0]], lambda x: x[0] == x[1],
    ],
)  # fmt: skip
def test_what_is_not_smooth_is_refused(f):
    with pytest.raises(TypeError, match=r"bowl: .*(recorded once|real number)"):
        record("bowl", f, variables("x", 2))
