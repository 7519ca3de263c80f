"""Tolerances: every number that decides what is zero, met, small enough or lost.

Each has what it is relative to in brackets, and its reason. They are part of no interface: they may
change. What a user may choose (``rtol``, ``tol``, ``max_iterations``) is an argument, not here.
"""

# --- numbers --------------------------------------------------------------------------------------

LARGEST = 1e100
"""[SI] Largest number that is taken, from arguments and from laws: products of three are finite."""

# --- models ---------------------------------------------------------------------------------------

SOFT_LOOPS = 1e-9
"""[a row's own (B diag(M)^-1 B^T)_ii; where curvatures are counted, its square over the largest
inertia] The compliance that keeps redundant rows of closed loops regular far from their positions,
and where curvatures are counted: below round-off of the elimination over it they would be noise."""

COMPLIANCE_LEAST = 1e-15
"""[m/N, rad/(N m)] Smallest compliance of a joint: where its force is read off positions, their
round-off makes some newtons of a smaller one; it moves them by no more than a rigid row."""

MODEL_FAR = 32.0
"""[extent of the model] Nearer to the inertial origin positions are stored as they are described;
others from a point near the model, so that their round-off is that of the model."""

MESH_FAR = 300.0
"""[extent of the mesh] Nodes of a flexible body are nearer to its origin: inertia about it grows as
the square, and so does round-off of what bends: 1e-6 of a critical load here,
and at 1e4 modes of frequency zero in the place of those that bend."""

RANK = 1e-10
"""[rows of length one, kinematic units] A row nearer to the span of others depends on them, and a
singular value below is zero: some 1e-15 by round-off, 1e-12 where a pose meets its rows to that;
honest rows are 1e-7 and more away. What it lacks at other poses, of the length of the model or one,
depends on them as well."""

RANK_LACK = 10.0
"""[what rows lack at the pose] A row that is nearer to others depends on them: directions of rows
are known as well as they are met."""

RANK_MOST = 1e-4
"""[rows of length one] A row that is farther from others is independent, whatever rows lack."""

RANK_STAYS = 0.1
"""[distance of a row from others] What a row that acts counts for more than one that was dropped:
rows that change places without need are noise in multipliers."""

RANK_SHAKY = 1e-3
"""[length of the model, or 1 rad] Way in which rows are dropped, open and are taken again no more
than three times: else they hold at second order only, by forces without bound."""

RANK_TRIES = 3
"""[-] Selections of one step, and those within RANK_SHAKY."""

# --- contacts -------------------------------------------------------------------------------------

CONTACT_SOFT = 1e-7
"""[Delassus number] Softness of closed rows where corners of a body are redundant: no rank says
which of them carry. Newton's method converges to rigid rows at that rate; less is lost to round-off
of the elimination, more takes iterations."""

CONTACT_RESOLVED = 1e-12
"""[largest normal force] What the forces of contacts are resolved to: slower slip is none. At
round-off itself one of sixty boxes that tumble finds no branches that agree."""

CONTACT_UNMET = 1e-6
"""[largest force of an island] What laws may lack where a step ends: sweeps that only creep to the
solution, as where what slips is redundant, leave 1e-8. More is no solution; the step is halved."""

# --- initial states -------------------------------------------------------------------------------

ROWS_MET = 1e-7
"""[length of the model, or one; of rates its speed] Accepted violation of rows, and of targets."""

START_NEAR = 1e-3
"""[length and speed of the model, or one] Violation of rows that is mended at the start, with a
warning, and that positions may come to at velocity level without one, beside what `rtol` allows."""

START_DIFFERENCE = 1e-3
"""[step] Part of it over which accelerations are differenced for the first jerk."""

START_SMOOTH = 0.5
"""[acceleration] Part by which its derivative may fail to foretell a step; else it is not used."""

# --- targets of a pose ----------------------------------------------------------------------------

POSE_STEP = 0.3
"""[length of the model, or 1 rad] Longest step of a search for a pose, of an equilibrium the
longest move: nothing linear reaches farther. A step in time that fails has a plain reason where
bodies move more."""

TARGET_PUSHES = (0.1, 0.5, 1.5, 0.3)
"""[1 rad, or length of the model] Pushes away from a saddle, or a bad minimum, where steps end."""

# --- factorisation --------------------------------------------------------------------------------

PIVOT_SMALL = 1e-4
"""[diagonal it came from] A smaller pivot is not trusted: rows are exchanged."""

PIVOT_ZERO = 1e-12
"""[diagonal it came from] A pivot this small after the exchange is none."""

# --- steps in time: generalized-alpha -------------------------------------------------------------

