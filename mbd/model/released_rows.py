"""Released rows: of a joint that is switched off, of a brake that is open.

The rows stay in the model, with their numbers and their place in the matrix. In place of each
stands lam = 0, and no other row or column knows of it.
"""

from __future__ import annotations

import numpy as np

from mbd.base.checked import shown
from mbd.machine import buffer as m
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


def off_tables(model: FrozenModel, names: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return (unknown, place of its diagonal) of each row, flat, and all places to be cleared."""
    from mbd.model.pattern import pattern  # scipy.sparse, which most runs do not need

    owned = [np.arange(model.n_lam)[model.numbering.owners[name]] for name in names]
    rows = np.concatenate(owned)
    off = np.zeros(model.n_v + model.n_lam, bool)
    off[model.n_v + rows] = True
    at = pattern(model)
    row = np.repeat(np.arange(len(off)), np.diff(at.starts))
    touched = off[row] | off[at.columns]
    diagonal = (row == at.columns) & off[row]  # row by row
    unknowns = model.numbering.lam[np.sort(rows)]
    pairs = np.column_stack([unknowns, at.places[diagonal]])
    return m.entries(pairs.ravel()), m.entries(at.places[touched])
