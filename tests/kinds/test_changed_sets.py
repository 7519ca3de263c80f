"""Forces whose stiffness changes at once: their kernel asks for a new factor of the matrix."""

import numpy as np
from recipes import Raw

import mbd
from mbd.interactions.kind import Attachment, Element, Kind
from mbd.interactions.pullback import add_stiffness, at, each, form_maps, push
from mbd.machine.buffer import FY, HAVE_FACTOR, W_K, Y
from mbd.machine.jit import ints

UP = (0.0, 0.0, 1.0)
STIFFNESS, MASS = 1e6, 2.0


@each
def forces(I, F, e):
    """Push up what is below the floor; tell that it was above before, if numbers say so."""
    z = at(I, F, Y, I[e.ends])[2]
    below = 1.0 if z < 0.0 else 0.0
    if below != F[e.numbers + 2] and F[e.numbers + 1] != 0.0:
        ints(F)[HAVE_FACTOR] = 0
    F[e.numbers + 2] = below
    push(I, F, FY, I[e.ends], below * F[e.numbers] * z, UP)


@each
def tangent(I, F, e):
    """Add k e_z e_z^T below the floor."""
    form_maps(I, F, e, 1, False)
    k = F[e.numbers] if at(I, F, Y, I[e.ends])[2] < 0.0 else 0.0
    add_stiffness(I, F, e, 0, 0, 0, F[W_K], (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, k))


FLOOR = Kind("floor", 1, 0, ((0, 0),), forces, tangent, room=1)


def bounce(asks):
    system = mbd.System(gravity=(0, 0, -9.81))
    ball = system.add(mbd.PointMass("ball", mass=MASS, position=(0, 0, 0.01)))
    end = Attachment("ball", (1.0, 0.0, 0.0, 0.0))
    system.add(Raw("floor", (ball,), [Element(FLOOR, [end], (STIFFNESS, asks))]))
    return mbd.simulate(system, 0.5, 1e-4)


def test_a_kernel_may_ask_for_a_new_factor():
    """A ball on a stiff floor: the same motion, that of the closed form, in fewer iterations."""
    plain, asked = bounce(0.0), bounce(1.0)
    z = asked["ball"].position[:, 2]
    assert np.abs(z - plain["ball"].position[:, 2]).max() < 1e-7
    assert np.isclose(asked.t[np.argmax(z < 0.0)], np.sqrt(2 * 0.01 / 9.81), atol=2e-4)
    rest = MASS * 9.81 / STIFFNESS  # m g (h + d) = k d^2 / 2 at the deepest
    assert np.isclose(-z.min(), rest + np.sqrt(rest**2 + 2 * rest * 0.01), rtol=2e-3)
    assert asked.stats["iterations"] < plain.stats["iterations"]
