r"""``model.joint_coordinates``: the equations of motion in coordinates of joints.

.. math:: M(q)\dot v + h(q, v, t) = \tau, \qquad \dot q = \dot q(q, v)

over a tree of the model's joints, by recursion (``recursions.py``); loops by elimination
(``loops.py``); all forces of the model with h (``efforts.py``).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isfinite
from typing import Any

import numpy as np

from mbd.algebra.differences import FOURTH
from mbd.base.checked import absent, meant, names, shown
from mbd.base.door import array, vector
from mbd.base.read_only import read_only
from mbd.base.tolerances import LOOP_CLOSINGS, ROUND_OFF, ROWS_MET
from mbd.integration.consistent import allowed, consistent, violated
from mbd.joint_tree import layout as t_
from mbd.joint_tree import tables as tb
from mbd.joint_tree.configuration import FaceReading, rates_from
from mbd.joint_tree.programs import TreeFacts, add_programs, run
from mbd.joint_tree.structure import Placement, Tree, labels_of, tree_of
from mbd.joint_tree.tables import TreeLoop, TreeTables
from mbd.joint_tree.tangents import add_tangents
from mbd.machine import buffer as m
from mbd.machine.jit import on_arrays
from mbd.model.frozen import FrozenModel, refuse_set_valued, state_of
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.system import System, model_of
from mbd.model.workspace import Workspace

_WHO = "JointCoordinates"


class JointCoordinates:
    r"""The equations :math:`M\dot v + h = \tau` of a model in coordinates of its joints.

    Breadth-first from the ground over its joints, bodies form a tree. Where a body has no joint to
    the tree it floats, with q = (position, quaternion, scalar first) and v = (velocity, angular
    velocity), both inertial. A ball joint has a quaternion and an angular velocity, of the axes
    farther from the ground against those nearer to it, in the latter. All other coordinates are
    those of the joints, ``hinge.angle``. Joints that close a loop, drives, transmissions, rolling
    contacts are rows: v, tau, M, ... are then along independent ones of the columns of the tree,
    q has all of them.

    Parameters
    ----------
    system : System or Model
    independent : sequence of str, optional
        Coordinates that v shall have, as many as there are freedoms; where loops are closed. Their
        joints are part of the tree. Default: those that move most independently at the state.
    state : State, optional
        Where it is decided which coordinates are independent; default the initial state.

    Attributes
    ----------
    labels, units : tuple of str
        Of v (n,); [m/s, rad/s].
    effort_units : tuple of str
        Of tau (n,); [N, N m].
    position_labels, position_units : tuple of str
        Of q; [m, rad, -].
    neutral : array [m, rad, -]
        The q of no shift and no turn.
    loops : bool
        Whether rows close loops, so that columns of the tree depend on others.

    Examples
    --------
    >>> import mbd
    >>> system = mbd.System(gravity=(0, 0, -9.81))
    >>> rod = mbd.RigidBody("rod", mass=2.0, inertia=(0.1, 0.1, 0.1), position=(0.5, 0, 0))
    >>> rod = system.add(rod)
    >>> hinge = mbd.Revolute("hinge", system.ground, rod, at=(0, 0, 0), axis=(0, 1, 0))
    >>> hinge = system.add(hinge)
    >>> tree = system.build().joint_coordinates
    >>> tree.labels, tree.M([0.0]).round(12).tolist(), tree.gravity([0.0]).round(9).tolist()
    (('hinge.angle',), [[0.6]], [-9.81])
    """

    def __init__(
        self, system: System | Model, independent: str | Sequence[str] | None = None, *,
        state: State | None = None,
    ) -> None:  # fmt: skip
        model = model_of(_WHO, system)
        refuse_set_valued(_WHO, model)
        self.model: Model = model
        state = state_of(_WHO, model, state)
        wanted = None if independent is None else tuple(names(_WHO, "independent", independent))
        self._tree = tree_of(_WHO, model, tuple(x.rpartition(".")[0] for x in wanted or ()))
        columns = labels_of(self._tree)
        if not columns:
            raise ValueError(f"{_WHO}: the joints leave no freedom to any body")
        for name in wanted or ():
            if name not in columns:
                raise ValueError(
                    f"{_WHO}: there is no coordinate {shown(name)}{meant(name, columns)}; the tree "
                    f"has {', '.join(columns)}"
                )
        self._fill(())
        if self._loops:
            self._choose(state, wanted)
        elif wanted is not None and set(wanted) != set(columns):
            raise ValueError(
                f"{_WHO}: the system has {len(columns)} freedoms, all of {', '.join(columns)}; "
                f"as many must be named, got {', '.join(wanted)}"
            )
        free = [columns[j] for j in self._independent]
        links = {x: link for link in self._tree.links for x in link.labels}
        shifts = [links[x].motion == t_.SHIFT for x in free]
        self.labels = tuple(free)
        self.units = tuple("m/s" if x else "rad/s" for x in shifts)
        self.effort_units = tuple("N" if x else "N m" for x in shifts)
        motions = {t_.SHIFT: "m", t_.TURN: "rad", t_.BALL: "-", t_.RIGID: ""}
        self.position_labels = tuple(x for link in self._tree.links for x in link.positions)
        self.position_units = tuple(
            motions[link.motion] for link in self._tree.links for _ in link.positions
        )
        scalars = [x.endswith(".quaternion.0") for x in self.position_labels]
        self.neutral = read_only(np.array(scalars, float))
        self.loops = bool(self._loops)

    # --- tables and numbers -----------------------------------------------------------------------
    def _fill(self, dependent: Sequence[int]) -> None:
        """Write all tables, with these columns dependent."""
        model, tree, tables = self.model, self._tree, TreeTables(self.model)
        before, last = tb.add_links(tables, model, tree)
        loops = tb.found_loops(tb.extra_elements(model, tree), last, before)
        self._loops = [
            TreeLoop(x.elements, x.columns, [j for j in x.columns if j in dependent]) for x in loops
        ]
        self._independent = [j for j in range(len(before)) if j not in dependent]
        motions = np.repeat([x.motion for x in tree.links], [len(x.labels) for x in tree.links])
        self._motions = motions
        tb.add_vectors(tables, self._independent, before, len(model.nodes))
        q = tables.header[t_.T_Q]
        turned = _angles_kept(model, tree, q)
        forces = tb.add_forces(tables, model, turned)
        tb.add_loops(tables, model, self._loops, last, list(motions == t_.SHIFT))
        self._link_of = {x.body: i for i, x in enumerate(tree.links) if x.body is not None}
        add_tangents(tables, model, self._loops, self._link_of)
        header = tables.table(tables.header)
        has = TreeFacts(bool(self._loops), bool(forces), bool(tables.header[t_.T_N_HEAVY]))
        self._programs = add_programs(tables, header, has)
        self._work = work = Workspace(model, own=tables.end - model.size)
        self._I = tables.all_entries
        tables.write(work.F)
        self._h = h = tables.header
        n, f = h[t_.T_N], h[t_.T_F]
        self._n, self._f = n, f
        self._n_q = sum(len(x.positions) for x in tree.links)
        F = work.F

        def view(place: int, *shape: int) -> np.ndarray:
            return F[h[place] : h[place] + int(np.prod(shape))].reshape(shape)

        self._q, self._v, self._a = view(t_.T_Q, self._n_q), view(t_.T_IV, f), view(t_.T_IA, f)
        self._tau, self._M = view(t_.T_ITAU, f), view(t_.T_IM, f, f)
        self._of_tree = {x: view(x, n) for x in (t_.T_V, t_.T_A, t_.T_TAU, t_.T_DRIFT_A)}
        self._status, self._gap = view(t_.T_STATUS, 1), view(t_.T_GAP, 1)
        self._dq, self._dv = (view(x, f, f) for x in (t_.T_IDQ, t_.T_IDV))
        self._Z, self._Z_rate = view(t_.T_Z, n, f), view(t_.T_ZD, n, f)
        self._result = F[h[t_.T_RESULT] : h[t_.T_RESULT] + n * max(10 * len(model.nodes), 6) + 4]
        self._argument = view(t_.T_ARGUMENT, 4)
        first = self._I[h[t_.T_COLUMN]]
        self._S = F[first : first + n * t_.C_FLOATS].reshape(n, t_.C_FLOATS)[:, :6]
        links = self._I[h[t_.T_LINK] : h[t_.T_LINK] + t_.L_SIZE * h[t_.T_LINKS]]
        self._numbers = links.reshape(-1, t_.L_SIZE)[:, t_.L_NUMBERS]
        rows = {name: int(self._I[at + m.NODE_Y]) // 12 for name, at in model.node_records.items()}
        self._faces = {"ground": 0} | rows
        self._reading = FaceReading.of(model, tree, self._faces)
        self._turned = [(int(at), int(of - q)) for at, of in turned]
        way = np.repeat(np.arange(len(tree.ways)), [len(x.links) for x in tree.ways])
        self._way_of = np.repeat(way, [len(x.labels) for x in tree.links])
        self._floats = np.array([tree.ways[i].joint is None for i in self._way_of], bool)
        self._families = _families(model, self._link_of)
        self._motion = view(t_.T_MOTION, len(tree.links), 18)

    def _choose(self, state: State, wanted: tuple[str, ...] | None) -> None:
        """Choose the dependent columns at a state; refuse names that depend on each other."""
        columns = labels_of(self._tree)
        self._q[:] = self._read(state)
        run(self._I, self._work.F, self._programs["place"])
        self._work.check_laws()
        dependent: list[int] = []
        for number, loop in enumerate(self._loops):
            at = self._h[t_.T_LOOPS] + number * t_.O_SIZE
            first, width = self._I[at + t_.O_MATRIX], self._I[at + t_.O_WIDTH]
            G = self._work.F[first : first + loop.rows * width].reshape(-1, width)
            gap = float(np.abs(G[:, -2]).max(initial=0.0))
            named = [bool(wanted) and columns[j] in wanted for j in loop.columns]  # type: ignore[operator]
            turning = [self._motions[j] == t_.BALL or self._floats[j] for j in loop.columns]
            order = np.where(named, 2, np.where(turning, 0, 1))
            dependent += [loop.columns[i] for i in tb.dependent_columns(G[:, :-2], order, gap)]
        free = [x for j, x in enumerate(columns) if j not in dependent]
        if wanted is not None and set(wanted) != set(free):
            lost = [x for x in wanted if x not in free]
            why = (
                f"{', '.join(lost)} depend on the others at this pose, or it is singular"
                if lost and len(set(wanted)) >= len(free)
                else f"as many coordinates must describe them, got {', '.join(wanted)}"
            )
            raise ValueError(
                f"{_WHO}: the system has {len(free)} freedoms; {why}; name, for example, "
                f"independent={free}"
            )
        self._fill(dependent)

    def _run(self, program: str) -> None:
        """Run a program; refuse what it could not do."""
        run(self._I, self._work.F, self._programs[program])
        if self._work.laws:
            self._work.check_laws()
        if self._status[0] != 0.0 or self._gap[0] > ROWS_MET:
            self._refuse()

    def _refuse(self) -> None:
        """Say what is wrong with a pose."""
        columns, status = labels_of(self._tree), int(self._status[0])
        if status > self._n:
            raise ValueError(
                f"{_WHO}: the quaternion of {columns[status - self._n - 1].rpartition('.')[0]!r} "
                "in q must not be zero [-]; the one of no turn is (1, 0, 0, 0)"
            )
        if self._gap[0] > ROWS_MET:
            raise ValueError(
                f"{_WHO}: q must close the loops, but a row is off by {self._gap[0]:.3g} of the "
                "length of the model, or of one; take q = tree.close(q)"
            )
        if status < 0:
            raise ValueError(
                f"{_WHO}: more rows are independent here than where coordinates were chosen, one "
                f"more holds {columns[-status - 1]!r}: that pose was singular; choose them at "
                "another one, JointCoordinates(model, state=...)"
            )
        loop = next(x for x in self._loops if status - 1 in x.dependent)
        free = [columns[j] for j in loop.columns if j not in loop.dependent]
        raise ValueError(
            f"{_WHO}: {', '.join(free) or 'time alone'} does not describe the motion here: "
            f"{columns[status - 1]!r} does not follow from it, the pose is singular; name others, "
            "JointCoordinates(model, independent=[...])"
        )

    def _take(self, to: np.ndarray, what: str, value: Any) -> None:
        """Write an argument, checked, where kernels find it."""
        if not (type(value) is np.ndarray and value.shape == to.shape):
            labels = self.position_labels if what == "q" else self.labels
            value = array(_WHO, what, value, f"{len(to)} numbers")
            if value.shape != to.shape:
                raise ValueError(
                    f"{_WHO}: {what} must be {len(to)} numbers, one for each of "
                    f"{', '.join(labels)}, got shape {value.shape}"
                )
        to[:] = value
        if not isfinite(to.dot(to)):
            raise ValueError(f"{_WHO}: {what} must be finite, got {shown(value)}")

    def _set(self, q: Any, v: Any = None, a: Any = None, time: float = 0.0) -> None:
        F = self._work.F
        F[m.T] = F[m.T_LAST] = F[m.T_STEP] = time
        self._take(self._q, "q", q)
        if v is not None:
            self._take(self._v, "v", v)
        if a is not None:
            self._take(self._a, "a", a)

    def _answer(
        self, program: str, result: np.ndarray, out: np.ndarray | None, q: Any, v: Any = None,
        a: Any = None, t: float = 0.0,
    ) -> np.ndarray:  # fmt: skip
        """Run a program at q, v, a; return a copy of what it writes, or write to an array."""
        self._set(q, v, a, t)
        self._run(program)
        if out is None:
            return result.copy()
        out[...] = result
        return out

    @contextmanager
    def with_numbers(self, numbers: Mapping[int, float]) -> Iterator[None]:
        """Let numbers of the description, by their places (``model.names``), be others for now."""
        F, places = self._work.F, list(numbers)
        before, F[places] = F[places], list(numbers.values())
        try:
            yield
        finally:
            F[places] = before

    # --- dynamics ---------------------------------------------------------------------------------
    def M(self, q: Any, *, t: float = 0.0, out: np.ndarray | None = None) -> np.ndarray:
        """Return the mass matrix (n, n) [kg, kg m, kg m^2]."""
        return self._answer("M", self._M, out, q, t=t)

    def bias(self, q: Any, v: Any, *, t: float = 0.0, out: np.ndarray | None = None) -> np.ndarray:
        """Return h (n,) [N, N m]: what holds where nothing accelerates.

        Weights, gyroscopic and Coriolis forces, springs, dampers, motors and all other forces of
        the model.
        """
        return self._answer("bias", self._tau, out, q, v, t=t)

    def M_and_bias(self, q: Any, v: Any, *, t: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Return M (n, n) and h (n,), which share their kinematics."""
        self._set(q, v, time=t)
        self._run("M_and_bias")
        return self._M.copy(), self._tau.copy()

    def gravity(self, q: Any, *, t: float = 0.0, out: np.ndarray | None = None) -> np.ndarray:
        """Return the part of the bias that is weight (n,) [N, N m]."""
        return self._answer("gravity", self._tau, out, q, t=t)

    def coriolis(
        self, q: Any, v: Any, *, t: float = 0.0, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Return gyroscopic, Coriolis and centrifugal forces (n,) [N, N m], a part of the bias."""
        return self._answer("coriolis", self._tau, out, q, v, t=t)

    def inverse(
        self, q: Any, v: Any, a: Any, *, t: float = 0.0, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the efforts tau (n,) [N, N m] that give second rates a (n,) [m/s^2, rad/s^2]."""
        return self._answer("inverse", self._tau, out, q, v, a, t=t)

    def forward(
        self, q: Any, v: Any, tau: Any, *, t: float = 0.0, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the second rates a (n,) [m/s^2, rad/s^2] under efforts (n,) [N, N m]."""
        self._take(self._result[: self._f], "tau", tau)
        return self._answer("forward", self._a, out, q, v, t=t)

    def slopes(
        self, q: Any, v: Any, a: Any, *, t: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the derivatives of the efforts of ``inverse`` by q, v and a, (n, n) each.

        Columns are along ``add(q, dv)``, by v and by a; the last one is M. Inertia and weight by
        recursion; forces of the model, and the rows of loops, by their own tangents.
        """
        self._set(q, v, a, t)
        self._run("slopes")
        return self._dq.copy(), self._dv.copy(), self._M.copy()

    # --- compiled functions -----------------------------------------------------------------------
    def compiled(
        self, name: str, *, body: str | None = None, point: Any = (0.0, 0.0, 0.0)
    ) -> Callable[..., int]:
        """Return a numba function of arrays, for compiled laws of a user.

        It writes to its last argument and returns 0, or another number where the method of the same
        name raises. It has numbers of its own, so that each thread may have one.

        Parameters
        ----------
        name : str
            "M": ``(q, out)``, "gravity": ``(q, out)``, "bias" and "coriolis": ``(q, v, out)``,
            "inverse": ``(q, v, a, out)``, "forward": ``(q, v, tau, out)``, "jacobian":
            ``(q, out)``, out (n, 6) with J^T.
        body, point : str, (3,) array [m]
            Of a Jacobian.
        """
        if name not in _COMPILED or (name == "jacobian" and (body is None or self._loops)):
            raise ValueError(
                f"{_WHO}: compiled functions are {', '.join(_COMPILED)} (a Jacobian of a tree, "
                f"without loops, and with body=), got {shown(name)}"
            )
        if body is not None:
            self._ask(body, point)
        of, result, shape = _COMPILED[name]
        sizes = {t_.T_Q: self._n_q, t_.T_RESULT: self._f}
        taken = [(self._h[x], sizes.get(x, self._f)) for x in of]
        size = {"n": self._f, "nn": self._f**2, "6n": 6 * self._n}[shape]
        return on_arrays(
            run, self._I, self._work.F.copy(), self._programs[name], taken,
            (self._h[result], size), self._h[t_.T_STATUS],
        )  # fmt: skip

    # --- points -----------------------------------------------------------------------------------
    def _ask(self, body: str, point: Any = (0.0, 0.0, 0.0)) -> None:
        """Write which point is asked for."""
        if body not in self._link_of:
            raise ValueError(f"{_WHO}: {absent('body ', body, self._link_of)}")
        self._argument[0] = self._link_of[body]
        self._argument[1:] = vector(_WHO, "point", point, "m")

    def _columns(self) -> np.ndarray:
        """Return what stands column by column in the result, of all columns, (6, columns)."""
        return self._result[: 6 * self._n].reshape(-1, 6).T.copy()

    def _along(self, J: np.ndarray) -> np.ndarray:
        """Return what columns do along the independent ones."""
        return J @ self._Z if self._loops else J

    def _jacobian(self, body: str, point: Any, q: Any, t: float) -> np.ndarray:
        self._ask(body, point)
        self._set(q, time=t)
        self._run("jacobian")
        return self._columns()

    def jacobian(self, body: str, point: Any, q: Any, *, t: float = 0.0) -> np.ndarray:
        """Return J (6, n) of a point in body axes [m]: velocity, angular velocity, inertial."""
        return self._along(self._jacobian(body, point, q, t))

    def jacobian_rate(self, body: str, point: Any, q: Any, v: Any, *, t: float = 0.0) -> np.ndarray:
        """Return the rate of J (6, n)."""
        still = self._jacobian(body, point, q, t) if self._loops else None
        self._ask(body, point)
        self._set(q, v, time=t)
        self._run("jacobian_rate")
        rate = self._along(self._columns())
        return rate if still is None else rate + still @ self._Z_rate

    def point_acceleration(
        self, body: str, point: Any, q: Any, v: Any, a: Any, *, t: float = 0.0
    ) -> np.ndarray:
        """Return the acceleration of a point and the angular acceleration, (6,), J a + J' v."""
        self._ask(body, point)
        self._set(q, v, a, t)
        self._run("accelerate")
        link = self._tree.links[self._link_of[body]]
        at = self._numbers[self._link_of[body]]
        N = self._work.F[at : at + t_.N_SIZE]
        x = N[:3] + N[3:12].reshape(3, 3) @ (
            link.shape.point + link.shape.axes @ self._argument[1:]
        )
        (w, v_O), (b, a_O) = N[12:18].reshape(2, 3), N[18:24].reshape(2, 3)
        return np.hstack([a_O + np.cross(b, x) + np.cross(w, v_O + np.cross(w, x)), b])

    def _momentum(self, q: Any, t: float) -> np.ndarray:
        self._set(q, time=t)
        self._run("momentum")
        return self._result[6 * self._n : 6 * self._n + 3]

    def center_of_mass(self, q: Any, *, t: float = 0.0) -> np.ndarray:
        """Return the centre of mass of all bodies (3,) [m], inertial."""
        return self._momentum(q, t) + self.model.origin

    def momentum_matrix(self, q: Any, *, t: float = 0.0) -> np.ndarray:
        """Return A (6, n): momentum, moment about the centre of mass, of all bodies are A v."""
        self._momentum(q, t)
        return self._along(self._columns())

    def regressor(self, q: Any, v: Any, a: Any, *, t: float = 0.0) -> np.ndarray:
        r"""Return Y (n, 10 bodies): inertia and weight ask for the efforts Y pi.

        pi has ten numbers of each body, in the order of ``regressor_labels``: mass m [kg], first
        moments m c [kg m] and inertia about the origin of the body frame, in its axes [kg m^2].
        """
        self._set(q, v, a, t)
        self._run("regressor")
        Y = self._result[: self._n * 10 * len(self._link_of)].reshape(self._n, -1)
        return self._Z.T @ Y if self._loops else Y.copy()

    @property
    def regressor_labels(self) -> tuple[str, ...]:
        """Names of the columns of ``regressor``, ten for each body, along the tree."""
        words = ("mass", *(f"first_moment.{x}" for x in "xyz"),
                 *(f"inertia.{x}" for x in ("xx", "yy", "zz", "xy", "xz", "yz")))  # fmt: skip
        return tuple(f"{body}.{x}" for body in self._link_of for x in words)

    @property
    def inertial_parameters(self) -> np.ndarray:
        """Pi (10 bodies,) of the model, in the order of ``regressor_labels``."""
        bodies = [self.model.nodes[x] for x in self._link_of]
        return read_only(
            np.hstack([tb.inertia_in(Placement(np.zeros(3), np.eye(3)), x) for x in bodies])
        )

    # --- positions --------------------------------------------------------------------------------
    def close(self, q: Any, *, t: float = 0.0) -> np.ndarray:
        """Return q with its dependent positions moved so that all loops are closed.

        Raises
        ------
        ValueError
            If there is no such pose near by, or the dependent ones do not follow there.
        """
        self._set(q, time=t)
        if not self._loops:
            return self._q.copy()
        for _ in range(LOOP_CLOSINGS):
            run(self._I, self._work.F, self._programs["close"])
            self._work.check_laws()
            if self._status[0] > 0:
                self._gap[0] = 0.0
                self._refuse()
            size = float(self._result[0])
            if not size < np.inf:
                break
            self._q[:] = self.add_all(self._q, self._of_tree[t_.T_DRIFT_A])
            if size <= ROUND_OFF**0.5:  # Newton's method squares it
                return self._q.copy()
        raise ValueError(
            f"{_WHO}: no pose near q closes the loops at these {', '.join(self.labels)}: a row is "
            f"off by {self._gap[0]:.3g} of the length of the model, or of one"
        )

    def add_all(self, q: np.ndarray, d: np.ndarray) -> np.ndarray:
        """Return q moved by d along all columns of the tree, loops left as they are."""
        return self._reading.moved(q, d)

    def add(self, q: Any, dv: Any, *, t: float = 0.0) -> np.ndarray:
        """Return q moved by dv (n,) [m, rad], turns by axes nearer to the ground; loops closed."""
        self._set(q, dv, time=t)
        d = self._v.copy()
        if self._loops:
            self._run("place")
            d = self._Z @ d
        return self.close(self.add_all(self._q, d), t=t)

    def turning(self, q: Any, v: Any, *, t: float = 0.0) -> np.ndarray:
        r"""Return W (n, n) [1/s]: increments d along ``add``, of v by dv, have rates W d + dv.

        Those of rotations turn, :math:`\omega \times d`; all others are zero.
        """
        self._set(q, v, time=t)
        self._run("bias")
        W = np.zeros((self._n, self._n))
        for here in self._reading.velocities:
            W[np.ix_(here, here)] = np.cross(self._of_tree[t_.T_V][here], np.eye(3)).T
        return (W @ self._Z if self._loops else W)[self._independent]

    @property
    def steps(self) -> np.ndarray:
        """Steps of differences (n,) [m, rad] along ``add``."""
        return read_only(FOURTH * self.sizes[self._independent])

    def difference(self, q1: Any, q2: Any) -> np.ndarray:
        """Return dv (n,) [m, rad] with add(q1, dv) = q2."""
        self._set(q1)
        one = self._q.copy()
        self._set(q2)
        return self._reading.between(one, self._q)[self._independent]

    @property
    def sizes(self) -> np.ndarray:
        """What is large for each column of the tree: the length of the model [m], or 1 [rad]."""
        at = self._h[t_.T_UNITS]
        return read_only(self._work.F[at : at + self._n].copy())

    def rates(self, q: Any, v: Any, a: Any, *, t: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Return rates and second rates of all columns of the tree, those of loops too."""
        self._set(q, v, a, t)
        self._run("accelerate")
        return self._of_tree[t_.T_V].copy(), self._of_tree[t_.T_A].copy()

    # --- states -----------------------------------------------------------------------------------
    def _read(self, state: State) -> np.ndarray:
        """Return q of a state of the model; faces and their rates are then in the work space."""
        work = self._work
        if state.off:
            raise ValueError(
                f"{_WHO}: the state has switched off {', '.join(state.off)}; a tree has all joints"
            )
        work.load(state)
        work.evaluate()
        q = self._reading.positions(work.faces(m.Y), self._n_q)
        for at, i in self._turned:
            q[i] += 2 * np.pi * np.round((work.F[at] - q[i]) / (2 * np.pi))
        return q

    def q(self, state: State | None = None) -> np.ndarray:
        """Return q of a state of the model; angles have its full turns."""
        return self._read(state_of(_WHO, self.model, state))

    def v(self, state: State | None = None) -> np.ndarray:
        """Return v of a state of the model."""
        self._q[:] = self._read(state_of(_WHO, self.model, state))
        return self._rates()

    def q_and_v(self, state: State | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return q and v of a state of the model, which must meet all rows."""
        model = self.model
        self._q[:] = q = self._read(state_of(_WHO, model, state))
        gap = self._work.vector(m.X)[model.numbering.lam]
        if words := violated(model, gap, allowed(model)):
            raise ValueError(
                f"{_WHO}: the state must meet all rows, but violates {words}; find one that does, "
                "mbd.consistent(model, state, project=True)"
            )
        return q, self._rates()

    def _rates(self) -> np.ndarray:
        """Return v by the faces and their rates, after q was read off them."""
        y, yd = self._work.faces(m.Y), self._work.faces(m.YD)
        w = 0.5 * np.cross(y[:, 1:], yd[:, 1:]).sum(1)
        spatial = np.hstack([w, yd[:, 0] + np.cross(y[:, 0], w)])
        across = np.empty((len(self._tree.ways), 6))
        for i, way in enumerate(self._tree.ways):
            across[i] = spatial[self._faces[way.body]] - spatial[self._faces[way.before]]
        run(self._I, self._work.F, self._programs["pose"])
        v = rates_from(self._tree, self._S, across, self._way_of, self._motions)
        return v[self._independent]

    def state(self, q: Any, v: Any, t: float = 0.0) -> State:
        """Return the state of the model at q and v, with its accelerations and multipliers.

        Loops are closed first, dependent positions move.
        """
        q = self.close(q, t=t)
        facts = self.motion(q, v, t)
        n, model = np.zeros, self.model
        state = State(t, *facts, n(model.n_v), n(model.n_lam))
        work = self._work
        work.load(state)
        for at, i in self._turned:
            work.F[at] = q[i]
        work.evaluate()
        work.accept()
        return consistent(model, work.store().replace(lam=n(model.n_lam)))

    def put(self, work: Workspace, q: np.ndarray, v: Any) -> None:
        """Write the pose and the rates of a run at its time: q closes all loops."""
        model, turned = self.model, self._turned
        of_q, of_v = self.motion(q, v, float(work.F[m.T]))
        for name in (m.Q, m.QN):
            work.vector(name, model.n_q)[:] = of_q
        work.vector(m.D)[:] = 0.0
        work.vector(m.V)[model.numbering.v] = of_v
        for at, i in turned:
            work.F[at] = q[i]

    def motion(self, q: Any, v: Any, t: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Return q and v of the model's own coordinates at those of the tree."""
        self._set(q, v, time=t)
        self._run("motion")
        Q, V = np.empty(self.model.n_q), np.empty(self.model.n_v)
        for formulation, bodies, links, at_q, at_v in self._families:
            x = self._motion[links]
            R = x[:, 3:12].reshape(-1, 3, 3)
            Q[at_q], V[at_v] = bodies.moved(formulation, x[:, :3], R, x[:, 12:15], x[:, 15:])
        return Q, V


_COMPILED = {  # arguments, result and its shape
    "M": ((t_.T_Q,), t_.T_IM, "nn"),
    "gravity": ((t_.T_Q,), t_.T_ITAU, "n"),
    "bias": ((t_.T_Q, t_.T_IV), t_.T_ITAU, "n"),
    "coriolis": ((t_.T_Q, t_.T_IV), t_.T_ITAU, "n"),
    "inverse": ((t_.T_Q, t_.T_IV, t_.T_IA), t_.T_ITAU, "n"),
    "forward": ((t_.T_Q, t_.T_IV, t_.T_RESULT), t_.T_IA, "n"),
    "jacobian": ((t_.T_Q,), t_.T_RESULT, "6n"),
}


def _families(model: Model, links: dict[str, int]) -> list[Any]:
    """Return bodies by formulation: it, they, their links, places of q and of v."""
    groups: dict[Any, list[int]] = {}
    bodies = list(model.nodes.values())
    for i, body in enumerate(bodies):
        groups.setdefault(body.formulation, []).append(i)
    counts = np.cumsum([0, *(x.formulation.n_v for x in bodies)])
    starts = np.array([x.start for x in model.numbering.q])
    return [
        (
            formulation, model.stacked.some(some), np.array([links[bodies[i].name] for i in some]),
            starts[some][:, None] + np.arange(formulation.n_q),
            counts[some][:, None] + np.arange(formulation.n_v),
        )
        for formulation, some in groups.items()
    ]  # fmt: skip


def _angles_kept(model: FrozenModel, tree: Tree, first: int) -> list[tuple[int, int]]:
    """Return where elements remember angles of the tree, and where in q each is.

    An element remembers a number for each measure it has, in their order.
    """
    places: dict[str, int] = {}
    for link in tree.links:
        for name in link.positions:
            places[name] = first + len(places)
    ends: dict[Any, str] = {}
    for joint in model.system.joints.values():
        for name, free in joint.coordinates.items():
            ends[tuple(free.attachments)] = f"{joint.name}.{name}"
    pairs = [
        (int(model.I[model.records[name][0] + m.E_MEMORY]), place)
        for name, place in places.items()
        if name in model.records
    ]
    for part, elements in model.elements.items():
        for record, element in zip(model.records[part], elements, strict=True):
            left, at = tuple(element.attachments), int(model.I[record + m.E_MEMORY])
            for i in range(len(element.memory)):
                term = next((x for x in ends if x == left[: len(x)]), None)
                if term is None:
                    break
                if ends[term] in places and ends[term] in model.records:
                    pairs.append((at + i, places[ends[term]]))
                left = left[len(term) :]
    return pairs
