"""Hostile options of what draws, writes and takes what it is given by name."""

import dataclasses
import functools
import inspect

import numpy as np
import pytest

import mbd
from mbd.animation.draw import DrawOptions

from .test_inputs import HOSTILE, chain, driven, excited, pressed, ran, whirling, wrong


def taking(call, *names):
    """Return a function that has these options by name."""

    def taken(**options):
        return call(**options)

    keyword = inspect.Parameter.KEYWORD_ONLY
    taken.__signature__ = inspect.Signature([inspect.Parameter(n, keyword) for n in names])
    return taken


@functools.cache
def compared():
    return mbd.compare(chain, steps=[1e-2], t_end=0.01, turns=0, formulations="so3")


DRAWN = [x.name for x in dataclasses.fields(DrawOptions)]
CALLS = {
    "animate": (lambda: taking(lambda **o: ran().animate(**o), *DRAWN), "animate"),
    "film": (
        lambda: taking(lambda **o: ran().animate().save("x.gif", **o), "fps", "size"), "animate",
    ),
    "snapshot": (
        lambda: taking(lambda **o: ran().snapshot("x.svg", **o), "t", "size", "up"), "snapshot",
    ),
    "npz": (lambda: taking(lambda **o: ran().save("x.npz", **o), "every", "note"), "save"),
    "csv": (lambda: taking(lambda **o: ran().save("x.csv", **o), "every"), "save"),
    "pvd": (lambda: taking(lambda **o: ran().save("x.pvd", **o), "every"), "save"),
    "spy": (lambda: driven().assemble().spy, "spy"),
    "topology": (lambda: driven().plot_topology, "plot_topology"),
    "plot": (lambda: taking(lambda ax: ran().plot("a.position", ax=ax), "ax"), "plot"),
    "modes": (lambda: mbd.modes(pressed()).plot, "plot"),
    "campbell": (lambda: whirling().plot, "plot"),
    "response": (lambda: excited().frequency_response([1.0]).plot, "plot"),
    "comparison": (lambda: compared().plot, "plot"),
}  # fmt: skip
# of the hostile values those that differ in how they fail: each that is taken is drawn
SOME = {
    word: HOSTILE[word]
    for word in (
        "nan", "inf", "negative", "zero", "tiny", "large", "text", "empty text", "None", "complex",
        "10**400", "-10**5000", "[]", "ragged", "matrix", "nans", "objects", "dict", "object",
        "raising", "class", "long", "surrogate", "NUL", "round", "flags", "masked",
    )
}  # fmt: skip
OTHERS = ("animate: ", "iteration_matrix: ")  # who is asked by these


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    """Let a path that is taken lead to a folder of its own; no figure stays open."""
    matplotlib = pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    with matplotlib.rc_context({"backend": "agg"}):
        yield


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_a_hostile_option_is_refused_by_name(name):
    make, owner = CALLS[name]
    assert not wrong(make(), dict, (f"{owner}: ", *OTHERS), SOME)


@pytest.mark.parametrize("name", CALLS)
def test_nonsense_is_not_taken_in_silence(name):
    make, call = CALLS[name][0](), None
    for option in inspect.signature(make).parameters:
        if option == "note":  # may be nan
            continue
        for word in ("nan", "object", "raising", "module", "nans", "Nones", "dict"):
            call = functools.partial(make, **{option: HOSTILE[word]})
            if word == "dict" and option in ("trails", "lines", "plots", "show", "orders"):
                call()  # holds nothing
                continue
            with pytest.raises((TypeError, ValueError)):
                call()
    assert call is not None


def test_options_that_there_are_not():
    for call in (
        lambda: ran().animate(spede=1), lambda: ran().animate().save("x.gif", fsp=1),
        lambda: ran().animate().save("x.html", fps=1), lambda: ran().snapshot("x.svg", tittle="x"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=r"^(animate|snapshot): (there is no option|a page)"):
            call()


@pytest.mark.parametrize(
    ("kind", "length", "refused"),
    [("tetrahedral", (1, 2, 3), "a number"), ("tetrahedral", [1, 2], "a number"),
     ("hexahedral", (1, 2), "a number or 3 numbers"), ("hexahedral", np.ones((3, 3)),
      "a number or 3 numbers")],
)  # fmt: skip
def test_lengths_of_sets_say_how_many_they_are(kind, length, refused):
    with pytest.raises(ValueError, match=rf"length of the {kind} set must be {refused} \[m\], got"):
        mbd.Unified(kind, length=length)
    mbd.Unified(kind, length=[0.3])


def test_no_message_says_one_numbers():
    """Whatever is asked for: a number, 3 numbers, 6x3 numbers."""
    from mbd.base.checked import numbers

    for shapes, words in (
        (((),), "a number"), (((1,),), "1 number"), (((), (1,)), "a number"),
        (((3,), (3, 3)), "3 numbers or 3x3 numbers"), (((), (1,), (3,)), "a number or 3 numbers"),
    ):  # fmt: skip
        for value in ("text", np.ones((7, 7))):
            with pytest.raises((TypeError, ValueError), match=rf"^who: x must be {words} \[m\]"):
                numbers("who", "x", value, shapes, "m")
