"""What is decided by structure, measured: each clause with its figure, what is asked, the verdict.

    python tests/bench/decisions.py [GROUP ...]

Groups: loops, contradictions, wheels, turns, matrices, modes, statics, steps. Families run over a
parameter; the figure is the worst of them. What tests assert with bounds is measured here.
"""

import sys
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

sys.path.insert(0, str(Path(__file__).parents[1]))

from physics import test_critical_loads as critical
from physics import test_far_turns as far
from physics import test_kept_matrices as kept
from physics import test_past_buckling as past
from physics import test_spectrum as damped
from physics.test_independent_rows import axle, cross, leaving
from physics.test_statics import rotor
from physics.tools import RIGID, scene
from scenes import parallelograms

import mbd

LEVELS = ("position", "velocity", "stabilized")
METHODS = {
    **{x: mbd.GeneralizedAlpha(constraints=x) for x in LEVELS},
    "radau": mbd.RadauCollocation(), "explicit": mbd.ExplicitRungeKutta(),
    "midpoint": mbd.EnergyMomentum(),
}  # fmt: skip


def attempted(task, *given, **named):
    """Return what a call returns, or the first words of its error."""
    try:
        return task(*given, **named)
    except (RuntimeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


# --- redundant rows -------------------------------------------------------------------------------
def loops():
    runs = [mbd.simulate(parallelograms(mass=m), 0.5, 1e-3) for m in 10.0 ** np.arange(-14, 15, 2)]
    spent = [x.stats["iterations"] for x in runs]
    yield "mass 1e-14..1e14: most over fewest iterations", max(spent) / min(spent), 1.25
    yield "mass 1e-14..1e14: gap [m]", max(x.gap.max() for x in runs), 1e-13
    runs = [mbd.simulate(parallelograms(length=x), 0.02 * x**0.5, 1e-5) for x in (1, 1e-2, 1e-5)]
    yield "levers 1..1e-5: gap [m]", max(x.gap.max() for x in runs), 1e-13
    runs = [mbd.simulate(cross(10.0**-k), 0.5, 1e-3, project=True) for k in range(0, 15, 3)]
    yield "crosses 1..1e-12 kg, hinges doubled: gap", max(x.gap.max() for x in runs), 1e-12
    spent = [x.stats["iterations"] for x in runs]
    yield "  most over fewest iterations", max(spent) / min(spent), 1.25
    for n in (1, 3, 5):
        run = mbd.simulate(parallelograms(n, mass=1e-6, lean=1.2, speed=2.0), 0.5, 1e-2)
        yield f"{n} parallelograms through flat: divided steps", run.stats["divided_steps"], 0
        begun = parallelograms(n, mass=1e-6, lean=np.pi / 2, speed=1.0)
        run = mbd.simulate(begun, 0.3, 1e-3, project=True)
        yield f"{n} parallelograms from flat: divided steps", run.stats["divided_steps"], 0
    once = mbd.simulate(parallelograms(), 0.5, 1e-3)
    for times in (2, 3, 5):
        run = mbd.simulate(again(times), 0.5, 1e-3)
        yield f"a joint {times} times: change of q", np.abs(run.q - once.q).max(), 1e-12
    for corners in (4, 6, 12):
        run = mbd.simulate(box(corners), 0.1, 1e-3)
        yield f"box on {corners} corners: factorisations", run.stats["factorizations"], 1
        force = np.array([run[f"corner {i}"].force[:, 2] for i in range(corners)])
        yield "  shares: spread", np.ptp(force, axis=0).max() / force.mean(), 1e-9
    for off in (0.0, 1e-9, 1e-8, 5e-8):
        run = mbd.simulate(out_of_true(off), 0.5, 1e-3)
        yield f"loop out of true by {off:g}: divided steps", run.stats["divided_steps"], 0
    model = scene("bennett").build().build()
    run = mbd.simulate(model, 25.0, 1e-3, every=100)
    turns = np.abs(run[next(iter(model.system.joints))].angle[-1]) / (2 * np.pi)
    yield "Bennett: divided and pivoting steps", run.stats["divided_steps"], 0
    yield f"  gap over {turns:.1f} turns [m]", run.gap.max(), 1e-12


def again(times):
    system = parallelograms()
    for k in range(1, times):
        system.add(mbd.Revolute(f"again {k}", system.ground, system["bar 0"], at=(0, 0, 0),
                                axis=(0, 1, 0)))  # fmt: skip
    return system


def box(corners):
    system = mbd.System(gravity=(0, 0, -9.81))
    body = system.add(mbd.RigidBody("box", mass=3.0, inertia=(1, 1, 1), position=(0, 0, 1)))
    for i, turn in enumerate(2 * np.pi * np.arange(corners) / corners):
        at = (np.cos(turn), np.sin(turn), 0)
        system.add(mbd.PointInPlane(f"corner {i}", system.ground, body, at=at, axis=(0, 0, 1)))
    return system


def out_of_true(off):
    """A parallelogram whose last hinge is out of its place by so much [m], along its axis."""
    system = parallelograms()
    bar, coupler = system["bar 1"], system["coupler 0"]
    up = 0.5 * np.array([np.sin(0.5), 0, np.cos(0.5)])
    along = np.column_stack([(0, 0, 1), (1, 0, 0), (0, 1, 0)])  # third axis along y
    del system.joints["hinge 01"]
    system.add(mbd.Revolute("hinge 01", bar.frame(up, along),
                            coupler.frame((0.75, off, 0), along)))  # fmt: skip
    return system


def contradictions():
    """Two drives of one hinge that part: refused at each level, with both names."""
    for method, how in METHODS.items():
        if method == "midpoint":
            continue
        for part in (1.0, 1e-4, 1e-6, 1e-8):
            system = parallelograms()
            for name, p in (("one", 0.0), ("two", part)):
                system.add(mbd.Drive(name, system["foot 0"].angle, position=leaving(p)))
            told = attempted(mbd.simulate, system, 0.5, 1e-2, method=how, project=True)
            named = isinstance(told, str) and "'one.pos" in told and "'two.pos" in told
            yield f"{method}: drives part by {part:g} t^3: named", float(named), 1.0
    for off in (1e-6, 1e-4, 1e-2, 1.0):
        told = attempted(mbd.simulate, out_of_true(off), 0.5, 1e-3)
        yield f"loop out of true by {off:g}: refused", float(isinstance(told, str)), 1.0
    told = attempted(mbd.simulate, in_line(), 0.3, 1e-3)
    yield "two bars on one line: refused by name", float("second order only" in told), 1.0


def in_line():
    """Two bars on one line between fixed hinges, under their weight."""
    system = mbd.System(gravity=(0, 0, -9.81))
    a, b = (
        system.add(mbd.RigidBody(x, mass=1, inertia=(0.1, 0.1, 0.1), position=(i + 0.5, 0, 0)))
        for i, x in enumerate("ab")
    )
    for i, (x, y) in enumerate(((system.ground, a), (a, b), (b, system.ground))):
        system.add(mbd.Revolute(f"hinge {i}", x, y, at=(i, 0, 0), axis=(0, 1, 0)))
    return system


# --- rows on velocities ---------------------------------------------------------------------------
def wheels():
    """Order of two wheels on one axle, pushed aside."""
    worst, refused = 0.0, 0
    for formulation in RIGID:
        for level in LEVELS:
            ends = []
            for n in (25, 50, 100):
                system = axle(formulation)
                system.add(mbd.PointForce("push", system["frame"], (0, 0.7, 0)))
                how = mbd.GeneralizedAlpha(constraints=level)
                run = attempted(mbd.simulate, system, 1.0, 1 / n, method=how, project=True)
                refused += isinstance(run, str)
                ends.append(np.zeros(3) if isinstance(run, str) else run["frame"].position[-1])
            one, two = (np.abs(a - b).max() for a, b in zip(ends, ends[1:], strict=False))
            worst = max(worst, abs(np.log2(one / two) - 2.0))
    yield "two wheels: order off 2 by", worst, 0.1
    yield "two wheels: refused", refused, 0


# --- turns ----------------------------------------------------------------------------------------
def turns():
    """Driven wheels whose rate goes from -10 to 110 rad/s: right, or refused by name."""
    for make in (far.rack, far.screw, far.planets, far.wound):
        counts = {"right": 0, "refused": 0, "wrong": 0}
        for formulation in far.FORMS:
            for name, method in far.METHODS.items():
                for steps in far.STEPS:
                    if name in ("position", "newmark") and "rtol" in steps:
                        continue
                    s, coordinate, read = make(formulation, 110.0)
                    s.add(mbd.Drive("motor", coordinate, position=far.motion))
                    found = far.outcome(s, read, {"method": method, **steps})
                    if isinstance(found, str):
                        counts["refused" if "'" in found or "motor" in found else "wrong"] += 1
                    else:
                        right = abs(found - far.turned(far.END)) < 0.5
                        counts["right" if right else "wrong"] += 1
        yield f"{make.__name__}: wrong of {counts}", counts["wrong"], 0


# --- kept matrices --------------------------------------------------------------------------------
def matrices():
    """Reactions by modified and by full Newton, and of a turned scene."""
    turn = Rotation.from_euler("xyz", (0.3, 0.7, -0.4))
    for level in LEVELS:
        apart, turned = 0.0, 0.0
        for formulation in RIGID:

            def run(where, newton, level=level, formulation=formulation):
                method = mbd.GeneralizedAlpha(tol=1e-12, constraints=level, newton=newton)
                return mbd.simulate(kept.arm(formulation, where), 0.6, 2e-3, method=method)

            one, full = run(Rotation.identity(), "modified"), run(Rotation.identity(), "full")
            other = run(turn, "modified")
            for i in range(3):
                mine = one[f"pin {i}"].force
                size = np.abs(mine).max()
                apart = max(apart, np.abs(full[f"pin {i}"].force - mine).max() / size)
                back = other[f"pin {i}"].force @ turn.as_matrix()
                turned = max(turned, np.abs(back - mine).max() / size)
        # positions: their round-off over beta h^2, 1e-9 at 2 ms, five times that at half the step,
        # as much between full Newton and full Newton of another tolerance
        yield f"{level}: modified and full Newton", apart, 1e-8 if level == "position" else 1e-10
        yield f"{level}: a turned scene", turned, 1e-8 if level == "position" else 1e-9


# --- small motions --------------------------------------------------------------------------------
def modes():
    """Damped cantilevers obey a law; many elements within seconds; a shaft damped inside."""
    lost, worst = 0, 0.0
    for section in (damped.THIN, damped.SQUARE):
        for disc in (0.0, 5.0):
            for elements in (4, 8):
                w = mbd.modes(damped.cantilever(section, disc, elements, 0.0)).eigenvalues.imag
                for tau in damped.DAMPING:
                    system = damped.cantilever(section, disc, elements, tau)
                    found = mbd.modes(system).eigenvalues
                    apart = [np.abs(found - s).min() / abs(s) for s in damped.roots(w, tau)]
                    lost += sum(x > 1e-6 for x in apart)
                    worst = max(worst, *apart)
    yield "40 cantilevers: modes lost", lost, 0
    yield "  law of damping missed by", worst, 1e-9
    for tau in (0.0, 1e-3, 1e-2):
        model = damped.cantilever(damped.THIN, 5.0, 330, tau).build()
        start = time.perf_counter()
        found = mbd.modes(model, n=4, solver="sparse").eigenvalues
        yield f"1986 velocities, tau {tau:g}: seconds", time.perf_counter() - start, 5.0
        yield "  modes found of 4: missing", 4 - len(found), 0
    for speed in (60.0, 120.0):
        m, c, k = 2.0, 5.0, 3200.0
        exact = np.roots([m, c, k - 1j * c * speed])
        system = mbd.System()
        hub = system.add(mbd.RigidBody("hub", mass=1.0, inertia=(0.1, 0.1, 0.2),
                                       angular_velocity=(0, 0, speed)))  # fmt: skip
        system.add(mbd.Revolute("bearing", system.ground, hub, at=(0, 0, 0), axis="z"))
        mass = system.add(mbd.RigidBody("mass", mass=m, inertia=(0.1, 0.1, 0.1)))
        system.add(mbd.Bushing("shaft", hub, mass, at=(0, 0, 0), damping=(c, c, 0, 0, 0, 0),
                               stiffness=(k, k, 1e13, 0, 0, 0)))  # fmt: skip
        growth = mbd.modes(system).eigenvalues.real.max()
        yield f"shaft at {speed:g} rad/s: growth off by", abs(growth - exact.real.max()), 1e-9


# --- statics --------------------------------------------------------------------------------------
def statics():
    """Elastica without imperfection, Euler's loads, strips, rotors of any number of blades."""
    met, iterations = 0, 0
    cases = [(d, EA) for d in (60, 120, 176) for EA in (1e4, 1e6, 1e8, 1e10)]
    for degrees, EA in cases:
        system, end = past.pushed(np.radians(degrees), EA)
        found = attempted(mbd.equilibrium, system)
        if not isinstance(found, str):
            at = found["column.16"].position
            here = at @ end, np.linalg.norm(at - (at @ end) * end)
            met += np.allclose(here, past.tip(np.radians(degrees)), rtol=0, atol=2e-5 + 25 / EA)
            iterations = max(iterations, found.iterations)
    yield f"elastica missed of {len(cases)}, at most {iterations} iterations", len(cases) - met, 0
    worst = 0.0
    for EA in (1e4, 1e8, 1e10):
        system, column, end = critical.beam(32, EA)
        system.add(mbd.PointForce("load", column.last, -end))
        worst = max(worst, abs(mbd.buckling(system).factors[0] / (np.pi**2 / 4) - 1))
    yield "Euler to EA L^2/EI = 1e10", worst, 1e-6
    for n in (2, 3, 4, 5, 6, 7):
        for EA in (1e5, 1e8):
            with warnings.catch_warnings(record=True):
                warnings.simplefilter("always")
                found = attempted(mbd.equilibrium, rotor(n, EA, 8))
            stable = not isinstance(found, str) and found.stable
            words = "" if isinstance(found, str) else f", {found.iterations} iterations"
            yield f"rotor of {n} blades, EA {EA:g}: stable balance{words}", float(stable), 1.0


# --- free steps -----------------------------------------------------------------------------------
def ruler(width, height):
    """Return a steel ruler of 1 m that falls on a hinge."""
    steel = mbd.Section.rectangle(width, height, young=2.1e11, poisson=0.3, density=7850)
    system = mbd.System(gravity=(0, 0, -9.81))
    beam = mbd.Beam("ruler", points=[(0, 0, 0), (1, 0, 0)], section=steel, elements=8)
    system.add(beam)
    system.add(mbd.Revolute("hinge", system.ground, beam.first, at=(0, 0, 0), axis=(0, 1, 0)))
    return system


def masses():
    """Return two masses on a hinge, one on a spring of 1e8 N/m that is stretched by its weight."""
    system = mbd.System(gravity=(0, 0, -9.81))
    one, two = (
        system.add(mbd.RigidBody(x, mass=1.0, inertia=(0.1, 0.1, 0.1), position=(0, 0, -i - 1.0)))
        for i, x in enumerate(("one", "two"))
    )
    system.add(mbd.Revolute("hinge", system.ground, one, at=(0, 0, 0), axis=(0, 1, 0)))
    system.add(mbd.Prismatic("rail", one, two, at=(0, 0, -1.5), axis=(0, 0, 1)))
    system.add(mbd.Spring("spring", one, two, at=(0, 0, -1), to=(0, 0, -2), stiffness=1e8,
                          length=1))  # fmt: skip
    return system


def steps():
    """Steps of one second by their error, and what is delivered of the tolerance."""
    cases = [("ruler 5 mm", ruler(0.03, 0.005)), ("ruler 50 mm", ruler(0.05, 0.05)),
             ("two masses on 1e8 N/m", masses())]  # fmt: skip
    for name, system in cases:
        for rtol in (1e-3, 1e-4):
            for how, method in (("default", None), ("alpha", mbd.GeneralizedAlpha())):
                start = time.perf_counter()
                run = attempted(mbd.simulate, system, 1.0, rtol=rtol, method=method, every=1000)
                took = time.perf_counter() - start
                taken = run if isinstance(run, str) else run.stats["steps"]
                yield f"{name}, rtol {rtol:g}, {how}: steps ({took:.1f} s)", taken, 2000
    system = mbd.System(gravity=(0, 0, -9.81))
    top = mbd.RigidBody("top", mass=1.0, inertia=(0.1, 0.2, 0.3), angular_velocity=(5e4, 3e4, 1e4))
    system.add(top)
    system.add(mbd.Spherical("tip", system.ground, top, at=(0, 0, 0)))
    run = mbd.simulate(system, 0.02, 1e-3, raise_on_failure=False, progress=False)
    yield "a top that no step resolves: evaluations", run.stats["evaluations"], 4000


GROUPS = {
    "loops": loops, "contradictions": contradictions, "wheels": wheels, "turns": turns,
    "matrices": matrices, "modes": modes, "statics": statics, "steps": steps,
}  # fmt: skip


def main(names):
    warnings.simplefilter("ignore")
    for name in names or GROUPS:
        begun = time.perf_counter()
        for clause, figure, asked in GROUPS[name]():
            if isinstance(figure, str):
                verdict = "FAILS"
            elif asked == 1.0:  # a fact
                verdict = "holds" if figure == 1.0 else "FAILS"
            else:
                verdict = "holds" if figure <= asked else "FAILS"
            shown = figure[:200] if isinstance(figure, str) else f"{figure:.3g}"
            print(f"{name:15s}{clause:64s}{shown:>10s} ({asked:g})  {verdict}", flush=True)
        print(f"{name:15s}{time.perf_counter() - begun:.0f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
