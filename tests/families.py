"""Families of tests: every value occurs in a member that always runs, the product on request."""

import itertools

import pytest

SLOW = pytest.mark.slow


def spread(*, rare=(), **axes):
    """Parametrize a test by the product of axes, of which most members are slow.

    The i-th value of every axis (from its start again where it is shorter) makes a member that
    always runs: each value occurs, and axes of different lengths meet in many pairs. Members with
    a value of `rare` are slow, too.
    """
    often = [[x for x in axis if x not in rare] for axis in axes.values()]
    longest = range(max(map(len, often)))
    always = [tuple(axis[i % len(axis)] for axis in often) for i in longest]
    return pytest.mark.parametrize(
        tuple(axes),
        [
            pytest.param(*member, marks=() if member in always else SLOW)
            for member in itertools.product(*axes.values())
        ],
    )


def some(values, n):
    """Return values as parameters, all but the first of each n of them slow."""
    return [pytest.param(x, marks=SLOW if i % n else ()) for i, x in enumerate(values)]
