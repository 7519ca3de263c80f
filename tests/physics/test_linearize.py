"""Linear systems: descriptor and minimal form, inputs, outputs, against simulations."""

import numpy as np
import pytest

import mbd

from .tools import RIGID

INPUTS = [("cart", (1, 0, 0)), "hinge", "rail", "gust.y"]
OUTPUTS = [
    "cart.position.x", "hinge.angle", "hinge.angle_rate", "rail.displacement",
    ("pole", (0, 0, -0.4), "velocity"), "hinge.force", "rail.moment", "pole.angular_velocity",
    "pole.rotation.y",
]  # fmt: skip


def crane(formulation="so3", *, damping=1.0):
    """A cart on a rail with a spring, a pole hung on it, everything turned against the axes."""
    system = mbd.System(gravity=(0, 0, -9.81))
    cart = mbd.RigidBody("cart", mass=2.0, inertia=(0.1, 0.1, 0.1), formulation=formulation)
    system.add(cart)
    system.add(mbd.Prismatic("rail", system.ground, cart, at=(0, 0, 0), axis=(1, 0, 0)))
    pole = mbd.RigidBody(
        "pole", mass=0.5, inertia=(0.02, 0.02, 0.001), position=(0, 0, -0.4),
        formulation=formulation,
    )  # fmt: skip
    system.add(pole)
    system.add(mbd.Revolute("hinge", cart, pole, at=(0, 0, 0), axis=(0, 1, 0)))
    system.add(
        mbd.Spring("spring", system.ground, cart, at=(-1, 0, 0), stiffness=30.0, damping=damping)
    )
    system.add(mbd.Moment("gust", pole, (0, 0, 0)))
    return system


def test_crane_is_what_the_textbook_says():
    """(M + m) x'' + m l th'' + c x' + k x = F, m l x'' + (J + m l^2) th'' + m g l th = T."""
    found = mbd.linearize(
        crane(), inputs=["rail", "gust.y"], outputs=["cart.position.x", "hinge.angle"]
    )
    f = np.array([0.2, 0.9, 3.0])
    H = found.frequency_response(f)
    assert H.units["hinge.angle"] == "rad"
    M, m, J, length = 2.0, 0.5, 0.02, 0.4
    for x, h in zip(2j * np.pi * f, H.values, strict=True):
        # a turn about y moves the hanging end towards -x
        A = [
            [(M + m) * x * x + 1.0 * x + 30.0, -m * length * x * x],
            [-m * length * x * x, (J + m * length**2) * x * x + m * 9.81 * length],
        ]
        assert np.allclose(h, np.linalg.inv(A), rtol=1e-11)


@pytest.mark.parametrize("formulation", RIGID)
def test_descriptor_and_minimal_form_agree_in_every_formulation(formulation):
    reference = mbd.linearize(crane(), inputs=INPUTS, outputs=OUTPUTS)
    found = mbd.linearize(crane(formulation), inputs=INPUTS, outputs=OUTPUTS)
    assert found.outputs == reference.outputs
    f = np.array([0.3, 1.7])
    H = found.frequency_response(f).values
    assert np.allclose(H, reference.frequency_response(f).values, rtol=0, atol=1e-11)
    d = found.descriptor
    assert d.E.shape == (len(d.labels),) * 2
    for x, h in zip(2j * np.pi * f, H, strict=True):
        pencil = (x * d.E - d.A).toarray()
        X = np.linalg.lstsq(pencil, d.B.toarray(), rcond=None)[0]
        assert np.allclose(d.C @ X + d.D.toarray(), h, rtol=0, atol=1e-10)


def test_reaction_to_a_static_load():
    """At zero frequency outputs are the differences of two equilibria."""
    size = 1e-3
    system = crane()
    found = mbd.linearize(system, inputs=["gust.y"], outputs=["hinge.force", "pole.position"])
    static = found.frequency_response(0.0).values[0, :, 0].real
    pushed = crane()
    pushed.add(mbd.Moment("more", pushed["pole"], (0, size, 0)))
    a, b = mbd.equilibrium(pushed), mbd.equilibrium(crane())
    change = np.concatenate(
        [a["hinge"].force - b["hinge"].force, a["pole"].position - b["pole"].position]
    )
    assert np.allclose(change / size, static, rtol=0, atol=1e-3)
    assert abs(static[3]) > 0.1


def test_an_impulse_against_a_simulation():
    """Small free motion from an initial rate: outputs over time, velocities and reactions too."""
    system = crane()
    model = system.build()
    found = mbd.linearize(system, outputs=OUTPUTS)
    state = model.state
    small = 1e-5
    v = state.v.copy()
    i = model.numbering.v_labels.index("pole.theta_y")
    v[i], v[model.numbering.v_labels.index("pole.x")] = small, -0.4 * small
    run = mbd.simulate(model, 1.0, 1e-3, state=state.replace(v=v))
    x0 = np.zeros(len(found.states))
    for k, label in enumerate(found.states):
        if label.endswith(" rate"):
            x0[k] = v[model.numbering.v_labels.index(label.removesuffix(" rate"))]
    from scipy.linalg import expm

    y = found.C @ expm(found.A * 1.0) @ x0 / small
    at = dict(zip(found.outputs, y, strict=True))
    pole, cart = run["pole"], run["cart"]
    assert at["cart.position.x"] == pytest.approx(cart.position[-1, 0] / small, abs=2e-5)
    assert at["pole.rotation.y"] == pytest.approx(-pole.rotation[-1, 0, 2] / -small, abs=2e-5)
    assert at["pole.angular_velocity.y"] == pytest.approx(
        pole.angular_velocity[-1, 1] / small, abs=1e-4
    )
    end = pole.at((0, 0, -0.4)).velocity[-1, 0] / small
    assert at["pole.velocity.x"] == pytest.approx(end, abs=1e-4)
    assert at["hinge.force.x"] == pytest.approx(run["hinge"].force[-1, 0] / small, abs=1e-3)


