"""Names of numbers: where they are in F and with which slopes, of every part and formulation."""

import numpy as np
import pytest
from recipes import FORMS, FORMULATIONS
from test_derivatives import RECIPES, described, joints_of_recipes  # noqa: F401

from mbd.machine import buffer as m
from mbd.model.names import scale_of

E = 1e-3
WEIGHTS = {1: 2 / 3, -1: -2 / 3, 2: -1 / 12, -2: 1 / 12}


def moving(model):
    """Return where F may depend on the description: no sizes, nothing that is measured."""
    which = np.ones(len(model.F), bool)
    which[: m.F_HEADER], which[m.GX : m.GZ + 1] = False, True
    for vector in (m.DIAG, m.EPS):
        which[model.I[vector] :][: model.I[m.N_U]] = False
    return which


def differences(model, name, value, i):
    """Return the derivative of F by number i of an argument, by differences of order four."""
    step, which = E * scale_of(model, name), moving(model)
    total = 0.0
    for k, w in WEIGHTS.items():
        x = np.array(value, float)
        x.reshape(-1)[i] += k * step
        other = model.with_values({name: x if x.ndim else float(x)})
        assert other.I is model.I or model.laws, name  # laws have another address
        total = total + w / step * (other.F[which] - model.F[which])
    return total


def check(model, name):
    found = model.names[name]
    slopes = found.slopes.reshape(len(found.places), found.value.size)
    which = moving(model)
    assert which[found.places].all()
    for i in range(found.value.size):
        try:
            expected = differences(model, name, found.value, i)
        except ValueError:  # on one side alone
            continue
        full = np.zeros(len(model.F))
        full[found.places] = slopes[:, i]
        size = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(full[which], expected, rtol=0, atol=1e-7 * size,
                                   err_msg=f"{name}[{i}]")  # fmt: skip
    return found


def refused(error):
    """Tell whether what is asked for is another structure, or what nobody may write."""
    return any(x in str(error) for x in ("structure", "give way", "compliance needs", "be normal"))


def check_all(system):
    names = list(system.build().names)
    model = system.build(names=names)
    for name in names:
        try:
            check(model, name)
        except ValueError as error:
            if not refused(error):
                raise


@pytest.mark.parametrize("key", RECIPES, ids=str)
def test_every_part(key, joints_of_recipes):  # noqa: F811
    check_all(described(RECIPES[key], 0.3))


@pytest.mark.parametrize("name", [*FORMULATIONS, *FORMS])
def test_every_formulation(name):
    formulation = FORMS.get(name, name)
    if name == "point":
        return
    check_all(described(RECIPES["joint", "Spherical"], 0.3, formulation))
