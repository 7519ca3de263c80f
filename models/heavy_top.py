"""Heavy top: on a ball joint, spinning at 150 rad/s; the hard test of a Lie-group integrator.

Definition: O. Bruels, A. Cardona, "On the use of Lie group time integrators in multibody dynamics",
J. Comput. Nonlinear Dyn. 5 (2010) 031002. Source of the numbers: quaternion ODE by a Taylor method
in extended precision, energy and vertical momentum constant to 1e-16. The tolerance is that of the
default step in the worst formulation; ``tests/physics`` extrapolates to eight digits more.
"""

import mbd

RUN = {"t_end": 1.0, "step": 2.5e-4}
_SOURCE = "Taylor series ODE"
REFERENCE = (
    ("top.position", 0.1, (0.4212966589254, 0.8945719743456, -0.1491647005619), 2e-4, _SOURCE),
    ("top.position", 1.0, (0.1733439640984, 0.6400885920706, -0.7484907911336), 1e-3, _SOURCE),
    ("top.velocity", 1.0, (0.5708253034255, -4.588728296335, -3.7919551547101), 1e-2, _SOURCE),
    ("top.angular_velocity_body", 1.0, (-0.8220781016827, 150, -5.9232913481173), 0.2, _SOURCE),
    ("pin.force", 1.0, (-517.6007394769, -396.84310148955, 404.57492516288), 1.0, _SOURCE),
    ("energy.total", 1.0, 5435.69679086555, 0.4, "conserved"),
)


def build(formulation: str = "so3") -> mbd.System:
    """Return the top, centre of mass at (0, 1, 0) from the pin, z up."""
    system = mbd.System(gravity=(0.0, 0.0, -9.81))
    y = (0, 1, 0)
    shapes = [
        mbd.Cylinder(0.25, 0.04, axis=y),
        mbd.Box((0.4, 0.08, 0.04), color="#f2f2f2"),  # shows that it spins
        mbd.Capsule(0.02, 1.0, at=(0, -0.5, 0), axis=y),
    ]
    top = system.add(
        mbd.RigidBody(
            "top",
            mass=15.0,
            inertia=(0.234375, 0.46875, 0.234375),
            position=(0, 1, 0),
            velocity=(4.61538, 0, 0),
            angular_velocity=(0, 150, -4.61538),
            formulation=formulation,
            shape=shapes,
        )
    )
    system.add(mbd.Spherical("pin", system.ground, top, at=(0, 0, 0)))
    return system
