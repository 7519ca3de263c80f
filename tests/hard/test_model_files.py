"""Hostile model files: each is read, or refused at once with its name, place and line."""

import re
import time

import numpy as np
import pytest
from families import some
from hypothesis import given
from hypothesis import strategies as st

import mbd
from mbd.files.modelfile import from_text
from mbd.files.toml import line_of
from mbd.files.units import convert

TEXT = """schema = 1
title = "a crank"

[system]
gravity = [0, 0, -9.81]

[bodies.crank]
mass = "2 t"
inertia = [0.1, 0.17, 0.17]
position = ["20 mm", 0, 0]
rotation = {axis = [0, 1, 0], angle = "3 deg"}
formulation = {type="EulerParameters", form="reduced"}
shape = {type="Box", size=[1, 2, 3], color="#00ff00"}

[bodies."a bob"]
type = "PointMass"
mass = 0.3
position = [0, "1/3", 0]

[joints.hinge]
type = "Revolute"
first = {body = "ground", position = [0, 0, 0]}
second = {body = "crank", axes = {rpy = [0, 0, 0.1]}}

[joints.rod]
type = "Distance"
first = "crank"
second = "a bob"
length = 2

[forces.spring]
type = "Spring"
first = "ground"
second = "crank"
law = "300*(u - 0.9) + 1.5*rate + table(t, [0, 1], [0, 2])"

[forces.push]
type = "PointForce"
body = "crank"
force = [0, "5 kN", "100*sin(2*pi*t)"]
follow = true

[forces.motor]
type = "Motor"
joint = {joint = "hinge", coordinate = "angle"}
effort = "3*u + piecewise(t < 1, 0, 2)"

[run]
t_end = 1
step = "1 ms"
every = 2
project = true
method = {type="GeneralizedAlpha", rho=0.7, max_iterations=9}
"""
VALUES = [
    "nan", "inf", "-1", "0", "true", "1e308", "1e-320", "1_0", f"1{'0' * 400}", f"1{'0' * 5000}",
    '"1"', '"no"', '""', '"1e400"', '"1e400 N"', '"1e99999999 kg"', '"1e-99999999 m"', '"1_0"',
    '"1_0 kg"', '"10**400"', '"9**9**9**9"', '"2 m^99999999"', '"1 kg^-3000"', '"(-8)**(1/3)"',
    '"1/0"', '"table(t,[],[])"', '"table(t, [0, 1/0], [1, 2])"', '"table(0/0, [0, 1], [1, 2])"',
    '"min(t)"', '"atan2(t)"', '"sin()"', '"t.real"', '"t if"', '"(((((t)))))"', '"3 m 4"',
    f'"{"(" * 900}t{")" * 900}"', f'"{"-" * 1900}t"', f'"{"+t" * 900}"', f'"{"9" * 1500}"',
    f'"{"x" * 100_000}"', '"\\u0000"', '"\\n"', '"a/b"', '"曲柄"', '"µ"',
    '"1 µm"', '"\\uff11"', "[]",
    "[1]", "[1, 2, 3]", "[[1, 2, 3]]", "[1, [2], 3]", '["1", "2", "3"]', "[nan, nan, nan]",
    f"[1{'0' * 400}, 0, 0]", "{}", "{a = 1}", '{type = "Box"}', '{type = 3}', "1979-05-27",
    f"{'[' * 60}{']' * 60}", f"{'[' * 3000}{']' * 3000}", '"crank"', '"ground"', '"hinge"',
    '{body = "crank", position = "x"}', '{axis = [inf, 0, 0], angle = 1}',
    '{quaternion = [1e200, 0, 0, 0]}', '{rotvec = [1e300, 0, 0]}',
]  # fmt: skip
ENTRY = re.compile(r"^(\"?\w[\w ]*\"?) = (.*)$", re.MULTILINE)


