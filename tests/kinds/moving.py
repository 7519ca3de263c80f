"""Systems at random poses with random velocities: their faces, and derivatives along the motion."""

import numpy as np
from recipes import elsewhere

from mbd.machine import buffer as m
from mbd.model.state import State
from mbd.model.workspace import Workspace


def moving(system, seed, *, move=True):
    """Return a work space of a system at random poses with random velocities, own rows satisfied.

    Accelerations and the multipliers of joints are random too.
    """
    model = system.build()
    rng = np.random.default_rng(seed)
    q, v = elsewhere(model, rng) if move else (model.state.q, model.state.v)
    a, lam = rng.normal(size=model.n_v), rng.uniform(0.5, 1.5, model.n_lam)
    for name in system.bodies:
        lam[model.numbering.owners[name]] = 0.0
    return Workspace(model, State(0.3, q, v, a, lam))


def faces(work):
    """Return face, velocity and force (n, 4, 3) of ground and all bodies, just evaluated."""
    size = 12 * (work.model.n_faces + 1)
    work.vector(m.FY, 12)[:] = 0.0
    work.evaluate()
    return tuple(work.vector(x, size).reshape(-1, 4, 3).copy() for x in (m.Y, m.YD, m.FY))


def curve(work):
    """Return a function that moves a work space along its velocities and accelerations."""
    n = work.model.numbering
    v, a = work.vector(m.V)[n.v], work.vector(m.A)[n.v]
    t0 = work.F[m.T]

    def move(t):
        work.F[m.T] = t0 + t
        work.vector(m.D)[n.v] = t * v
        work.vector(m.V)[n.v] = v + t * a

    return move


def derivative(f, h=1e-3):
    return (8 * (f(h) - f(-h)) - f(2 * h) + f(-2 * h)) / (12 * h)
