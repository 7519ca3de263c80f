"""Files of finite element programs: a beam through each format, numbers of other programs."""

from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

import mbd

from .meshes import beam, lattice
from .program_writers import (
    LABELS,
    K,
    M,
    X,
    abaqus,
    calculix,
    coordinate,
    deck,
    dmig,
    grids,
    harwell_boeing,
    op4,
)

CALCULIX = Path(__file__).parent / "calculix"  # written by CalculiX 2.20, SOLVER=MATRIXSTORAGE
FORMATS = (abaqus, coordinate, calculix, dmig, op4, harwell_boeing)


@pytest.mark.parametrize("write", FORMATS, ids=lambda x: x.__name__)
def test_a_beam_comes_through_files_of_programs(tmp_path, write):
    here = mbd.FlexibleBody("beam", M, K, X, {"left": [0], "right": [6]})
    sets = {deck: ("left", "right"), grids: ("1", "2")}
    for interfaces in ({"left": [3], "right": [55]}, sets[deck if write in FORMATS[:3] else grids]):
        if isinstance(interfaces, tuple):
            if write is harwell_boeing:
                continue
            interfaces = dict(zip(("left", "right"), interfaces, strict=True))
        there = mbd.FlexibleBody("beam", *write(tmp_path), interfaces, units="mm t s")
        assert there.frequencies == pytest.approx(here.frequencies, rel=1e-6)
        assert there.mass == pytest.approx(here.mass, rel=1e-9)
        assert there.labels.tolist() == LABELS.tolist()
        assert np.allclose(there.nodal.x, X, rtol=0, atol=1e-12)
        assert np.allclose(np.abs(there.nodal.values), np.abs(here.nodal.values), atol=1e-5)


@pytest.mark.slow
def test_matrices_of_calculix_are_those_of_the_bar(tmp_path):
    """A steel bar 20 x 4 x 3 mm of two C3D8: its mass, and statics of CalculiX itself (N, mm)."""
    files = (CALCULIX / "bar.mas", CALCULIX / "bar.sti", CALCULIX / "bar.inp")
    with pytest.warns(UserWarning, match=r"bar: it has 1.88e-06 kg on 20 m, .* units='mm t s'"):
        mbd.FlexibleBody("bar", *files, {"left": "LEFT"})
    system = mbd.System()
    options = {"loads": {"right": "RIGHT"}, "units": "mm t s"}
    bar = system.add(mbd.FlexibleBody("bar", *files, {"left": "LEFT"}, **options))
    assert bar.mass == pytest.approx(20 * 4 * 3 * 7.85e-9 * 1e3, rel=1e-9)
    system.add(mbd.Fixed("wall", system.ground, bar, at=bar.patches["left"]))
    system.add(mbd.PointForce("load", bar.interface("right"), (0.0, 0.1, -0.04)))
    mbd.write(system, tmp_path / "bar.toml")
    moved = {  # by 100 N and -40 N in equal parts on the nodes of RIGHT, LEFT held [mm]
        13: (2.161275e-3, 2.260616e-2, -1.040310e-2),
        23: (-4.471417e-3, 2.260866e-2, -1.041257e-2),
    }
    for model in (system, mbd.read(tmp_path / "bar.toml").system):
        pose = mbd.equilibrium(model)["bar"]
        for label, there in moved.items():
            node = bar.labels.tolist().index(label)
            u = 1e6 * (pose.points([node])[0] - bar.nodal.x[node])
            assert u == pytest.approx(there, rel=1e-5)


# --- numbers that others wrote: [[4, -1.5, 0], [-1.5, 3.25, 0], [0, 0, 1e-9]] --------------------
TWO, ONE, END = (" 4.000000000E+00-1.500000000E+00", "-1.500000000E+00 3.250000000E+00",
                 "       4       1       1\n 1.414213562E+00\n")  # fmt: skip
PYYETI = {  # of pyYeti 1.4.7, op4.write, digits=9
    "dense": f"""       3       3       6       2KGG     1P,5E16.9
       1       1       2
{TWO}
       2       1       2
{ONE}
       3       3       1
 1.000000000E-09
{END}""",
    "bigmat": f"""       3      -3       6       2KGG     1P,5E16.9
       1       0       6
       5       1
{TWO}
       2       0       6
       5       1
{ONE}
       3       0       4
       3       3
 1.000000000E-09
{END}""",
    "nonbigmat": f"""       3       3       6       2KGG     1P,5E16.9
       1       0       5
     327681
{TWO}
       2       0       5
     327681
{ONE}
       3       0       3
     196611
 1.000000000E-09
{END}""",
}
PYNASTRAN = """DMIG*               KAAX               0               6               2
*                      0               0
DMIG*               KAAX               3               1
*                      3               14.0000000000D+00
DMIG*               KAAX               3               1
*                      7               2-1.500000000D+00
DMIG*               KAAX               7               2
*                      7               23.2500000000D-00
DMIG    KAAX           9       3               9       3   1.0-9
"""  # of pyNastran 1.4.1, write_bdf(size=16, is_double=True); the last card in short fields


