"""Laws of time that steps do not resolve are named, with a step that does; no others are."""

import functools
import math
import re
import warnings

import numpy as np
import pytest
from families import spread
from recipes import LOADS, PAIR_FORCES, ROW_PARTS, SCALINGS, STILL, pair
from scenes import with_body, with_point

import mbd

H, STEPS = 1e-3, 40
SIZE = 1e-4  # small beside what the bodies do: only the law tells


def arm(make, formulation="so3"):
    """Return a body on a hinge with another part."""
    system, rod = with_body("rod", gravity=(0, 0, 0), position=(0.5, 0, 0), formulation=formulation)
    if formulation == "so3":
        axle = mbd.Cylindrical("axle", system.ground, rod, at=(0, 0, 0), axis=(0, 1, 0))
        system.add(axle)
        system.add(make(system, rod, axle))
    else:
        system.add(make(system, rod, None))
    return system


def along(cls, **fixed):
    return lambda f: lambda s, b, j: getattr(mbd, cls)("part", j.angle, **fixed, law=f)


def of_three(f):
    return lambda u, rate, t: SIZE * u + rate + f(t)


def pose(word, law):
    def make(s, b, j):
        return mbd.PrescribedMotion("part", s.ground, b.frame((-0.5, 0, 0)), **{word: law})

    return make


#: (class, argument): law of time -> part
PARTS = {
    ("PointForce", "force"): lambda f: (
        lambda s, b, j: mbd.PointForce("part", b, lambda t: (0, SIZE, f(t)))
    ),
    ("Moment", "moment"): lambda f: lambda s, b, j: mbd.Moment("part", b, lambda t: (0, f(t), 0)),
    ("ScalingForce", "force"): lambda f: lambda s, b, j: mbd.ScalingForce("part", b, f),
    ("Spring", "law"): lambda f: (
        lambda s, b, j: mbd.Spring("part", s.ground, b, at=(0, 0, 1), law=of_three(f))
    ),
    ("JointSpring", "law"): lambda f: (
        lambda s, b, j: mbd.JointSpring("part", j.angle, law=of_three(f))
    ),
    ("RotationalSpring", "law"): lambda f: (
        lambda s, b, j: mbd.RotationalSpring("part", j, law=of_three(f))
    ),
    ("Motor", "effort"): lambda f: lambda s, b, j: mbd.Motor("part", j.angle, of_three(f)),
    ("Drive", "position"): lambda f: lambda s, b, j: mbd.Drive("part", j.angle, position=f),
    ("Drive", "velocity"): lambda f: lambda s, b, j: mbd.Drive("part", j.angle, velocity=f),
    ("Drive", "compliant"): lambda f: (
        lambda s, b, j: mbd.Drive("part", j.angle, position=f, compliance=1e-3)
    ),
    ("Coupler", "value"): lambda f: (
        lambda s, b, j: mbd.Coupler("part", (j.angle, j.displacement), (1.0, 1.0), f)
    ),
    ("PrescribedMotion", "position"): lambda f: pose("position", (None, f, None)),
    ("PrescribedMotion", "rotation"): lambda f: pose("rotation", (0, f, 0)),
}


def remarks(key, law, h=H, steps=STEPS, **options):
    """Return all that a run says of its part: warnings, or why it ended."""
    formulation = mbd.Scalable(rigid=False) if key[0] == "ScalingForce" else "so3"
    system = arm(PARTS[key](law), formulation)
    if key[0] == "PrescribedMotion":
        system, rod = with_body("rod", gravity=(0, 0, 0), position=(0.5, 0, 0))
        system.add(PARTS[key](law)(system, rod, None))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = mbd.simulate(system, steps * h, h, project=True, raise_on_failure=False, **options)
    words = [str(x.message) for x in caught if "violat" not in str(x.message)]
    return "; ".join(words) if run.success else run.message


def told(words):
    return re.search(
        r"do(es)? not resolve the law of 'part|part[\w. ]*: its law .* not resolve", words
    )


def test_every_part_with_a_law_of_time_is_here():
    with_law = set()
    for (name, _), make in {**PAIR_FORCES, **ROW_PARTS}.items():
        _, one, two = pair("so3", "so3", gravity=(0, 0, 0))
        if any(e.law is not None for e in make(one, two, STILL).elements()):
            with_law.add(name)
    for (name, _), make in {**LOADS, **SCALINGS}.items():
        _, one, _ = pair(mbd.Scalable(rigid=False), "ground", gravity=(0, 0, 0))
        if any(e.law is not None for e in make(one, STILL).elements()):
            with_law.add(name)
    assert with_law | {"PrescribedMotion", "JointSpring", "RotationalSpring"} == {
        name for name, _ in PARTS
    }


@pytest.mark.parametrize("key", PARTS, ids="-".join)
def test_periods_that_fit_the_step_are_named(key):
    """At the ends of steps such a law has one value, or two in turn, or goes slowly."""
    for period in [H / n for n in (1, 2, 3, 4)] + [2 * H / n for n in (1, 2, 3, 4)] + [1 / 999]:
        for phase in (0.0, 0.3):

            def law(t, w=2 * math.pi / period, phase=phase):
                return SIZE * math.sin(w * t + phase)

            words = remarks(key, law)
            assert told(words), (period / H, phase, words)


