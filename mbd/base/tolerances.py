"""Tolerances: every number that decides what is zero, met, small enough or lost.

Each has what it is relative to in brackets, and its reason. They are part of no interface: they may
change. What a user may choose (``rtol``, ``tol``, ``max_iterations``) is an argument, not here.
"""

# --- numbers --------------------------------------------------------------------------------------

LARGEST = 1e100
"""[SI] Largest number that is taken, from arguments and from laws: products of three are finite."""

# --- models ---------------------------------------------------------------------------------------

SOFT_LOOPS = 1e-9
"""[flexibility of a row] The compliance that keeps redundant rows of closed loops regular. It acts
on the constraints by eps / (eps + s) with the smallest singular value s, ~ 1/N^2 on a chain of N;
below round-off / eps the multipliers of redundant rows are noise."""

COMPLIANCE_LEAST = 1e-15
"""[m/N, rad/(N m)] Smallest compliance of a joint: where its force is read off positions, their
round-off makes some newtons of a smaller one; it moves them by no more than a rigid row."""

MODEL_FAR = 32.0
"""[extent of the model] Nearer to the inertial origin positions are stored as they are described;
others from a point near the model, so that their round-off is that of the model."""

RANK = 1e-10
"""[rows of length one, kinematic units] A row nearer to the span of others depends on them:
some 1e-15 by round-off, 1e-12 where a pose meets its rows to that; honest rows are 1e-7 and more
away."""

RANK_LACK = 10.0
"""[what rows lack at the pose] A row that is nearer to others depends on them: directions of rows
are known as well as they are met."""

RANK_MOST = 1e-4
"""[rows of length one] A row that is farther from others is independent, whatever rows lack."""

RANK_STAYS = 0.1
"""[distance of a row from others] What a row that acts counts for more than one that was dropped:
rows that change places without need are noise in multipliers."""

RANK_CANDIDATE = 1e-6
"""[rows of length one] Pivots of many rows, squares of distances, below are looked at closely."""

RANK_SHAKY = 1e-3
"""[length of the model, or 1 rad] Way in which rows are dropped, open and are taken again no more
than three times: else they hold at second order only, by forces without bound."""

RANK_TRIES = 3
"""[-] Selections of one step, and those within RANK_SHAKY."""

OPEN_DROPPED = 1e-10
"""[length of the model, or one] What a dropped row may lack more than where it was dropped: rows
that depend on others stay as they are to second order in what these lack."""

REPORT_RANK = 1e-9
"""[largest singular value] Singular values below are zero: of rows that may contradict each other,
of those that share a load."""

REPORT_SOFT = 1e-13
"""[rows of unit length] Corner of the elimination that nominates the dependent ones of many rows.
These keep it times the square of the length of their null vector over their part in it, 1 to 1e5 in
meshes of a hundred bodies."""

REPORT_LOOSE = 1e-7
"""[-] Rows whose part in every dependent one is smaller are not redundant in `Model.report`."""

# --- initial states -------------------------------------------------------------------------------

POSE_DUST = 2.0**-52
"""[largest rate, 1/s] Velocities of a pose that was searched for below are round-off, and zero."""

START_POSITION = 1e-7
"""[length of the model, or one] Accepted violation of rows of positions at the start."""

START_VELOCITY = 1e-7
"""[length and speed of the model] Accepted violation of rows of velocities at the start."""

START_NEAR = 1e-3
"""[length and speed of the model, or one] Violation at the start that is mended, with a warning."""

START_DIFFERENCE = 1e-3
"""[step] Part of it over which accelerations are differenced for the first jerk."""

START_SMOOTH = 0.5
"""[acceleration] Part by which its derivative may fail to foretell a step; else it is not used."""

# --- targets of a pose ----------------------------------------------------------------------------

TARGET_MET = 1e-8
"""[1 rad, or length of the model] A target is met when it is missed by less."""

TARGET_OPEN = 1e-9
"""[1 m, or 1 rad] Rows of a pose whose targets are compared are open by less."""

TARGET_STEP = 0.3
"""[1 rad, or length of the model] Largest step of an iteration."""

TARGET_STALLED = 1e-11
"""[miss] Part by which a step, or a push, must lower it; else the steps end, the push was vain."""