PARABOLA_MISS = 1e-3
"""[accelerations] First correction of a step from which on the next guess is a line and a ringing,
no parabola: where accelerations jump, that overshoots more."""

NEWTON_CONTRACTION = 5e-3
"""[1] Contraction that one ratio of increments is trusted to show; the first ratio may flatter."""

MATRIX_CHEAP = 4
"""[iterations] Price of a matrix up to which it is made again before it has aged: those of chains
and trees of bodies with six coordinates cost two to four."""

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

OPEN_STEP = 1e-3
"""[largest free step] Where rows contradict each other a smaller step does not go nearer to it."""

NEWTON_FREE = 1e-6
"""[rtol] Newton's tolerance of free steps: what it leaves is no error of the step."""

HALVED = 6
"""[-] A step that fails, where it is taken in parts of itself, or one of the speed of a rotor,
is halved so many times at most: a sixty-fourth of it finds what turns by a radian in one."""

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

CRAWL_STEPS = 100_000
"""[-] Free steps in a row that must bring a run further by one part in so many: what would take
more than their square in all is ended by name."""

# --- steps in time: one that fails, in smaller ones -----------------------------------------------

SUBSTEP_RTOL = 4e-4
"""[length of the model, 1 rad, largest velocity] Error of all steps in the time of one."""

SUBSTEP_MOST = 20_000
"""[-] So many smaller steps are taken in the time of one; what needs more fails."""

SUBSTEP_ALL = 160_000
"""[thousand steps] So many in all, those in vain too: where many steps need thousands of smaller
ones their size is wrong, and the run ends soon. Seven steps of a flexible rod need 100 000."""

SUBSTEP_LEAST = 1e-12
"""[step] A smaller step fails: where a law of motion jumps, it would be passed in no time, and what
it leaves of accelerations is recorded."""

SINGULAR = 3e-2
"""[singular value at the start] Where rows hold less of a motion, a pose is called singular."""

LOST_VELOCITY = 0.2
"""[size of velocities, or of a row] A step has thrown bodies, as across a singular pose, and is
refused, where velocities that follow from positions leave their rows by more, or positions theirs
that follow from velocities."""

# --- steps in time: collocation -------------------------------------------------------------------

SWEEP_SHARE = 0.4
"""[error allowed to a step] What sweeps may leave."""

COLLOCATION_STRICT = 0.2
"""[tolerance, to the power of the estimate] What the estimate of a step may use."""

ERROR_ROUGH = 30.0
"""[estimate of a smooth motion] What changes more from one attempt of a step to the next is not
smooth: forces jump, or have a kink."""

STIFF_STABLE = 6.1
"""[h times the largest frequency] Where the method of order 8 by Dormand and Prince ceases to be
stable: Hairer and Wanner, Solving Ordinary Differential Equations II, section IV.2."""

STIFF_COVERS = 0.2
"""[error allowed to a step, in the power of its order] A step covers more of a smooth motion, of
accelerations and of units of increments; one that covers less is stiff, though it is stable yet."""

STIFF_STEPS = (15, 6)
"""[-] So many steps at that bound are stiffness, and so many others in a row begin again: those of
the same section."""

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

# --- steps and their end --------------------------------------------------------------------------

WHOLE_STEPS = 1e-9
"""[step] A time that is nearer to a whole number of steps is one: 3 steps of 0.1 s end at 0.3 s.
Events that are nearer to each other happen at one instant."""

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

LARGE_STEP_INSTANTS = 64
"""[-] Instants that are evaluated for energies: all, or a sample where it tells enough."""

# --- laws that steps do not resolve ---------------------------------------------------------------

UNRESOLVED_STRETCHES = 6
"""[-] Stretches of four steps in which laws are evaluated between the ends of steps."""

UNRESOLVED_LEAST = 1e-3
"""[largest value of the law] What may happen between the ends of steps without a warning."""

RESOLVED_ERROR = 1e-2
"""[range of the law in a step] Mean error of its polynomials where parts of a step resolve it."""

# --- events ---------------------------------------------------------------------------------------

EVENT_ROUND_OFF = 1e-12
"""[largest value of the function so far] Values below have no sign."""

EVENT_AHEAD = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
"""[step] Where one looks ahead for the side on which a function goes on."""

EVENT_MANY = 100
"""[-] So many events in a row, each nearer to the next than WHOLE_STEPS of the length of the run,
are an accumulation, which is refused."""

# --- continuous laws ------------------------------------------------------------------------------

CONTINUOUS_SHARE = 1e-8
"""[largest output of the law] Difference of a load and its law at the end of a step: less than what
a step of second order leaves, more than the round-off of its accelerations."""

