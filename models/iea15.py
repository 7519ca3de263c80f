"""IEA 15 MW wind turbine: blades and tower that bend in a steady wind, with dynamic inflow.

Blades of 117 m by their full matrices, a tower of 129 m, nacelle and hub rigid, the shaft tilted.
The generator takes the torque K W^2 of the controller. HAWC2's table of steady states has 6.391 rpm
at 9 m/s; rigid blades move on their own at the start. Numbers: ``iea15.json``, which names the source.

Air, by blade elements: with u = wind - v + w in the plane of a section, at a quarter of the chord c,

    f = rho/2 c |u| (c_l e_1 x u + c_d u) + f_r,    m = rho/2 c^2 |u|^2 c_m e_1,

coefficients by the angle of attack at three quarters of it, where f_r = rho pi c^2/4 |u| omega_1 e_2
acts, what an ideal fluid does to a section that turns. Lift comes by Wagner's function. Torsion is
damped by both: without f_r its first mode grows. The induced velocity w follows the momentum
equations of annuli (S. A. Ning, Wind Energy 17 (2014) 1327), w' = (w_steady - w)/tau, with
tau = 1.1 R/(V (1 - 1.3 a)) of the wake (H. Snel, J. G. Schepers, ECN-C--94-107).
"""

import json
from math import atan2, cos, exp, hypot, inf, pi, sin, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

import mbd

DATA: dict[str, Any] = json.loads(Path(__file__).with_name("iea15.json").read_text("utf-8"))
_ROTOR, _CONTROL = DATA["rotor"], DATA["control"]
DENSITY, BLADES, HUB, TIP = 1.225, 3, _ROTOR["hub_radius"], _ROTOR["tip_radius"]
TILT, CONE = np.radians(_ROTOR["tilt_deg"]), np.radians(_ROTOR["cone_deg"])
STEADY = {row[0]: row[1:] for row in DATA["steady"]["rows"]}  # wind: pitch, rpm, kW, kN
EFFICIENCY = 15.0 / 15.665  # of the generator: rated power over that of the table
JONES = (0.165, 0.335)  # of Wagner's function, 1 - sum a exp(-b U t/(c/2))
RATED = _CONTROL["rated_speed"]
_TORQUE = _CONTROL["rated_power"] / (EFFICIENCY * RATED)
_FACTOR = _CONTROL["torque_factor"] / EFFICIENCY  # that of the controller is of electrical power
_LINE = np.array(DATA["blade"]["line"]["rows"]).T  # z, x, twist, chord, centre x, y, thickness
_SPAN = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(_LINE[:2])))])
_ANGLES = np.linspace(-pi, pi, 721)
RUN = {"t_end": 30.0, "step": 0.02}
_SOURCE = "HAWC2, IEA_15MW_RWT_Onshore.opt"
REFERENCE = (("shaft.angle_rate", 30.0, STEADY[9][1] * pi / 30, 0.006, _SOURCE),)


@njit
def coefficients(polar, row, alpha):
    """Return c_l, c_d, c_m of a section; angles of the table are equally spaced from -pi to pi."""
    at = (alpha + pi) / (2.0 * pi) * (polar.shape[1] - 1)
    i = min(int(at), polar.shape[1] - 2)
    w, one, two = at - i, polar[int(row), i], polar[int(row), i + 1]
    return (
        one[0] + w * (two[0] - one[0]), one[1] + w * (two[1] - one[1]),
        one[2] + w * (two[2] - one[2]),
    )  # fmt: skip


@njit
def flow(R, v, omega, reference, strip, wind):
    """Return the air that comes to the aerodynamic centre, without induction, and n, by axes 2, 3.

    n is the axis of the shaft in the plane of the section; e_1 x n points against the rotation.
    Last is what turning adds to the air on axis 2 at three quarters of the chord.
    """
    n2 = n3 = u2 = u3 = turn = 0.0
    for i in range(3):
        air = (wind if i == 0 else 0.0) - v[i]
        u2, u3 = u2 + R[i, 1] * air, u3 + R[i, 2] * air
        n2, n3 = n2 + R[i, 1] * reference[1][i, 0], n3 + R[i, 2] * reference[1][i, 0]
        turn += R[i, 0] * omega[i]
    size = sqrt(n2 * n2 + n3 * n3)
    u2, u3 = u2 + turn * strip[2], u3 - turn * strip[1]
    return u2, u3, n2 / size, n3 / size, 0.5 * turn * strip[0]


