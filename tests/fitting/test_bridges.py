"""The recipes for JAX and PyTorch in the how-to page, where these are."""

import re
import textwrap
from pathlib import Path

import numpy as np
import pytest

import mbd

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "fitting.rst"


def recipe(name):
    """Return what the block of a page defines."""
    text = PAGE.read_text(encoding="utf-8")
    block = re.search(rf"( +# my_lab/{name}\.py\n(?:\n| {{4}}.*\n)+)", text)
    names = {}
    exec(compile(textwrap.dedent(block[1]), f"{name}.py", "exec"), names)
    return names


def throw():
    """Return a thrown ball, its height at the end, which is z0 + v T + g T^2/2, and v and g."""
    system = mbd.System(gravity=(0, 0, -9.81))
    system.add(mbd.PointMass("ball", mass=1.0, velocity=(0, 0, 4.0)))
    height = mbd.Objective(terminal=lambda last: last["ball"].position[2])
    return height, system, ["ball.velocity.z", "gravity.z"]


def test_a_run_is_a_function_of_jax():
    """Values and gradients, under jit and vmap."""
    jax = pytest.importorskip("jax")
    f = recipe("with_jax")["of_jax"](*throw(), t_end=0.5, step=0.1)
    x = np.array([3.0, -10.0])
    exact = 3.0 * 0.5 - 10.0 * 0.125
    assert np.allclose(f(x), exact)
    assert np.allclose(jax.grad(f)(x), [0.5, 0.125])
    assert np.allclose(
        jax.jit(jax.grad(lambda x: f(2 * x) ** 2))(x), 8 * exact * np.array([0.5, 0.125])
    )
    assert np.allclose(jax.vmap(jax.grad(f))(np.array([x, 2 * x])), [[0.5, 0.125]] * 2)


def test_a_run_is_a_function_of_pytorch():
    """A value between other functions, and its gradient through both."""
    torch = pytest.importorskip("torch")
    f = recipe("with_torch")["of_torch"](*throw(), t_end=0.5, step=0.1)
    x = torch.tensor([1.5, -5.0], dtype=torch.float64, requires_grad=True)
    loss = f(2 * x) ** 2
    loss.backward()
    exact = 3.0 * 0.5 - 10.0 * 0.125
    assert loss.item() == pytest.approx(exact**2)
    assert np.allclose(x.grad, 4 * exact * np.array([0.5, 0.125]))
    assert torch.autograd.gradcheck(f, x, eps=1e-3)
