"""Random linkages: trees of bodies in any formulation, closed by joints that fit where they are.

A seed gives one linkage, the same in every formulation: ``linkage(seed, "so3")`` is its twin with
all bodies in that one. Masses span up to eight decades; loops may be redundant; poses may be flat:
`family` of a linkage says how many decades and which shape, where they are not drawn.

``python -m hard.linkages FIRST END FILE`` (in ``tests``) judges many, and measures those that do
not finish by collocation of fifth order: how far it comes, its smallest step, and what is left of
the smallest singular value of the rows on its way.
"""

from __future__ import annotations

import signal
import sys
import warnings
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

import mbd
from mbd.model.assembly import assemble

FORMULATIONS = (
    "so3", "se3", "unified", "euler_parameters", "directors", "scalable",
    mbd.EulerParameters("reduced"), mbd.EulerParameters("projected"), mbd.Scalable(velocities="u"),
    mbd.Unified("tetrahedral"),
)  # fmt: skip
METHODS = ("position",) * 6 + ("velocity", "stabilized", "adaptive", "free")
T_END, STEP, RTOL, INSTANTS = 0.2, 1e-3, 1e-5, 201
AXES = ("Revolute", "Prismatic", "Cylindrical", "Planar", "PointOnLine", "PointInPlane",
        "ConstantVelocity")  # fmt: skip


DECADES = (0, 2, 4, 8)
SHAPES = ("any", "flat", "straight")
Family = tuple[float, str]


