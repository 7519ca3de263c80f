"""Set-valued laws: only methods that declare to know them move a model which has some.

The force of such a law is no function of positions and velocities: a floor that nothing falls
through, dry friction that holds. Its kind declares ``set_valued``, and its kernels say nothing of
it, so that all that evaluates forces would go on as if it were not there.
"""

from __future__ import annotations

from mbd.model.frozen import FrozenModel


def refuse_set_valued(owner: str, model: FrozenModel) -> None:
    """Refuse a model that has a set-valued law, by part and kind."""
    if not model.set_valued:
        return
    part, kind = model.set_valued[0]
    raise ValueError(
        f"{owner}: {part!r} has the set-valued law {kind!r}, which needs a method that declares "
        f"Facts(set_valued=True); {owner} would take it as not there. Run mbd.simulate with such a "
        f"method, or leave {part!r} out of the system"
    )
