"""mbd: multibody dynamics with bodies of any formulation, every matrix open and labelled.

Names are imported when they are first used, so ``import mbd`` costs next to nothing; the list of
them is ``__init__.pyi``.
"""

from typing import Any

from mbd.base.public import PLACES, VERSION, public

__version__ = VERSION
__all__ = list(PLACES)


def __getattr__(name: str) -> Any:
    if name not in PLACES:
        raise AttributeError(f"module 'mbd' has no attribute {name!r}; it has {', '.join(PLACES)}")
    from mbd.base.recorded_call import spelt

    value = spelt(public(name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
