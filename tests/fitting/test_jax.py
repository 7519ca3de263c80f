"""The recipe for JAX in the how-to page, where JAX is."""

import re
import textwrap
from pathlib import Path

import numpy as np
import pytest

import mbd

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "fitting.rst"


def recipe():
    text = PAGE.read_text(encoding="utf-8")
    block = re.search(r"( +# my_lab/with_jax.py\n(?:\n| {4}.*\n)+)", text)
    return textwrap.dedent(block[1])


def test_a_run_is_a_function_of_jax():
    """z(T) of a throw is z0 + v T - g T^2/2: values, gradients, under jit and vmap."""
    jax = pytest.importorskip("jax")
    names = {}
    exec(compile(recipe(), "with_jax.py", "exec"), names)
    system = mbd.System(gravity=(0, 0, -9.81))
    system.add(mbd.PointMass("ball", mass=1.0, velocity=(0, 0, 4.0)))
    height = mbd.Objective(terminal=lambda last: last["ball"].position[2])
    f = names["of_jax"](height, system, ["ball.velocity.z", "gravity.z"], t_end=0.5, step=0.1)
    x = np.array([3.0, -10.0])
    exact = 3.0 * 0.5 - 10.0 * 0.125
    assert np.allclose(f(x), exact)
    assert np.allclose(jax.grad(f)(x), [0.5, 0.125])
    assert np.allclose(
        jax.jit(jax.grad(lambda x: f(2 * x) ** 2))(x), 8 * exact * np.array([0.5, 0.125])
    )
    assert np.allclose(jax.vmap(jax.grad(f))(np.array([x, 2 * x])), [[0.5, 0.125]] * 2)