def binary(big):
    """The same matrix as words of OUTPUT4: records of a header, columns and an end."""
    e = ">" if big else "<"

    def record(*parts):
        body = b"".join(np.asarray(x, e + t).tobytes() if t != "S" else x for t, x in parts)
        size = np.array(len(body), e + "i4").tobytes()
        return size + body + size

    return record(("i4", [3, 3, 6, 2]), ("S", b"KGG     ")) + b"".join(
        record(("i4", [c, r, 2 * len(v)]), ("f8", v))
        for c, r, v in ((1, 1, [4, -1.5]), (2, 1, [-1.5, 3.25]), (3, 3, [1e-9]), (4, 1, [1.0]))
    )


@pytest.mark.parametrize("kind", [*PYYETI, "dmig", "little", "big"])
def test_matrices_that_others_wrote(tmp_path, kind):
    path = tmp_path / ("K.pch" if kind == "dmig" else "K.op4")
    path.write_bytes(PYYETI[kind].encode() if kind in PYYETI else
                     PYNASTRAN.encode() if kind == "dmig" else binary(kind == "big"))  # fmt: skip
    A, labels = mbd.read_matrix(path)
    assert np.allclose(
        A.toarray(), [[4, -1.5, 0], [-1.5, 3.25, 0], [0, 0, 1e-9]], rtol=1e-15, atol=0
    )
    assert labels is None or labels.tolist() == [[3, 1], [7, 2], [9, 3]]


def test_nodes_of_solids_may_have_idle_rotations():
    """Six degrees of freedom of each grid, as in Nastran's g-set; all idle, or some."""
    M, K, x = lattice()
    P = np.kron(np.eye(len(x)), np.eye(6, 3))
    six = [P @ A @ P.T for A in (M, K)]
    exact = mbd.FlexibleBody("bar", M, K, x, {}, modes=4).frequencies
    assert mbd.FlexibleBody("bar", *six, x, {}, modes=4).frequencies == pytest.approx(exact)
    ends = [np.flatnonzero(x[:, 0] < 0.1), np.flatnonzero(x[:, 0] > 0.9)]
    M2, K2, _ = beam(1, 1.0, EA=1e5, GJ=10.0, EI2=20.0, EI3=20.0, mass_per_length=1e-9)
    both = [sp.block_diag([a, b]).toarray() for a, b in zip(six, (M2, K2), strict=True)]
    far = np.vstack([x, [[0.0, 0.05, 0.04], [1.0, 0.05, 0.04]]])
    n = len(x)
    for end, nodes in enumerate(ends):  # springs between each node and the rod's end carrying it
        for node in nodes:
            arm = far[node] - far[n + end]
            D = np.zeros((3, len(both[1])))
            D[:, 6 * node : 6 * node + 3] = np.eye(3)
            D[:, 6 * (n + end) : 6 * (n + end) + 6] = -np.hstack(
                [np.eye(3), np.cross(np.eye(3), arm).T]
            )
            both[1] += 1e5 * D.T @ D
    squared = eigh_of(*both)
    body = mbd.FlexibleBody("bar", *both, far, {}, modes=4)
    assert body.frequencies == pytest.approx(squared[:4], rel=1e-6)
    held = mbd.FlexibleBody("bar", *both, far, {"end": ends[0]}, fixed_modes=6)
    assert held.frequencies[0] >= body.frequencies[0] * (1 - 1e-9)


def eigh_of(M, K):
    """Return elastic frequencies [Hz] without the rows that are empty."""
    some = np.flatnonzero(K.any(axis=0) | M.any(axis=0))
    squared = scipy.linalg.eigh(K[np.ix_(some, some)], M[np.ix_(some, some)], eigvals_only=True)
    return np.sqrt(squared[6:]) / (2 * np.pi)


# --- what is refused, by name and line -----------------------------------------------------------
def line(k, text):
    return lambda x: "\n".join([*x.splitlines()[: k - 1], text, *x.splitlines()[k:]])


