"""Programs: which kernels run, one after the other, for what is asked of a tree."""

from typing import Any, NamedTuple

from mbd.joint_tree import efforts, loops, points, tangents
from mbd.joint_tree import recursions as r
from mbd.joint_tree.tables import TreeTables
from mbd.machine import buffer as m
from mbd.machine.jit import Kernel, address_at, call, kernel
from mbd.machine.shared_work import compile_all

# what stands where a tree has loops
_LOOPS = (efforts.show, loops.write_rows, loops.eliminate)
_RATES = (
    loops.at_rest, r.weightless, r.move, efforts.show, loops.drifting, loops.spread_rates,
)  # fmt: skip
_SHOWN = (r.weightless, r.move, efforts.show, efforts.show_accelerations)
_SECOND = (*_SHOWN, loops.drifting_on, loops.spread_accelerations)


class TreeFacts(NamedTuple):
    """What a tree has: rows that close loops, forces that are no weights, elements with mass."""

    loops: bool
    forces: bool
    heavy: bool


def kernels_of(has: TreeFacts) -> dict[str, tuple[Kernel, ...]]:
    """Return the kernels of each program of a tree."""
    closed, rates, second = ((x if has.loops else ()) for x in (_LOOPS, _RATES, _SECOND))
    gathered = (r.gather, loops.gather_independent) if has.loops else (r.gather,)
    reduced = (loops.reduce_mass,) if has.loops else ()
    posed = (r.place, *closed)
    moved = (*posed, *rates, *second, r.weigh, r.move)
    at_rest = (*posed, r.still, r.unaccelerated, loops.at_rest)
    resting = (*posed, r.unaccelerated, *rates, *second, r.weightless, r.move)
    forces: tuple[Kernel, ...] = (efforts.show, efforts.add_forces) if has.forces else ()
    mass: tuple[Kernel, ...] = (r.mass,)
    weights: tuple[Kernel, ...] = ()
    inertias: tuple[Kernel, ...] = ()
    if has.heavy:
        forces = (*_SHOWN, r.weigh, r.move, efforts.add_forces)
        mass = (
            tangents.clear_matrices,
            r.mass,
            efforts.show,
            tangents.form_blocks,
            tangents.add_masses,
        )
        weights = (*_SHOWN, r.weigh, r.move, tangents.add_weights)
        inertias = (efforts.show, efforts.show_accelerations, tangents.add_weightless)
    bias = (r.unaccelerated, *moved, *forces, *gathered)
    slopes = (*moved, r.lag, r.slopes)
    if has.loops or has.forces:
        before = (*moved, *forces, r.gather, loops.hold, r.weigh, r.move) if has.loops else moved
        pushed = loops.add_forces_held if has.loops else efforts.add_forces
        slopes = (
            *before, tangents.clear_matrices, r.lag, r.slopes, *_SHOWN, r.lag,
            efforts.forces_alone, pushed, r.gather, tangents.form_blocks,
            tangents.reduce_slopes if has.loops else tangents.add_slopes,
            *((tangents.add_masses,) if has.heavy else ()), *reduced,
        )  # fmt: skip
    return {
        "pose": (r.place,),
        "place": posed,
        "motion": (*posed, *rates, r.move, efforts.tell),
        "accelerate": (*posed, *rates, *second, r.weightless, r.move),
        "M": (*posed, *mass, *reduced),
        "bias": bias,
        "M_and_bias": (*bias, *mass, *reduced),
        "gravity": (*at_rest, *(weights or (r.weigh, r.move)), *gathered),
        "coriolis": (*resting, *inertias, *gathered),
        "inverse": (*moved, *forces, *gathered),
        "forward": (*bias, *mass, *reduced, r.factor, r.accelerate),
        "slopes": slopes,
        "close": (*posed, loops.correct) if has.loops else posed,
        "jacobian": (*posed, points.jacobian),
        "jacobian_rate": (*resting, points.jacobian_rate,
                          *((efforts.show, tangents.rate_of_Z) if has.loops else ())),
        "momentum": (*posed, points.momentum),
        "regressor": (*posed, *rates, *second, r.weigh, r.move, points.regressor),
    }  # fmt: skip


def add_programs(tables: TreeTables, header: int, has: TreeFacts) -> dict[str, int]:
    """Write the tables of all programs; return where each is."""
    programs = kernels_of(has)
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
