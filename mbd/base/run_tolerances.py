"""Tolerances of runs, beside those of steps: what is lost, too large, or happens at an instant."""

# --- runs that are lost ---------------------------------------------------------------------------

OSCILLATION_INSTANTS = 40
"""[-] Instants from whose multipliers an oscillation from step to step is told."""

OSCILLATION_SHARE = 0.3
"""[largest multiplier] Part that oscillates, from which the user is warned."""

JUMP = 1e-2
"""[length of the model, rad] Change of a law of motion in no time that a run does not take: smaller
ones are met; with 0.1 rad a run of two bars, one driven, is lost in every formulation."""

JUMP_PARTS = 16
"""[-] Parts of a step: a law that moves in one of them alone jumps."""

LOST_NOISE = 1e4
"""[round-off of the largest position] Round-off of multipliers and velocities."""

FAR_IN_A_STEP = 0.5
"""[length of the model, 1 rad] A step that fails has a plain reason where bodies move farther."""

LIGHT_BODY = 1e-6
"""[inertia of the heaviest] Free steps whose size vanishes may do so by the round-off of lighter
bodies: 1e-16 of the force on a heavy one is 1e-10 of theirs."""

# --- steps and their end --------------------------------------------------------------------------

WHOLE_STEPS = 1e-9
"""[step] A time that is nearer to a whole number of steps is one: 3 steps of 0.1 s end at 0.3 s.
Events that are nearer to each other happen at one instant."""

RTOL_LEAST = 1e-13
"""[-] Smaller tolerances of free steps are refused: errors of round-off are larger."""

KEPT_MANY = 1_000_000
"""[instants] So many in memory are worth to be told of: of ten bodies they take some 2 GB."""

# --- runs whose steps are too large ---------------------------------------------------------------

LARGE_STEP_ERROR = 0.4
"""[length of the model, 1 rad] What errors of all steps may add up to without a warning."""

LARGE_STEP_ENERGY = 0.03
"""[largest energy that moves] Departure of the balance of energies without a warning."""

LARGE_STEP_ONCE = 0.01
"""[largest energy that moves] The same where a step throws bodies, or fails and is divided: errors
in proportion to steps lose that over a whole run, no resolved motion in one of them."""

LARGE_STEP_THROW = 0.25
"""[largest velocity] Difference of two steps from which the energies of all are looked at."""

LARGE_STEP_COARSE = 8e-3
"""[way of the motion] What a hundred steps may add to it without a look at the energies: those of a
tenth of a radian of an oscillation do."""

LARGE_STEP_ADVICE = 0.1
"""[error that is warned of] What the step that is advised would leave of it."""

LARGE_STEP_INSTANTS = 64
"""[-] Instants that are evaluated for energies: all, or a sample where it tells enough."""

DRIFT = 1e-3
"""[length of the model, 1 rad] How far positions may leave the rows at velocity level without a
warning, beside the tolerance of free steps."""

# --- laws that steps do not resolve ---------------------------------------------------------------

UNRESOLVED_STRETCHES = 6
"""[-] Stretches of four steps in which laws are evaluated between the ends of steps."""

UNRESOLVED_BETWEEN = (
    0.414214,
    0.732051,
    0.236068,
    0.645751,
    0.162278,
    0.898979,
    0.0828427,
    0.549834,
)
"""[step] Where: parts of irrational numbers, which are no simple fraction of a period."""

UNRESOLVED_LEAST = 1e-3
"""[largest value of the law] What may happen between the ends of steps without a warning."""

RESOLVED_ERROR = 1e-2
"""[range of the law in a step] Mean error of its polynomials where parts of a step resolve it."""

RESOLVED_PARTS = (4, 8, 16, 32, 64, 128, 256)
"""[-] Parts of a step that are tried for the step that is advised."""

# --- events ---------------------------------------------------------------------------------------

EVENT_ROUND_OFF = 1e-12
"""[largest value of the function so far] Values below have no sign."""

EVENT_AHEAD = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
"""[step] Where one looks ahead for the side on which a function goes on."""

EVENT_MANY = 100
"""[-] So many events within `EVENT_SHORT` are an accumulation, which is refused."""

EVENT_SHORT = 1e-7
"""[length of the run] Time in which many events are an accumulation."""

# --- continuous laws ------------------------------------------------------------------------------

CONTINUOUS_SHARE = 1e-8
"""[largest output of the law] Difference of a load and its law at the end of a step: less than what
a step of second order leaves, more than the round-off of its accelerations."""

CONTINUOUS_STEPS = 30
"""[-] Times that a step is repeated for a law: it gains a digit each time where a step is small
beside the time in which the law acts."""
