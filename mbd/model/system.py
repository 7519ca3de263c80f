"""The system that a user describes and builds."""

from typing import Any

from mbd.base.checked import shown
from mbd.model.build import build
from mbd.model.description import Description
from mbd.model.frozen import refuse_set_valued
from mbd.model.model import Model


class System(Description):
    """Bodies, joints and forces, until ``build()``.

    Parameters
    ----------
    gravity : (3,) array [m/s^2]
        Default none; ``(0, 0, -9.81)`` on Earth with z up. It may be set later: ``build()`` takes
        what it is then, models that were built keep theirs.

    Examples
    --------
    >>> import mbd
    >>> system = mbd.System(gravity=(0, 0, -9.81))
    >>> bar = mbd.RigidBody("bar", mass=1.0, inertia=(1e-3, 0.1, 0.1), position=(0.5, 0, 0))
    >>> bar = system.add(bar)
    >>> hinge = system.add(mbd.Revolute("hinge", system.ground, bar, at=(0, 0, 0), axis=(0, 1, 0)))
    >>> system.build()
    Model(1 bodies, 1 joints, 6 velocities, 5 rows)
    """

    __slots__ = ()

    def __init__(self, gravity: Any = (0.0, 0.0, 0.0)) -> None:
        super().__init__(gravity)

    def build(self, threads: int = 1) -> Model:
        """Return the frozen model.

        Parameters
        ----------
        threads : {1, 2}
            With 2 the model is divided into two sides, if it falls apart without a few bodies, and
            generalized-alpha takes each step in two threads: worth while from some 300 bodies on,
            where a second core is idle. Results are the same bits however many cores there are;
            those of the model that is built for one thread differ by round-off.
        """
        return build(self, threads)


def model_of(
    owner: str, system: Any, *, expected: str = "a System or a Model", set_valued: bool = False
) -> Model:
    """Return the model of a System or a Model.

    One with set-valued laws is refused, unless the owner leaves it to its method (`set_valued`).
    """
    if not isinstance(system, Model | System):
        raise TypeError(f"{owner}: expected {expected}, got {shown(system)}")
    model = system if isinstance(system, Model) else system.build()
    if not set_valued:
        refuse_set_valued(owner, model)
    return model
