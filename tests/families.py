"""Families of tests: every value occurs in a member that always runs, the product on request."""

import itertools

import pytest


def spread(**axes):
    """Parametrize a test by the product of axes, of which most members are slow.

    The i-th value of every axis (from its start again where it is shorter) makes a member that
    always runs: each value occurs, and axes of different lengths meet in many pairs.
    """
    values = [list(axis) for axis in axes.values()]
    longest = range(max(map(len, values)))
    always = {tuple(i % len(axis) for axis in values) for i in longest}
    return pytest.mark.parametrize(
        tuple(axes),
        [
            pytest.param(
                *(axis[k] for axis, k in zip(values, places, strict=True)),
                marks=() if places in always else pytest.mark.slow,
            )
            for places in itertools.product(*(range(len(axis)) for axis in values))
        ],
    )


def some(values, n):
    """Return values as parameters, all but the first of each n of them slow."""
    return [pytest.param(x, marks=pytest.mark.slow if i % n else ()) for i, x in enumerate(values)]
