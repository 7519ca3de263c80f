"""Numbers with units: exact where decimal, refused where the dimension is another."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mbd.files.units import convert, unit


@pytest.mark.parametrize(("text", "expected", "value"), [
    ("25 mm", "m", 0.025),
    ("57mm", "m", 0.057),
    ("-.5e3 cm", "m", -5.0),
    ("1_000 um", "m", 1e-3),
    ("3 deg", "rad", math.radians(3)),
    ("90°", "rad", math.pi / 2),
    ("1.2 kN/m", "N/m", 1200.0),
    ("60 rpm", "rad/s", 2 * math.pi),
    ("1 rev/min", "rad/s", 2 * math.pi / 60),
    ("2 t", "kg", 2000.0),
    ("3 g", "kg", 0.003),
    ("120 kg cm^2", "kg m^2", 0.012),
    ("1e-3 kg*m**2", "kg m^2", 0.001),
    ("10 N m", "N m/rad", 10.0),
    ("1 N m/deg", "N m/rad", 180 / math.pi),
    ("5 N/(m s)", "N/(m s)", 5.0),
    ("9.81 m/s^2", "m/s^2", 9.81),
    ("9.81 m s^-2", "m/s^2", 9.81),
    ("36 km/h", "m/s", 10.0),
    ("1 in", "m", 0.0254),
    ("1 lbf", "N", 4.4482216152605),
    ("5 %", "-", 0.05),
    ("5 1/s", "rad/s", 5.0),
    ("2 J", "N m", 2.0),
    ("3 min", "s", 180.0),
])  # fmt: skip
def test_known_values(text, expected, value):
    assert convert(text, expected) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize("text", ["3", "2*t", "1/12", "t", "pi", "3 if t else 2", "-1e-3", "5*mm"])
def test_other_texts_are_not_quantities(text):
    assert convert(text, "m") is None


@pytest.mark.parametrize(("text", "expected", "said"), [
    ("3 deg", "m", r"must have a unit of \[m\], got 'deg'"),
    ("4 rad", "-", r"must have a unit of \[-\]"),
    ("4 N m", "N/m", r"must have a unit of \[N/m\], got 'N m'"),
    ("3 furlong", "m", "'furlong' in 'furlong' is no known unit; known are m kg"),
    ("3 m/s s", "m", r"may be read in two ways; write a/\(b c\)"),
    ("2 Hz", "rad/s", "'Hz' in 'Hz' is no known unit"),
])  # fmt: skip
def test_wrong_units_are_named(text, expected, said):
    with pytest.raises(ValueError, match=said):
        convert(text, expected)


@given(st.decimals(-1000, 1000, places=6), st.sampled_from(["nm", "um", "mm", "cm", "m", "km"]))
def test_decimal_units_give_the_nearest_double(number, name):
    exact = Fraction(number) * unit(name).scale
    assert convert(f"{number} {name}", "m") == float(exact)