class _Builder:
    """One linkage in the making."""

    def __init__(self, seed: int, formulation: object, family: Family | None) -> None:
        self.rng = rng = np.random.default_rng([20, seed])
        self.one = formulation
        gravity = rng.normal(size=3) if rng.random() < 0.2 else (0, 0, -1)
        self.system = mbd.System(gravity=9.81 * np.asarray(gravity))
        self.decades = float(rng.choice([0, 0, 2, 4, 8]))
        # flat: hinges are parallel, centres in a plane; straight: on a line, which is singular
        self.shape = str(rng.choice(["any", "any", "any", "flat", "straight"]))
        if family is not None:
            self.decades, self.shape = family
        self.speed = float(rng.choice([0.0, 0.3, 1.0, 3.0]))
        self.axis = np.array([0.0, 1.0, 0.0])
        self.places: list[np.ndarray] = []
        self.count = 0

    def name(self, kind: str) -> str:
        self.count += 1
        return f"{kind} {self.count}"

    def part(self, i: int):
        return self.system.ground if i < 0 else self.system[f"body {i}"]

    def direction(self) -> np.ndarray:
        return self.rng.normal(size=3) if self.shape == "any" else self.axis

    def point(self, i: int, j: int) -> np.ndarray:
        """Return a point between two bodies, off their line unless all is on one line."""
        a = np.zeros(3) if i < 0 else self.places[i]
        b = np.zeros(3) if j < 0 else self.places[j]
        off = self.rng.uniform(-0.3, 0.3, 3)
        keep = {"any": [1, 1, 1], "flat": [1, 0, 1], "straight": [1, 0, 0]}[self.shape]
        return 0.5 * (a + b) + off * keep

    def body(self, i: int) -> None:
        rng = self.rng
        mass = 10.0 ** rng.uniform(-self.decades / 2, self.decades / 2)
        a = rng.uniform(0.1, 0.4, 3) ** 2
        J = mass * np.array([a[1] + a[2], a[0] + a[2], a[0] + a[1]])
        place = rng.uniform(-1, 1, 3) * {"any": [1, 1, 1], "flat": [1, 0, 1]}.get(
            self.shape, [0, 0, 0]
        )
        place += np.array([0.7 * (i + 1), 0, 0])
        turn = Rotation.random(random_state=int(rng.integers(1 << 30)))
        center = rng.uniform(-0.1, 0.1, 3) * (rng.random() < 0.7)
        chosen = FORMULATIONS[int(rng.integers(len(FORMULATIONS)))]
        self.places.append(place)
        self.system.add(
            mbd.RigidBody(
                f"body {i}", mass=mass, inertia=J, position=place, rotation=turn,
                center_of_mass=center, velocity=self.speed * rng.normal(size=3),
                angular_velocity=3 * self.speed * rng.normal(size=3),
                formulation=chosen if self.one is None else self.one,
            )
        )  # fmt: skip

    def join(self, kind: str, i: int, j: int, at=None, axis=None):
        """Join two bodies where they are; any joint fits its own described pose."""
        at = self.point(i, j) if at is None else at
        axis = self.direction() if axis is None else axis
        to, other = at + self.rng.uniform(0.2, 0.8, 3), self.rng.normal(size=3)
        pitch = self.rng.uniform(0.05, 0.5)
        name, one, two = self.name(kind), self.part(i), self.part(j)
        if kind == "Distance":
            to = to if self.shape == "any" else self.point(j, j) + np.array([0.05, 0, 0])
            joint = mbd.Distance(name, one, two, at=at, to=to)
        elif kind == "Universal":
            second = np.cross(axis, other)
            joint = mbd.Universal(name, one, two, at=at, axis=axis, second_axis=second)
        elif kind == "Screw":
            joint = mbd.Screw(name, one, two, at=at, axis=axis, pitch=pitch)
        elif kind in AXES:
            joint = getattr(mbd, kind)(name, one, two, at=at, axis=axis)
        else:
            joint = getattr(mbd, kind)(name, one, two, at=at)
        self.system.add(joint)
        return kind, i, j, at, axis

    def close(self, tree: list) -> None:
        """Close a loop that can move: once more what is there, a second hinge on its axis, rods.

        Bars on one line take no other loop: what closes there is dead at the second order.
        """
        rng, n = self.rng, len(self.places)
        ways = ["again", "axis"] if self.shape == "straight" else ["again", "axis", "rods", "rod"]
        ways += {"any": ["loose", "bar"], "flat": ["bar", "bar"], "straight": []}[self.shape]
        way = str(rng.choice(ways))
        kind, i, j, at, axis = tree[int(rng.integers(len(tree)))]
        if way == "again" and kind != "Screw":
            self.join(kind, i, j, at, axis)
        elif way == "axis" and kind in ("Revolute", "Cylindrical"):
            along = rng.uniform(0.2, 0.6) * np.asarray(axis) / np.linalg.norm(axis)
            self.join(kind, i, j, at + along, axis)
        elif way == "rods":  # parallel rods of one length: they turn together
            i, j = self.pair()
            rod = self.point(i, j) - self.point(j, j) + [0.05, 0, 0.3]
            for _ in range(2):
                at = self.point(i, i)
                ends = self.part(i), self.part(j)
                self.system.add(mbd.Distance(self.name("Distance"), *ends, at=at, to=at + rod))
        elif way == "bar" and n < 6:  # one more bar from ground: hinges are parallel
            last = int(rng.integers(n))
            self.body(n)
            hinge = self.direction()
            self.join("Revolute", -1, n, axis=hinge)
            self.join("Revolute", n, last, axis=hinge)
        elif way == "loose":
            loose = ("Distance", "PointOnLine", "PointInPlane", "Spherical", "Universal")
            self.join(str(rng.choice(loose)), *self.pair())
        elif way == "rod":
            self.join("Distance", *self.pair())

    def pair(self) -> tuple[int, int]:
        i, j = sorted(self.rng.choice(len(self.places) + 1, 2, replace=False) - 1)
        return int(i), int(j)

    def loads(self) -> None:
        """Springs with damping whose frequencies a step resolves, mostly."""
        rng = self.rng
        for _ in range(int(rng.integers(0, 3))):
            i, j = self.pair()
            mass = min(self.part(k).mass for k in (i, j) if k >= 0)
            rate = 10.0 ** rng.uniform(0, 1.5)
            ends = self.part(i), self.part(j)
            at, to = self.point(i, i), self.point(j, j) + rng.uniform(0.1, 0.4, 3)
            self.system.add(
                mbd.Spring(
                    self.name("Spring"), *ends, at=at, to=to, stiffness=mass * rate**2,
                    damping=mass * rate * rng.uniform(0, 0.5),
                )
            )  # fmt: skip


def linkage(seed: int, formulation: object = None, family: Family | None = None) -> mbd.System:
    """Return the linkage of a seed, its bodies in random formulations or all in one."""
    b = _Builder(seed, formulation, family)
    rng, tree = b.rng, []
    n = int(rng.integers(1, 7))
    kinds = ("Revolute",) * 4 + ("Spherical", "Universal", "Fixed", "Distance", "Screw", *AXES)
    for i in range(n):
        b.body(i)
        parent = int(rng.integers(-1, i)) if rng.random() < 0.5 else i - 1
        kind = "Revolute" if b.shape != "any" else str(rng.choice(kinds))
        tree.append(b.join(kind, parent, i))
    for _ in range(int(rng.integers(0, 4))):
        b.close(tree)
    b.loads()
    return b.system


