"""Bad input of beams and sections: who is refused, what for, and what to do."""

import warnings

import numpy as np
import pytest

import mbd

from .test_statics import cantilever

ONE = (1.0,) * 6
SECTION = mbd.Section(stiffness=ONE, mass=1.0)
SOFT = mbd.Section(stiffness=(1e4, 1e4, 1e4, 10, 10, 10), mass=1.0)
GOOD = {"points": [(0, 0, 0), (1, 0, 0)], "section": SECTION}


def fails(p):
    raise RuntimeError("a bug")


def around(p):
    return (np.cos(2 * np.pi * p), np.sin(2 * np.pi * p), 0)


def dying(p):
    return mbd.Section(stiffness=(1, 1, 1, 1, 1, 0.5 - p), mass=1.0)


BEAMS = [
    ({"points": [(0, 0, 0)]}, "points must be two or more finite points"),
    ({"points": [(0, 0), (1, 1)]}, "points must be two or more finite points"),
    ({"points": [(0, 0, 0), (1, 0)]}, "points must be .n, 3. numbers"),
    ({"points": "abc"}, "points must be .n, 3. numbers"),
    ({"points": [(0, 0, 0), (0, 0, 0)]}, "points 0 and 1 must differ, got .* twice"),
    ({"points": [(0, 0, 0), (0, np.nan, 0)]}, "points must be two or more finite"),
    ({"points": [(0, 0, 0), (1e300, 0, 0)]}, "points must be between 1e-100 and 1e.100 apart"),
    ({"points": [(0, 0, 0), (1, 0, 0), (0, 0, 0)]}, "turning back, which it does at p = 0.5; str"),
    ({"points": lambda p: (p, 0)}, "must return three finite numbers"),
    ({"points": lambda p: (p, 0, "x")}, "must return three finite numbers"),
    ({"points": fails}, "points, a function of p .*, raised RuntimeError: a bug at p = 0"),
    ({"points": lambda p: (0, 0, 0)}, "must be a curve that goes on without stop"),
    ({"points": lambda p: (abs(p - 0.25), 0, 0)}, "turning back, which it does at p = 0.25"),
    ({"points": around, "elements": 1}, "element 0 turns by 6.28 rad at rest.*take elements=13"),
    ({"points": around, "elements": 2}, "turns by 3.14 rad at rest"),
    ({"twist": 40.0}, "element 0 turns by 5 rad at rest"),
    ({"up": (1, 0, 0)}, "up must not be along the beam, got .* 0 m from its start"),
    ({"up": (0, 0, 0)}, "up must have a direction"),
    ({"points": [(0, 0, 0), (1, 0, 0), (1, 0, 1)], "smooth": False}, "up must not be .* 1 m from"),
    ({"points": [(0, 0, 0), (1, 0, 0), (1, 0, 1)]}, "give another direction up="),
    ({"elements": 0}, "elements must be a whole number, at least 1"),
    ({"elements": 2.5}, "elements must be a whole number"),
    ({"damping": -1.0}, "damping must be one or six numbers, not negative"),
    ({"section": "steel"}, "section must be a Section"),
    ({"section": []}, "section must be at least one Section"),
    ({"section": [SECTION, 1.0]}, "section must be a Section"),
    ({"section": lambda p: 1.0}, "section.p. must return a Section, got 1.0"),
    ({"section": fails}, "section, a function of p .*, raised RuntimeError: a bug"),
    ({"section": dying}, "section, a function of p .*, raised ValueError: Section: stiffness must"),
    ({"section": [SECTION] * 3, "stations": (0, 1)}, "one entry for each of the 2 stations, got 3"),
    ({"twist": [0, 1, 2], "stations": (0, 1)}, "twist must be a list with one entry for each"),
    ({"stations": (0, 0.7, 0.3, 1)}, "stations must be numbers that increase from 0 to 1"),
    ({"stations": (0, 0.5, 0.5, 1)}, "stations must be .* a section that jumps is that of two"),
    ({"stations": (0, 0.5)}, "stations must be numbers that increase from 0 to 1"),
    ({"stations": (0, np.nan, 1)}, "stations must be numbers that increase"),
    ({"twist": []}, "twist must be finite numbers"),
    ({"twist": fails}, "twist, a function of p .*, raised RuntimeError: a bug"),
    ({"twist": lambda p: np.inf}, "twist.p. must be finite"),
    ({"first": "ground"}, "first must be a body or a frame of one"),
    ({"smooth": "no"}, "smooth must be True or False"),
    ({"formulation": ["so3"]}, "formulation must be one, or one for each of the 9"),
    ({"formulation": ["so3"] * 8 + ["so4"]}, "beam.8: formulation must be one of"),
]


