"""The type of the tables I in compiled code: short integers that nobody writes.

A load from them is declared invariant: a store to F between two loads of one place does not ask for
the second one, and what a loop needs of them is loaded before it. Once loaded an entry is an
integer as long as all others. None is negative: where LLVM extends signs it peels the loops over
bodies and calls what it had inlined, and a chain of a hundred takes 4 percent longer.
"""

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import lower_builtin, models, register_model


class TablesPointer(types.CPointer):  # type: ignore[misc]
    """A pointer to the tables of a model."""

    mutable = False

    def __init__(self) -> None:
        super().__init__(types.int64)
        self.name = "tables"


@register_model(TablesPointer)
class _TablesModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, of: Any) -> None:
        super().__init__(manager, of, ir.IntType(32).as_pointer())


@lower_builtin(operator.getitem, TablesPointer, types.Integer)
def load_entry(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
    """Emit the load of an entry, which is not negative."""
    value = builder.load(builder.gep(args[0], [args[1]]))
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return builder.zext(value, ir.IntType(64))
