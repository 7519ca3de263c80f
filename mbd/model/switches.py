"""Floor 3. Rows that are switched off: a joint released, a brake that is open.

The rows stay in the model, with their numbers and their place in the matrix. In place of each
stands lam = 0, and no other row or column knows of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mbd.algebra import memory as m

if TYPE_CHECKING:
    from mbd.model.model import Model

__all__ = ["checked", "tables"]


def checked(model: Model, names: tuple[str, ...], who: str) -> tuple[str, ...]:
    """Return the names, sorted, each once, if they are those of parts with rows."""
    known = [name for name in model.numbering.owners if name not in model.system.bodies]
    for name in names:
        if name not in known:
            raise ValueError(
                f"{who}: {name!r} has no rows that could be switched; there are "
                f"{', '.join(known) or 'no joints'}"
            )
    return tuple(sorted(set(names)))


def tables(model: Model, names: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return (unknown, place of its diagonal) of each row, flat, and all places to be cleared."""
    from mbd.model.assembly import pattern

    owned = [np.arange(model.n_lam)[model.numbering.owners[name]] for name in names]
    unknowns = model.numbering.lam[np.concatenate(owned)]
    off = np.zeros(int(model.I[m.N_U]), bool)
    off[unknowns] = True
    places, rows, columns = pattern(model)
    touched = off[rows] | off[columns]
    diagonal = (rows == columns) & off[rows]
    pairs = np.column_stack([rows[diagonal], places[diagonal]])
    return pairs.ravel().astype(np.int64), places[touched].astype(np.int64)
