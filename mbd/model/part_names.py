"""Names of what a model follows from, "stiffness of Spring 'spring'": arguments of all parts."""

from __future__ import annotations

from mbd.base.identity import Identity
from mbd.base.recorded_call import signature
from mbd.model.description import Description


def put_system(into: Identity, system: Description, where: str = "") -> None:
    """Add the parts of a system to an identity, argument by argument, and its gravity.

    Parameters
    ----------
    into : Identity
    system : System
    where : str
        What is said after each name, of one of several systems: " of experiment 1".
    """
    parts = {f"{type(x).__name__} {name!r}": x for name, x in system.parts.items()}
    into.name(system.ground, "the ground")
    for name, part in parts.items():
        into.name(part, name)
    into.put(f"gravity{where}", system.gravity_as_written)
    into.put(f"the order of parts{where}", list(parts))
    for name, part in parts.items():
        call = part.call
        into.put(f"the class of {name}{where}", call.maker)
        bound = signature(call.maker).bind(*call.args, **call.options).arguments
        for argument, value in bound.items():
            into.put(f"{argument} of {name}{where}", value)