@pytest.mark.parametrize(("options", "message"), BEAMS)
def test_bad_beams_are_refused_by_name(options, message):
    who = "" if message.startswith("beam.8") else "beam: .*"
    with pytest.raises((ValueError, TypeError), match=who + message):
        mbd.Beam("beam", **(GOOD | options))


def test_what_is_doubtful_is_warned_of():
    with pytest.warns(UserWarning, match="element 0 turns by 1.26 rad at rest.*take elements=13"):
        mbd.Beam("beam", section=SECTION, elements=5, points=around)

    def steep(p):
        return mbd.Section(stiffness=ONE, mass=1e-3 + 1e3 * np.exp(-80 * p))

    with pytest.warns(UserWarning, match="masses are shared by halves, fitted ones would be"):
        beam = mbd.Beam("beam", points=GOOD["points"], section=steep, elements=4)
    total = 1e-3 + 1e3 * (1 - np.exp(-80)) / 80
    assert sum(x.mass for x in beam.nodes()) == pytest.approx(total, rel=5e-3)
    assert min(x.mass for x in beam.nodes()) > 0


@pytest.mark.parametrize(("options", "message"), [
    ({"stiffness": (1, 1, 1, 1, 1, 0)}, "stiffness must be symmetric with a positive diagonal"),
    ({"stiffness": (0,) * 6}, "stiffness must be symmetric with a positive diagonal"),
    ({"stiffness": np.eye(6) + np.eye(6, k=1)}, "stiffness must be symmetric"),
    ({"stiffness": np.ones((6, 6))}, "stiffness must be positive definite"),
    ({"stiffness": (1, 1, 1, 1, 1, np.nan)}, "entries that are not finite"),
    ({"mass": 0.0}, "mass must be positive"),
    ({"inertia": (5, 1, 1)}, "none above the sum of the others"),
    ({"inertia": [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]]}, "inertia must be symmetric"),
    ({"outline": [(0, 0), (1, 0), (0, np.nan)]}, "outline must be finite"),
])  # fmt: skip
def test_bad_sections_are_refused(options, message):
    with pytest.raises(ValueError, match="Section: .*" + message):
        mbd.Section(**({"stiffness": ONE, "mass": 1.0} | options))


@pytest.mark.parametrize(("shape", "sizes", "options", "message"), [
    ("rectangle", (-1, 1), {}, "rectangle: width must be positive"),
    ("circle", (np.nan,), {}, "circle: radius must be finite"),
    ("tube", (1, 2), {}, "tube: thickness must not exceed the radius 1"),
    ("from_plate", (1, 0), {}, "from_plate: thickness must be positive"),
    ("circle", (1,), {"poisson": 0.7}, "circle: poisson must be in"),
    ("circle", (1,), {"shear": 1.0}, "circle: give poisson .* or shear"),
    ("circle", (1,), {"density": 0.0}, "circle: density must be positive"),
])  # fmt: skip
def test_bad_shapes_are_refused(shape, sizes, options, message):
    material = {"young": 1.0, "poisson": 0.3, "density": 1.0} | options
    with pytest.raises(ValueError, match=r"Section\." + message):
        getattr(mbd.Section, shape)(*sizes, **material)


