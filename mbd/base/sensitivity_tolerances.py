"""Tolerances of discrete derivatives, as `tolerances.py` has all others."""

# --- derivatives of runs --------------------------------------------------------------------------

SENSITIVITY_STEP = 1e-2
"""[parameter, its vector, or quantity that is read] Distance of the values of a stencil of order 8;
what it leaves out is at round-off, 1e-16."""

SENSITIVITY_ZERO = 1e-15
"""[size of its kind in the model] A value that is smaller is round-off of zero."""

SENSITIVITY_AGREES = 1e-9
"""[derivative] Differences of two orders that agree so well are of a smooth function; what they
differ by the lower one leaves out, 1e-12 of most; a kink between the values leaves a share of the
derivative itself."""

SENSITIVITY_KINK = 1e-4
"""[derivative] What two orders differ by at the nearest values where there is none."""

SENSITIVITY_MET = 1e-9
"""[what moves, or what is read] What the derivative of a row that depends on others may lack, by
round-off; where a parameter makes rows contradict each other it lacks a part of the whole."""

SENSITIVITY_QUADRATIC = 1e-13
"""[constants] Those that leave a polynomial of low degree by less obey it: two values suffice."""

START_MET = 1e-7
"""[violation that a start may have] Rows that are met so well need no move to the nearest state."""

BEGIN_REACH = 2.5e-3
"""[size of the model, its velocities, the step] Distance of the states beside one from which a run
restarts, of order 8; nearer than that round-off of accelerations is seen."""

SENSITIVITY_GRAZES = 1e-6
"""[size of its function over the length of the run] A function that passes zero more slowly has no
instant that could be differentiated."""

SECOND_ORDER_STEP = 1e-3
"""[parameter, or its vector] Distance of the gradients that are differenced, of order four: what it
leaves out is about 1e-11, and what gradients lack is divided by it."""
