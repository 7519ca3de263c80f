"""Arrays that cannot be written to: a number that is changed in place would be in no record."""

from typing import Any, TypeVar

import numpy as np

Value = TypeVar("Value")


class _Sorts(dict[type, int]):
    """Sort of a class of values: an array, several values, values by name, or anything else."""

    def __missing__(self, cls: type) -> int:
        classes: tuple[Any, ...] = (np.ndarray, (tuple, list), dict)
        self[cls] = next((i for i, x in enumerate(classes) if issubclass(cls, x)), _OTHER)
        return self[cls]


_ARRAY, _SEVERAL, _NAMED, _OTHER = range(4)
_SORTS = _Sorts()  # looked up faster than asked for: parts are many


def read_only(value: Value) -> Value:
    """Return the value; numpy refuses to write to it, or to arrays in it: tuples, lists, dicts."""
    some: Any = value
    sort = _SORTS[type(value)]
    if sort == _ARRAY:
        some.flags.writeable = False
    elif sort != _OTHER:
        for x in some if sort == _SEVERAL else some.values():
            inner = _SORTS[type(x)]
            if inner == _ARRAY:
                x.flags.writeable = False
            elif inner != _OTHER and x:
                read_only(x)
    return value


class ReadOnly:
    """A record whose arrays nobody can write to, in this process or in another one."""

    def __post_init__(self) -> None:
        """Let nobody write to its numbers."""
        read_only(vars(self))

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(read_only(state))


def own(value: Any) -> Any:
    """Return an array that cannot be written to, a copy of one that somebody may write to."""
    if _SORTS[type(value)] != _ARRAY or (value.base is None and not value.flags.writeable):
        return value
    value = value.copy()
    value.flags.writeable = False
    return value