@njit
def air(R, v, omega, reference, memory, strip, wind, density, lag, polar):
    """Return force and moment per length about the line; strip has chord, centre, row of polars."""
    chord, c2, c3, row = strip[0], strip[1], strip[2], strip[3]
    u2, u3, n2, n3, camber = flow(R, v, omega, reference, strip, wind)
    u2 -= memory[0] * n2 + memory[1] * n3
    u3 -= memory[0] * n3 - memory[1] * n2
    alpha = atan2(u2 + camber, u3)
    alpha += lag * (memory[2] + memory[3] - (JONES[0] + JONES[1]) * alpha)
    cl, cd, cm = coefficients(polar, row, alpha)
    speed = sqrt(u2 * u2 + u3 * u3)
    q = 0.5 * density * chord * speed
    rate = pi * camber * q  # rho pi c^2/4 |u| omega_1, at three quarters of the chord
    f2, f3 = q * (cl * u3 + cd * u2), q * (cd * u3 - cl * u2)
    m = q * chord * speed * cm + c2 * f3 - c3 * f2 - 0.5 * chord * rate
    f2 += rate
    m -= c3 * rate
    f = R[0, 1] * f2 + R[0, 2] * f3, R[1, 1] * f2 + R[1, 2] * f3, R[2, 1] * f2 + R[2, 2] * f3
    return f, (R[0, 0] * m, R[1, 0] * m, R[2, 0] * m)


@njit
def momentum(phi, x, y, n, camber, strip, radius, polar):
    """Return Ning's residual at an inflow angle, and a and a' of it."""
    s, c = sin(phi), cos(phi)
    cl, cd, _ = coefficients(
        polar, strip[3], atan2(s * n[0] - c * n[1] + camber, s * n[1] + c * n[0])
    )
    edge = 0.5 * 3 / (radius * max(abs(s), 1e-9))
    tip, hub = (
        exp(-edge * max(TIP - radius, 0.0)),
        exp(-edge * radius / HUB * max(radius - HUB, 0.0)),
    )
    F = max(4.0 / pi**2 * np.arccos(tip) * np.arccos(hub), 1e-4)
    k = 3 * strip[0] / (8.0 * pi * radius * F * s)  # sigma / (4 F sin)
    kn, kt = k * (cl * c + cd * s) / s, k * (cl * s - cd * c) / c
    if kn <= 2.0 / 3.0:
        a = kn / (1.0 + kn)
    else:  # Buhl's line past Glauert's limit
        g = 2.0 * F * kn
        a = (g - (10.0 / 9.0 - F) - sqrt(g - F * (4.0 / 3.0 - F))) / (g - (25.0 / 9.0 - 2.0 * F))
    return s / (1.0 - a) - x / y * c * (1.0 - kt), a, kt / (1.0 - kt)


@njit
def wake(x, R, v, omega, reference, memory, dt, strip, wind, polar):
    """Return the memory after dt: induced velocities along -n and against the rotation, shed lift."""
    u2, u3, n2, n3, camber = flow(R, v, omega, reference, strip, wind)
    vx, vy = u2 * n2 + u3 * n3, u3 * n2 - u2 * n3
    w = steady(x, reference, vx, vy, (n2, n3), camber, strip, polar)
    slow = 1.0 - 1.3 * min(w[0] / max(vx, 1.0), 0.5)
    share = -np.expm1(-dt * max(wind, 1.0) * slow / (1.1 * TIP))
    one, two = memory[0] + share * (w[0] - memory[0]), memory[1] + share * (w[1] - memory[1])
    u2, u3 = u2 - one * n2 - two * n3, u3 - one * n3 + two * n2
    alpha, rate = atan2(u2 + camber, u3), dt * max(hypot(u2, u3), 1.0) / (0.5 * strip[0])
    return (
        one, two, JONES[0] * alpha + (memory[2] - JONES[0] * alpha) * exp(-0.0455 * rate),
        JONES[1] * alpha + (memory[3] - JONES[1] * alpha) * exp(-0.3 * rate),
    )  # fmt: skip


