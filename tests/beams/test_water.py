"""Morison's loads, buoyancy through the surface, added mass in M: motions that are known.

Numbers from elsewhere: heave and pitch of a slender spar by strip theory (J. N. Newman, Marine
hydrodynamics, 1977, sections 6.16 and 4.13); amplitudes of a body in still water with quadratic
drag, (1 + 2 mu a) exp(-2 mu a) = (1 - 2 mu b) exp(2 mu b), a and b one after the other (W. E.
Milne, University of Oregon Publ. 2, 1923).
"""

import numpy as np
from numba import njit
from scipy.optimize import brentq

import mbd

RHO, G, D, DRAUGHT, TOP = 1025.0, 9.81, 1.0, 20.0, 5.0
AREA = 0.25 * np.pi * D**2
STIFF = mbd.Section.tube(0.5, 0.02, young=2e14, poisson=0.3, density=7850)


@njit
def wet(z, length):
    """Return which part of a section of this height is below the surface, smoothly."""
    u = min(max(z / length, -1.0), 1.0)
    return 0.5 - u + 0.5 * u * abs(u)


@njit
def morison(x, R, v, cd, length):
    e = R[:, 0]
    u = (v @ e) * e - v
    lift = np.array([0.0, 0.0, 1.0]) - e[2] * e
    f = 0.5 * RHO * D * cd * np.sqrt(u @ u) * u + RHO * G * AREA * lift
    return wet(x[2], length * abs(e[2]) + 0.01 * D) * f, np.zeros(3)


@njit
def pressed(x, R):
    p = RHO * G * AREA * max(-x[2], 0.0)
    return p * R[0, 2], p * R[1, 2], p * R[2, 2]


def floating(elements):
    """Return a tube that stands in the water, with ballast at its foot, and the mass of that."""
    system = mbd.System(gravity=(0, 0, -G))
    spar = system.add(mbd.Beam("spar", [(0, 0, -DRAUGHT), (0, 0, TOP)], section=STIFF, up=(1, 0, 0),
                               elements=elements))  # fmt: skip
    ballast = RHO * AREA * DRAUGHT - STIFF.mass * (DRAUGHT + TOP)
    foot = system.add(mbd.RigidBody("ballast", mass=ballast, inertia=(1, 1, 1),
                                    position=spar.first.position))  # fmt: skip
    system.add(mbd.Fixed("bolts", foot, spar.first, at=foot.position))
    length = (DRAUGHT + TOP) / (4 * elements)
    at = (np.arange(4 * elements) + 0.5) * length
    inputs = {"cd": 1.0, "length": length}
    system.add(
        mbd.SectionLoad("sea", spar, morison, stations=at, lengths=length, parameters=inputs)
    )
    system.add(mbd.PointForce("pressure", foot, pressed))
    below = [x for x in spar.nodes() if x.position[2] < 1e-9]
    for node in below:
        part = 0.5 if node in (below[0], below[-1]) else 1.0
        a = RHO * AREA * 4 * length * part
        system.add(mbd.AddedMass(f"water of {node.name}", node, np.diag((0, a, a, 0, 0, 0))))
    return system, ballast


def test_a_spar_heaves_and_pitches_as_strips_say():
    """Mass at nodes for sections between them: of second order, the limit is that of strips."""
    found = []
    for elements in (5, 10):
        system, ballast = floating(elements)
        pose = mbd.equilibrium(system)
        assert abs(pose["ballast"].position[2] + DRAUGHT) < 1e-4
        rates = 2 * np.pi * mbd.modes(pose, n=8).frequency
        found.append(rates[rates > 0.01])
    tube, mass, middle = STIFF.mass * (DRAUGHT + TOP), RHO * AREA * DRAUGHT, 0.5 * (TOP - DRAUGHT)
    g = (tube * middle - ballast * DRAUGHT) / mass  # height of the centre of mass
    inertia = tube * (DRAUGHT + TOP) ** 2 / 12 + tube * (middle - g) ** 2
    inertia += 1 + ballast * (DRAUGHT + g) ** 2 + STIFF.inertia[1, 1] * (DRAUGHT + TOP)
    arm = -0.5 * DRAUGHT - g
    about = inertia + mass * (DRAUGHT**2 / 12 + arm**2) - 0.5 * mass * arm**2  # less what sways
    pitch, heave = np.sqrt(mass * G * arm / about), np.sqrt(G / DRAUGHT)
    assert np.allclose(found[1], (pitch, pitch, heave), rtol=1e-2)
    assert np.allclose((4 * found[1] - found[0]) / 3, (pitch, pitch, heave), rtol=1e-4)


def test_a_cylinder_comes_to_rest_in_still_water_as_milne_says():
    system = mbd.System()
    rod = system.add(mbd.Beam("rod", [(0, 1, -9), (2, 1, -9)], section=STIFF, elements=2))
    system.add(mbd.Prismatic("rail", system.ground, rod.node(1), at=(1, 1, -9), axis=(0, 1, 0)))
    system.add(mbd.SectionLoad("sea", rod, morison, parameters={"cd": 0.7, "length": 1.0}))
    system.add(mbd.Spring("spring", system.ground, rod.node(1), at=(1, -9, -9), length=9.0,
                          stiffness=5e4))  # fmt: skip
    water = 2 * RHO * AREA
    system.add(mbd.AddedMass("water", rod.node(1), np.diag((0, water, water, 0, 0, 0))))
    run = mbd.simulate(system, 3.5, 2e-3)
    y = run["rod.1"].position[:, 1]
    turns = np.flatnonzero(np.diff(y)[:-1] * np.diff(y)[1:] < 0) + 1
    peaks = np.abs(y[turns])
    mu = 0.5 * RHO * D * 0.7 * 2 / (2 * STIFF.mass + water)
    told, a = [], 1.0
    for _ in peaks:
        left = (1 + 2 * mu * a) * np.exp(-2 * mu * a)
        a = brentq(lambda b, left=left: (1 - 2 * mu * b) * np.exp(2 * mu * b) - left, 0, a)
        told.append(a)
    assert len(peaks) == 4
    assert np.allclose(peaks, told, rtol=2e-4)
