"""Energy of every element: its power at a state, the balance along runs."""

import math

import numpy as np
import pytest
from families import SLOW
from moving import curve, derivative, faces, moving
from recipes import (
    LOADS,
    MEASURES,
    PAIR_FORCES,
    ROW_PARTS,
    SCALINGS,
    STILL,
    Raw,
    pair,
    raw_part,
)
from scipy.integrate import quad

import mbd
from mbd.interactions.kind import Element
from mbd.interactions.springs import stop
from mbd.machine import buffer as m

BETWEEN = [("so3", "so3"), ("ground", "directors")]


def friction(u, rate, t):
    """Dry friction that is written with a jump, a spring that softens, and a pull that grows."""
    return math.copysign(2.0, rate) + 5 * math.sin(u) + 0.7 * t


def stops(measure, one, two):
    """Return stops on a measure, of which one is always touched."""
    element = raw_part(measure, one, two, constraint=False).elements()[0]
    numbers = (7.0, 0.2, -90.0, -60.0)
    return Raw("part", (one, two), [Element(stop(measure), element.attachments, numbers,
                                            element.memory)])  # fmt: skip


FORCES = {
    **{"-".join(name): make for name, make in PAIR_FORCES.items()},
    "JointSpring-friction": lambda a, b, s: mbd.JointSpring(
        "part", mbd.Cylindrical("j", a, b, at=(0.1, 0.2, 0.3), axis=(0.6, 0, 0.8)).angle,
        law=friction,
    ),
    **{f"spring on {name}": lambda a, b, s, x=x: raw_part(x, a, b, constraint=False)
       for name, x in MEASURES.items()},
    **{f"stop on {name}": lambda a, b, s, x=x: stops(x, a, b) for name, x in MEASURES.items()},
}  # fmt: skip


def told(work):
    """Return potential, dissipated and supplied power that elements tell, just evaluated."""
    F, model = work.F, work.model
    size = 12 * (len(model.bodies) + 1)
    force = work.vector(m.FY, size)
    keep, force[:] = force.copy(), 0.0
    F[[m.POTENTIAL, m.DISSIPATED, m.SUPPLIED]] = 0.0
    for stage in (m.LOADS, m.ENERGY):
        for kernel, record in model.kernels[stage]:
            kernel(work.I, F, record)
    power = -float(force @ work.vector(m.YD, size))
    force[:] = keep
    return F[m.POTENTIAL], F[m.DISSIPATED], F[m.SUPPLIED] + power


def check_told(work):
    """Compare the power of all elements with -dV/dt - D + W."""
    _, yd, f = faces(work)
    power = -float(np.sum(f * yd))
    _, dissipated, supplied = told(work)
    move = curve(work)

    def potential(t):
        move(t)
        work.evaluate()
        return told(work)[0]

    rate = derivative(potential)
    assert np.isclose(power, supplied - dissipated - rate, rtol=1e-8, atol=1e-8)
    return power, rate, dissipated, supplied


@pytest.mark.parametrize(("first", "second"), BETWEEN)
@pytest.mark.parametrize("name", [
    pytest.param(x, marks=SLOW) if x.startswith("stop on") and x != "stop on length" else x
    for x in FORCES  # those of a spring on the same measures are compiled for other tests too
])  # fmt: skip
def test_power_is_what_elements_tell(name, first, second):
    system, one, two = pair(first, second)
    system.add(FORCES[name](one, two, STILL))
    power, rate, dissipated, supplied = check_told(moving(system, 50021))
    assert abs(power) > 1e-4
    if name.endswith("elastic"):
        assert dissipated == supplied == 0.0
    if name.startswith("Motor"):
        assert rate == dissipated == 0.0
    if name.endswith("damped") or name == "JointSpring-friction":
        assert dissipated > 0.0


@pytest.mark.parametrize("name", {**LOADS, **SCALINGS}, ids="-".join)
def test_loads_put_all_their_power_in(name):
    system, one, _ = pair("scalable" if name in SCALINGS else "so3", "ground")
    system.add({**LOADS, **SCALINGS}[name](one, STILL))
    power, rate, dissipated, supplied = check_told(moving(system, 50021))
    assert np.isclose(power, supplied, rtol=1e-12)
    assert rate == dissipated == 0.0