@njit
def steady(x, reference, vx, vy, n, camber, strip, polar):
    """Return the steady induced velocities, zero where the air comes from where no annulus has it."""
    axis, d = reference[1][:, 0], x - reference[0]
    along = d[0] * axis[0] + d[1] * axis[1] + d[2] * axis[2]
    radius = sqrt(d[0] ** 2 + d[1] ** 2 + d[2] ** 2 - along**2)
    if vx <= 0.0 or vy <= 0.0:
        return 0.0, 0.0
    args = vx, vy, n, camber / hypot(vx, vy), strip, radius, polar
    low, high = 2e-4, 0.5 * pi - 2e-4
    below, above = momentum(low, *args)[0], momentum(high, *args)[0]
    if below * above > 0.0:
        return 0.0, 0.0
    for i in range(60):  # halves, then Illinois
        phi = 0.5 * (low + high) if i < 6 else high - above * (high - low) / (above - below)
        r = momentum(phi, *args)[0]
        if r * above < 0.0:
            low, below = high, above
        elif i >= 6:
            below *= 0.5
        high, above = phi, r
        if abs(high - low) < 1e-10 or r == 0.0:
            break
    _, a, b = momentum(high, *args)
    return a * vx, b * vy


def strips(s: np.ndarray) -> np.ndarray:
    """Return chord, aerodynamic centre in section axes, row of polars, of sections at lengths s."""
    x, twist, chord, ax, ay = (np.interp(s, _SPAN, row) for row in _LINE[1:6])
    c, d = np.cos(np.radians(twist)), np.sin(np.radians(twist))
    centre = c * (ax - x) - d * ay, d * (ax - x) + c * ay
    return np.column_stack([chord, *centre, np.arange(len(s))])


def polars(s: np.ndarray) -> np.ndarray:
    """Return c_l, c_d, c_m (n, 721, 3) of sections at lengths s (n,), rows of the table ``polar``."""
    data, z = DATA["blade"]["polars"], np.interp(s, _SPAN, _LINE[0])
    table = np.stack([np.array(data[word]) for word in ("cl", "cd", "cm")], axis=-1)
    at, alpha = np.array(data["z"]), np.radians(data["alpha_deg"])
    row = np.clip(np.searchsorted(at, z, side="right") - 1, 0, len(at) - 2)
    w = ((z - at[row]) / (at[row + 1] - at[row]))[:, None, None]
    between = (1 - w) * table[row] + w * table[row + 1]
    return np.array([[np.interp(_ANGLES, alpha, c) for c in x.T] for x in between]).swapaxes(1, 2)


def sections() -> tuple[list[mbd.Section], np.ndarray]:
    """Return the sections of a blade, axes along the blade, to the suction side, to the trailing edge."""
    rows = np.array(DATA["blade"]["sections"]["rows"])
    i, j = np.array([(0, 0), (0, 1), (0, 5), (1, 1), (1, 5), (5, 5), (2, 2), (2, 3), (2, 4), (3, 3),
                     (3, 4), (4, 4)]).T  # fmt: skip
    order = np.ix_([2, 0, 1, 5, 3, 4], [2, 0, 1, 5, 3, 4])
    found = []
    for eta, m, x, y, Jxx, Jyy, Jxy, *stiffness in rows:
        K = np.zeros((6, 6))
        K[i, j] = K[j, i] = stiffness
        xx, yy, xy = Jxx - m * y * y, Jyy - m * x * x, Jxy + m * x * y  # about the centre of mass
        found.append(
            mbd.Section(stiffness=K[order], mass=m, center=(x, y), outline=outline(eta),
                        inertia=[[xx + yy, 0, 0], [0, xx, xy], [0, xy, yy]])
        )  # fmt: skip
    return found, rows[:, 0]


