"""Layout of a tree of joints: its header, records and numbers after those of the model.

The tables of a tree follow those of the model in one array I, its numbers those of a run in one F:
kernels of the tree and of the model's elements work on the same two. Entries that may be nothing
are counted from one, 0 is none.
"""

from typing import Any

from mbd.machine.jit import jit

# header: sizes and tables in I
(
    T_LINKS, T_N,  # links without ground; columns
    T_LINK, T_COLUMN,
    T_GROUND,  # numbers of the ground
    T_Q, T_V, T_A, T_TAU, T_M,  # of the tree; M is (n, n)
    T_F, T_IV, T_IA, T_ITAU, T_IM,  # independent ones; without loops those of the tree
    T_IV_OF, T_INDEPENDENT,  # of each column which independent one it is; columns of these
    T_FACTOR, T_CHAIN,  # of M: factor, and the table of what comes before each column
    T_DQ, T_DV,  # slopes
    T_TURNED,  # pairs: memory of an angle, its coordinate
    T_N_TURNED,
    T_STAGE, T_N_STAGE,  # kernels of forces: address, record
    T_ROWS, T_N_ROWS,  # elements of loops
    T_LOOPS, T_N_LOOPS,
    T_LOCAL,  # of each column its number within its loop
    T_Z,  # (n, f): rates of all columns by independent ones
    T_DRIFT_V, T_DRIFT_A,  # (n,): and what they are without them
    T_STATUS,  # what went wrong: see `eliminate` in loops.py
    T_GAP,  # largest gap of a row
    T_UNITS,  # of each column, what is large for it: length of the model [m], or one
    T_ARGUMENT,  # body, point: of Jacobians and the regressor
    T_RESULT, T_PARAMETER,
    T_TANGENTS, T_N_TANGENTS,  # kernels of tangents: address, table
    T_BLOCKS, T_N_BLOCKS,  # links a and b, (width, width) matrix in F
    T_BLOCK, T_BLOCK_END, T_WIDTH,  # all of these
    T_MAPS, T_ADDRESSES,  # addresses of the maps of attachments, in I and in F
    T_HEAVY, T_N_HEAVY,  # forces of elements with mass, as T_STAGE
    T_ALONG, T_CHANGE,  # a direction by q, v, a (3 n,), and how efforts change along it (n,)
    T_FACES,  # of each link its face with rates, and how they change
    T_MOTION,  # of each link the pose of its body and its rates (18,)
    T_IDQ, T_IDV, T_ZD,  # slopes by independent ones; rate of Z
    T_SIZE,
) = range(58)  # fmt: skip

# link: how it moves against the one before it
RIGID, SHIFT, TURN, BALL = range(4)
(
    L_MOTION, L_COLUMNS, L_COLUMN,  # number of columns, the first one
    L_Q, L_PARENT, L_NUMBERS, L_CONSTANTS,  # in F
    L_FACE, L_AXES,  # its face, counted from one in twelves; whether that has axes
    L_LAST,  # last column of the way to it, counted from one
    L_SIZE,
) = range(11)  # fmt: skip
# constants of a link: pose of its joint in the link before it, screw, inertia about its origin in
# its axes (m, m c, I as xx yy zz xy xz yz), pose of the body in it
K_POINT, K_AXES, K_PITCH, K_START, K_INERTIA, K_BODY, K_SIZE = 0, 3, 12, 13, 14, 24, 36
# numbers of a link: pose, velocity, acceleration, force, inertia, K and momentum (slopes); along a
# direction whether it moves, how (D, U, B), and the change of forces
N_POSE, N_V, N_A, N_FORCE, N_INERTIA, N_K, N_P = 0, 12, 18, 24, 30, 40, 49
N_MOVED, N_D, N_U, N_B, N_DF, N_SIZE = 52, 53, 59, 65, 71, 77

# column: its numbers in F, the column before it on the way to the ground (from one), its link
C_NUMBERS, C_BEFORE, C_LINK, C_SIZE = range(4)
# S, its rate, psi and psi2
C_S, C_RATE, C_PSI, C_PSI2, C_FLOATS = 0, 6, 12, 18, 24
# element of loops: address and record of its forces, of its rates, first unknown, number of rows,
# first row in its loop, the loop, factor of its rows; its faces
(
    E_FORCES, E_FORCES_AT, E_RATES, E_RATES_AT, E_U, E_N, E_FIRST, E_LOOP, E_SCALE, E_FACES,
    E_N_FACES, E_POSITION, E_LENGTH,
) = (0, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14)  # fmt: skip
# face of such an element: place of its numbers within vectors over faces, last column from one
A_FACE, A_LAST, A_SIZE = range(3)
# loop: rows, dependent columns (table, number), independent ones; matrix in F, its row length
(
    O_ROWS, O_DEPENDENT, O_N_DEPENDENT, O_OTHERS, O_N_OTHERS, O_MATRIX, O_WIDTH, O_ORDER, O_SIZE,
) = range(9)  # fmt: skip


@jit
def links(I: Any, k: int) -> range:
    """Return the records of all links, each after the one before it on the way from the ground."""
    first = I[k + T_LINK]
    return range(first, first + I[k + T_LINKS] * L_SIZE, L_SIZE)


@jit
def links_inward(I: Any, k: int) -> range:
    """Return the records of all links, from the tips to the ground."""
    first = I[k + T_LINK]
    return range(first + (I[k + T_LINKS] - 1) * L_SIZE, first - 1, -L_SIZE)


@jit
def columns(I: Any, l: int) -> range:
    """Return the numbers of the columns of a link."""
    return range(I[l + L_COLUMN], I[l + L_COLUMN] + I[l + L_COLUMNS])


@jit
def numbers_of(I: Any, k: int, j: int) -> int:
    """Return where the numbers of a column are: S, its rate, psi and psi2."""
    return I[I[k + T_COLUMN] + j * C_SIZE + C_NUMBERS]  # type: ignore[no-any-return]


@jit
def before(I: Any, k: int, j: int) -> int:
    """Return the column before one on the way to the ground, -1 if there is none."""
    return I[I[k + T_COLUMN] + j * C_SIZE + C_BEFORE] - 1  # type: ignore[no-any-return]


@jit
def loops(I: Any, k: int) -> range:
    """Return the records of all loops."""
    return range(I[k + T_LOOPS], I[k + T_LOOPS] + I[k + T_N_LOOPS] * O_SIZE, O_SIZE)


@jit
def closing(I: Any, k: int) -> range:
    """Return the records of the elements that close loops."""
    return range(I[k + T_ROWS], I[k + T_ROWS] + I[k + T_N_ROWS] * E_LENGTH, E_LENGTH)


@jit
def loop_of(I: Any, k: int, e: int) -> int:
    """Return the record of the loop that an element closes."""
    return I[k + T_LOOPS] + I[e + E_LOOP] * O_SIZE  # type: ignore[no-any-return]