@pytest.mark.parametrize("name", ROW_PARTS, ids="-".join)
def test_driven_rows_put_in_what_moves_them(name):
    """Where the rates of all rows are met, the power of the multipliers is that of the motion."""
    system, one, two = pair("so3", "so3")
    system.add(ROW_PARTS[name](one, two, STILL))
    work = moving(system, 50023)
    faces(work)
    work.fill(m.ENERGY)
    lam = work.vector(m.A)[work.model.numbering.lam]
    _, yd, f = faces(work)
    rate, _ = work.rates()
    work.evaluate()
    power, (_, _, supplied) = -float(np.sum(f * yd)), told(work)
    assert np.isclose(power + lam @ rate, supplied, rtol=1e-10, atol=1e-11)
    assert (supplied != 0.0) == any(word in name[1] for word in ("speed", "law", "velocity"))


def hardening(u, rate, t):
    return 3 * u + 2 * u**3


def test_potential_of_a_law_is_its_integral():
    system = mbd.System()
    point = system.add(mbd.PointMass("p", mass=1.0, position=(0.4, 0, 0)))
    ahead = system.ground
    system.add(mbd.Spring("s", ahead, point, at=(-1, 0, 0), law=hardening))
    run = mbd.simulate(system, 1.0, 1e-3)
    length = run["p"].position[:, 0] + 1
    exact = [quad(hardening, 1.4, x, args=(0.0, 0.0))[0] for x in length[::100]]
    assert np.ptp(length) > 0.5
    assert np.allclose(run.energy.potential[::100], exact, rtol=0, atol=1e-12)
    assert run.energy.conservative
    assert np.ptp(run.energy.balance) < 1e-4


def test_a_law_that_cannot_be_asked_loses_no_results(tmp_path):
    """Between the described pose and the run it raises: the potential is unknown, nothing else."""

    def broken(u, rate, t):
        if 1.6 < u < 2.0:
            raise ArithmeticError("no elongation like that")
        return 3.0 * (u - 2.5)

    system = mbd.System()
    point = system.add(mbd.PointMass("p", mass=1.0, position=(0.4, 0, 0)))
    system.add(mbd.Spring("s", system.ground, point, at=(-1, 0, 0), law=broken))
    model = system.build()
    state = model.state.replace(q=np.array([1.6, 0.2, 0.0]))
    run = mbd.simulate(model, 0.3, 1e-2, state=state)
    with pytest.warns(UserWarning, match="energies are not known.*no elongation like that"):
        run.save(tmp_path / "run.npz")
    kept = mbd.load(tmp_path / "run.npz")
    assert np.isnan(kept.energy.potential).all()
    assert np.isfinite(kept.energy.kinetic).all()
    assert np.array_equal(kept["p"].position, run["p"].position)
    assert (kept.gap == 0.0).all()


PARTS = {
    **{name: ("pair", FORCES[name]) for name in [
        *("-".join(x) for x in PAIR_FORCES), *(f"spring on {x}" for x in ("sine", "dot", "square"))
    ]},
    **{"-".join(name): ("pair", make) for name, make in ROW_PARTS.items()},
    **{"-".join(name): ("one", make) for name, make in LOADS.items()},
    **{"-".join(name): ("one", make) for name, make in SCALINGS.items()},
}  # fmt: skip


@pytest.mark.parametrize("name", PARTS)
def test_balance_closes_along_a_run(name):
    """T + V + D - W is constant to the second order of the method and of the sums."""
    bodies, make = PARTS[name]
    breathing = mbd.Scalable(rigid=False) if name.startswith("ScalingForce") else "so3"
    system, one, two = pair(breathing, "ground" if bodies == "one" else "so3")
    system.add(make(one, STILL) if bodies == "one" else make(one, two, STILL))
    state = mbd.assemble_pose(system)
    method = mbd.GeneralizedAlpha(1.0, constraints="stabilized")
    drift = []
    for h in (4e-3, 2e-3):
        energy = mbd.simulate(system, 0.4, h, state=state, method=method).energy
        drift.append(np.ptp(energy.balance))
    size = np.ptp(energy.kinetic) + np.ptp(energy.potential) + np.abs(energy.work).max()
    assert drift[1] < 1e-3 * size
    assert drift[1] < 0.3 * drift[0] + 1e-11 * size