def outline(eta: float) -> np.ndarray:
    """Return the corners of a section for pictures: a symmetric aerofoil, at the root a circle."""
    s = eta * _SPAN[-1]
    chord, t = (float(np.interp(s, _SPAN, row)) for row in _LINE[[3, 6]])
    ((_, x, y, _),) = strips(np.array([s]))
    angle = np.linspace(0.0, 2.0 * pi, 20, endpoint=False)
    c = 0.5 - 0.5 * np.cos(angle)
    foil = 5 * t * (0.2969 * np.sqrt(c) - 0.126 * c - 0.3516 * c**2 + 0.2843 * c**3 - 0.1015 * c**4)
    round_ = np.clip((t - 0.4) / 0.6, 0.0, 1.0)
    half = (1 - round_) * foil + round_ * 0.5 * t * np.abs(np.sin(angle))
    return np.column_stack([x + chord * np.sign(np.sin(angle)) * half,
                            y + chord * (c - 0.25 - 0.25 * round_)])  # fmt: skip


def shaft_axes(tilt: float) -> np.ndarray:
    """Return the axes of the hub as columns: along the shaft downwind, across, to the first blade."""
    return np.array([[cos(tilt), 0.0, sin(tilt)], [0.0, 1.0, 0.0], [-sin(tilt), 0.0, cos(tilt)]])


def add_rotor(
    system: mbd.System, support: Any, apex: np.ndarray, *, tilt: float, wind: float, speed: float,
    pitch: float, elements: int, lag: float = 1.0, moves: bool = False,
) -> mbd.RigidBody:  # fmt: skip
    """Add hub, shaft, blades and air, turning as a rigid rotor; return the hub.

    Pitch in rad; with ``moves`` blades turn on pitch bearings, whose drives "pitch k" have speeds.
    """
    A = shaft_axes(tilt)
    rate = speed * A[:, 0]
    polar = DATA["hub"]["inertia"] + DATA["drive"]["generator_inertia"]  # of a disc
    hub = system.add(
        mbd.RigidBody("hub", mass=DATA["hub"]["mass"], position=apex, rotation=A,
                      inertia=(polar, 0.5 * polar, 0.5 * polar), angular_velocity=rate, shape=mbd.Sphere(HUB))
    )  # fmt: skip
    system.add(mbd.Revolute("shaft", support, hub, at=apex, axis=A[:, 0]))
    found, at = sections()
    twist = -np.radians(_LINE[2])
    for k in range(BLADES):
        psi = 2.0 * pi * k / BLADES
        radial = A @ (0.0, -sin(psi), cos(psi))
        z = cos(CONE) * radial - sin(CONE) * A[:, 0]
        x = cos(CONE) * A[:, 0] + sin(CONE) * radial
        y = np.cross(z, x)
        x, y = cos(pitch) * x - sin(pitch) * y, sin(pitch) * x + cos(pitch) * y
        root = apex + HUB * z
        blade = system.add(
            mbd.Beam(f"blade {k + 1}", root + np.outer(_LINE[0], z) + np.outer(_LINE[1], x),
                     section=found, stations=at, up=y, elements=elements,
                     twist=lambda p: float(np.interp(p * _SPAN[-1], _SPAN, twist)),
                     damping=np.array(DATA["blade"]["damping"]["mu"])[[2, 0, 1, 5, 3, 4]],
                     first=None if moves else hub, velocity=np.cross(rate, root - apex),
                     angular_velocity=rate)
        )  # fmt: skip
        if moves:
            bearing = system.add(
                mbd.Revolute(f"bearing {k + 1}", hub, blade.first, at=root, axis=-z)
            )
            system.add(mbd.Drive(f"pitch {k + 1}", bearing, velocity=0.0))
        add_air(system, blade, hub, f"air {k + 1}", wind, lag)
    return hub


