"""Bodies that turn freely, and tops: closed forms, conserved quantities."""

import numpy as np
import pytest
from families import spread
from scipy.spatial.transform import Rotation

import mbd

from .tools import RIGID, SHARP, converge, ends, published, scene


def free(inertia, rates, formulation, **options):
    system = mbd.System()
    body = mbd.RigidBody(
        "body", mass=1.0, inertia=inertia, angular_velocity_body=rates, formulation=formulation,
        **options,
    )  # fmt: skip
    system.add(body)
    return system


TURNED = {"Omega": "body.angular_velocity_body", "R": "body.rotation"}


@pytest.mark.parametrize("formulation", RIGID)
def test_dzhanibekov_body_turns_over(formulation):
    # a flat body, J3 = J1 + J2: on directors one of them has no mass
    q = (0.0147856656, -0.8308657812, -0.0008516447, -0.5562757522)
    exact = {
        "Omega": (-0.1471917651, -4.9978330889, 0.0849851275),
        "R": Rotation.from_quat(q, scalar_first=True).as_matrix(),
    }
    system = scene("dzhanibekov").build(formulation)
    converge(ends(system, 5.0, **TURNED), exact, step=2e-3, tolerance=2e-8)


@pytest.mark.parametrize("formulation", RIGID)
def test_spin_about_the_middle_axis(formulation):
    system = free((5.2988, 1.1775, 4.3568), (0.01, 0, 100), formulation)
    exact = {k: published("R03")["0.1"][k] for k in ("Omega", "R")}
    tolerance = {"Omega": 5e-7, "R": 1e-8}
    converge(ends(system, 0.1, **TURNED), exact, step=1e-4, tolerance=tolerance)


@pytest.mark.parametrize("formulation", RIGID)
@pytest.mark.parametrize("t_end", ["1.0", "10.0"])
def test_free_symmetric_body_follows_its_closed_form(formulation, t_end):
    system = free((2.0, 2.0, 1.0), (0.3, -0.4, 5), formulation)
    exact = {k: published("R04")[t_end][k] for k in ("Omega", "R")}
    converge(ends(system, float(t_end), **TURNED), exact, step=2e-3, tolerance=2e-8)


@pytest.mark.parametrize("formulation", RIGID)
def test_free_body_keeps_momenta_and_energy(formulation):
    system = mbd.System()
    body = mbd.RigidBody(
        "body", mass=2.0, inertia=(0.2, 0.35, 0.3), center_of_mass=(0.1, -0.2, 0.3),
        position=(1, 2, 3), rotation=Rotation.from_rotvec([0.3, -0.8, 0.5]),
        velocity=(1, 0.5, 0.25), angular_velocity=(3, 4, 5), formulation=formulation,
    )  # fmt: skip
    system.add(body)
    changes = []
    for h in (2e-3, 1e-3):
        solution = mbd.simulate(system, 2.0, h, method=SHARP)
        p, L, E = solution.momentum.linear, solution.momentum.angular, solution.energy.total
        changes.append([np.abs(x - x[0]).max() for x in (p, L, E)])
    size = [np.abs(x[0]).max() for x in (p, L, E)]
    for coarse, fine, s in zip(*changes, size, strict=True):
        assert fine < 1e-4 * s
        assert fine < 0.3 * coarse or fine < 1e-9 * s


@spread(fast=[False, True], formulation=RIGID)
def test_symmetric_top_stays_in_steady_precession(formulation, fast):
    s = scene("steady_top")
    assert abs(s.rate() - 0.125114477958295) < 1e-14
    assert abs(s.rate(fast=True) - 136.614156800988) < 1e-11
    t_end = 0.05 if fast else 1.0

    def run(h):
        top = mbd.simulate(s.build(formulation, fast=fast), t_end, h, method=SHARP)["top"]
        axis = top.rotation[:, :, 2]
        return {"axis": axis[-1], "lean": np.array([axis[:, 2].max(), axis[:, 2].min()])}

    lean = np.cos(s.THETA)
    exact = {"axis": s.axis(t_end, fast=fast), "lean": (lean, lean)}
    converge(run, exact, step=2e-4, tolerance=5e-9)


@pytest.mark.parametrize("formulation", RIGID)
def test_physical_top_stays_in_steady_precession(formulation):
    m, l, J, C, theta, spin = 1.0, 0.3, 0.02, 0.03, 0.6, 40.0
    A = J + m * l**2
    a, b, c = A * np.cos(theta), C * spin, m * 9.81 * l
    P = 2 * c / (b + np.sqrt(b * b - 4 * a * c))
    R = Rotation.from_rotvec([theta, 0, 0]).as_matrix()
    omega = (spin - P * np.cos(theta)) * R[:, 2] + P * np.array([0, 0, 1.0])
    system = mbd.System(gravity=(0, 0, -9.81))
    top = mbd.RigidBody(
        "top", mass=m, inertia=(J, J, C), center_of_mass=(0, 0, l), rotation=R,
        angular_velocity=omega, formulation=formulation,
    )  # fmt: skip
    system.add(top)
    system.add(mbd.Spherical("pin", system.ground, top, at=(0, 0, 0)))
    sin, phi = np.sin(theta), P * 1.0
    centripetal = m * P**2 * l * sin
    exact = {
        "axis": (sin * np.sin(phi), -sin * np.cos(phi), np.cos(theta)),
        "reaction": (-centripetal * np.sin(phi), centripetal * np.cos(phi), m * 9.81),
    }

    def run(h):
        solution = mbd.simulate(system, 1.0, h, method=SHARP, every=1_000_000)
        return {"axis": solution["top"].rotation[-1, :, 2], "reaction": solution["pin"].force[-1]}

    converge(run, exact, step=5e-4, tolerance={"axis": 2e-8, "reaction": 1e-4})
