"""Named problems of a bench: scenes of publications, how they are run, where they come from."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

_GEBHARDT = "C. G. Gebhardt, I. Romero, J. Nonlinear Sci. 30 (2020)"
_MOELLER = "M. Moeller, C. Glocker, Multibody Syst. Dyn. 27 (2012) 437-454"
_SWELL = "Scalable(rigid=False), Scalable(rigid=False, velocities='u')"


@dataclass(frozen=True)
class Benchmark:
    """A scene with what is known of it: how a bench runs it.

    Attributes
    ----------
    scene : str
        One that comes along.
    source : str
        The publication that states it.
    t_end : float [s]
        An instant at which the scene has values to measure against.
    steps : sequence of float [s]
    formulations : str
    parameters : mapping
        Of the scene.
    values : callable
        ``(module) -> entries``: those of the scene for these parameters.
    """

    scene: str
    source: str
    t_end: float
    steps: Sequence[float]
    formulations: str = "all"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    values: Callable[[Any], Any] = attrgetter("REFERENCE")


BENCHMARKS = {
    "kynema_body": Benchmark(
        "kynema_body", "Kynema documentation, section Rigid body", 1.0, (8e-3, 4e-3, 2e-3)
    ),
    "heavy_top": Benchmark(
        "heavy_top", "O. Bruels, A. Cardona, J. Comput. Nonlinear Dyn. 5 (2010) 031002", 1.0,
        (1e-3, 5e-4, 2.5e-4),
    ),
    "unstable_axis": Benchmark(
        "unstable_axis", "S. Holzinger, J. Schoeberl, J. Gerstmayr, Multibody Syst. Dyn. 48 (2020) "
        "283-309", 0.1, (1e-3, 5e-4, 2.5e-4),
    ),
    "multipliers": Benchmark(
        "multipliers", "K. Sherif, K. Nachbagauer, W. Steiner, Nonlinear Dyn. 81 (2015) 343-352",
        1.0, (8e-3, 4e-3, 2e-3),
        "EulerParameters('full'), EulerParameters('full', 'B1'), EulerParameters('reduced'), "
        "EulerParameters('projected')",
    ),
    "breathing_body": Benchmark("breathing_body", _MOELLER, 2.0, (8e-3, 4e-3, 2e-3), _SWELL),
    "squeezed_body": Benchmark("squeezed_body", _MOELLER, 2.0, (8e-3, 4e-3, 2e-3), _SWELL),
    "non_twisting": Benchmark("non_twisting", _GEBHARDT, 1.0, (4e-3, 2e-3, 1e-3)),
    "non_twisting_load": Benchmark(
        "non_twisting", _GEBHARDT, 1.0, (4e-3, 2e-3, 1e-3), parameters={"case": 2},
        values=lambda module: module.REFERENCES[2],
    ),
}  # fmt: skip
