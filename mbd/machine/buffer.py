"""Layout of the two flat buffers that every kernel receives: headers, regions, records.

``I`` (int32) holds the tables of the model: immutable, shared by all its runs. An entry is a number
or a place in I or F; an address of code takes two, and who needs it has the place of the first.
``F`` (float64) belongs to one run, in contiguous regions::

    header | integers of the run | constants | state | work

``ints(F)`` gives its integers as ``S``: counters, switches, and which kernels run when. Constants
are what parameters set; state is what a step hands on to the next one; work may hold anything
before a step. The first entries of each header are named here; whatever else a kernel needs it
finds in its own record at ``I[k]``. Vectors over the unknowns ("u-space") are numbered in
elimination order: per front first the velocities of its node, then the node's own rows, then joint
rows.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

# --- regions of F --------------------------------------------------------------------------------
# While a model is built a place in F is (region << REGION_BITS) + number within it: sizes come last
CONSTANTS, STATE, WORK, N_REGIONS = 1, 2, 3, 4
REGION_BITS = 48
ENTRY = np.int32  # of I; none is negative, 0 is the place of what is not there
PLACE_BITS = 31
PLACES = 1 << PLACE_BITS  # that an entry can tell apart

# --- I: sizes and tables, then where vectors are in F ---------------------------------------------
(
    N_U, N_Q, N_FACES, N_FRONTS,
    FRONTS,  # table of fronts
    UNKNOWN_KIND,  # table: kind of each unknown, an index into SCALE
    LOOPS,  # whether rows close loops: then they may be redundant
    MATRIX, MATRIX_SIZE,  # the fronts, one stretch of F
    PRICE,  # of a new matrix, in iterations with the one at hand
    SCRATCH, SCRATCH_BESIDE,  # floats for laws, and for those of another thread
    SIDES,  # table of the two sides that two threads take; 0: there are none
    GATE,  # what threads tell each other, in F
    METHOD,  # what a method keeps of its own, in F
    REMEMBERED, TURN_RATES,  # in F: first number that elements remember, rates of angles
    N_MEMORY, PLACES_REMEMBERED,  # how many numbers, table of all
    KEPT,  # in F: copies of numbers and rates, see `copy_remembered`
    Q, QN, V, VN, A, AN, AB, AL, D, X, XS, GAP, R, PHID, PHIDD, DIAG, OFF, HELD, LEFT,
    Y, YD, YDD, FY, GROUND,
    I_HEADER,
) = range(45)  # fmt: skip


@dataclass(frozen=True)
class Vector:
    """A vector in F: region; over unknowns, coordinates or faces (N_U, N_Q, N_FACES); meaning."""

    name: str
    region: int
    over: int
    meaning: str


VECTORS = {
    Q: Vector("Q", STATE, N_Q, "stored coordinates now"),
    V: Vector("V", STATE, N_U, "velocities"),
    A: Vector("A", STATE, N_U, "accelerations and multipliers"),
    AL: Vector("AL", STATE, N_U, "algorithmic acceleration of generalized-alpha"),
    QN: Vector("QN", WORK, N_Q, "stored coordinates at the start of the step"),
    VN: Vector("VN", WORK, N_U, "velocities at the start of the step"),
    AN: Vector("AN", WORK, N_U, "A at the start of the step"),
    AB: Vector("AB", WORK, N_U, "accelerations one step before those at the start of the step"),
    D: Vector("D", WORK, N_U, "increment h*Delta along the manifold since the start of the step"),
    X: Vector("X", WORK, N_U, "right-hand side, then solution"),
    XS: Vector("XS", WORK, N_U, "of the front at hand, or of a transposed solution"),
    GAP: Vector("GAP", WORK, N_U, "what positions are corrected by, where rates are met too"),
    R: Vector("R", WORK, N_U, "residual with all multipliers, of which the least are sought"),
    PHID: Vector("PHID", WORK, N_U, "rates of the rows"),
    PHIDD: Vector("PHIDD", WORK, N_U, "second rates of the rows"),
    DIAG: Vector("DIAG", CONSTANTS, N_U, "size of the diagonal, and of rows"),
    OFF: Vector("OFF", STATE, N_U, "RELEASED or DROPPED of rows that do not act, else 0"),
    HELD: Vector("HELD", STATE, N_U, "what dropped rows lacked where they were dropped"),
    LEFT: Vector("LEFT", WORK, N_U, "what rows lack now, those that do not act too"),
    Y: Vector("Y", WORK, N_FACES, "faces, ground first"),
    YD: Vector("YD", WORK, N_FACES, "their rates"),
    YDD: Vector("YDD", WORK, N_FACES, "their second rates"),
    FY: Vector("FY", WORK, N_FACES, "forces on faces"),
}

# --- S: integers of the run -----------------------------------------------------------------------
(
    STATUS, STEPS_DONE, N_STEPS,
    N_ITER, N_FACTOR, N_REJECT, N_EVALUATE,
    N_PREDICTED,  # steps
    N_TAKEN,  # free steps
    N_LOCATED,  # events of contacts that ended a step
    BASE,  # steps counted where the grid of times begins
    RECORD, RECORD_EVERY, N_RECORDED, RECORD_SIZE,
    CAPACITY,  # instants that the record can hold
    IMPACT_LOG, IMPACT_ROOM, N_IMPACTS,  # where impacts are logged, how many have room, are there
    OUTPUT, N_OUTPUT, N_REACHED,  # times at which a state is wanted, those already reached
    MAX_ITER, FULL_NEWTON, HAVE_FACTOR, SMALL_PIVOTS, HISTORY,
    STEPS_OF_FACTOR, ITERATIONS_OF_FACTOR,  # since the matrix was made
    LINEAR,  # address of the kernel that factors and solves
    PHASE,  # which evaluation this is of a conserving step, or of a search for balance
    LEVEL,  # where the rows of positions are met
    N_OFF, N_DROPPED,  # rows that do not act, see OFF; those that depend on others
    ALL_ROWS,  # whether dropped rows act all the same
    BAD_LAW, BAD_HOW,  # where in I the first law is whose answer is no number, and how
    UNDECLARED,  # pair of attachments, counted from one, that a kind couples and does not declare
    ELASTIC,  # whether compliant rows act as springs; else they are rows
    HELPED,  # whether another thread takes one side
    SHARED,  # address of the kernel that runs a task on both sides; 0: passes go in one go
    PUSH_TASK, RESIDUAL_TASK, TANGENT_TASK, FACTOR_TASK, UP_TASK, BACK_TASK,
    PREDICT_TASK, CORRECT_TASK, FINISH_TASK, RECORD_TASK, EXTENT_TASK, SPEED_TASK,
) = range(53)  # fmt: skip
ORDINARY, START, MIDDLE, END = 0, 1, 2, 3  # PHASE
STRESS_AHEAD, STRESS_GIVEN, STRESS_HERE = 4, 5, 6  # PHASE of a search: see stresses in Kind
AT_REST = -1  # PHASE of a search, and about its end: memories are at rest with the pose
POSITION, VELOCITY, STABILIZED = 0, 1, 2  # LEVEL
RELEASED, DROPPED = 1.0, 2.0  # OFF: rows of parts that are off, rows that depend on others
NOT_FINITE, RAISED, NO_REST = 1, 2, 3  # BAD_HOW
# stages: where in S their pairs (address, record) are, and how many
(
    PLACE,  # poses, faces and their velocities
    POSE,  # poses and faces; their velocities where forces depend on some
    VELOCITIES,  # of faces
    FORCES, RESIDUAL, MAPS,
    SECOND_MAPS,  # those of accelerations, of models in which forces depend on some
    TANGENT, RATES, ACCEPT,
    FLOW, CONVECT,  # of explicit methods
    ENDING,  # of conserving steps: velocities at their end, where coordinates are not linear
    ENERGY, LOADS,  # of results: what elements store, ...
    MOMENTA,  # and momenta of those with mass
    PIVOTS,  # by number of pivots of a front
    S_HEADER,
) = range(53, 89, 2)  # fmt: skip
STAGES = range(PLACE, S_HEADER, 2)

# --- F: numbers of the step ----------------------------------------------------------------------
N_UNKNOWN_KINDS = 8  # of unknowns
(
    T, H,
    W_M, W_G, W_K, SCALE_R,  # weights of the iteration matrix; scale of the residual
    GX, GY, GZ,
    ALPHA_M, ALPHA_F, BETA, GAMMA,
    TOL, THETA, NORM,
    WAY,  # of explicit methods: 1 turns components along with an increment, -1 back
    LENGTH,  # characteristic length of the model [m]
    ROUND,  # part of FLOOR that counts: rates resolve a small step better than positions do
    T_LAST, T_STEP,  # time of the pose that was accepted last; the same at the start of the step
    UNSURE, UNSURE_AT,  # largest distance of an angle from where it was expected; its memory
    ROW_RATE, ROW_TURN,  # factor of rows on velocities; of their derivative by q
    POSITION_TURN,  # that of rows of positions where they are met by their rates
    RTOL, H_MAX, H_MIN, T_END, ERROR, H_LAST, CARRY,  # adaptive steps
    T_START, H_NEW,  # start of the run; size of step that is asked for
    T_BASE,  # where the grid of times begins: t_n = T_BASE + (N_PREDICTED - BASE) H
    POTENTIAL, DISSIPATED, SUPPLIED,  # of elements: energy [J], two powers [W]
    IMPULSIVE,  # work of impulses since the start of the run [J], ...
    FRICTION, IMPACTS,  # and what of it dry friction and impacts of set-valued laws took
    FAR,  # largest position now over the length of the model, a power of two: FLOOR has it
    MISS,  # how far the first guess of the step was off, relative to A
    OPEN,  # largest row of the last evaluation, in units of what is allowed
    SOFT,  # compliance of rows over the square of their size: zero in steps
    BAD_AT, BAD_AT_1, BAD_AT_2,  # what the law was asked for
    _BY_UNKNOWN_KIND,
) = range(50)  # fmt: skip
N_IMPULSIVE = 3  # from IMPULSIVE on
# by kind of unknown
SCALE, FLOOR, ATOL, SIZE, UNIT, PER_UNIT, RATE, PER_LEAST, INTS = range(
    _BY_UNKNOWN_KIND, _BY_UNKNOWN_KIND + 9 * N_UNKNOWN_KINDS, N_UNKNOWN_KINDS
)
# SCALE: size of A; FLOOR: smallest increment of the positions that counts; ATOL: absolute
# tolerance; SIZE: largest velocity so far; UNIT: length of the model or one, what is large for a
# change of the pose or a row; PER_UNIT: one over it; RATE: change of A by an increment; PER_LEAST:
# one over the smallest increment that counts in this step; INTS: where S begins
F_HEADER = INTS + S_HEADER  # stages follow, then the regions

# --- kinds of unknowns ---------------------------------------------------------------------------
TRANSLATION, ROTATION, DIRECTOR, FORCE, MOMENT, OWN, VELOCITY_ROW = range(7)

# --- records -------------------------------------------------------------------------------------
# node: coordinates, unknown, constants, face, own block of the matrix and its row length
NODE_Q, NODE_U, NODE_PAR, NODE_Y, NODE_S, NODE_LD, NODE_SIZE = range(7)
# attachment: face, weights, number of velocities, record of the node, which of the kernels of the
# stage MAPS is its own, where its PV is
ATT_Y, ATT_W, ATT_N, ATT_NODE, ATT_MAPS, ATT_PV, ATT_SIZE = range(7)
# maps of an attachment in the scratch space, three rows each, one column for each velocity: test
# map, trial map of increments, derivative of the velocity, trial map of velocities (the test map
# where test = trial)
MAP_ROW = 36  # most velocities of a body
P, PT, DP, PV, MAPS_SIZE = range(0, 15 * MAP_ROW, 3 * MAP_ROW)
# and two of its acceleration, by velocities and by increments
AV, AQ, SECOND_SIZE = range(0, 9 * MAP_ROW, 3 * MAP_ROW)
# the scratch space: numbers of the kind's own; then of each attachment some vectors and its maps
SCRATCH_OWN, SCRATCH_VECTORS = 256, 5 * MAP_ROW
SCRATCH_EACH = SCRATCH_VECTORS + MAPS_SIZE
# table of elements: number, first record, size of one, where blocks and pairs are in it, number of
# attachments, of floats that an element remembers
T_NUMBER, T_FIRST, T_SIZE, T_BLOCKS, T_PAIRS, T_ENDS, T_MEMORY, T_HEAD = range(8)
# element: first unknown of its rows, numbers, memory, place of the record of its law, attachments
E_ROW, E_NUMBERS, E_MEMORY, E_LAW, E_ENDS = range(5)
# law: both halves of its address, its number among those of the model, place of its parameters
LAW_ADDRESS, _, LAW_NUMBER, LAW_PARAMETERS, LAW_RECORD = range(5)
# front: first unknown, pivots, velocities among them; pivot rows A_pp and W, which begins as A_pu,
# and their lengths; update groups; which kernel of the stage PIVOTS it takes, from 1 on (0: it has
# too many pivots)
(
    FR_U, FR_NP, FR_NV, FR_A, FR_LDA, FR_W, FR_LDW, FR_GROUPS, FR_NG, FR_KERNEL, FR_SIZE,
) = range(11)  # fmt: skip
# update group: first unknown, size, first pivot that reaches it, first column in W, rows in A_up
# from that pivot on and their length, the front that eliminates it
UG_U, UG_N, UG_K, UG_COL, UG_L, UG_LD, UG_FRONT, UG_SIZE = range(8)
BETWEEN, WHOLE = 2, 3  # next to the sides 0 and 1: what is between them; all of a model
# table of the sides: fronts where the tail of side 0, side 1, its tail and those between begin; the
# first unknown, coordinate and face of side 1; of some stages, how many kernels each side has
(
    SD_TAIL, SD_SECOND, SD_SECOND_TAIL, SD_BETWEEN, SD_U, SD_Q, SD_FACE,
    SD_POSE, SD_FORCES, SD_RESIDUAL, SD_TANGENT, SD_SIZE,
) = (*range(7), *range(7, 17, 2))  # fmt: skip
# line of the log of impacts: time, number of the element, impulse, velocities before and after, the
# loss, restitution
(
    IMPACT_T, IMPACT_ELEMENT, IMPACT_P, IMPACT_BEFORE, IMPACT_AFTER, IMPACT_LOSS, IMPACT_E,
    IMPACT_SIZE,
) = (0, 1, 2, 5, 8, 11, 12, 13)  # fmt: skip
LINE = 16  # floats that no other thread's are near: two lines of the cache
# gate: the job that is free to take, the last one that is done; then what each side has measured
GATE_OPEN, GATE_DONE, GATE_SIDES, GATE_SIZE = 0, LINE, 2 * LINE, 4 * LINE


def entries(*parts: Any) -> np.ndarray:
    """Return tables, one after the other, as I has them; a place beyond what it can hold raises.

    Half the bytes of 64 bits: tables are read as often as the numbers of a step.
    """
    whole = np.concatenate([np.asarray(x, np.int64) for x in parts])
    if len(whole) and (whole.min() < 0 or whole.max() >= PLACES):
        raise MemoryError(
            f"tables hold places from 0 to {PLACES} floats ({PLACES * 8 / 2**30:g} GiB), got "
            f"{whole.min()} to {whole.max()}; take fewer bodies, or fewer runs at once"
        )
    return whole.astype(ENTRY)


def halves(address: int) -> list[int]:
    """Return the two entries of an address."""
    return [address & (PLACES - 1), address >> PLACE_BITS]


def joined(I: Any, i: int) -> int:
    """Return the address that entries i and i + 1 hold."""
    return (int(I[i + 1]) << PLACE_BITS) + int(I[i])


def integers(F: np.ndarray) -> np.ndarray:
    """Return S, the integers of the run, which lie among its floats."""
    return F[..., INTS:].view(np.int64)


def padded(n: int) -> int:
    """Return n rounded up to whole vector registers of four numbers."""
    return (n + 3) // 4 * 4
