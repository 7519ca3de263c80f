"""What joins two bodies takes ground, bodies, points and Frames on either side, in both orders."""

import inspect
from itertools import permutations

import numpy as np
import pytest
from kinds.recipes import JOINTS

import mbd
from tests.hard.test_inputs import lattice

CENTER = (0.0, 0.5, 0.5)  # of the interface
PAIRS = [x for x in JOINTS if x in mbd.__all__] + ["BarMass", "Bushing", "Spring"]
OWN = {
    "BarMass": {"mass": 1.0}, "PrescribedMotion": {"position": (0, 0, 0)}, "Screw": {"pitch": 0.1},
    "RollingBall": {"radius": 0.2}, "RollingDisc": {"radius": 0.2}, "Spring": {"stiffness": 3.0},
}  # fmt: skip
PLACE = {"at": CENTER, "axis": (0, 1, 0), "second_axis": (1, 0, 0), "to": None}
SIDES = ("ground", "body", "point", "flexible", "frame", "interface")
TURN = mbd.rotation("x", -np.pi / 2)
SAME_PLACE = {"Bushing", *JOINTS} - {"Distance", "KnifeEdge", "PrescribedMotion", "RollingBall",
                                     "RollingDisc"}  # fmt: skip
# points have no axes, and flexible bodies are held at their interfaces
MAY_BE = ("is a point", "there is no interface at")


def sides():
    """Return what may stand on a side of a joint."""
    bodies = [mbd.RigidBody(x, mass=1.0, inertia=(1, 1, 1), position=(1, 2, 3)) for x in "ab"]
    soft, other = (mbd.FlexibleBody(x, **lattice()) for x in ("soft", "other"))
    frame = bodies[1].frame((0.1, 0.2, 0.3), mbd.rotation("y", 1.0))
    frames = frame, soft.interface("left", axes=TURN)
    point = mbd.PointMass("point", mass=1.0, position=CENTER)
    return dict(zip(SIDES, (mbd.System().ground, bodies[0], point, other, *frames), strict=True))


def made(name, one, two):
    """Return a part between two sides, placed by numbers where no Frame says where it is."""
    make, options = getattr(mbd, name), dict(OWN.get(name, {}))
    frames = [isinstance(x, mbd.Frame) for x in (one, two)]
    place = {k: x for k, x in PLACE.items() if k in inspect.signature(make).parameters}
    if "to" in place:  # each side has a place of its own
        ends = (("at", (1, 0, 0.5)), ("to", (1, 1, 1)))
        place = dict(x for x, given in zip(ends, frames, strict=True) if not given)
    elif name in ("KnifeEdge", "RollingBall", "RollingDisc"):  # the first side is a plane
        place = {} if frames[1] else place | ({"axis": (1, 0, 0)} if "axis" in place else {})
    elif any(frames):
        place = {}
    return make("part", one, two, **options, **place)


@pytest.mark.filterwarnings("ignore:.*leave out:UserWarning")  # one mode of a cube
@pytest.mark.parametrize("name", PAIRS)
def test_every_side_is_taken_in_both_orders_or_refused_in_words(name):
    of, refused = sides(), {}
    for pair in permutations(SIDES, 2):
        one, two = (of[x] for x in pair)
        try:
            part = made(name, one, two)
        except (ValueError, TypeError) as error:
            refused[pair] = str(error)
            continue
        assert part.elements()
        for frame, side in zip(part.ends, (one, two), strict=True):
            assert frame is side or frame.body is side
        given = [x for x in (one, two) if isinstance(x, mbd.Frame)]
        if len(given) == 1 and name in SAME_PLACE:
            for x, y in zip(*(frame.start for frame in part.ends), strict=True):
                np.testing.assert_allclose(x, y, rtol=0, atol=1e-14)
    for pair, text in refused.items():
        assert text.startswith(("part: ", "other: "))
        assert any(x in text for x in MAY_BE), (pair, text)
        assert {"point", "flexible"} & set(pair)


@pytest.mark.filterwarnings("ignore:.*leave out:UserWarning")
@pytest.mark.parametrize("order", [1, -1])
def test_a_body_hangs_on_the_frame_of_its_interface(order):
    system = mbd.System(gravity=(0, 0, -9.81))
    soft = system.add(mbd.FlexibleBody("soft", **lattice()))
    system.add(mbd.Fixed("held", *(system.ground, soft.interface("left"))[::order]))
    found = mbd.equilibrium(system)
    np.testing.assert_allclose(found["held"].force, (0, 0, order * 8 * 9.81), atol=1e-6)