def test_frequency_response_against_a_simulation():
    """Drive the cart at 0.8 Hz until the start has died out; compare amplitude and phase."""
    f, size = 0.8, 1e-3
    system = crane(damping=20.0)
    joint = system.joints["hinge"]
    system.add(mbd.RotationalSpring("drag", joint, damping=0.3))
    H = mbd.linearize(
        system, inputs=[("cart", (1, 0, 0))], outputs=["cart.position.x"]
    ).frequency_response([f])
    system.add(
        mbd.PointForce(
            "shake", system["cart"], lambda t: (size * np.sin(2 * np.pi * f * t), 0.0, 0.0)
        )
    )
    run = mbd.simulate(system, 15.0, 5e-3)
    last = run.t > 15.0 - 2 / f + 1e-9  # two periods
    t, x = run.t[last], run["cart"].position[last, 0]
    sine = 2 * np.mean(x * np.sin(2 * np.pi * f * t))
    cosine = 2 * np.mean(x * np.cos(2 * np.pi * f * t))
    assert (sine + 1j * cosine) / size == pytest.approx(H.values[0, 0, 0], rel=2e-3)
    assert H.magnitude.shape == H.phase.shape == (1, 1, 1)


def test_a_turning_frame():
    """A governor seen from its shaft: torque on a hinge to the lean of a rod."""
    from .tools import scene

    governor = scene("governor")
    found = mbd.linearize(
        governor.build("se3"), rotating=(0, 0, governor.SPEED), inputs=["right hinge"],
        outputs=["right hinge.angle", "bearing.angle_rate"],
    )  # fmt: skip
    other = mbd.linearize(
        governor.build("directors"), rotating=(0, 0, governor.SPEED), inputs=["right hinge"],
        outputs=["right hinge.angle", "bearing.angle_rate"],
    )  # fmt: skip
    f = [0.1, 2.0]
    assert np.allclose(
        found.frequency_response(f).values, other.frequency_response(f).values, rtol=1e-8
    )


def test_scipy_and_control():
    found = mbd.linearize(crane(), inputs=["rail"], outputs=["cart.position.x"])
    space = found.state_space
    value = space.C @ np.linalg.solve(1j * np.pi * np.eye(4) - space.A, space.B) + space.D
    assert value == pytest.approx(found.frequency_response(0.5).values[0], rel=1e-12)
    pytest.importorskip("control")
    other = found.to_control()
    assert other.output_labels == ["cart_position_x"]


def test_control_is_an_extra_that_says_so():
    try:
        import control  # noqa: F401
    except ImportError:
        with pytest.raises(ImportError, match=r"mbd\[control\]"):
            mbd.linearize(crane(), inputs=["rail"], outputs=["rail.displacement"]).to_control()


def test_pictures(tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    found = mbd.linearize(crane(), inputs=["rail"], outputs=["cart.position.x", "hinge.angle"])
    found.frequency_response(np.geomspace(0.1, 10, 50)).plot(tmp_path / "bode.png")
    assert (tmp_path / "bode.png").stat().st_size > 5000


def test_unknown_ports_are_named():
    for bad, match in (
        (
            {"inputs": ["wind"]},
            "there is no input 'wind'; loads, motors and joints .* gust, rail, hinge",
        ),
        ({"inputs": ["gust"]}, "has no direction of its own"),
        ({"inputs": [("crate", (1, 0, 0))]}, "no body 'crate' .*'cart'.*; there are cart, pole"),
        ({"outputs": ["cart.speed"]}, "there is no output 'cart.speed'; a body has position"),
        ({"outputs": ["rail.angle"]}, "the joint 'rail' has no angle"),
        ({"outputs": [("pole",)]}, "an output must be"),
    ):
        with pytest.raises(ValueError, match=match):
            mbd.linearize(crane(), **bad)
    with pytest.raises(ValueError, match="needs inputs and outputs"):
        mbd.linearize(crane()).frequency_response([1.0])
    with pytest.raises(ValueError, match="not negative"):
        mbd.linearize(crane(), inputs=["rail"], outputs=["hinge.angle"]).frequency_response([-1.0])


def test_a_drive_is_no_input_and_the_error_says_what_is():
    system = mbd.System(gravity=(0, 0, -9.81))
    arm = system.add(mbd.RigidBody("arm", mass=1, inertia=(1, 1, 1), position=(0, 0, -1)))
    other = system.add(mbd.RigidBody("other", mass=1, inertia=(1, 1, 1), position=(3, 0, -1)))
    hinge = mbd.Revolute("hinge", system.ground, arm, at=(0, 0, 0), axis=(0, 1, 0))
    free = mbd.Revolute("free", system.ground, other, at=(3, 0, 0), axis=(0, 1, 0))
    drive = mbd.Drive("motor", system.add(hinge), position=0.0)
    system.add(free)
    system.add(drive)
    for what in ("motor", drive):
        with pytest.raises(ValueError, match="'motor' is no input: it prescribes 'hinge'"):
            mbd.linearize(system, inputs=[what])