TARGET_PUSHES = (0.1, 0.5, 1.5, 0.3, 1.0, 2.0)
"""[1 rad, or length of the model] Pushes away from a saddle, or a bad minimum, where steps end."""

TARGET_IN_VAIN = 3
"""[-] Pushes that found nothing better, after which there is nothing better."""

# --- factorisation --------------------------------------------------------------------------------

PIVOT_SMALL = 1e-4
"""[diagonal it came from] A smaller pivot is not trusted: rows are exchanged."""

PIVOT_ZERO = 1e-12
"""[diagonal it came from] A pivot this small after the exchange is none."""

# --- steps in time: generalized-alpha -------------------------------------------------------------

PARABOLA_MISS = 1e-3
"""[accelerations] First correction of a step from which on the next guess is on a line, not on a
parabola: where they jump, that overshoots more."""

NEWTON_CONTRACTION = 5e-3
"""[1] Contraction that one ratio of increments is trusted to show; the first ratio may flatter."""

MATRIX_WORN = 0.1
"""[1] Contraction from which on a matrix is made again after a step; of a cheap one the slowest in
the step: it grows from step to step, and above one half an iteration is in vain."""

NEWTON_ROUND_OFF = 1e3
"""[tolerance of Newton] An iteration that stagnates this close to round-off has converged."""

NEWTON_PATIENCE = 5
"""[iterations] So many times as many are made of a step that failed, while they shrink: at a pose
where rows lose rank they do so slowly."""

NEWTON_REACH = 1e-6
"""[length of the model, or one] Largest increment of positions that may ever count as small: fast
laws of motion, whose accelerations are large, would allow any."""

TURN_UNSURE = 1.0
"""[rad] Angles of a step that are farther from the integral of their rates: turns are not sure."""

OPEN_LEAST = 1e-9
"""[size of a row] Violations that no motion mends, from which on a failed step is laid to them."""

OPEN_STEP = 1e-3
"""[largest free step] Where rows contradict each other a smaller step does not go nearer to it."""

OPEN_SHARE = 0.3
"""[violation] Part that no motion mends, from which on it is a contradiction of rows."""

NEWTON_FREE = 1e-6
"""[rtol] Newton's tolerance of free steps: what it leaves is no error of the step."""

MIDPOINT_CLOSE = 10.0
"""[round-off of positions] Increments of the energy-momentum scheme below have converged."""

STEP_HALVED = 6
"""[-] A step of one size that fails is halved so many times at most, where it is taken in parts of
itself: a sixty-fourth of it finds what turns by a radian in one."""

# --- steps in time: sizes of free steps -----------------------------------------------------------

ERROR_FIRST = 10
"""[-] So many steps like the present one are assumed before the first."""

ERROR_SLOW = 1e-3
"""[fastest kind] A kind of velocities so much slower than the others is of no interest: those of
round-off would choose the steps."""

STEP_CONTROL = (0.9, 0.2, 2.0, 1.2)
"""[factors of a step] Prudence, smallest and largest factor of a new step, and the growth below
which it stays, and with it the matrix: Hairer and Wanner, Solving Ordinary Differential Equations
II, section IV.8. Theirs grow by 8: here steps of an estimate of third order are followed by 2."""

CRAWL_STEPS = 200_000
"""[-] Free steps in a row that must bring a run `CRAWL_SHARE` further."""

CRAWL_SHARE = 1e-4
"""[length of the run] What so many go through at least: longer runs are ended by name."""

# --- steps in time: one that fails, in smaller ones -----------------------------------------------

SUBSTEP_RTOL = 4e-4
"""[length of the model, 1 rad, largest velocity] Error of all steps in the time of one."""

SUBSTEP_MOST = 20_000
"""[-] So many smaller steps are taken in the time of one; what needs more fails."""

SUBSTEP_ALL = 160_000
"""[thousand steps] So many in all, those in vain too: where many steps need thousands of smaller
ones their size is wrong, and the run ends soon. Seven steps of a flexible rod need 100 000."""

SINGULAR = 1e-2
"""[singular value at the start] Where rows hold less of a motion, a pose is called singular."""

LOST_VELOCITY = 0.2
"""[size of velocities, or of a row] A step has thrown bodies, as across a singular pose, and is
refused, where velocities that follow from positions leave their rows by more, or positions theirs
that follow from velocities."""

