"""What a body adds to a whole call in Python: calls of functions and methods, counted."""

import sys

import pytest
from scenes import chain

import mbd


def calls(work):
    """Return how many functions Python and numpy are called while something is done."""
    counted = [0]

    def note(_frame, event, _argument):
        counted[0] += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return counted[0]


def of_a_body(work, few=6, many=46):
    """Return what a body adds to them, `work` done with few and with many bodies."""
    for n in (few, many):
        work(n)()  # what is loaded or kept once
    return (calls(work(many)) - calls(work(few))) / (many - few)


@pytest.mark.parametrize(("joint", "most"), [("Spherical", 225), ("Revolute", 450)])
def test_what_a_body_adds_to_building(joint, most):
    """A third of it is the elements that its joint declares."""
    systems = {n: chain(n, joint=joint) for n in (6, 46)}
    assert of_a_body(lambda n: systems[n].build) < most


def test_a_body_adds_next_to_nothing_to_a_run():
    """All bodies of a formulation, all elements of a kind, are prepared and judged at once."""
    models = {n: chain(n, joint="Revolute").build() for n in (6, 46)}

    def run(n):
        return lambda: mbd.simulate(models[n], 4e-3, 1e-3, every=4)

    assert of_a_body(run) < 6
