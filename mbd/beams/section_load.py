r"""Loads along a beam or cable that follow from the motion of its sections.

A section at s between the nodes a and b of an element has the point of a cubic through both, with
the slopes that the nodes have, and shares of their axes:

.. math:: x(s) = \sum_k h_k r_k + R_k\gamma_k, \qquad B(s) = \sum_k w_k R_k Q_k, \qquad
          w_b = 1 - w_a = \sigma = \frac{s - s_a}{s_b - s_a},

h of Hermite, :math:`Q_k = R_{0k}^TR_0(s)`, and :math:`\gamma_k` those of the tangents, and what the
reference lacks of a cubic, so that a beam that does not bend has all its sections where they are.
Forces go back to the nodes by the transpose (``interactions/motion_loads.py``). Of a cable sections
lie on the bars, and at nodes the tangent is that between both neighbours.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from mbd.base.checked import numbers, shown, sized
from mbd.base.door import array, label
from mbd.base.dual import plain, value_of
from mbd.base.read_only import read_only
from mbd.beams.beam import Beam
from mbd.beams.cable import Cable
from mbd.interactions.kind import Attachment, Element
from mbd.interactions.motion_laws import Returns
from mbd.parts.by_motion import LawInputs, Site
from mbd.parts.part import Body, Part

_OF_POINTS = ("position", "velocity")
_OF_FRAMES = (*_OF_POINTS, "angular_velocity", "rotation")
_NAMED = ("nodes", "gauss")
_GAUSS = np.array((-1.0, 1.0)) / np.sqrt(3.0)
_SAME = 1e-9  # of the length of the beam: a station at a node


class SectionLoad(Part):
    r"""Forces and moments per length along a beam or cable, by a function of the motion there.

    The function is compiled by numba and takes what it names: ``t`` [s], the length along the beam
    ``s`` [m], and of the section the point ``x`` (3,) [m], the axes ``R`` (3, 3) as columns, the
    velocity ``v`` (3,) [m/s] and ``omega`` (3,) [rad/s], all inertial; ``reference``, the same four
    of another body; ``memory`` (k,); and parameters and tables by their names. It returns
    ``(f, m)`` [N/m], [N m/m], inertial; of a cable, which takes no moments, f alone.

    Parameters
    ----------
    name : str
    beam : Beam or Cable
    load : callable, optional
        Without: ``force`` and ``moment`` are inputs, which a ``Stepper`` sets from step to step.
    stations : "nodes", "gauss" or (n,) array [m]
        Lengths s of the sections. At nodes the lengths that they stand for are integrals of the
        nodes' polynomials, of fourth order. "gauss" are two points in each element with the weights
        of Gauss, of fourth order too, where a load differs from node to node with a tenth of the
        error, for twice the cost. Others stand for the part of the beam that is nearest.
    lengths : (n,) array [m], optional
        For which sections stand instead; 1 makes f and m forces [N] and moments [N m].
    parameters : dict
        Numbers by name: one for all sections, or (n,) or (n, k), of which a section gets its own.
        "NAME.parameters.width" is the name of one, of several "NAME.parameters.chord.2".
    tables : dict
        Arrays by name, which all sections get as they are.
    reference : body, ground or Frame, optional
    memory : int or (n, k) array [SI], optional
        How many numbers a section remembers, from zero, or these at the start.
    accept : callable, optional
        Returns the memory after an accepted step; takes ``dt`` [s] too, the time since the last.
    settles : bool
        Whether in a search for equilibrium the memory is at rest with the pose, as ``accept``
        leaves it after an infinite ``dt``; else it stays as it was at the start of the search.
    derivative : callable, optional
        Returns (6, 12), of f and m by x, by a turn theta of R, by v and by omega, with a reference
        (6, 24); else central differences in compiled code.
    force, moment : (n, 3) arrays [N/m], [N m/m]
        Without ``load``.

    Notes
    -----
    Modes and linear models hold the memory of the state, or with ``wake="equilibrium"`` let one
    that settles be at rest with the motion at every instant; so do equilibria that have it, their
    stability and derivatives. Derivatives of runs carry tangents of the memory, of gradients too,
    without events; energies of results follow it from one recorded instant to the next.

    Without a function ``observed`` and ``motion`` tell another program how the sections move, which
    returns forces: an exchange from step to step.

    Examples
    --------
    >>> import mbd
    >>> import numba
    >>> system = mbd.System()
    >>> tube = mbd.Section.tube(0.02, 0.001, young=70e9, poisson=0.3, density=2700)
    >>> mast = system.add(mbd.Beam("mast", [(0, 0, 0), (0, 0, 3)], section=tube, up=(1, 0, 0),
    ...                            first=system.ground))
    >>> @numba.njit
    ... def drag(v, width):
    ...     u, w = 20.0 - v[0], -v[1]
    ...     q = 0.6 * 1.2 * width * (u * u + w * w) ** 0.5
    ...     return (q * u, q * w, 0.0), (0.0, 0.0, 0.0)
    >>> wind = system.add(mbd.SectionLoad("wind", mast, drag, parameters={"width": 0.04}))
    >>> tip = mbd.equilibrium(system)["mast.8"].position
    >>> round(float(tip[0]), 3)
    0.071
    """

    relative = False

    def __init__(
        self, name: str, beam: Beam | Cable, load: Callable[..., Any] | None = None, *,
        stations: Any = "nodes", lengths: Any = None, parameters: Any = None, tables: Any = None,
        reference: Any = None, memory: Any = None, accept: Callable[..., Any] | None = None,
        settles: bool = False, derivative: Callable[..., Any] | None = None, force: Any = None,
        moment: Any = None,
    ) -> None:  # fmt: skip
        self.name = label(name, "SectionLoad")
        if not isinstance(beam, Beam | Cable):
            raise TypeError(f"{self.name}: beam must be a Beam or a Cable, got {shown(beam)}")
        self.beam = beam
        s = _stations(self.name, beam, stations)
        n = len(s)
        self.stations = s
        self.lengths = _lengths(self.name, beam, stations, s, lengths)
        self.inputs = LawInputs.of(
            self.name, n, parameters, tables, reference, memory, settles=settles
        )
        self.sites = [
            _of_cable(beam, x) if isinstance(beam, Cable) else _of_beam(beam, x) for x in s.tolist()
        ]
        if load is None:
            if force is None and moment is None:
                raise ValueError(
                    f"{self.name}: give load=, a function, or force=, ({n}, 3) numbers that are "
                    f"set from step to step, at first np.zeros(({n}, 3))"
                )
            self._none_of(accept, derivative, memory, parameters, tables)
        elif force is not None or moment is not None:
            raise ValueError(
                f"{self.name}: force= and moment= are inputs of load=None; leave them out"
            )
        constant = zip((force, moment), ("force", "moment"), strict=True)
        loads = [_loads(self.name, x, word, n) for x, word in constant]
        law = None
        if load is not None:
            returns: Returns = "force" if isinstance(beam, Cable) else "both"
            law = self.inputs.law(self.name, self.sites, load, returns, derivative, accept)
        self.law = law
        self._loads = tuple(
            self.inputs.element(i, site, law, length, (*loads[0][i], *loads[1][i]),
                               derivative is not None)
            for i, (site, length) in enumerate(zip(self.sites, self.lengths, strict=True))
        )  # fmt: skip

    def _none_of(self, *values: Any) -> None:
        """Refuse what goes with a function where there is none."""
        words = ("accept", "derivative", "memory", "parameters", "tables")
        for word, x in zip(words, values, strict=True):
            if x is not None:
                raise ValueError(
                    f"{self.name}: {word}= goes with a function; with load=None leave it out"
                )

    @property
    def observed(self) -> list[str]:
        """Names of what ``motion`` needs of the nodes, for ``Stepper(observe=)``."""
        words = _OF_POINTS if isinstance(self.beam, Cable) else _OF_FRAMES
        return [f"{node.name}.{word}" for node in self.beam.nodes() for word in words]

    def motion(self, of: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return x (..., n, 3) [m], R (..., n, 3, 3), v and omega of the sections.

        They follow from the numbers (..., k) of ``observed``, such as ``stepper.y``, or from what
        has histories of the nodes by name, such as a solution.
        """
        line, nodes = isinstance(self.beam, Cable), self.beam.nodes()
        n, width = len(nodes), 6 if line else 18
        words = _OF_POINTS if line else _OF_FRAMES
        if isinstance(of, np.ndarray | Sequence):
            y = array(self.name, "y", of, f"(..., {n * width}) numbers")
        else:
            every = [np.asarray(getattr(of[node.name], word)) for node in nodes for word in words]
            leading = every[0].shape[:-1]
            y = np.concatenate([x.reshape(*leading, -1) for x in every], axis=-1)
        if y.shape[-1:] != (n * width,):
            raise ValueError(
                f"{self.name}: y must be the {n * width} numbers of observed, in this order, got "
                f"the shape {y.shape}"
            )
        of_node = y.reshape(*y.shape[:-1], n, width)
        faces, rates = np.zeros((2, *of_node.shape[:-1], 4, 3))
        faces[..., 0, :], rates[..., 0, :] = of_node[..., :3], of_node[..., 3:6]
        spin = np.zeros_like(of_node[..., :3])
        if not line:
            spin, d = of_node[..., 6:9], of_node[..., 9:].reshape(*of_node.shape[:-1], 3, 3)
            faces[..., 1:, :] = np.swapaxes(d, -1, -2)
            rates[..., 1:, :] = np.cross(spin[..., None, :], faces[..., 1:, :])
        ends, weights, shares = self._maps
        nodes = faces[..., ends, :, :]
        b = np.einsum("nkaw,...nkwi->...nia", weights, nodes)  # the point, and three directors
        x, axes = b[..., 0], b[..., 1:]
        if line:
            R = np.zeros_like(axes)
            R[..., 0] = axes[..., 0] / np.linalg.norm(axes[..., 0], axis=-1, keepdims=True)
        else:
            U, _, Vt = np.linalg.svd(axes)
            R = U @ Vt
        v = np.einsum("nkw,...nkwi->...ni", weights[:, :, 0], rates[..., ends, :, :])
        return x, R, v, np.einsum("nk,...nki->...ni", shares, spin[..., ends, :])

    @cached_property
    def _maps(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return nodes (n, 4), weights (n, 4, 4, 4) in points and directors, shares (n, 4)."""
        index = {x.name: i for i, x in enumerate(self.beam.nodes())}
        n, k = len(self.sites), 4  # two nodes, and two of the tangent
        ends, weights, shares = np.zeros((n, k), int), np.zeros((n, k, 4, 4)), np.zeros((n, k))
        for i, site in enumerate(self.sites):
            for j, (node, share) in enumerate(zip(site.nodes, site.shares, strict=False)):
                ends[i, j], shares[i, j] = index[node[0].body], value_of(share)
                weights[i, j, : len(node)] = [plain(end.weights) for end in node]
            for j, (end, sign) in enumerate(zip(site.tangent, (-1.0, 1.0), strict=False)):
                ends[i, 2 + j], weights[i, 2 + j, 1, 0] = index[end.body], sign
        return ends, weights, shares

    @property
    def bodies(self) -> Sequence[Body]:
        """The nodes of the beam, and the reference."""
        frame = self.inputs.reference
        bodies = () if frame is None else (frame.body,)
        return (*self.beam.nodes(), *(x for x in bodies if x not in self.beam.nodes()))

    def elements(self) -> Sequence[Element]:
        """Return the load of each section."""
        return self._loads

    def __repr__(self) -> str:
        return f"SectionLoad({self.name!r}, {self.beam.name!r}, {len(self.sites)} sections)"


def _stations(owner: str, beam: Beam | Cable, stations: Any) -> np.ndarray:
    """Return the lengths of the sections."""
    at = beam.stations
    words = "'nodes', 'gauss' or lengths along the beam [m]"
    if isinstance(stations, str):
        if stations not in _NAMED:
            raise ValueError(f"{owner}: stations must be {words}, got {shown(stations)}")
        if stations == "nodes":
            return at
        return (at[:-1, None] + 0.5 * np.diff(at)[:, None] * (1.0 + _GAUSS)).ravel()
    s = array(owner, "stations", stations, words)
    if s.ndim != 1 or not len(s) or s.dtype == object or not np.isfinite(s).all():
        raise ValueError(
            f"{owner}: stations must be 'nodes', 'gauss' or finite lengths along the beam [m], got "
            f"{shown(stations)}"
        )
    end = float(at[-1])
    outside = (s < -_SAME * end) | (s > (1.0 + _SAME) * end)
    if outside.any() or not (np.diff(s) > 0.0).all():
        raise ValueError(
            f"{owner}: stations must increase from 0 to {end:g}, the length of {beam.name!r} [m], "
            f"got {shown(stations)}"
        )
    return np.clip(s, 0.0, end)


def _lengths(owner: str, beam: Beam | Cable, stations: Any, s: np.ndarray, lengths: Any) -> Any:
    """Return the lengths for which sections stand."""
    if lengths is not None:
        lengths = array(owner, "lengths", lengths, "numbers [m]")
        if lengths.shape not in ((), (len(s),)):
            raise ValueError(
                f"{owner}: lengths must be one or {len(s)} numbers [m], got {shown(lengths)}"
            )
        return np.broadcast_to(sized(owner, "lengths", lengths, "m"), len(s)).tolist()
    if isinstance(stations, str) and stations == "gauss":
        return np.repeat(0.5 * np.diff(beam.stations), 2).tolist()
    if isinstance(stations, str) and stations == "nodes" and isinstance(beam, Beam):
        return beam.loads(np.ones_like).tolist()
    between = 0.5 * (s[1:] + s[:-1])
    return np.diff(np.concatenate([[0.0], between, beam.stations[-1:]])).tolist()


def _loads(owner: str, value: Any, word: str, n: int) -> np.ndarray:
    """Return forces or moments (n, 3) that are given; default zero."""
    if value is None:
        return np.zeros((n, 3))
    return numbers(owner, word, value, ((n, 3),), "N/m" if word == "force" else "N m/m")


def _element_of(at: np.ndarray, s: float) -> tuple[int, float, int | None]:
    """Return the element in which s lies, its share of it, and the node if it is at one."""
    e = int(np.clip(np.searchsorted(at, s, side="right") - 1, 0, len(at) - 2))
    node = int(np.argmin(np.abs(at - s)))
    sigma = float((s - at[e]) / (at[e + 1] - at[e]))
    return e, sigma, node if abs(at[node] - s) <= _SAME * at[-1] else None


def _of_beam(beam: Beam, s: float) -> Site:
    """Return the section of a beam at s."""
    at = beam.stations
    e, y, node = _element_of(at, s)
    if node is not None:
        return Site.on(beam.node(node).frame(), s)
    x, R, slopes = beam.section_at(e, s)
    h = float(at[e + 1] - at[e])
    heights = (1 + 2 * y) * (1 - y) ** 2, y**2 * (3 - 2 * y)
    along = h * y * (1 - y) ** 2 * slopes[0], -h * y**2 * (1 - y) * slopes[1]
    nodes = beam.node(e), beam.node(e + 1)
    sum_ = zip(heights, nodes, along, strict=True)
    lacks = x - sum((k * b.position + c for k, b, c in sum_), np.zeros(3))
    ends, shares = [], (1.0 - y, y)
    v, omega = np.zeros(3), np.zeros(3)
    for k, b, c, w in zip(heights, nodes, along, shares, strict=True):
        own = b.rotation.T @ (c + k * lacks)
        turned = w * (b.rotation.T @ R)
        ends.append(
            (Attachment(b.name, (k, *own.tolist())),
             *(Attachment(b.name, (0.0, *q.tolist())) for q in turned.T))
        )  # fmt: skip
        v = v + k * b.velocity + np.cross(b.angular_velocity, b.rotation @ own)
        omega = omega + w * b.angular_velocity
    return Site(s, tuple(ends), shares, (), read_only((x, R, v, omega)))


def _of_cable(cable: Cable, s: float) -> Site:
    """Return the section of a cable at s."""
    at, nodes = cable.stations, cable.nodes()
    e, y, node = _element_of(at, s)
    ends = (max(node - 1, 0), min(node + 1, len(nodes) - 1)) if node is not None else (e, e + 1)
    if node is not None:
        e, y = (node, 0.0) if node < len(nodes) - 1 else (node - 1, 1.0)
    a, b = nodes[e], nodes[e + 1]
    shares = 1.0 - y, y
    points = tuple(
        (Attachment(k.name, (w, 0.0, 0.0, 0.0)),) for k, w in zip((a, b), shares, strict=True)
    )
    one, two = (nodes[i] for i in ends)
    d = two.position - one.position
    R = np.zeros((3, 3))
    R[:, 0] = d / np.linalg.norm(d)
    x, v = ((1.0 - y) * p + y * q for p, q in ((a.position, b.position), (a.velocity, b.velocity)))
    tangent = tuple(Attachment(k.name, (1.0, 0.0, 0.0, 0.0)) for k in (one, two))
    return Site(s, points, shares, tangent, read_only((x, R, v, np.zeros(3))))