def add_air(
    system: mbd.System, blade: mbd.Beam, hub: mbd.RigidBody, name: str, wind: float, lag: float
) -> None:
    """Add the air on a blade, with the wake that is steady for the described motion."""
    strip, polar = strips(blade.stations), polars(blade.stations)
    frames = [
        (x.position, x.rotation, x.velocity, x.angular_velocity) for x in (*blade.nodes(), hub)
    ]
    induced = [
        wake(*frame, frames[-1], np.zeros(4), inf, row, wind, polar)
        for frame, row in zip(frames, strip, strict=False)
    ]
    system.add(
        mbd.SectionLoad(name, blade, air, reference=hub, tables={"polar": polar}, accept=wake,
                        parameters={"strip": strip, "wind": wind, "density": DENSITY, "lag": lag},
                        memory=induced, settles=True)
    )  # fmt: skip


def rotor(
    wind: float, rpm: float, pitch_deg: float, elements: int = 12, lag: float = 1.0
) -> mbd.System:
    """Return the rotor alone without weight, its shaft along the wind and held at a speed."""
    system = mbd.System()
    speed = rpm * pi / 30
    add_rotor(system, system.ground, np.zeros(3), tilt=0.0, wind=wind, speed=speed,
              pitch=np.radians(pitch_deg), elements=elements, lag=lag)  # fmt: skip
    system.add(mbd.Drive("generator", system["shaft"], velocity=speed))
    return system


def of_rigid_blades(
    wind: float, rpm: float, pitch_deg: float, elements: int = 40
) -> tuple[float, float]:
    """Return power [W] and thrust [N] of the rotor alone with blades that do not bend."""
    system = rotor(wind, rpm, pitch_deg, elements)
    blade, load, hub = system["blade 1"], system["air 1"], system["hub"]
    reference = hub.position, hub.rotation, hub.velocity, hub.angular_velocity
    strip, polar, power, thrust = strips(blade.stations), polars(blade.stations), 0.0, 0.0
    for node, w, row, length in zip(
        blade.nodes(), load.inputs.memory, strip, load.lengths, strict=True
    ):
        motion = node.rotation, node.velocity, node.angular_velocity
        f, m = (
            np.array(air(*motion, reference, w, row, wind, DENSITY, 1.0, polar)) * length * BLADES
        )
        thrust += f[0]
        power += f @ node.velocity + m @ node.angular_velocity
    return power, thrust


@njit
def torque(angle, rate, t):
    """Return the torque on the shaft: -K W^2, near the rated speed and above the rated one."""
    full, soft = _TORQUE, _FACTOR * rate * abs(rate)
    return -soft - min(max((rate / RATED - 0.95) / 0.04, 0.0), 1.0) * (full - soft)


def add_tower(system: mbd.System, monopile: bool) -> mbd.RigidBody:
    """Add tower and nacelle; return the nacelle, whose origin is the top of the tower."""
    tower, found = DATA["tower"], []
    E, G, foot = tower["young"], tower["shear"], DATA["monopile" if monopile else "tower"]["base"]
    rows = [[z + tower["base"] - foot, *more] for z, *more in tower["rows"]]
    if monopile:
        rows = [*DATA["monopile"]["rows"], *rows[1:]]
    for _, m, A, J, k in rows:
        radius = sqrt(2 * J / A)
        angle = np.linspace(0.0, 2 * pi, 24, endpoint=False)
        found.append(
            mbd.Section(stiffness=(E * A, k * G * A, k * G * A, 2 * G * J, E * J, E * J), mass=m,
                        inertia=np.array((2, 1, 1)) * m * J / A,
                        outline=radius * np.column_stack([np.cos(angle), np.sin(angle)]))
        )  # fmt: skip
    z = np.array([row[0] for row in rows])
    beam = system.add(
        mbd.Beam("tower", [(0, 0, foot), (0, 0, foot + z[-1])], section=found, stations=z / z[-1],
                 up=(1, 0, 0), elements=14 if monopile else 10, damping=tower["damping"], first=system.ground)
    )  # fmt: skip
    box, more = DATA["nacelle"], DATA["nacelle"]["yaw_bearing"]  # at the top of the tower
    c, share = np.array(box["centre"]), more / (more + box["mass"])
    J = np.diag(box["inertia_about_centre"]) + share * box["mass"] * (
        c @ c * np.eye(3) - np.outer(c, c)
    )
    nacelle = system.add(
        mbd.RigidBody("nacelle", mass=box["mass"] + more, inertia=J, position=beam.last.position,
                      center_of_mass=(1 - share) * c, shape=mbd.Box((16.0, 8.0, 7.0), at=c))
    )  # fmt: skip
    system.add(mbd.Fixed("yaw bearing", beam.last, nacelle, at=nacelle.position))
    return nacelle