CONTINUOUS_STEPS = 30
"""[-] Times that a step is repeated for a law: it gains a digit each time where a step is small
as a share of the time in which the law acts."""

# --- statics --------------------------------------------------------------------------------------

REST_BALANCE = 1e-6
"""[loads; longest step] What may be out of balance at an equilibrium; more is refused unless it is
round-off. Newton's steps that are so short are taken untested, and end where they do not shrink."""

HELD = 1e-12
"""[stiffness of a body] Motions without stiffness are held by it and stay where they are: far below
what is soft, far above what round-off leaves of no stiffness."""

HELD_LEAST = 1e-15
"""[stiffness of a body] The same where something so soft is out of balance: above round-off."""

REST_HELD = 0.1
"""[step] Part of Newton's step that is held back, from which on less is held if that is soft."""

HELD_BODY = 1e-6
"""[stiffest body] By which bodies count that have no stiffness of their own."""

REST_REACH = 3.0
"""[full steps] Largest turn of a step on a long way, less than half a turn between two bodies."""

REST_TURN = 0.4
"""[rad] Largest turn of a step to an equilibrium: a move as large passes limit points."""

REST_LIGHT = 1e-3
"""[force over length] Bodies that turn: their moving costs so much less, it follows from turns."""

# --- small motions --------------------------------------------------------------------------------

ROUND_OFF = 1.4e-14
"""[-] Part of what is added that is its round-off, in an entry, a row, a force on a body: 64
eps. Measured, zeros are 20 eps at most, and what is no zero is 1e5 eps, springs of 1 : 1e10 in one
entry. What is known by squares, a double eigenvalue, is known to its root."""

MEMORY_RESTS = 1e-9
"""[what is remembered] Change in infinite time below which a memory is at rest: laws that look for
a root of their own know it no better, and of others the next one of Newton's is round-off."""

MEMORY_KEPT = 1e-8
"""[change of a memory] Part that is lost in infinite time: where less is, it is kept, and does not
follow a pose. Derivatives by differences are known to 1e-10."""

NEUTRAL_MANY = 900
"""[-] Velocities above which a model is large: its spectrum is not looked at in full."""

MODE_SAME = 0.8
"""[MAC] From which on modes at two speeds are taken for the same one."""

ANISOTROPIC = 1e-6
"""[largest entry of M, G or K, masses alike] Up to which matrices of a rotor differ between
azimuths by round-off of its description (lengths, angles): of equal blades 1e-15 to 1e-9."""

MAGNUS_SAME = 1e-10
"""[multiplier] Change of the multipliers of a period, when its steps are halved, that ends it: of
order 4 the last ones are then 16 times more exact."""

# --- derivatives of runs --------------------------------------------------------------------------

DERIVATIVE_EXACT = 1e-9
"""[derivative, what moves, what is read] Derivatives are known to this: differences of two orders
that agree so well are of a smooth function (a kink between the values leaves a share of the
derivative itself), a row that depends on others lacks no more, and what acts less is not seen."""

SENSITIVITY_KINK = 1e-4
"""[derivative] What two orders differ by at the nearest values where there is none."""

BEGIN_REACH = 2.5e-3
"""[size of the model, its velocities, the step] Distance of the neighbours of a state from which a
run restarts, of order 8. At four times that a restart of a chain is refused for a kink that it has
not; nearer the round-off of accelerations is seen, 1e-7 of them at half."""

# --- fits and optimisation ------------------------------------------------------------------------

FIT_TOL = 1e-12
"""[sum of squares, and its gradient] A fit whose steps change less has arrived; of parameters
themselves the root."""

FIT_ARRIVED = 1e-2
"""[standard error] A fit that another step of Gauss and Newton would move farther has not
arrived, whatever ended it; a bound that is nearer holds its parameter."""

FIT_PERFECT = 1e-10
"""[measured values] Where residuals are smaller, they are round-off, and no measure of noise."""

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

# --- derivatives checked by differences -----------------------------------------------------------

TANGENT_VISIBLE = 2.2e-7
"""[largest term of an evaluation, over the step] Entries that are smaller count as so large: the
round-off of an evaluation, 100 eps of it, is then an error of 1e-7."""

TANGENT_COLUMNS = 240
"""[-] Of larger models so many random columns are compared."""

FLIGHT_ORDER = 1.75
"""[-] Least order of the steps of a free flight, measured between h, h/2 and h/4; it is two."""

# --- motions that are prescribed, comparisons -----------------------------------------------------

# --- joint coordinates ----------------------------------------------------------------------------

LOOP_CLOSINGS = 50
"""[-] Steps towards a closed loop: some five near one, more from afar."""