@dataclass(frozen=True)
class Motion:
    """What a run gave: body origins and axes over time, energies, or why there is none."""

    faces: np.ndarray  # (instants, bodies, 4, 3) [m, -]
    balance: np.ndarray  # (instants,) [J]
    size: float  # of the energies that change hands, and of what they are differences of [J]
    gap: np.ndarray  # (instants,) largest of all rows [m, -]
    message: str = ""
    warning: str = ""


def method_of(seed: int) -> str:
    """Return how the linkage of a seed is integrated."""
    return METHODS[seed % len(METHODS)]


def run(system: mbd.System, method: str, finer: int = 1, t_end: float = T_END) -> Motion:
    """Run for a while with steps, or a tolerance, that are that many times as fine."""
    times = np.linspace(0.0, t_end, (INSTANTS - 1) * finer + 1)
    how: dict = {"step": STEP / finer}
    if method in ("adaptive", "free"):
        how = {"rtol": RTOL / finer**3, "t_eval": times}
    if method != "free":
        constraints = "stabilized" if method == "adaptive" else method
        how["method"] = mbd.GeneralizedAlpha(constraints=constraints)
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        try:
            s = mbd.simulate(system, t_end, project=True, progress=False, **how)
        except (mbd.SimulationError, ValueError) as error:
            none = np.zeros(0)
            return Motion(none, none, 0.0, none, f"{type(error).__name__}: {error}")
    bodies = [s[name] for name in system.bodies]
    faces = np.stack(
        [np.concatenate([b.position[:, None], b.rotation.swapaxes(1, 2)], 1) for b in bodies], 1
    )
    e, faces = s.energy, faces[::finer]
    size = np.max(np.abs(e.kinetic)) + np.ptp(e.potential) + np.max(np.abs(e.dissipated))
    drift = 1e-3  # m, times 1e-5 below: positions of locked ones may be off by 1e-8 m
    size += drift * sum(9.81 * b.mass for b in system.bodies.values())
    return Motion(
        faces,
        e.balance,
        float(size),
        s.gap,
        "",
        "; ".join(str(w.message) for w in noted),
    )


@dataclass(frozen=True)
class Outcome:
    """How a linkage fared, and why.

    finished, undecided (the motion is not resolved all the time), smaller step (refused, and done
    with a tenth of the step), named (refused), warned (wrong, and said so), unnamed, wrong.
    """

    seed: int
    what: str
    why: str = ""
    time: float = 0.0  # share of the run over which the motion is resolved


def _is_named(system: mbd.System, message: str) -> bool:
    return any(f"{part}" in message for part in (*system.bodies, *system.joints, *system.forces))


def _advised(system: mbd.System, method: str) -> str:
    """Return what comes of taking a smaller step, as the message of a failed run says."""
    if method in ("adaptive", "free"):
        return "named"
    return "named" if run(system, method, 10).message else "smaller step"


def judged(seed: int, family: Family | None = None) -> Outcome:
    """Run a linkage and its twin with two steps each, and compare."""
    method = method_of(seed)
    system = linkage(seed, family=family)
    twin = linkage(seed, "so3" if seed % 2 else "directors", family)
    runs = []
    for one in (system, twin):
        for finer in (1, 2):
            motion = run(one, method, finer)
            if motion.message:
                why = f"{'twin' if one is twin else 'itself'}, {method}, finer {finer}: "
                if not _is_named(system, motion.message):
                    return Outcome(seed, "unnamed", why + motion.message)
                return Outcome(seed, _advised(one, method), why + motion.message)
            runs.append(motion)
    noted = "; ".join(r.warning for r in runs if r.warning)
    outcome = compared(seed, method, *runs)
    if outcome.why.startswith("energy"):  # not yet in the range where errors go with the step?
        finer = [run(one, method, 4) for one in (system, twin)]
        if not any(x.message for x in finer):
            outcome = compared(seed, method, runs[1], finer[0], runs[3], finer[1])
    if outcome.what == "wrong" and noted:
        return replace(outcome, what="warned", why=f"{outcome.why}; {noted}")
    return outcome


