"""Contacts with compliant stops that take too few steps."""

import numpy as np

from mbd.history.history import History

LEAST = 10
"""[steps] in the shortest contact: half a period, in which a force goes up and down."""


def short_contacts(history: History, h: float) -> str:
    r"""Return a warning that names the stop with the shortest contact, or an empty string.

    A contact that begins and ends within the run, :math:`\pi\sqrt{m/k}` for a linear spring, is
    told where it has fewer than ten steps of size h [s]; instants are the ends of all steps.
    """
    least, worst = LEAST, ""
    parts = history.model.system.parts
    for name, part in parts.items():
        u = part.coordinate
        if part.push is None or u is None or u.joint not in parts:
            continue
        x, rate = (getattr(history[u.joint], f"{u.name}{end}") for end in ("", "_rate"))
        load = part.push(x, rate)
        changes = np.flatnonzero(np.diff(np.r_[False, load != 0.0]))
        begins = changes[::2][: len(changes) // 2]
        steps = changes[1::2] - begins
        steps[begins == 0] = LEAST  # has begun before
        if len(steps) and steps.min() < least:
            least = int(steps.min())
            worst = f"{name!r}, at t = {history.t[begins[steps.argmin()]]:.6g} s"
    if not worst:
        return ""
    return (
        f"steps of {h:.3g} s are too large for the stop {worst}: its contact takes {least} of "
        f"them, {LEAST} resolve it; take {h * least / LEAST:.1g} s, or let them be chosen "
        "(rtol=1e-6)"
    )