@pytest.mark.parametrize(("force", "options", "message"), [
    (lambda p: (1, 2), {}, r"force\(p\) must be 3 numbers"),
    (fails, {}, "force, a function of p .*, raised RuntimeError: a bug"),
    ((1, 2, 3), {"law": 3.0}, "law must be a function of time"),
    ((1, 2, 3), {"law": lambda t: "x"}, "the law of time must return a number, got 'x'"),
    ((1, 2, 3), {"law": fails}, "its law f.t. raised RuntimeError: a bug"),
    ((1, 2, 3), {"follow": "yes"}, "follow must be True or False"),
])  # fmt: skip
def test_bad_line_loads_are_refused(force, options, message):
    with pytest.raises((ValueError, TypeError), match="load: " + message):
        mbd.LineLoad("load", mbd.Beam("beam", **GOOD), force, **options)
    with pytest.raises(TypeError, match="load: beam must be a Beam"):
        mbd.LineLoad("load", mbd.PointMass("p", mass=1), (1, 2, 3))


def test_nodes_are_asked_for_by_number():
    beam = mbd.Beam("beam", **GOOD)
    for i in (9, "x", 1.5, -10):
        with pytest.raises(IndexError, match="beam: there is no node .*; there are 0 to 8"):
            beam.node(i)


def wound(elements):
    """Return a beam whose end is wound up by a motor, 4 rad/s; it starts at rest."""
    system = cantilever(elements, SOFT)
    last = system["beam"].last
    end = system.add(mbd.Revolute("end", system.ground, last, at=(1, 0, 0), axis=(1, 0, 0)))
    system.add(mbd.Drive("motor", end, position=lambda t: 2 * t * t))
    return system


def test_elements_that_turn_by_pi_in_a_run_are_named():
    """By its end, at 4.5 rad, one element would be 1.8 rad the other way round."""
    message = "element 0 of 'beam' turns by .* rad at t = 1.19 s: strains jump at pi.*, such as 4"
    with pytest.warns(RuntimeWarning, match=message):
        run = mbd.simulate(wound(1), 1.5, 1e-2)
    assert "element 0 of 'beam'" in run.message
    assert run["beam"].moment[-1, 0, 0, 0] < 0
    four = mbd.simulate(wound(4), 1.5, 1e-2)
    assert four["beam"].curvature[-1, :, :, 0] == pytest.approx(4.5, abs=0.05)


def test_a_run_that_fails_where_an_element_turns_by_pi_says_so():
    system = cantilever(1, SOFT, moment=lambda t: (0, 0, 60 * t if t < 0.45 else np.nan))
    with pytest.raises(mbd.SimulationError, match="; element 0 of 'beam' turns by .* rad at t = 0"):
        mbd.simulate(system, 1.0, 1e-3)


def test_elements_that_turn_by_pi_in_equilibrium_are_named():
    """Of 40 N m one element would turn by 4 rad; 29 N m it bears, at 2.9 rad."""
    for moment, how in (
        (40, pytest.raises(mbd.EquilibriumError, match="; element 0 of 'beam' turns by")),
        (29, pytest.warns(RuntimeWarning, match="element 0 of 'beam' turns by 2.9 rad")),
    ):
        with how:
            mbd.equilibrium(
                cantilever(1, SOFT, moment=(0, 0, moment)), seek="nearest", max_iterations=40
            )


@pytest.mark.parametrize("static", [True, False])
@pytest.mark.parametrize(
    ("elements", "P", "named"), [(4, 100.0, True), (4, 30.0, False), (12, 100.0, False)]
)
def test_elements_that_are_too_long_for_their_tension_are_named(elements, P, named, static):
    """A beam in tension never buckles; one of long elements does, at P = 12 EI/h^2."""
    section = mbd.Section(stiffness=(1e5, 1e5, 1e5, 1, 1, 1), mass=1.0)
    system = cantilever(elements, section, force=lambda t: (P * min(1.0, 5 * t), 0, 0))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        if static:
            mbd.equilibrium(system, state=system.build().state.replace(t=1.0))
        else:
            mbd.simulate(system, 0.3, 1e-3)
    pulled = [str(x.message) for x in told if "'beam' is pulled by 6." in str(x.message)]
    assert bool(pulled) == named
    assert all("at 12 it buckles; take more, such as 6" in x for x in pulled)
