"""Programs: which kernels run, one after the other, for what is asked of a tree."""

from typing import Any

from mbd.joint_tree import efforts, loops, points
from mbd.joint_tree import recursions as r
from mbd.joint_tree.tables import TreeTables
from mbd.machine import buffer as m
from mbd.machine.jit import Kernel, address_at, call, kernel
from mbd.machine.shared_work import compile_all

# what stands where a tree has loops, or forces that are no weights
_LOOPS = (efforts.show, loops.write_rows, loops.eliminate)
_RATES = (
    loops.at_rest, r.weightless, r.move, efforts.show, loops.drifting, loops.spread_rates,
)  # fmt: skip
_SECOND = (
    r.weightless, r.move, efforts.show, efforts.show_accelerations, loops.drifting_on,
    loops.spread_accelerations,
)  # fmt: skip
_FORCES = (efforts.show, efforts.add_forces)


def kernels_of(*, has_loops: bool, has_forces: bool) -> dict[str, tuple[Kernel, ...]]:
    """Return the kernels of each program of a tree."""
    closed, rates, second = ((x if has_loops else ()) for x in (_LOOPS, _RATES, _SECOND))
    gathered = (loops.gather_independent,) if has_loops else ()
    reduced = (loops.reduce_mass,) if has_loops else ()
    forces = _FORCES if has_forces else ()
    posed = (r.place, *closed)
    moved = (*posed, *rates, *second, r.weigh, r.move)
    at_rest = (r.still, r.unaccelerated)
    bias = (r.unaccelerated, *moved, *forces, r.gather, *gathered)
    return {
        "pose": (r.place,),
        "place": posed,
        "show": (*posed, *rates, r.move, efforts.show),
        "accelerate": (*posed, *rates, *second, r.weightless, r.move),
        "M": (*posed, r.mass, *reduced),
        "bias": bias,
        "M_and_bias": (*bias, r.mass, *reduced),
        "gravity": (*posed, *at_rest, loops.at_rest, r.weigh, r.move, r.gather, *gathered),
        "coriolis": (
            *posed, r.unaccelerated, *rates, *second, r.weightless, r.move, r.gather, *gathered,
        ),
        "inverse": (*moved, *forces, r.gather, *gathered),
        "forward": (*bias, r.mass, *reduced, r.factor, r.accelerate),
        "slopes": (*moved, r.slopes),
        "efforts": (r.place, r.unaccelerated, r.move, efforts.forces_alone, *forces, r.gather),
        "close": (r.place, *closed, loops.correct) if has_loops else (r.place,),
        "jacobian": (*posed, points.jacobian),
        "jacobian_rate": (r.place, r.unaccelerated, r.move, points.jacobian_rate),
        "momentum": (*posed, points.momentum),
        "regressor": (*posed, *rates, *second, r.weigh, r.move, points.regressor),
    }  # fmt: skip


def add_programs(
    tables: TreeTables, header: int, *, has_loops: bool, has_forces: bool
) -> dict[str, int]:
    """Write the tables of all programs; return where each is."""
    programs = kernels_of(has_loops=has_loops, has_forces=has_forces)
    compile_all(k for some in programs.values() for k in some)
    return {
        name: tables.table([header, len(some), *(x for k in some for x in m.halves(k.address))])
        for name, some in programs.items()
    }


@kernel
def run(I: Any, F: Any, k: int) -> None:
    """Run the kernels of the program at I[k] for the tree whose header it names."""
    for i in range(I[k + 1]):
        call(address_at(I, k + 2 + 2 * i), I, F, I[k])
