"""Three-blade rotor on a tower: twisted, tapered blades that idle in calm air, 20 elements each.

Tower and blades are beams, nacelle and hub rigid bodies; the shaft is free. Weight and rotation load
the blades at once, which begin as rigid ones, so all of it swings. The rotor keeps its mean speed,
three equal blades are in balance, and the energy stays what it was at the start:

    1/2 J W^2 + g (m_t z_t + m_n z_n + m_r z_r)

of the rigid rotor, with mass and inertia of the taper in closed form (tolerances: what the method
dissipates of waves along the blades, and the swing of the tower).
"""

import math

import numpy as np

import mbd

RUN = {"t_end": 2.0, "step": 5e-3}
G, SPEED = 9.81, 1.6  # m/s^2, rad/s
HEIGHT, ROOT, BLADE = 80.0, 1.5, 38.5  # m: of the tower, from the shaft to the blade, of the blade
ABOVE, AHEAD = 2.0, 4.0  # m: of the shaft over the tower, of the hub before it
NACELLE, HUB, HUB_INERTIA = 5e4, 1.5e4, 1.5e4  # kg, kg, kg m^2
M0, M1 = 220.0, 20.0  # kg/m, of a blade at root and tip
STEEL = {"young": 2.1e11, "poisson": 0.3, "density": 8500.0}
BOTTOM, TOP = (mbd.Section.tube(r, 0.025, **STEEL) for r in (2.1, 1.4))

_SUM = M0 + M1
_BLADE = BLADE * _SUM / 2  # kg; m(s) = M0 + (M1 - M0) s/BLADE
_FIRST = BLADE**2 * (M0 / 2 + (M1 - M0) / 3)  # integral of m s
_SECOND = BLADE**3 * (M0 / 3 + (M1 - M0) / 4)  # of m s^2
_J = HUB_INERTIA + 3 * (_BLADE * (ROOT**2 + 0.5) + 2 * ROOT * _FIRST + _SECOND)  # 0.5: of sections
_TOWER = HEIGHT**2 * (BOTTOM.mass / 6 + TOP.mass / 3)  # integral of m z
_WEIGHTS = _TOWER + (HEIGHT + ABOVE) * (NACELLE + HUB + 3 * _BLADE)
ENERGY = 0.5 * _J * SPEED**2 + G * _WEIGHTS  # J, sections of the blades turn along: 1e-6 of it
_SOURCE = "closed form"
REFERENCE = (
    ("energy.total", 1.0, ENERGY, 2e-5 * ENERGY, _SOURCE),
    ("energy.total", 2.0, ENERGY, 2e-5 * ENERGY, _SOURCE),
    ("shaft.angle", 2.0, 2.0 * SPEED, 0.01, "three blades are in balance"),
)


def section(p: float) -> mbd.Section:
    """Return the section of a blade: axis 2 along the chord, flap about it."""
    stiff = (1.0 - 0.85 * p) ** 3
    m = M0 + (M1 - M0) * p
    return mbd.Section(
        stiffness=(6e9 * (1 - 0.9 * p), 4e8 * (1 - 0.9 * p), 2e8 * (1 - 0.9 * p), 2e8 * stiff,
                   2.2e9 * stiff, 5e9 * stiff),
        mass=m, inertia=(0.6 * m, 0.1 * m, 0.5 * m),
    )  # fmt: skip


def build(elements: int = 20) -> mbd.System:
    """Return the rotor; z up, its axis along x."""
    system = mbd.System(gravity=(0, 0, -G))
    tower = system.add(
        mbd.Beam("tower", points=[(0, 0, 0), (0, 0, HEIGHT)], section=[BOTTOM, TOP], up=(1, 0, 0),
                 elements=elements, first=system.ground)
    )  # fmt: skip
    top = HEIGHT + ABOVE
    nacelle = system.add(
        mbd.RigidBody("nacelle", mass=NACELLE, inertia=(1e5, 4e5, 4e5), position=(1.0, 0, top),
                      shape=mbd.Box((10.0, 3.5, 3.5)))
    )  # fmt: skip
    system.add(mbd.Fixed("yaw bearing", tower.last, nacelle, at=(0, 0, HEIGHT)))
    hub = system.add(
        mbd.RigidBody("hub", mass=HUB, inertia=(HUB_INERTIA,) * 3, position=(-AHEAD, 0, top),
                      angular_velocity=(SPEED, 0, 0), shape=mbd.Sphere(ROOT))
    )  # fmt: skip
    system.add(mbd.Revolute("shaft", nacelle, hub, at=(-AHEAD, 0, top), axis=(1, 0, 0)))
    for i in range(3):
        along = np.array((0.0, math.sin(2 * math.pi / 3 * i), math.cos(2 * math.pi / 3 * i)))
        root = hub.position + ROOT * along
        system.add(
            mbd.Beam(f"blade {i + 1}", points=[root, root + BLADE * along], section=section,
                     twist=[0.25, 0.1, 0.03, 0.0], up=(1, 0, 0), elements=elements, first=hub,
                     velocity=np.cross((SPEED, 0, 0), ROOT * along),
                     angular_velocity=(SPEED, 0, 0))
        )  # fmt: skip
    return system