SLOW = {
    "constant": lambda t: 1.0,
    "round-off": lambda t: math.sin(t * 1e3) ** 2 + math.cos(t * 1e3) ** 2,
    "ramp": lambda t: 1e-3 * t,
    "square": lambda t: t * t,
    "slow": lambda t: SIZE * math.sin(2 * math.pi * t / (20 * H)),
    "smooth step": lambda t: mbd.SmoothStep(0.0, SIZE, 5 * H, 25 * H)(t)[0],
    "kink": lambda t: SIZE * max(0.0, t - 11.3 * H),
    "jump": lambda t: 1e-6 if t > 0.0123456 else 0.0,
    "jump at the end of a step": lambda t: 1e-6 if t >= 12 * H else 0.0,
    "jump at once": lambda t: 1e-6 if t > 0.0 else 0.0,
    "late jump": lambda t: 1e-6 if t > 39.7 * H else 0.0,
}


@pytest.mark.parametrize("key", PARTS, ids="-".join)
@pytest.mark.parametrize("law", SLOW)
def test_slow_laws_and_single_jumps_are_no_alarm(key, law):
    for steps in (STEPS, 3, 1):
        f = SLOW[law]
        if key[0] in ("Drive", "Coupler", "PrescribedMotion") and law in ("constant", "round-off"):
            f = functools.partial(lambda t, f: 1e-3 * f(t), f=f)
        assert not told(words := remarks(key, f, steps=steps)), words


@spread(where=[0.05, 0.382, 0.5, 0.8, 0.97], at=[0.0, 17.0, 200.0, 617.0, 999.0])
def test_poles_between_steps_are_named_wherever_they_are(at, where):
    """The run has a thousand steps: accelerations tell where to look."""
    pole = (at + where) * H
    words = remarks(("Motor", "effort"), lambda t: SIZE * H / (t - pole), steps=1000)
    assert told(words), words
    assert "no step resolves that" in words
    words = remarks(("PointForce", "force"), lambda t: SIZE * H / (t - pole) ** 2, steps=1000)
    assert told(words), words


@pytest.mark.parametrize("period", [H, H / 3, 2 * H, 2 * H / 3, 1 / 999, H / 17])
def test_the_step_that_is_advised_will_do(period):
    """The mean of 100 sin^2 N turns the arm as 50 N do: 1e-16 rad where it should be 3.1."""

    def law(u, rate, t):
        return 100.0 * math.sin(math.pi * t / period) ** 2

    def angle(h):
        system = arm(lambda s, b, j: mbd.Motor("part", j.angle, law))
        return mbd.simulate(system, 0.04, h)["axle"].angle[-1]

    with pytest.warns(RuntimeWarning, match="the law of 'part'") as caught:
        angle(H)
    words = next(str(x.message) for x in caught if "the law of" in str(x.message))
    step = float(re.search(r"such as (\S+) s", words)[1])
    assert step < H
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = angle(step)
    t = 0.04
    w = 2 * math.pi / period
    # 50 (t^2/2 - (1 - cos w t)/w^2) / J
    exact = 50.0 * (t * t / 2 - (1 - math.cos(w * t)) / w**2) / (0.1 + 0.25)
    assert abs(found - exact) < 1e-2 * exact


METHODS = [
    mbd.GeneralizedAlpha(), mbd.GeneralizedAlpha(constraints="stabilized"), mbd.EnergyMomentum(),
    mbd.LieRungeKutta4(), mbd.RadauCollocation(), mbd.ExplicitRungeKutta("tsit5"),
]  # fmt: skip


@pytest.mark.parametrize("method", METHODS, ids=lambda x: type(x).__name__)
def test_whatever_the_method_and_what_is_kept(method):
    def run(w, **options):
        system, mass = with_point("mass", gravity=(0, 0, 0))
        system.add(mbd.PointForce("part", mass, lambda t: (math.sin(w * t) ** 2, 0, 0)))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            mbd.simulate(system, STEPS * H, H, method=method, **options)
        return "; ".join(str(x.message) for x in caught)

    every = [{}, {"every": 7}, {"every": 1000}]
    if method.facts.free is not None:
        every.append({"t_eval": np.linspace(0.011, 0.02, 3)})
    for options in every:
        assert told(run(math.pi / H, **options))
        assert not told(run(math.pi / H / 20, **options))


@pytest.mark.parametrize("every", [1, 1000])
@pytest.mark.parametrize("begin", [0.0, 0.3, 0.55, 0.75])
def test_a_load_that_shakes_for_a_quarter_of_the_run_is_named(begin, every):
    def law(t):
        return SIZE * math.sin(2 * math.pi * t / H) * (begin <= t < begin + 0.25)

    assert told(remarks(("Motor", "effort"), law, steps=1000, every=every))


def test_small_ripples_on_a_load_are_no_alarm():
    """Of a thousandth of the load: what they do is as small."""
    for size, alarm in ((0.5e-3, False), (2e-3, True)):
        words = remarks(
            ("PointForce", "force"),
            lambda t, e=SIZE * size: SIZE + e * math.sin(2 * math.pi * t / H),
        )
        assert bool(told(words)) == alarm, words


def test_two_laws_are_named_together():
    system = arm(
        lambda s, b, j: mbd.Motor("part", j.angle, lambda u, r, t: math.sin(math.pi * t / H) ** 2)
    )
    system.add(mbd.PointForce("push", system["rod"], lambda t: (0, 0, math.sin(t))))
    system.add(
        mbd.PointForce("shake", system["rod"], lambda t: (0, 0, math.sin(2e3 * math.pi * t)))
    )
    with pytest.warns(RuntimeWarning, match="the law of 'part', 'shake': at t"):
        mbd.simulate(system, 0.02, H)
