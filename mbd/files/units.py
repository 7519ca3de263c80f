"""Units: ``"25 mm"``, ``"1.2 kN/m"``, ``"60 rpm"`` to SI, checked.

A unit is a product of names with whole powers: ``kg m^2``, ``N/(m s)``, ``m/s^2``. A decimal number
in a decimal unit gives the nearest double, so ``"25 mm"`` is exactly ``0.025``.
"""

import math
import re
from fractions import Fraction
from typing import NamedTuple

from mbd.base.checked import shown

NUMBER = r"[+-]?(?>(?:(?:\d{1,3}(?:_\d{3})+(?![\d_])|\d+)\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
_WORD = r"(?!(?:if|and|or)\b)[A-Za-zµ°%][\wµ°%^*/()·\s-]*?"
_QUANTITY = re.compile(rf"\s*({NUMBER})(?:\s*({_WORD})|\s+(1/{_WORD}))\s*")
_LONGEST = 200  # characters of a number with its unit
_HIGHEST = 9  # power of a unit
_FACTOR = re.compile(r"([A-Za-zµ°%]+|1|-)(?:(?:\^|\*\*)([+-]?\d+))?")


class Unit(NamedTuple):
    """Factor to SI as ``scale * pi**turns``, and the powers of kg, m, s and rad."""

    scale: Fraction
    turns: int
    powers: tuple[int, int, int, int]

    def times(self, other: "Unit", power: int) -> "Unit":
        """Return self other^power."""
        powers = (a + power * b for a, b in zip(self.powers, other.powers, strict=True))
        scale, turns = self.scale * other.scale**power, self.turns + power * other.turns
        return Unit(scale, turns, tuple(powers))  # type: ignore[arg-type]


_KG, _M, _S, _RAD = (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)
_ONE = Unit(Fraction(1), 0, (0, 0, 0, 0))
_FORCE = (1, 1, -2, 0)
_PREFIXED = {
    "m": _M, "g": _KG, "s": _S, "rad": _RAD, "N": _FORCE, "J": (1, 2, -2, 0),
    "W": (1, 2, -3, 0), "Pa": (1, -1, -2, 0),
}  # fmt: skip
_PREFIXES = {"": 0, "n": -9, "u": -6, "µ": -6, "m": -3, "c": -2, "d": -1, "k": 3, "M": 6, "G": 9}
_OTHERS = {
    "t": ("1000", 0, _KG), "lb": ("0.45359237", 0, _KG), "lbf": ("4.4482216152605", 0, _FORCE),
    "in": ("0.0254", 0, _M), "ft": ("0.3048", 0, _M), "min": ("60", 0, _S), "h": ("3600", 0, _S),
    "deg": ("1/180", 1, _RAD), "°": ("1/180", 1, _RAD), "rev": ("2", 1, _RAD),
    "rpm": ("2/60", 1, (0, 0, -1, 1)), "%": ("1/100", 0, (0, 0, 0, 0)),
    "1": ("1", 0, (0, 0, 0, 0)), "-": ("1", 0, (0, 0, 0, 0)),
}  # fmt: skip
_UNITS = {
    prefix + name: Unit(Fraction(10) ** (power - 3 * (name == "g")), 0, powers)
    for name, powers in _PREFIXED.items()
    for prefix, power in _PREFIXES.items()
} | {name: Unit(Fraction(scale), turns, powers) for name, (scale, turns, powers) in _OTHERS.items()}


def unit(text: str) -> Unit:
    """Return the unit of a text such as ``"kg m^2/s"``."""
    over, _, under = text.partition("/")
    product = _product(over, text)
    if under:
        inside = under.strip()
        if inside[:1] == "(" and inside[-1:] == ")":
            inside = inside[1:-1]
        elif len(inside.replace("*", " ").replace("·", " ").split()) > 1 or "/" in inside:
            raise ValueError(f"unit {text!r} may be read in two ways; write a/(b c)")
        product = product.times(_product(inside, text), -1)
    return product


def _product(text: str, whole: str) -> Unit:
    product = _ONE
    for word in re.sub(r"(?<!\*)\*(?!\*)|·", " ", text).split():
        match = _FACTOR.fullmatch(word)
        if match is None or match[1] not in _UNITS:
            symbols = "m kg g t s min h N J W Pa rad deg rev rpm in ft lb lbf"
            raise ValueError(
                f"{word!r} in {whole!r} is no known unit; known are {symbols}, with prefixes n u m "
                "c k M G"
            )
        power = int(match[2] or 1)
        if abs(power) > _HIGHEST:
            raise ValueError(f"{word!r} in {whole!r} has a power beyond {_HIGHEST}")
        product = product.times(_UNITS[match[1]], power)
    return product


def has_unit(text: str) -> bool:
    """Tell whether a text is a number and something that must be a unit."""
    return len(text) <= _LONGEST and _QUANTITY.fullmatch(text) is not None


def unit_in(text: str) -> str:
    """Return the unit after a number; "-" if there is none."""
    match = _QUANTITY.fullmatch(text) if len(text) <= _LONGEST else None
    return "-" if match is None else match[2] or match[3]


def convert(text: str, expected: str) -> float | None:
    """Return a number with a unit in SI; None if the text is not of that form.

    An angle may be left out (``N m`` for ``N m/rad``) where the expected unit has one.
    """
    match = _QUANTITY.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        return None
    symbol = match[2] or match[3]
    of_text, of_argument = unit(symbol), unit(expected)
    angle = of_text.powers[3] in (0, of_argument.powers[3])
    if of_text.powers[:3] != of_argument.powers[:3] or not angle:
        raise ValueError(f"must have a unit of [{expected}], got {shown(symbol)}")
    digits = match[1].replace("_", "")
    _, _, exponent = digits.lower().partition("e")
    if abs(int(exponent or 0)) > 2 * _LONGEST + 400:  # beyond floats, whatever the digits and unit
        raise ValueError(f"must be a number that a float can hold [{expected}], got {text!r}")
    try:
        number = float(Fraction(digits) * of_text.scale) * math.pi**of_text.turns
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"must be a number that a float can hold [{expected}], got {text!r}")
    return number
