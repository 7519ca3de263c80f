"""Integrator: what a method in time declares of itself, and the two things that it does.

A method is a frozen dataclass of its options with `facts`, `kernel` and `prepare`. Runs ask these
alone; nobody asks for the class of a method. How a run goes on between the calls of the kernel
(what is recorded, events, Ctrl-C, the last step) is the same for all.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, Protocol, TypeVar

import numpy as np

from mbd.algebra.newmark import Weights
from mbd.linear.saddle import Saddle
from mbd.machine import buffer as m
from mbd.machine.jit import kernel
from mbd.model.frozen import FrozenModel, refuse_set_valued
from mbd.model.state import State
from mbd.model.workspace import Workspace

_T = TypeVar("_T")
Start = Callable[[FrozenModel, State, float, bool, Saddle | None], tuple[State, np.ndarray | None]]


def once(function: Callable[..., _T]) -> Callable[..., _T]:
    """Return a function of a method that keeps its last answers: runs ask for facts often."""
    return lru_cache(maxsize=8)(function)


def says(words: str) -> Callable[[Workspace, str], str]:
    """Return the function that says these words on a step that failed, with its {where}."""
    return lambda _, where: words.format(where=where)


newton_failed = says(
    "Newton did not converge {where}, or look at model.report(state) for a singular pose"
)


def _no_floats(model: FrozenModel) -> int:
    """Return that the vectors of the model are enough."""
    del model
    return 0


@kernel
def take_size(I: Any, F: Any, k: int) -> None:
    """Let the next step have the size F[H_NEW]."""
    F[m.H] = F[m.H_NEW]


@dataclass(frozen=True, kw_only=True)
class FreeSteps:
    """Steps within a tolerance, and states at requested times within steps.

    Parameters
    ----------
    kernel : kernel
        Takes up to S[N_STEPS] steps, none beyond F[T_END], of errors within F[RTOL] (infinite:
        all of one size) and F[ATOL]; records states at the times in OUTPUT.
    first_step : callable
        ``(near, allowed, largest)``: the sizes of the first steps (...,) [s] of one run or of many,
        from accelerations `near` their states (``Nearby``), the errors of positions (..., n_v) that
        a unit of time is allowed, and the largest step [s].
    fewest : int
        As many steps at least, if the largest is not given.
    check : callable, optional
        ``(model, chosen)``: raise where a model cannot have steps within a tolerance (`chosen`), or
        states within steps of one size.
    """

    kernel: Any
    first_step: Callable[[Any, np.ndarray, float], Any]
    fewest: int = 100
    check: Callable[[FrozenModel, bool], None] | None = None


@dataclass(frozen=True, kw_only=True)
class Facts:
    r"""Facts that a method declares of itself; the defaults are those of a one-step method.

    Parameters
    ----------
    title : str
        The name in titles of tables.
    orders : tuple of int
        Order of convergence of the motion, and of forces of joints at recorded instants.
    error : tuple of float and int, optional
        c and k of the error of positions in one step, :math:`c h^2 \Delta^k \dot v`, by differences
        of the accelerations at successive steps; without it runs are not told that their steps are
        too large.
    level : {"position", "velocity", "stabilized"}
        Which rows the end of a step meets: positions, their rates, or both.
    velocities_of_step : bool
        Whether velocities leave the rows by a part that belongs to the size of the step, so that
        another size restarts.
    start : callable, optional
        ``(model, state, h, continued, saddle)``: the state from which steps of size h begin, and
        the change of accelerations in h; a state of a run that is `continued` with the same h
        stays. The saddle, or None, is the matrix that gave the accelerations of the state, factored
        in a work space that may be used up.
    resize : kernel
        Lets the next step have the size F[H_NEW].
    own_floats : callable
        ``(model)``: how many numbers the method keeps of its own, at F[I[METHOD]].
    free : FreeSteps, optional
        How steps are chosen, and states within them had.
    linear_solver : {"fronts", "splu"}
        What solves the equations.
    handed_to : method, optional
        What goes on where a kernel of free steps says that they are bound by stability (``STIFF``).
    divided_by : GeneralizedAlpha, optional
        The method that takes a step which fails in smaller ones, in its stabilised form.
    weights : Weights, optional
        Of generalized-alpha, whose steps have an exact derivative.
    oscillation : float
        :math:`\beta` of multipliers at positions, :math:`\beta h^2\lambda`, that may oscillate; 0:
        they cannot.
    set_valued : bool or tuple of str
        Whether steps meet the set-valued laws of kinds that declare one (``Kind.set_valued``), such
        as impacts and dry friction; of these kinds alone, if it names them. A model that has
        another such kind is refused.
    impacts : callable
        ``(model)``: the most impacts of set-valued laws in a step, of those that it logs.
    in_python : callable, optional
        ``(work)``: what takes the steps in a work space in the place of the kernel, with its
        signature, and keeps in ``error`` what a step raised.
    failure : callable
        ``(work, where)``: the message on a step that failed, which left the work space.
    complete : callable, optional
        ``(free)``: the method with the options that were left open, for free steps or others.
    fixed : mapping
        Options that other options decide, each with the reason.
    sharp : mapping
        Options with which the iteration is carried to the end.
    """

    title: str
    orders: tuple[int, int]
    error: tuple[float, int] | None = None
    level: Literal["position", "velocity", "stabilized"] = "stabilized"
    velocities_of_step: bool = False
    start: Start | None = None
    resize: Any = take_size
    own_floats: Callable[[FrozenModel], int] = _no_floats
    free: FreeSteps | None = None
    linear_solver: Literal["fronts", "splu"] = "fronts"
    handed_to: Any = None
    divided_by: Any = None
    weights: Weights | None = None
    oscillation: float = 0.0
    set_valued: bool | tuple[str, ...] = False
    impacts: Callable[[FrozenModel], int] = _no_floats
    in_python: Callable[[Any], Any] | None = None
    failure: Callable[[Workspace, str], str] = newton_failed
    complete: Callable[[bool], Any] | None = None
    fixed: Mapping[str, str] = field(default_factory=dict)
    sharp: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse set-valued laws where generalized-alpha takes some of the steps."""
        if self.set_valued and self.divided_by is not None:
            raise ValueError(
                "Facts: with set_valued=True divided_by must be left out, whose steps are those of "
                "generalized-alpha, which knows no set-valued laws"
            )


class Method(Protocol):
    """An integrator, a frozen dataclass."""

    @property
    def facts(self) -> Facts:
        """Facts for runs."""

    @property
    def kernel(self) -> Any:
        """The compiled loop: S[N_STEPS] steps of F[H]; STEPS_DONE and STATUS say how it went.

        With k = 1 it leaves the state of a step that failed for inspection.
        """

    def prepare(self, model: FrozenModel, S: np.ndarray, F: np.ndarray) -> None:
        """Write the parameters where the kernel finds them; refuse what it cannot move."""


def name_of(method: Method) -> str:
    """Return the name of its class, of one in Python that of the user's."""
    facts = method.facts
    return facts.title if facts.in_python is not None else type(method).__name__


def refuse_unmoved(method: Method, model: FrozenModel) -> None:
    """Refuse a model with a set-valued law that the method does not know."""
    accepted = method.facts.set_valued
    if accepted is not True:
        refuse_set_valued(name_of(method), model, accepted or ())


def is_method(value: Any) -> bool:
    """Tell whether a value is an integrator: an object, no class, that declares its facts."""
    return not isinstance(value, type) and isinstance(getattr(value, "facts", None), Facts)
