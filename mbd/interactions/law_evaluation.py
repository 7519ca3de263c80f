"""Evaluation of a user's law, with a note in the work space of the first failure."""

from __future__ import annotations

import math
from typing import Any

from mbd.base.tolerances import LARGEST
from mbd.interactions.measures import LAW_IN, LAW_OUT
from mbd.machine import buffer as m
from mbd.machine.jit import address_at, ints, jit, law_call


@jit
def evaluate_law(I: Any, F: Any, law: int) -> None:
    """Run the law whose address is at I[law]; note the first that raises, or is not finite.

    The value of one that fails is NaN: no step that needs it converges.
    """
    S = ints(F)
    s = I[m.SCRATCH]
    address, how = address_at(I, law), 0
    if law_call(address, F, s + LAW_IN, s + LAW_OUT) != 0:
        how = m.RAISED
        for i in range(3):
            F[s + LAW_OUT + i] = math.nan
    else:
        size = 0.0
        for i in range(3):
            size += abs(F[s + LAW_OUT + i])
        if not size <= LARGEST:  # nor if it is NaN
            how = m.NOT_FINITE
            F[s + LAW_OUT] = math.nan
    if how > S[m.BAD_HOW]:
        S[m.BAD_LAW], S[m.BAD_HOW] = address, how
        for i in range(3):
            F[m.BAD_AT + i] = F[s + LAW_IN + i]