def _drift(x: Motion, resolved: int) -> float:
    """Return how far the balance of energy has moved over so many instants [J]."""
    finer = (len(x.balance) - 1) // (INSTANTS - 1)
    return float(np.abs(x.balance[: (resolved - 1) * finer + 1] - x.balance[0]).max())


def compared(seed: int, method: str, a: Motion, fine: Motion, b: Motion, other: Motion) -> Outcome:
    """Judge four runs: coarse and fine, of the linkage and of its twin."""

    def gap(x: Motion) -> float:
        return float(x.gap[: (resolved - 1) * ((len(x.gap) - 1) // (INSTANTS - 1)) + 1].max())

    def apart(x: Motion, y: Motion) -> np.ndarray:
        return np.abs(x.faces - y.faces).reshape(INSTANTS, -1).max(1)

    error = np.maximum.accumulate(apart(a, fine) + apart(b, other))
    between = apart(fine, other)
    resolved = int(np.argmax(error > 1e-2)) if error[-1] > 1e-2 else INSTANTS
    share = resolved / INSTANTS
    if resolved < 3:
        return Outcome(seed, "undecided", f"h and h/2 differ by {error[-1]:.1e}", share)
    here = slice(0, resolved)
    allowed = RTOL if method in ("adaptive", "free") else 1e-8  # steps may be those of max_step
    excess = between[here] - (2 * error[here] + allowed)
    if excess.max() > 0:
        k = int(np.argmax(excess))
        return Outcome(
            seed, "wrong", f"twin, {method}: apart {between[k]:.2e}, errors {error[k]:.2e}", share
        )
    if method != "velocity":
        largest = max(gap(fine), gap(other))
        if largest > (1e-6 if method in ("adaptive", "free") else 1e-9):  # between: a polynomial
            return Outcome(seed, "wrong", f"gap {largest:.2e}, {method}", share)
    for x, y in ((a, fine), (b, other)):
        coarse, close = (_drift(r, resolved) for r in (x, y))
        floor = 1e-5 * max(x.size, y.size)
        if close > max(0.7 * coarse, floor):
            return Outcome(
                seed, "wrong",
                f"energy, {method}: off by {coarse:.2e} and {close:.2e} of {x.size:.2e} J", share,
            )  # fmt: skip
    return Outcome(seed, "finished" if share == 1 else "undecided", "", share)


def measured(seed: int, seconds: float = 20.0) -> str:
    """Return how collocation goes through the motion: what steps of one size have to resolve.

    It is interrupted after so many seconds: a process in the background would not listen.
    """
    model = linkage(seed).build()
    listened = signal.signal(signal.SIGINT, signal.default_int_handler)
    how: dict = {"rtol": 1e-6, "project": True, "progress": False, "raise_on_failure": False}
    before = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)  # the second one ends steps in their midst
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            s = mbd.simulate(model, T_END, method=mbd.RadauCollocation(stages=3), **how)
    except (KeyboardInterrupt, ValueError) as error:  # too slow, or a pose that is refused
        return f"collocation does not begin: {error}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
        signal.signal(signal.SIGINT, listened)
    instants = np.unique(np.linspace(0, len(s.t) - 1, 200).astype(int))
    poses = [model.state.replace(t=float(s.t[k]), q=s.q[k]) for k in instants]
    rows = [assemble(model, pose).B.toarray() * model.units for pose in poses]
    values = np.array([np.linalg.svd(x, compute_uv=False) for x in rows])
    last = int(np.count_nonzero(values[0] > 1e-9 * values[0, 0])) - 1
    if len(s.t) == 1:
        return f"collocation takes no step: {s.message}"
    end = "to the end" if s.success else f"to t = {s.t[-1]:.4g} s"
    return (
        f"collocation comes {end} by steps down to {np.diff(s.t).min():.1e} s, accelerations up to "
        f"{np.abs(s.a / model.units).max():.1e}, singular value down to "
        f"{(values[:, last] / values[0, last]).min():.1e} of what it was"
    )


def main(first: int, end: int, path: str) -> None:
    """Judge linkages, and write what comes of each that does not finish."""
    counts: Counter[str] = Counter()
    with open(path, "w") as file:
        for seed in range(first, end):
            x = judged(seed)
            counts[x.what] += 1
            if x.what not in ("finished", "undecided"):
                print(seed, x.what, x.why, measured(seed), sep="\t", file=file, flush=True)
        print(dict(counts), file=file)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
