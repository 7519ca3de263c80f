"""Tolerances of collocation, as `tolerances.py` has all others: relative to what, and why."""

# --- steps in time: collocation -------------------------------------------------------------------

SWEEP_ROUND_OFF = 1e-11
"""[speed] Sweeps that stagnate with smaller changes of velocities have converged."""

TERMS_ROUND_OFF = 1e-14
"""[size of a term] By which inputs of the residual are changed to see what round-off makes."""

SWEEP_LOST = 1.5
"""[-] A step whose sweeps diverge by this factor is given up."""

SWEEP_SHARE = 0.4
"""[error allowed to a step] What sweeps may leave."""

COLLOCATION_STRICT = 0.2
"""[tolerance, to the power of the estimate] What the estimate of a step may use."""

COLLOCATION_PARTS = 7
"""[-] A step of one size that fails is taken in 2, 4, ... parts, so many times at most."""

ROWS_MET = 4e-15
"""[length of the model, or one] What the end of a step lacks of its rows is round-off below."""
