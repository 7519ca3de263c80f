"""The language of laws: the values of Python, and nothing else of it."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mbd
from mbd.files.expressions import FUNCTIONS

TIMES = st.floats(-10, 10)


@pytest.mark.parametrize("text", [
    "3*t**2 - t/2 + 1", "sin(2*pi*t)*exp(-abs(t))", "sqrt(t*t) + cos(t) - tan(t/10)",
    "max(0, t, min(t, 3))", "1 if t < 2 and not t < -2 else -1", "-(-t)", "atan2(t, 2) % 3",
    "floor(t) + tanh(t)",
])  # fmt: skip
@given(TIMES)
def test_values_are_those_of_python(text, t):
    names = {"t": t, "pi": math.pi, "abs": abs, "min": min, "max": max, **vars(math)}
    assert mbd.Expression(text)(t) == eval(text, names)


@given(TIMES)
def test_piecewise_and_table(t):
    law = mbd.Expression("piecewise(t < 0, -1, t < 1, 2*t, 5)")
    assert law(t) == (-1 if t < 0 else 2 * t if t < 1 else 5)
    table = mbd.Expression("table(t, [0, 1, 1 + 1], [0, 5, -1/2])")
    known = min(max(t, 0), 2)
    want = 5 * known if known < 1 else 5 - 5.5 * (known - 1)
    assert table(t) == pytest.approx(want, abs=1e-12)


def test_a_law_of_a_spring_and_three_components():
    assert mbd.Expression("300*(u - 0.9) + 1.5*rate + t")(1.0, 2.0, 3.0) == pytest.approx(36)
    assert mbd.Expression(0, 1.5, "t")(2.0) == (0.0, 1.5, 2.0)
    assert mbd.Expression("t") == mbd.Expression("t") != mbd.Expression("u")
    assert repr(mbd.Expression("t", 1)) == "Expression('t', '1.0')"
    with pytest.raises(ValueError, match="a law of time knows t only, .* uses u"):
        mbd.Expression("u*t")(1.0)


@pytest.mark.parametrize(("text", "said"), [
    ("__import__('os').system('true')", "calls in .* must be of the form"),
    ("t^2", "is no power; write"),
    ("t.real", "Attribute in 't.real' is not allowed"),
    ("(1).__class__", "Attribute"),
    ("(lambda: 1)()", "must be of the form f"),
    ("[x for x in (1, 2)]", "ListComp"),
    ("[1]", "List in"),
    ("f'{t}'", "JoinedStr"),
    ("sin(*[1])", "Starred"),
    ("min(1, key=abs)", "must be of the form"),
    ("t := 3", "cannot be read"),
    ("(t := 3)", "NamedExpr"),
    ("9**9**9**9", "out of range"),
    ("eval('1')", "no function 'eval'"),
    ("sinn(t)", "did you mean 'sin'"),
    ("x + 1", "there is no name 'x'"),
    ("sin", "there is no name 'sin'"),
    ("__builtins__", "there is no name"),
    ("'a'", "is no number"),
    ("True", "is no number"),
    ("1j", "is no number"),
    ("t if", "cannot be read"),
    ("t; t", "cannot be read"),
    ("", "cannot be read"),
    ("\x00", "cannot be read"),
    ("piecewise(1, 2)", "must end with the value"),
    ("table(t, [0, t], [1, 2])", "must be of numbers"),
    ("table(t, [0, 0], [1, 2])", "must increase"),
    ("table(t, [0, 1], [1])", "must be table"),
    ("table(t)", "must be table"),
    ("-" * 1500 + "t", "too deeply|cannot be read"),
    ("1+" * 3000 + "t", "shorter than"),
])  # fmt: skip
def test_everything_else_is_refused(text, said):
    with pytest.raises((ValueError, OverflowError), match=said):
        mbd.Expression(text)(0.0)


def test_functions_are_pure():
    assert all(callable(f) for f in FUNCTIONS.values())
    assert not {"eval", "exec", "open", "getattr", "type"} & set(FUNCTIONS)


def test_no_text_at_all():
    with pytest.raises(ValueError, match="give a text"):
        mbd.Expression()


LAWS = ("t", "u + rate*t", "exp(t)", "1/t", "t**0.5", "log(t)", "sqrt(t)", "floor(t)", "t % 0",
        "2**t", "table(t, [0, 1], [2, 3])", "piecewise(t > 0, 1, 2)", "sign(t)", "tan(t)",
        "10**(10**t)", "max(t, 1)", "t if t > 0 else 1", "1e308*t*10")  # fmt: skip
GIVEN = ("1", None, [1.0], np.ones(3), np.array(2.0), 10**400, 1e308, math.nan, math.inf, -math.inf,
         1j, object(), True, -1.0, 0, np.float32(1.0), b"1", {}, len)  # fmt: skip


@pytest.mark.parametrize("text", LAWS)
@pytest.mark.parametrize("place", range(4))
def test_a_law_called_by_hand_returns_a_number_or_says_what_is_wrong(text, place):
    law = mbd.Expression(text)
    for value in GIVEN:
        values = [0.1, 0.2, 0.3] if place else [value]
        values[place - 1] = value
        try:
            assert isinstance(law(*values), float)
        except (ValueError, TypeError) as error:
            said = str(error)
            if not said.startswith("Expression: "):
                raise