# --- statics --------------------------------------------------------------------------------------

REST_BALANCE = 1e-6
"""[loads] What may be out of balance at an equilibrium; more is refused unless it is round-off."""

REST_ROUND_OFF = 16.0
"""[estimate of round-off] What sums of many terms may leave out of balance."""

REST_SHORT = 1e-6
"""[longest step] Newton's steps below are taken untested, and end where they get no shorter."""

HELD = 1e-12
"""[stiffness of a body] Motions without stiffness are held by it and stay where they are: far below
what is soft, far above what round-off leaves of no stiffness."""

HELD_LEAST = 1e-15
"""[stiffness of a body] The same where something so soft is out of balance: above round-off."""

REST_HELD = 0.1
"""[step] Part of Newton's step that is held back, from which on less is held if that is soft."""

HELD_BODY = 1e-6
"""[stiffest body] By which bodies count that have no stiffness of their own."""

REST_NEARER = 0.5
"""[step] Part by which a long way must get shorter."""

REST_REACH = 3.0
"""[full steps] Largest turn of a step on a long way, less than half a turn between two bodies."""

REST_TURN = 0.4
"""[rad] Largest turn of a step."""

REST_MOVE = 0.3
"""[length of the model] Largest move of a step."""

REST_LIGHT = 1e-3
"""[force over length] Bodies that turn: their moving costs so much less, it follows from turns."""

STEADY_MATRIX = 1e-8
"""[fastest rate] Change of the state matrix below which a motion is steady."""

# --- small motions --------------------------------------------------------------------------------

NULL_RANK = 1e-9
"""[rows of unit length] Singular values below are zero: freedoms of a model."""

ROUND_OFF = 1.4e-14
"""[-] Part of what is added in an entry or a row that is its round-off: 64 eps. Measured, zeros are
20 eps at most, and what is no zero is 1e5 eps, springs of 1 : 1e10 in one entry."""

FREQUENCY_REAL = 1e-9
"""[eigenvalue] Imaginary part that counts."""

SAME_MODULUS = 1e-6
"""[eigenvalue] Slow and fast are cut between eigenvalues further apart: members of one group, whose
vectors may be any mixture, come from one solution."""

NEUTRAL = 1e-14
"""[stiffness of a body] Stiffness below is round-off: the motion is free."""

UNSTABLE = 1e-7
"""[eigenvalue] Growth below is that of motions that neither grow nor decay: of a double eigenvalue
round-off is the root of eps."""

SYMMETRIC = 1e-7
"""[largest entry] A stiffness that is less symmetric has no spectrum that can be sliced."""

NEUTRAL_LARGE = 1e-7
"""[stiffness of a body] The same in large models at most, where pivots tell nothing smaller: the
smallest power of ten that they tell is taken."""

NEUTRAL_MANY = 900
"""[-] Velocities above which a model is large: its spectrum is not looked at in full."""

MODE_SAME = 0.8
"""[MAC] From which on modes at two speeds are taken for the same one."""

MODE_HALVED = 5
"""[-] A step of the speed is halved so many times at most."""

# --- derivatives checked by differences -----------------------------------------------------------

TANGENT_STEP = 2e-4
"""[1 rad, length of the model, or speed] Step of the differences of fourth order."""

TANGENT_NOISE = 100 * 2.0**-52
"""[largest term of an evaluation] Round-off of one evaluation."""

TANGENT_VISIBLE = 1e-7
"""[entry] Smallest error that is told from round-off."""

TANGENT_COLUMNS = 240
"""[-] Of larger models so many random columns are compared."""

FLIGHT_ORDER = 1.75
"""[-] Least order of the steps of a free flight, measured between h, h/2 and h/4; it is two."""

REACTION_STEP = 1e-3
"""[size of a coordinate] Step of the differences of fourth order for reactions."""

# --- motions that are prescribed, comparisons -----------------------------------------------------

INVERSE_STRIDE = 0.1
"""[1 rad, or length of the model] How far the pose goes from guess to guess."""

INVERSE_GUESSES = 100_000
"""[-] Guesses between two instants."""

COMPARE_ROUND_OFF = 1e-13
"""[size of the model] Round-off of positions, below which an error is not told from it."""
