"""Everything the package defines has a recipe: a new class without one fails here by name."""

import re

import pytest
from recipes import (
    BODIES,
    EXAMPLES,
    FORCES,
    FORMULATIONS,
    JOINT_RECIPES,
    JOINTS,
    KINDS,
    LOADS,
    MEASURES,
    PAIR_FORCES,
    ROW_PARTS,
    SCALING,
    SCALINGS,
    STILL,
    WORN,
    pair,
)

import mbd
from mbd.formulations import NAMES
from mbd.formulations.families import family
from mbd.interactions.beams.element import BEAM, BEAM_4
from mbd.interactions.compliant_rows import COMPLIANT_COINCIDE
from mbd.interactions.motion_loads import SiteForm, motion_load
from mbd.interactions.rows import COINCIDE_IN_PLANE, row
from mbd.interactions.springs import held, motor, potential, rubbing, spring, stop


def test_every_joint_can_be_made():
    assert set(JOINT_RECIPES) == set(JOINTS)
    assert len(JOINTS) >= 10
    for name, make in JOINT_RECIPES.items():
        _, one, two = pair("so3", "so3")
        assert type(make(one, two, STILL)) is JOINTS[name]


@pytest.mark.parametrize("name", JOINTS)
def test_the_docstring_of_a_joint_says_how_many_rows_it_has(name):
    said = re.search(r"\((\d rows?[^()]*)\)", JOINTS[name].__doc__)  # on positions, velocities
    _, one, two = pair("so3", "so3")
    elements = JOINT_RECIPES[name](one, two, STILL).elements()
    assert sum(map(int, re.findall(r"\d", said[1]))) == sum(len(e.rows) for e in elements)
    assert ".. math::" in JOINTS[name].__doc__, "the equations of its rows"


def test_every_force_has_a_recipe():
    tables = (PAIR_FORCES, ROW_PARTS, LOADS, SCALINGS, WORN, EXAMPLES)
    known = {name for table in tables for name, _ in table}
    missing = sorted(set(FORCES) - known)
    assert not missing, (
        f"forces without a class method example(cls, first, second), and without a recipe in "
        f"tests/kinds/recipes.py: {missing}"
    )
    assert known <= set(FORCES)


def test_every_body_is_known():
    assert set(BODIES) == {"Ground", "PointMass", "RigidBody"}, (
        "a new body class: give it a place in `pair` of tests/kinds/recipes.py"
    )


def test_every_formulation_can_be_named():
    assert set(FORMULATIONS) == {*NAMES, "point"}, (
        "a formulation that is not in mbd.formulations.NAMES is not tested: name it there"
    )
    assert len({id(family(f)) for f in FORMULATIONS.values()}) == len(FORMULATIONS)


def test_every_interaction_kind_is_used_by_a_recipe():
    # tested in beams/test_element.py, physics/test_compliant_rows.py and test_in_plane.py
    used = {BEAM, BEAM_4, COMPLIANT_COINCIDE, COINCIDE_IN_PLANE}
    for make in [
        *JOINT_RECIPES.values(),
        *PAIR_FORCES.values(),
        *ROW_PARTS.values(),
        *EXAMPLES.values(),
    ]:
        _, one, two = pair("so3", "so3")
        used |= {e.kind for e in make(one, two, STILL).elements()}
    for make in [*LOADS.values(), *WORN.values()]:
        _, one, _ = pair("so3", "so3")
        used |= {e.kind for e in make(one, STILL).elements()}
    for make in SCALINGS.values():
        _, one, _ = pair(SCALING[0], "ground")
        used |= {e.kind for e in make(one, STILL).elements()}
    unused = [k.name for k in KINDS.values() if k not in used]
    assert not unused, f"kinds of interaction that no recipe uses: {unused}"
    # rows and springs on measures are made on demand and tested for every measure
    _, one, two = pair("so3", "so3")
    on_functions = (ROW_PARTS["Row", "function"], PAIR_FORCES["Load", "function"])
    functions = [make(one, two, STILL).recording.measure for make in on_functions]
    acts = (held, row, spring, motor, rubbing, stop, potential)
    made = {act(x) for x in (*MEASURES.values(), *functions) for act in acts}
    sums = {k for k in used if " row" in k.name and "sum " in k.name}
    of_motion = motion_load(SiteForm(1, True, False, False, False))  # tests/beams has the others
    assert used <= made | sums | {of_motion} | set(KINDS.values())


def test_every_public_part_is_exported():
    for name in [*JOINTS, *FORCES, *BODIES]:
        assert getattr(mbd, name) is {**JOINTS, **FORCES, **BODIES}[name]
