"""The part of elements with mass in the kinetic energy of small motions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mbd.machine import buffer as m
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.workspace import Workspace


def kinetic_of_elements(model: Model, state: State, rates: Sequence[np.ndarray]) -> np.ndarray:
    """Return twice the energy by which elements with mass move each body, (bodies, n).

    ``rates`` are complex, of all k faces of each body (4 k, 3, n): n motions.
    """
    energies = np.zeros((len(rates), rates[0].shape[2]))
    kernels = model.kernels[m.MOMENTA]
    if not kernels:
        return energies
    work = Workspace(model, state)
    work.evaluate()
    yd, p = (work.vector(x, 12 * (model.n_faces + 1)) for x in (m.YD, m.FY))
    firsts = [12 * (1 + model.faces[name]) for name in model.nodes]
    faces = [slice(first, first + 3 * len(x)) for first, x in zip(firsts, rates, strict=True)]
    for i in range(energies.shape[1]):
        for part in (np.real, np.imag):
            for face, x in zip(faces, rates, strict=True):
                yd[face] = part(x[..., i]).ravel()
            p[:] = 0.0
            for kernel, record in kernels:
                kernel(work.I, work.F, record)
            energies[:, i] += [p[face] @ yd[face] for face in faces]
    return energies
