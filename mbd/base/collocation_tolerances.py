"""Tolerances of collocation, as `tolerances.py` has all others: relative to what, and why."""

# --- steps in time: collocation -------------------------------------------------------------------

SWEEP_SHARE = 0.4
"""[error allowed to a step] What sweeps may leave."""

COLLOCATION_STRICT = 0.2
"""[tolerance, to the power of the estimate] What the estimate of a step may use."""

ROWS_MET = 4e-15
"""[length of the model, or one] What the end of a step lacks of its rows is round-off below."""
