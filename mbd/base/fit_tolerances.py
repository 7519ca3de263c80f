"""Tolerances of fits and optimisation, as `tolerances.py` has all others."""

# --- fits and optimisation ------------------------------------------------------------------------

FIT_TOL = 1e-12
"""[sum of squares, and its gradient] A fit whose steps change less has arrived; of parameters
themselves the root."""

FIT_ARRIVED = 1e-2
"""[standard error] A fit that another step of Gauss and Newton would move farther has not
arrived, whatever ended it; a bound that is nearer holds its parameter."""

FIT_PERFECT = 1e-10
"""[measured values] Where residuals are smaller, they are round-off, and no measure of noise."""

FIT_RANK = 1e-9
"""[largest singular value] Directions of parameters that are seen less are not seen: derivatives
are exact to about 1e-10."""

FIT_SEEN = 0.3
"""[parameters] A direction along which the standard error is larger is named: what is measured
hardly tells these parameters apart."""

OPTIMUM_MET = 1e-6
"""[objective, constraint, size of the parameter] What is left of the conditions of a minimum, and
of a constraint that is met; a bound that is nearer is active, and values without a run that are
nearer end the search."""

FIT_SAME = 1e-6
"""[values] Evaluations in a file, and members of a study, that differ more from what is computed
belong to another fit or study."""
