"""Loads from 1e-300 to 1e300: a run is right, warns, or is refused or ended by name."""

# ruff: noqa: PT017
import warnings

import numpy as np
import pytest
from families import spread

import mbd

SIZES = [1e-300, 1e-155, 1e-20, 1.0, 1e5, 1e7, 1e16, 1e40, 1e80, 1e99, 1e155, 1e300]
END, STEP = 0.1, 1e-2
# of the other formulations the loops are the same: two of few coordinates, one of many
FORMULATIONS = ["so3", "se3", "directors"]


def free(formulation="so3"):
    """Return a body that nothing holds, in a system without gravity."""
    system = mbd.System()
    body = mbd.RigidBody("b", mass=2.0, inertia=(0.5, 0.5, 0.5), formulation=formulation)
    return system, system.add(body)


def hinged(formulation):
    """Return a body on a hinge, 0.3 m away: its inertia about the hinge is 0.68 kg m^2."""
    system = mbd.System()
    body = system.add(
        mbd.RigidBody(
            "b", mass=2.0, inertia=(0.5, 0.5, 0.5), position=(0.3, 0, 0), formulation=formulation
        )
    )
    hinge = system.add(mbd.Revolute("h", system.ground, body, at=(0, 0, 0), axis=(0, 0, 1)))
    return system, hinge


def pushed(size, formulation):
    system, body = free(formulation)
    system.add(mbd.PointForce("f", body, force=(size, 0, 0)))
    return system, "b.velocity.x", size / 2.0 * END


def pushed_by_a_law(size, formulation):
    system, body = free(formulation)
    system.add(mbd.PointForce("f", body, force=lambda t: (2 * size * t / END, 0, 0)))
    return system, "b.velocity.x", size / 2.0 * END


def fallen(size, formulation):
    system, _ = free(formulation)
    system.gravity = (0, 0, -size)
    return system, "b.velocity.z", -size * END


def turned(size, formulation):
    system, body = free(formulation)
    system.add(mbd.Moment("f", body, moment=(0, 0, size)))
    return system, "b.angular_velocity.z", size / 0.5 * END


def driven(size, formulation):
    system, hinge = hinged(formulation)
    system.add(mbd.Motor("f", hinge.angle, effort=size))
    return system, "h.angle_rate", size / 0.68 * END


def driven_by_a_law(size, formulation):
    system, hinge = hinged(formulation)
    system.add(mbd.Motor("f", hinge.angle, effort=lambda u, rate, t: 2 * size * t / END))
    return system, "h.angle_rate", size / 0.68 * END


def drawn(size, formulation):
    """Return a body that swings on a long spring, 4.5 m to both sides of its rest."""
    system, body = free(formulation)
    system.add(
        mbd.Spring("f", system.ground, body, at=(90, 0, 0), stiffness=size / 4.5, length=85.5)
    )
    rate = np.sqrt(size / 9.0)
    return system, "b.velocity.x", 4.5 * rate * np.sin(rate * END)


LOADS = [pushed, pushed_by_a_law, fallen, turned, driven, driven_by_a_law, drawn]
METHODS = [
    mbd.GeneralizedAlpha(), mbd.GeneralizedAlpha(constraints="velocity"), mbd.EnergyMomentum(),
    mbd.LieRungeKutta4(), None,
]  # fmt: skip


def value(run, name):
    part, quantity, *component = name.split(".")
    history = getattr(run[part], quantity)
    return history[-1] if not component else history[-1, "xyz".index(component[0])]


def fate(size, load, formulation, method):
    """Return "right", "warned", "refused" or "ended"; fail if it is none of them."""
    how = {"rtol": 1e-4} if method is None else {"step": STEP, "method": method}
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        try:
            system, name, exact = load(size, formulation)
            run = mbd.simulate(system, END, **how)
        except ValueError as error:
            assert "f: " in str(error) or str(error).startswith("System: "), (size, error)
            return "refused"
        except mbd.SimulationError as error:
            who = ("'b.", "f: ", "the angle 'f'")
            assert any(x in str(error) for x in who), (size, error)
            assert np.isfinite(error.solution.q).all()
            return "ended"
    assert all(np.isfinite(x).all() for x in (run.q, run.v, run.a, run.lam)), size
    assert np.isfinite(run.energy.total).all(), size
    if noted:
        told = ("steps of ", "full turns are not known")
        assert all(any(x in str(w.message) for x in told) for w in noted), [
            str(w.message) for w in noted
        ]
        return "warned"
    largest = 4.5 * np.sqrt(size / 9.0) if load is drawn and size > 1.0 else 0.0
    assert value(run, name) == pytest.approx(exact, rel=2e-2, abs=2e-2 * largest), (size, name)
    return "right"