def operation(wind: float) -> tuple[float, float]:
    """Return pitch [deg] and speed [rpm] of the table; without wind at rest."""
    pitch, rpm = (
        float(np.interp(wind, [*STEADY], [x[i] for x in STEADY.values()])) for i in (0, 1)
    )
    return (pitch, rpm) if wind > 0.0 else (0.0, 0.0)


def build(
    wind: float = 9.0, elements: int = 12, lag: float = 1.0, monopile: bool = False
) -> mbd.System:
    """Return the turbine in a wind [m/s], at speed and pitch of the table, blades not bent yet.

    Without wind it is at rest, and its blades are fixed to the hub.
    """
    pitch, rpm = operation(wind)
    system = mbd.System(gravity=(0, 0, -9.81))
    nacelle = add_tower(system, monopile)
    A = shaft_axes(TILT)
    apex = nacelle.position - _ROTOR["overhang"] * A[:, 0]
    apex[2] += _ROTOR["tower_to_shaft"]
    add_rotor(system, nacelle, apex, tilt=TILT, wind=wind, speed=rpm * pi / 30,
              pitch=np.radians(pitch), elements=elements, lag=lag, moves=wind > 0.0)  # fmt: skip
    system.add(mbd.Motor("generator", system["shaft"], torque))
    return system


def pitch_controller(start_deg: float, every: float = 0.05) -> mbd.Controller:
    """Return the pitch control of the DTU controller, from the pitch at which a turbine is built.

    A proportional-integral law of the filtered speed, with gains that fall with the pitch theta,
    1/(1 + theta/K_1 + (theta/K_2)^2); the drives turn blades by at most 2 degrees a second.
    """
    c, start = _CONTROL, np.radians(start_deg)
    w, z, kp, ki = (
        2 * pi * c["filter_hz"],
        c["filter_damping"],
        c["pitch_gain"],
        c["pitch_integral"],
    )
    k1, k2, fastest = (
        np.radians(c["kk1_deg"]),
        np.radians(1.0) ** 2 * c["kk2_deg2"],
        np.radians(c["pitch_rate_deg"]),
    )
    bearings = range(1, BLADES + 1)

    @njit
    def law(t, y, x):
        theta = start + y[1]
        gain = 1.0 / (1.0 + theta / k1 + theta * theta / k2)
        slope = x[1] + every * w * (w * (y[0] - x[0]) - 2.0 * z * x[1])
        speed = x[0] + every * slope
        whole = max(x[2] + every * ki * gain * (speed - RATED), 0.0)
        aim = max(whole + kp * gain * (speed - RATED), 0.0)
        rate = min(max(2.0 * (aim - theta), -fastest), fastest)
        return (rate, rate, rate), (speed, slope, whole)

    return mbd.Controller(
        "pitch", ["shaft.angle_rate", "bearing 1.angle"], [f"pitch {k}.velocity" for k in bearings],
        law=law, every=every, start=(RATED if start > 0.0 else 0.6, 0.0, start),
    )  # fmt: skip
