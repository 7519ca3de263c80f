"""Tolerances of collocation, as `tolerances.py` has all others: relative to what, and why."""

# --- steps in time: collocation -------------------------------------------------------------------

SWEEP_SHARE = 0.4
"""[error allowed to a step] What sweeps may leave."""

COLLOCATION_STRICT = 0.2
"""[tolerance, to the power of the estimate] What the estimate of a step may use."""
