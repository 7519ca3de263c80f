"""Files of finite element programs as they write them: a beam in millimetres, tonnes, seconds."""

import numpy as np
import scipy.sparse as sp

from .meshes import beam

M, K, X = beam(6, 0.9, EA=2.1e7, GJ=110.0, EI2=200.0, EI3=150.0, mass_per_length=0.78)
LABELS = np.array([3, 5, 8, 13, 21, 34, 55])
TO_MM = np.tile(np.repeat([1e-3, 1.0], 3), len(X))  # metres in a millimetre, for translations
OF = {
    "M": sp.diags(TO_MM) @ M @ sp.diags(TO_MM) * 1e3,
    "K": sp.diags(TO_MM) @ K @ sp.diags(TO_MM) * 1e3,
}
# in mm, t, s energies are 1e-3 J: those of M and K of millimetres, times 1000


def triangle(A):
    A = sp.coo_array(sp.tril(A))
    return zip(*A.coords, A.data, strict=True)


def dof(i):
    return LABELS[i // 6], i % 6 + 1


def grids(path):
    rows = [
        f"GRID,{n},,{x[0]:.9g},{x[1]:.1f},{x[2]:.1f}" for n, x in zip(LABELS, 1e3 * X, strict=True)
    ]
    path.write_text(
        "$ made here\n" + "\n".join([*rows[::-1], "SET 1 = 3", "SET 2 = 55 THRU 55", ""])
    )
    return path


def deck(path):
    rows = [f"{n}, {x[0]!r}, 0., 0." for n, x in zip(LABELS, (1e3 * X).tolist(), strict=True)]
    sets = "*NSET, NSET=Left\n3\n*nset, nset=right, generate\n55, 55, 1\n"
    path.write_text("\n".join(["** made here", "*Node, nset=all", *rows[::-1], sets]))
    return path


def abaqus(folder):
    for name, A in OF.items():
        rows = [
            f"{dof(i)[0]},{dof(i)[1]}, {dof(j)[0]},{dof(j)[1]}, {a:.15e}" for i, j, a in triangle(A)
        ]
        (folder / f"{name}.mtx").write_text("\n".join(rows))
    return folder / "M.mtx", folder / "K.mtx", deck(folder / "beam.inp")


def coordinate(folder):
    for name, A in OF.items():  # both triangles
        A = sp.coo_array(A)
        rows = zip(*A.coords, A.data, strict=True)
        (folder / f"{name}.mtx").write_text(
            "\n".join(f"{i + 1} {j + 1} {a:.15e}" for i, j, a in rows)
        )
    return folder / "M.mtx", folder / "K.mtx", deck(folder / "beam.inp")


def calculix(folder):
    for name, A in (("beam.mas", OF["M"]), ("beam.sti", OF["K"])):
        (folder / name).write_text(
            "".join(f"{j + 1} {i + 1} {a:20.13e}\n" for i, j, a in triangle(A))
        )
    (folder / "beam.dof").write_text("".join("{}.{}\n".format(*dof(i)) for i in range(len(TO_MM))))
    return folder / "beam.mas", folder / "beam.sti", deck(folder / "beam.inp")


def dmig(folder):
    lines = []
    for name, A in (("MAAX", OF["M"]), ("KAAX", OF["K"])):
        lines += [f"DMIG    {name:8}{0:8}{6:8}{2:8}"]
        for i, j, a in triangle(A):
            (n, c), (m, d) = dof(j), dof(i)
            lines += [f"DMIG*   {name:16}{n:16}{c:16}", f"*       {m:16}{d:16}{a:16.9E}"]
    (folder / "beam.pch").write_text("\n".join(lines))
    return folder / "beam.pch", folder / "beam.pch", grids(folder / "beam.bdf")


def op4(folder):
    text = ""
    for name, A in (("MGG", OF["M"]), ("KGG", OF["K"])):
        n = A.shape[0]
        text += f"{n:8}{n:8}{6:8}{2:8}{name:8}1P,3E23.16\n"
        for j, column in enumerate(A.toarray().T):
            some = np.flatnonzero(column)
            values = column[some[0] : some[-1] + 1]
            text += f"{j + 1:8}{some[0] + 1:8}{len(values):8}\n"
            text += "\n".join("".join(f"{a:23.16E}" for a in values[k : k + 3])
                              for k in range(0, len(values), 3)) + "\n"  # fmt: skip
        text += f"{n + 1:8}{1:8}{1:8}\n{1.0:23.16E}\n"
    (folder / "beam.op4").write_text(text)
    return folder / "beam.op4", folder / "beam.op4", grids(folder / "beam.bdf")


def harwell_boeing(folder):
    order = np.random.default_rng(0).permutation(len(TO_MM))  # as solvers do, told by the mapping
    for name, A in OF.items():
        B = sp.csc_array(sp.tril(sp.csc_array(A)[order][:, order]))
        B.sort_indices()
        n, nnz = B.shape[0], B.nnz
        blocks = [[f"{k + 1:8}" for k in B.indptr], [f"{k + 1:8}" for k in B.indices],
                  [f"{a:25.16E}" for a in B.data]]  # fmt: skip
        rows = [
            ["".join(b[k : k + c]) for k in range(0, len(b), c)]
            for b, c in zip(blocks, (10, 10, 3), strict=True)
        ]
        counts = [len(x) for x in rows]
        head = [
            "a beam".ljust(72) + "KEY".ljust(8),
            "".join(f"{x:14}" for x in (sum(counts), *counts, 1)),
            "RSA".ljust(14) + "".join(f"{x:14}" for x in (n, n, nnz, 0)),
            "(10I8)".ljust(16) * 2 + "(3E25.16)".ljust(40),
            "F".ljust(14) + f"{1:14}{n:14}",
        ]
        rows += [["0.0" * (name == "K")]]  # of a right side, as HBMAT writes by default
        (folder / f"{name}.matrix").write_text("\n".join(head + [x for r in rows for x in r]))
        axes = ("UX", "UY", "UZ", "ROTX", "ROTY", "ROTZ")
        lines = [f"{k + 1:14}{dof(i)[0]:14}       {axes[i % 6]}" for k, i in enumerate(order)]
        (folder / f"{name}.mapping").write_text(
            "\n".join(["    Matrix Eqn    Node    DOF", *lines])
        )
    table = np.column_stack([LABELS, 1e3 * X])
    np.savetxt(folder / "nodes.txt", table[::-1])
    return folder / "M.matrix", folder / "K.matrix", folder / "nodes.txt"
