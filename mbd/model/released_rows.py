"""Released rows: of a joint that is switched off, of a brake that is open.

The rows stay in the model, with their numbers and their place in the matrix. In place of each
stands lam = 0, and no other row or column knows of it.
"""

from __future__ import annotations

import numpy as np

from mbd.base.checked import shown
from mbd.model.frozen import FrozenModel


def checked(model: FrozenModel, names: tuple[str, ...], who: str) -> tuple[str, ...]:
    """Return the names, sorted, each once, if they are those of parts with rows."""
    owners = [name for name in model.numbering.owners if name not in model.nodes]
    for name in names:
        if name not in owners:
            raise ValueError(
                f"{who}: {shown(name)} has no rows that could be switched; there are "
                f"{', '.join(owners) or 'no joints'}"
            )
        if model.compliant[model.numbering.owners[name]].any():
            raise ValueError(
                f"{who}: {name!r} has compliant rows, which cannot be switched off; leave out its "
                "compliance, or take a Spring or Bushing whose law lets go"
            )
    return tuple(sorted(set(names)))


def released_rows(model: FrozenModel, names: tuple[str, ...]) -> np.ndarray:
    """Return the rows of these parts, (n,) of int."""
    owned = [np.arange(model.n_lam)[model.numbering.owners[name]] for name in names]
    return np.concatenate([np.empty(0, np.int64), *owned])