def refused(text, path):
    """Return what is wrong with the answer to a file."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    began = time.perf_counter()
    try:
        mbd.read(path)
    except ValueError as error:
        said = str(error)
        if not said.startswith(f"{path}: ") or not re.search(
            r"line \d+|schema: must|end of document|nested too", said
        ):
            return f"without its place: {said[:300]}"
        if not said.isprintable() or len(said) > 2500:
            return f"unreadable: {said[:300]!r}"
    except BaseException as error:
        return f"raw {type(error).__name__}: {str(error)[:300]}"
    return "slow" if time.perf_counter() - began > 20 else ""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.toml"


def test_the_file_is_read(path):
    path.write_text(TEXT)
    assert len(mbd.read(path).system.forces) == 3
    path.write_bytes(b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode())  # of other editors
    assert len(mbd.read(path).system.forces) == 3


@pytest.mark.parametrize("value", some(VALUES, 2), ids=range(len(VALUES)))
def test_a_value_in_every_place(value, path):
    found = []
    for entry in ENTRY.finditer(TEXT):
        text = TEXT[: entry.start(2)] + value + TEXT[entry.end(2) :]
        if wrong := refused(text, path):
            found.append(f"{entry[1]} = {value[:60]}: {wrong}")
    assert not found


@pytest.mark.parametrize("value", ['"1_0"', '"1e99999999 kg"', '"10**400"', '"1e400 kg"', '"-1 kg"',
                                   '"2 kg^99"', '"1 m"', f"1{'0' * 400}"])  # fmt: skip
def test_the_line_is_that_of_the_value(value, path):
    for body in ("crank", '"a bob"'):
        begin = TEXT.index("mass", TEXT.index(f"[bodies.{body}]"))
        end = TEXT.index("\n", begin)
        path.write_text(f"{TEXT[:begin]}mass = {value}{TEXT[end:]}")
        line = TEXT.count("\n", 0, begin) + 1
        name = body.strip('"')
        with pytest.raises(ValueError, match=rf"bodies\.{name}\.mass: .*\(line {line}\)$"):
            mbd.read(path)


def test_lines_of_keys():
    lines = ["a.b = 1", '["x y".z]', 'k = "a = 3"', "  'l'. m = 2", "[q]", "s = [", "  1]", "t = 1"]
    text = "\n".join(lines)
    for keys, line in (
        (("a", "b"), 1), (("x y", "z"), 2), (("x y", "z", "k"), 3), (("x y", "z", "l", "m"), 4),
        (("q", "s"), 6), (("q", "t"), 8), (("q", "u"), 5), (("none",), None),
    ):  # fmt: skip
        assert line_of(text, keys) == line


BYTES = [b"\0", b"\xff", b"\xff\xfe", b"\xed\xa0\x80", b"\r", b"\x1b[2J", b"[", b"]", b"{", b'"""',
         b"'", b"=", b".", b"\n[bodies.crank]\n", b"\nmass = 3\n", b"\n[joints]\nhinge = 3\n",
         b"\nschema = 2\n", b"\n[nowhere]\n", b"\n[bodies.x.y.z]\nmass = 1\n",
         "Ω".encode()]  # fmt: skip


@given(st.data())
def test_bytes_anywhere(tmp_path_factory, data):
    """Put in, or in place of what stood there."""
    path = tmp_path_factory.getbasetemp() / "fuzz.toml"
    raw = TEXT.encode()
    at = data.draw(st.integers(0, len(raw)))
    gone = data.draw(st.sampled_from([0, 1, 7, 100, 10_000]))
    put = data.draw(st.sampled_from(BYTES) | st.binary(max_size=4))
    assert not refused(raw[:at] + put + raw[at + gone :], path)


@pytest.mark.parametrize(
    "text",
    [
        "", "\0", "schema = 1", "schema = true", "schema = 1\nschema = 1",
        "schema = 1\n[run]\nevery = 0",
        f"schema = 1\n{'a.' * 3000}b = 1", f"schema = 1\nx = {'{a=' * 2000}1{'}' * 2000}",
        "schema = 1\n[bodies]\nx = 1", "schema = 1\nbodies = 3", "schema = 1\n[[bodies]]\nmass = 1",
        'schema = 1\n[bodies."a\\u0000b"]\nmass = 1\ninertia = [1, 1, 1]',
        'schema = 1\n[bodies."a/b"]\nmass = 1\ninertia = [1, 1, 1]',
        f'schema = 1\n[bodies."{"x" * 300}"]\nmass = 1\ninertia = [1, 1, 1]',
        "schema = 1\n[bodies.x]\nmass = 1\ninertia = [1, 1, 1]\n[bodies.'x.y']\nmass = 1\n"
        "inertia = [1, 1, 1]",
    ],
)  # fmt: skip
def test_whole_files(text, path):
    assert not refused(text, path)


def test_what_is_no_text_and_what_is_too_much(path, tmp_path, monkeypatch):
    path.write_bytes(TEXT.encode("utf-16"))
    with pytest.raises(ValueError, match=r"must be text in UTF-8, got the byte 0xff \(line 1\)"):
        mbd.read(path)
    path.write_bytes(TEXT.encode().replace(b"bob", b"b\xe4b"))
    with pytest.raises(ValueError, match=r"got the byte 0xe4 \(line 15\)"):
        mbd.read(path)
    monkeypatch.setattr("mbd.files.modelfile._LARGEST", 1000)
    path.write_text(TEXT)
    with pytest.raises(ValueError, match=rf"{path}: must not be larger than 1e\+03 bytes, got "):
        mbd.read(path)
    with pytest.raises(FileNotFoundError, match="no such file"):
        mbd.read(tmp_path)


