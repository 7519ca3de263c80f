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


@pytest.mark.parametrize(("joint", "most"), [("Spherical", 188), ("Revolute", 388)])
def test_what_a_body_adds_to_building(joint, most):
    """A third of it is the elements that its joint declares."""
    systems = {n: chain(n, joint=joint) for n in (6, 46)}
    assert of_a_body(lambda n: systems[n].build) < most


@pytest.mark.parametrize("every", [1, 4])
@pytest.mark.parametrize("joint", ["Spherical", "Revolute"])
def test_a_body_adds_next_to_nothing_to_the_first_run_of_a_model(joint, every):
    """All bodies of a formulation, all elements of a kind, are prepared and judged at once."""
    few, many = (chain(n, joint=joint).build() for n in (6, 46))

    def run(model):
        return lambda: mbd.simulate(model, 4e-3, 1e-3, every=every)

    run(chain(6, joint=joint).build())()  # what is loaded once
    assert (calls(run(many)) - calls(run(few))) / 40 < 4


@pytest.mark.parametrize(("every", "most"), [(1, 1000), (4, 1250)])
def test_what_a_run_costs_besides_its_bodies(every, most):
    """Before and after the loop; large steps are judged by one function, in 30 calls more."""
    models = [chain(6).build() for _ in range(2)]
    work = [lambda m=m: mbd.simulate(m, 4e-3, 1e-3, every=every) for m in models]
    work[0]()
    assert calls(work[1]) < most