OUT4 = f"{42:8}{42:8}{6:8}{4:8}MGG     1P,3E23.16"
HOSTILE = [
    (abaqus, "K.mtx", line(4, "3,1, 3,1"), r"K\.mtx' cannot be read: .line 4 must have 5 numbers"),
    (abaqus, "K.mtx", line(4, "3,1, 3,1, x"), "line 4 must have numbers, got '3,1, 3,1, x'"),
    (abaqus, "K.mtx", line(4, "3,8, 3,8, 1.0"), r"degrees of freedom 1 to 6, got 3\.8"),
    (abaqus, "K.mtx", line(4, "-1,1, -1,1, 1.0"), r"of nodes from 1 .*, got -1\.1; leave out"),
    (abaqus, "K.mtx", lambda x: x + "\n" + x.splitlines()[0], "an entry stands twice"),
    (abaqus, "K.mtx", lambda x: x[: 2 * len(x) // 3].rsplit("\n", 1)[0], "K must"),
    (abaqus, "K.mtx", line(1, "3,1, 3,1, nan"), "K must be square and finite"),
    (abaqus, "beam.inp", lambda x: x.replace("34, ", "99, "), "of M, by their labels, but not 34"),
    (abaqus, "beam.inp", lambda x: x.replace("34, ", "55, "), "node 55 stands twice"),
    (abaqus, "beam.inp", lambda x: x + "*INCLUDE, INPUT=a\n", r"\*INCLUDE.* is not read"),
    (coordinate, "K.mtx", line(1, "1 1 1.0 0.5"), "line 1 must have 3 or 5 numbers"),
    (coordinate, "K.mtx", lambda x: x.replace("1 1 ", "1.5 1 ", 1), "whole numbers from 1"),
    (calculix, "beam.dof", lambda x: x[:-5], r"it has 42 rows, and '.*beam\.dof' has 4"),
    (calculix, "beam.dof", None, "must stand in '.*beam.dof'; copy it"),
    (dmig, "beam.pch", line(1, "DMIG    MAAX           0       6       4"), "1: MAAX must be real"),
    (dmig, "beam.pch", lambda x: x.replace("MAAX", "XAAX"), "whose name begins with M"),
    (dmig, "beam.pch", line(3, "*       xyz"), "line 2 must have numbers, got 'xyz'"),
    (dmig, "beam.bdf", lambda x: x.replace("GRID,3,,", "GRID,3,7,"), "GRID 3 must be in the basic"),
    (op4, "beam.op4", lambda x: "\n".join(x.splitlines()[:60]), "it is cut off after line 60"),
    (op4, "beam.op4", lambda x: x.replace("KGG", "XGG"), "begins with K, it has MGG, XGG"),
    (op4, "beam.op4", line(1, OUT4), "MGG must be real, type 1 or 2, got type 4"),
    (op4, "beam.op4", line(2, f"{1:8}{42:8}{2:8}"), "line 4 has|line 4 must have|rows beyond 42"),
    (harwell_boeing, "K.matrix", lambda x: x.replace("RSA", "CSA"), "3: it must be real, .* CSA"),
    (harwell_boeing, "K.matrix", lambda x: x[:-90], "lines .* must have .* numbers, got"),
    (harwell_boeing, "K.matrix", line(6, f"{1:8}{9:8}{3:8}" + 7 * f"{9:8}"), "must rise"),
    (harwell_boeing, "K.mapping", lambda x: x.replace("ROTZ", "TEMP", 1), "must say node and UX"),
    (harwell_boeing, "K.mapping", lambda x: x.replace("ROTX", "ROTY", 1), "K must|must have"),
]


@pytest.mark.parametrize(("write", "name", "edit", "text"), HOSTILE)
def test_hostile_files_are_refused_by_name_and_line(tmp_path, write, name, edit, text):
    files = write(tmp_path)
    path = tmp_path / name
    if edit is None:
        path.unlink()
    else:
        path.write_text(edit(path.read_text()))
    with pytest.raises(ValueError, match=text) as told:
        mbd.FlexibleBody("beam", *files, {"left": [3]}, units="mm t s")
    assert str(tmp_path) in str(told.value)


def test_units_and_sets_are_refused_by_name(tmp_path):
    files = abaqus(tmp_path)
    for units in ("mm t", "mm t h", "t mm s", 5):
        with pytest.raises(
            ValueError, match="beam: units must be those of length, mass and time, as"
        ):
            mbd.FlexibleBody("beam", *files, {}, units=units)
    with pytest.raises(
        ValueError, match="interface 'a': there is no set 'top'; there are ALL, LEFT, RI"
    ):
        mbd.FlexibleBody("beam", *files, {"a": "top"}, units="mm t s")
    with pytest.raises(
        ValueError, match="interface 'a' must have nodes of M and K by their labels, got 4"
    ):
        mbd.FlexibleBody("beam", *files, {"a": [3, 4]}, units="mm t s")
