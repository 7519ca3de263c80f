r"""The full turns of angles: a periodic measure is a state, which follows its rate.

.. math:: p = u_n + \int_{t_n}^{t} \dot u\,dt, \qquad u = p + w, \qquad
          w = \varphi - p - 2\pi\,\mathrm{round}\frac{\varphi - p}{2\pi}

with the angle :math:`\varphi` of the pose, by atan2, the value :math:`u_n` and the rate that were
accepted last, and the rule of trapezia for the integral; of the midpoint rule it is its own, the
rate of the middle. Stages of collocation follow each other as steps do. The angle of the pose
corrects what the integral lacks. Where that is more than a radian a step may as well have turned
once more or once less: where a row or a force depends on it, it is not accepted; results tell.

Where no time goes by (statics, the start of a run) the value nearest to the last one counts.
"""

from typing import Any

from mbd.interactions.measures import unwrap
from mbd.machine import buffer as m
from mbd.machine.jit import ints, jit

# 2 pi as a sum of two numbers, whose products with up to 2^20 turns are exact
_TURN, _REST = 6746518852 * 2.0**-30, 1121027178 * 2.0**-62


def with_turns(angle: Any, turns: Any) -> Any:
    """Return angles with full turns; in compiled code and in numpy with the same bits."""
    return angle + turns * _TURN + turns * _REST


@jit
def rate_of(I: Any, memory: int) -> int:
    """Return where the rate of an angle that is remembered is."""
    return I[m.TURN_RATES] + (memory - I[m.REMEMBERED])  # type: ignore[no-any-return]


@jit
def expected(I: Any, F: Any, memory: int, rate: float) -> float:
    """Return the value of an angle that follows from the last one and the rates."""
    elapsed, phase = F[m.T] - F[m.T_LAST], ints(F)[m.PHASE]
    if elapsed == 0.0:
        return F[memory]  # type: ignore[no-any-return]
    if phase in (m.MIDDLE, m.END):
        return F[memory] + elapsed * rate  # type: ignore[no-any-return]
    return F[memory] + 0.5 * elapsed * (F[rate_of(I, memory)] + rate)  # type: ignore[no-any-return]


@jit
def counted(I: Any, F: Any, memory: int, angle: float, rate: float) -> float:
    """Return the value of an angle, with its turns."""
    return unwrap(angle, expected(I, F, memory, rate))  # type: ignore[no-any-return]


@jit
def keep(I: Any, F: Any, memory: int, u: float, rate: float) -> None:
    """Accept the value of an angle, and its rate."""
    F[memory], F[rate_of(I, memory)] = u, rate


@jit
def remember(I: Any, F: Any, memory: int, u: float, rate: float) -> None:
    """Accept the value of an angle that acts; note how far from what was expected it is."""
    apart = abs(u - expected(I, F, memory, rate))
    if apart > F[m.UNSURE]:
        F[m.UNSURE], F[m.UNSURE_AT] = apart, memory
    keep(I, F, memory, u, rate)