@spread(load=LOADS, method=METHODS)
def test_a_load_of_any_size(load, method):
    some = FORMULATIONS
    if isinstance(method, mbd.EnergyMomentum):
        some = ["directors"]
    if isinstance(method, mbd.LieRungeKutta4):
        some = [] if load in (driven, driven_by_a_law) else ["so3"]  # it takes no rows
    for formulation in some:
        # small free steps times h^2 are no numbers any more at 1e-300 N
        few = (1e-299, 1.0, 1e3 if method is None else 1e5, 1e99, 1e300)
        for size in SIZES if formulation == some[0] and method is not None else few:
            what = fate(size, load, formulation, method)
            assert what == "right" or size > 1.0
            assert what in ("refused", "ended") or size < 1e100


@pytest.mark.parametrize(
    ("seek", "lost"),
    [
        ("minimum", ()),
        pytest.param("nearest", (1e18,), marks=pytest.mark.slow),  # given up at once
        pytest.param("minimum", (1e16,), marks=pytest.mark.slow),  # sought for long
    ],
)  # fmt: skip
def test_an_equilibrium_under_a_load_of_any_size(seek, lost):
    """A body on a bushing moves by force over stiffness, or it is said that it does not."""
    for size in (1e-300, 1e-155, 1e-20, 1e-9, 1.0, 1e7, *lost, 1e155):
        system, body = free()
        system.add(
            mbd.Bushing("k", system.ground, body, at=(0, 0, 0), stiffness=(50.0,) * 3 + (9.0,) * 3)
        )
        try:
            system.add(mbd.PointForce("f", body, force=(size, 0, 0)))
            pose = mbd.equilibrium(system, seek=seek)
        except ValueError as error:
            assert str(error).startswith("f: force must not exceed")
            assert size > 1e100
        except mbd.EquilibriumError as error:
            assert size > 1e7  # a lever of 2e14 m
            assert "'b." in str(error)
        else:
            assert pose["b"].position[0] == pytest.approx(size / 50.0, rel=1e-6, abs=0.0)
            assert pose.loads.force == pytest.approx(size, rel=1e-12, abs=0.0)
            assert pose.out_of_balance.force <= 1e-6 * size


@pytest.mark.slow
def test_a_beam_under_a_load_of_any_size():
    """Its deflection by load is that of 1e-3 N, or it is said why it cannot be told."""
    section = mbd.Section(stiffness=(2.84e6, 1.1e6, 1.1e6, 28, 36.3, 36.3), mass=1.0)
    bend = {}
    for size in (1e-3, 1e-300, 1e-20, 1e-12, 1e-9, 1e-6, 1e6):
        system = mbd.System()
        beam = system.add(
            mbd.Beam("b", points=[(0, 0, 0), (0.3, 0.2, 0.1)], section=section, elements=3,
                     first=system.ground)
        )  # fmt: skip
        system.add(mbd.PointForce("f", beam.last, force=(0, 0, -size)))
        with warnings.catch_warnings(record=True) as noted:
            warnings.simplefilter("always")
            try:
                pose = mbd.equilibrium(system)
            except mbd.EquilibriumError as error:
                assert size < 1e-7, error
                assert "less than the round-off of the forces that stiffness makes" in str(error)
                continue
        assert pose.loads.force == pytest.approx(size, rel=1e-12, abs=0.0)
        bend[size] = (pose["b.3"].position - (0.3, 0.2, 0.1)) / size
        if noted:
            assert size == 1e6
            assert (
                f"; warning: {str(noted[-1].message).removeprefix('equilibrium: ')}" in pose.message
            )
        else:
            assert bend[size] == pytest.approx(bend[1e-3], rel=1e-4, abs=1e-17 / size)
    assert 1e-6 in bend