def test_many_parts_are_no_matter(path):
    n = 500
    bodies = "".join(
        f"[bodies.b{i}]\nmass = 1\ninertia = [1, 1, 1]\nposition = [{i}, 0, 0]\n" for i in range(n)
    )
    path.write_text("schema = 1\n" + bodies)
    assert len(mbd.read(path).system.bodies) == n
    path.write_text(f"schema = 1\n{bodies}[forces.x]\ntype = 'PointForce'\nbody = 'c7'\n"
                    "force = [1, 0, 0]")  # fmt: skip
    with pytest.raises(ValueError, match=rf"no 'c7' among .* \(line {4 * n + 4}\)") as error:
        mbd.read(path)
    assert len(str(error.value)) < 1000


# --- expressions and units ------------------------------------------------------------------------
ALPHABET = st.sampled_from(
    ["t", "u", "rate", "pi", "1", "0", "1e400", "9", ".", "(", ")", "[", "]", ",", "+", "-", "*",
     "**", "/", "//", "%", "<", "==", " if ", " else ", " and ", " not ", "sin", "table", "min",
     "piecewise", "log", "_", "x", "'", '"', "\\", "\0", "\n", "#", ":", "=", ":=", "lambda ",
     "await ", "@", "é", "\u202e", "1_0", "1_000", "0x1", "1j", "1if", "0777", "None", "True"]
)  # fmt: skip


@given(st.lists(ALPHABET, max_size=12).map("".join))
def test_any_expression_is_a_law_or_refused(text):
    law, said = answer(mbd.Expression, text)
    assert (law is None) == bool(said)
    for values in ((0.3, 0.1, 0.2), (0.0, 0.0, 0.0), (np.nan,) * 3, (1e308, -1e308, 1e308)):
        if law is not None:
            value, said = answer(law, *values)  # functions may have no value at these numbers
            assert said or isinstance(value, float)


def answer(function, *arguments):
    """Return what a function gives, or None and the words with which it refuses."""
    try:
        return function(*arguments), ""
    except (ValueError, ArithmeticError) as error:
        return None, str(error) if str(error).isprintable() else ""


PIECES = st.sampled_from(["1", "0", "e", "9999", "-", ".", "_", " ", "m", "k", "kg", "N", "^", "**",
                          "/", "(", ")", "*", "·", "s", "°", "%", "rpm", "\0"])  # fmt: skip
UNITS = st.sampled_from(["m", "kg", "N/m", "-", "rad"])


@given(st.lists(PIECES, max_size=14).map("".join), UNITS)
def test_any_quantity_is_a_number_or_refused(text, unit):
    x, said = answer(convert, text, unit)
    assert x is None or (np.isfinite(x) and not said)


@pytest.mark.parametrize(("text", "said"), [
    ("table(t,[],[])", r"must be table\(x, \[x1"),
    ("table(t,[1, 1],[2, 3])", "must increase"),
    ("min(t)", "min in 'min.t.' must have 2 arguments or more, got 1"),
    ("sin(t, t)", "sin in .* must have 1 argument, got 2"),
    ("log(t, 2, 3)", "log in .* must have 1 argument or more, got 3"),
    ("1e400", "a number that a float cannot hold"),
    ("1" + "0" * 400 + "*t", "a number that a float cannot hold"),
    ("1_0", "underscore that does not part thousands"),
    ("t" * 3000, "must be shorter"),
])  # fmt: skip
def test_expressions_are_refused_by_name(text, said):
    with pytest.raises(ValueError, match=said):
        mbd.Expression(text)
    with pytest.raises(ValueError, match=said):
        from_text(TEXT.replace("100*sin(2*pi*t)", text))


def test_a_table_at_what_is_no_number():
    law = mbd.Expression("table(t, [0, 1], [5, 6])")
    assert np.isnan(law(np.nan))
    assert (law(-np.inf), law(np.inf), law(0.5)) == (5.0, 6.0, 5.5)
    assert mbd.Expression("1_000*t")(2.0) == 2000.0
    with pytest.raises(ValueError, match=r"is complex at \(-8.0,\)"):
        mbd.Expression("t**(1/3)")(-8.0)
