"""Layout of the two flat buffers that every kernel receives: their header.

``I`` (int64) holds the tables of the model, ``F`` (float64) its constants, the state and the work
space. The first entries of both are fixed and named here; whatever else a kernel needs it finds
in its own record at ``I[k]``. Vectors over the unknowns ("u-space") are numbered in elimination
order: per front first the velocities of its node, then the node's own rows, then joint rows.
"""

from __future__ import annotations

# --- I: sizes, then bases of vectors in F --------------------------------------------------------
N_U, N_Q, N_NODES, N_FRONTS = 0, 1, 2, 3
FRONTS = 4  # table in I
Q, QN = 8, 9  # stored coordinates now and at the start of the step
V = 10  # velocities
A, AN, AP = 11, 12, 13  # accelerations and multipliers together: now, at t_n, at t_(n-1)
AL = 14  # algorithmic acceleration of generalized-alpha
D = 15  # increment h*Delta along the manifold since the start of the step
X = 16  # right-hand side, then solution
Y, YD, YDD, FY = 17, 18, 19, 20  # faces (12 a node), two derivatives, face forces
DIAG, EPS = 21, 22  # size of the diagonal (pivot watch); softness of the rows in the iteration
KIND = 23  # kind of each unknown, an index into SCALE (table in I)
SCRATCH, SCRATCH_SIZE = 24, 256  # floats for laws
STATUS, STEPS_DONE, N_ITER, N_FACTOR, N_REJECT = 25, 26, 27, 28, 29
N_STEPS, RECORD, RECORD_EVERY, N_RECORDED, RECORD_SIZE = 31, 32, 33, 34, 35
MAX_ITER, HAVE_FACTOR, HISTORY, PROJECT = 36, 37, 38, 39
MATRIX, MATRIX_SIZE = 41, 42  # the fronts, one stretch of F
N_EVALUATE, VN, FULL_NEWTON, SMALL_PIVOTS, N_PREDICTED, XS, LINEAR = 43, 44, 45, 46, 47, 48, 49
PHASE = 64  # which evaluation of a conserving step this is
ORDINARY, START, MIDDLE, END = 0, 1, 2, 3
LEVEL = 65  # where the rows of positions are met
POSITION, VELOCITY, STABILIZED = 0, 1, 2
GAP = 66  # what positions are still corrected by, where both are met
OFF, N_OFF = 67, 68  # table: unknown and place in the matrix of rows that are switched off
CLEARED, N_CLEARED = 69, 70  # table: places of their entries in the matrix
AB = 71  # accelerations one step before those at the start of the step
OUTPUT, N_OUTPUT, N_GIVEN = 72, 73, 74  # times at which a state is wanted, those already given
CAPACITY, N_TAKEN = 75, 80  # instants that the record can hold; free steps taken
# stages: pointer to pairs (address, record) and their number
PLACE, FORCES, RESIDUAL, MAPS, TANGENT, RATES, ACCEPT = 50, 52, 54, 56, 58, 60, 62
FLOW, CONVECT = 76, 78  # of explicit methods, which write the addresses
BASE = 81  # steps counted where the grid of times begins
BAD_LAW, BAD_HOW = 82, 83  # address of the first law whose answer is no number, and how
NOT_FINITE, RAISED = 1, 2
ENERGY, LOADS = 84, 86  # of results: what elements store, dissipate, are driven by; forces of loads
METHOD = 89  # what a method keeps of its own, in F
LOOPS = 88  # whether rows close loops: then they may be redundant
I_HEADER = 92

# --- F: numbers of the step ----------------------------------------------------------------------
T, H = 0, 1
W_M, W_G, W_K, SCALE_R = 2, 3, 4, 5  # weights of the iteration matrix; scale of the residual
GX, GY, GZ = 6, 7, 8
ALPHA_M, ALPHA_F, BETA, GAMMA = 9, 10, 11, 12
TOL, THETA, NORM = 13, 14, 15
WAY = 16  # of explicit methods: 1 turns components along with an increment, -1 back
LENGTH = 17  # characteristic length of the model [m]
ROUND = 18  # part of FLOOR that counts: rates resolve a small step better than positions do
ELAPSED = 19  # time since the pose that was accepted last; zero where no step was made
SCALE, N_KINDS = 20, 8  # size of A by kind of unknown
FLOOR = 28  # smallest increment of the positions that counts, by kind
ROW_RATE, ROW_TURN = 36, 37  # factor of rows on velocities; of their derivative by q
RTOL, H_MAX, H_MIN, T_END, ERROR, H_LAST, CARRY = 38, 39, 40, 41, 42, 43, 44  # adaptive steps
T_START, H_NEW = 46, 47  # start of the run; size of step that is asked for
POSITION_TURN = 45  # that of rows of positions where they are met by their rates
ATOL = 48  # absolute tolerance, by kind
SIZE = 56  # largest velocity so far, by kind
UNIT = 64  # length of the model or one, by kind: what is large for a change of the pose or a row
T_BASE = 72  # where the grid of times begins: t_n = T_BASE + (N_PREDICTED - BASE) H
BAD_AT = 73  # what the law was asked for, three numbers
POTENTIAL, DISSIPATED, SUPPLIED = 76, 77, 78  # of elements: energy [J], two powers [W]
FAR = 79  # largest position now over the length of the model, a power of two: FLOOR has it
OPEN = 80  # largest row of the last evaluation, in units of what is allowed
SOFT = 81  # factor of EPS: less than one where rows that are nearly dependent are slow to be met
F_HEADER = 84

# --- kinds of unknowns ---------------------------------------------------------------------------
TRANSLATION, ROTATION, DIRECTOR, FORCE, MOMENT, OWN, VELOCITY_ROW = 0, 1, 2, 3, 4, 5, 6

# --- records -------------------------------------------------------------------------------------
# node: coordinates, unknown, constants, face, own block of the matrix and its row length
NODE_Q, NODE_U, NODE_PAR, NODE_Y, NODE_S, NODE_LD, NODE_SIZE = 0, 1, 2, 3, 4, 5, 6
# attachment: face, weights, number of velocities; test map, trial map of increments, derivative of
# the velocity, trial map of velocities (the test map where test = trial); whether rates are wanted
ATT_Y, ATT_W, ATT_N, ATT_P, ATT_PT, ATT_DP, ATT_PV, ATT_RATE, ATT_SIZE = 0, 1, 2, 3, 4, 5, 6, 7, 8
# front: first unknown, pivots, velocities among them, pivot rows A and their length, rows L below
# and their length, update groups, blocks of the Schur complement
FR_U, FR_NP, FR_NV, FR_A, FR_LDA, FR_L, FR_LDL = 0, 1, 2, 3, 4, 5, 6
FR_GROUPS, FR_NG, FR_BLOCKS, FR_NB, FR_SIZE = 7, 8, 9, 10, 11
# update group: first unknown, size, first pivot that reaches it, first row in L, first column in A
UG_U, UG_N, UG_K, UG_POS, UG_COL, UG_SIZE = 0, 1, 2, 3, 4, 5
# block: row in L, rows, column in A, columns, first pivot, where it goes and row length there
BL_ROW, BL_NR, BL_COL, BL_NC, BL_K, BL_TO, BL_LD, BL_SIZE = 0, 1, 2, 3, 4, 5, 6, 7


def padded(n: int) -> int:
    """Return n rounded up to whole vector registers of four numbers."""
    return (n + 3) // 4 * 4
