"""Flexible bodies: a frame that any formulation carries, and modes of a finite element mesh."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mbd.base.checked import absent, is_whole, mapping, shown, sized, whole
from mbd.base.door import array, label, number, rotation_matrix, vector
from mbd.base.recorded_call import Call
from mbd.base.tolerances import LARGEST
from mbd.flexible.inertia import invariants
from mbd.flexible.mesh import FiniteElementModel, naming_files
from mbd.flexible.reduction import Shapes, given_shapes, reduced
from mbd.flexible.skin import skin_of
from mbd.formulations import named
from mbd.formulations.formulation import Formulation
from mbd.formulations.modal.body import modal
from mbd.formulations.modal.constants import ModalConstants, NodalShapes
from mbd.parts.part import Body, Frame
from mbd.parts.shapes import checked_shapes
from mbd.parts.skin import Skin

_FILES = ("M", "K", "coordinates", "faces", "nodal_stress")
_FIXED = 6  # fixed-interface modes by default, or modes of a body without interfaces
_RANK = 1e-9  # of compliances of reference loads that are combinations of each other
_SMALL_TURN = 0.1  # of an interface [rad]: its axes are orthonormal to first order
_STIFF = 0.05  # missing compliance that is told of
_SLOW = 0.25  # spin that needs no geometric stiffness, of the lowest frequency
_PAIRS = {"xx": (0, 0), "yy": (1, 1), "zz": (2, 2), "yz": (1, 2), "xz": (0, 2), "xy": (0, 1)}


class FlexibleBody(Body):
    r"""A body that deforms a little while it moves far: modes of a free finite element model.

    Its frame moves as a rigid body does; in it nodes move by :math:`\sum_j p_j\psi_j`. Shapes are
    made by Craig-Bampton reduction, each interface being a rigid patch of nodes, and are free of
    rigid motion; p_j [m] is the largest displacement of shape j. All terms of inertia are there:
    no invariant is left out. Deformations are small; interfaces turn by less than 0.1 rad, of which
    runs that leave it are told. Joints, springs and loads attach to ``body.interface(name)``; a
    load on the body itself acts on its frame, as if spread over its mass.

    Parameters
    ----------
    name : str
    M, K : sparse matrix, (n, n) array, or name of a file
        Mass [kg, kg m^2] and stiffness [N/m, N m], free of supports, of 3 translations for each
        node, or 6 degrees of freedom; in the axes of the body. Files ``.mtx``
        (Matrix Market, Abaqus), ``.npz``, ``.npy``, ``.op4``, ``.pch`` (Nastran), ``.sti``,
        ``.mas`` (CalculiX), ``.matrix`` (Ansys).
    coordinates : (nodes, 3) array [m], or name of a file
        In the axes of the body, from its origin; (nodes, 4) with labels in front. Files of numbers,
        ``.inp``, ``.bdf``, or meshes, which need meshio.
    interfaces : dict of str to nodes
        Rigid patches where others attach: places from 0, or labels or the name of a set in a file.
    loads : dict of str to nodes, optional
        Patches that stay soft: what acts on ``body.interface(name)`` is spread evenly over their
        nodes, whose best fit the frame follows, and six shapes more make its statics exact.
    units : str
        Of length, mass and time in all these, ``"mm t s"``; all else is in SI.
    fixed_modes : int, optional
        Take all that interfaces can do to the body, 6 shapes for each but one, and so many modes of
        the body with its interfaces held, default 6: statics at the interfaces are exact.
    modes : int or (n, m) array [-], optional
        Take the lowest so many shapes instead, or shapes of your own.
    cutoff : float [Hz], optional
        Take all shapes up to this frequency instead.
    damping : float or (m,) array [-]
        Damping ratio of all modes, or of each.
    rayleigh : (alpha, beta) [1/s], [s], optional
        Damping alpha M + beta K, added to that.
    geometric_stiffness : dict of str to matrix [N s^2/m], optional
        By products of angular velocity in body axes, "xx", "yy", "zz", "yz", "xz", "xy": stiffness
        matrices of the mesh for 1 rad^2/s^2, from the stress that this spin causes. Without them
        a body that spins faster than a quarter of its lowest frequency is too soft, or unstable
        where no such body is, and a warning says so; ``{}`` if spin causes no such stress, as of a
        shaft about its axis.
    load_stiffness : dict of str to (load, matrix), optional
        Of reference loads, in balance: nodal forces in an array (n,) or file [N, N m], and the
        stiffness matrix of the mesh from the stress that they cause [N/m]. Stress of this
        distribution, whatever its cause, stiffens the body by so much, or softens it, to buckling.
    mass_factor, stiffness_factor : float [-]
        By which M, with geometric stiffness, and K are multiplied, as by another density or Young's
        modulus; ``cutoff`` is for the matrices as they are.
    position, velocity, angular_velocity : (3,) arrays [m], [m/s], [rad/s]
        Of the frame, inertial.
    rotation : scipy Rotation or (3, 3) array, optional
    formulation : str or Formulation
        Of the frame: so3, directors, euler_parameters or se3.
    shape : Box, Cylinder, Capsule, Sphere, Mesh, or several in a list, optional
    faces : triangles (k, 3) or quads (k, 4) of nodes, or name of a file of a mesh, optional
        The surface that pictures show deformed. Default: that of the mesh in ``coordinates``, if
        meshio reads it.
    nodal_stress : (6 nodes, n) matrix [Pa/m], or name of a file, optional
        Stresses xx, yy, zz, xy, yz, zx of each node, in the axes of the body, by the degrees of
        freedom of the mesh [m, rad]: pictures have von Mises' stress of them.

    Attributes
    ----------
    frequencies : (m,) array [Hz]
        Of the free body.
    patches : dict of str to (3,) array [m]
        Centres of the interfaces.
    labels : (n,) int array
        Of the nodes in files, rising, in the order of ``modes`` and of ``solution[...].points``.
    missing_compliance : float [-]
        What the shapes leave out of the compliance between interfaces, of the largest one: loads
        there move the body by so much too little. Zero with ``fixed_modes``.
    skin : Skin or None
        Its faces, and what the shapes do to them.
    """

    def __init__(
        self, name: str, M: Any, K: Any, coordinates: Any, interfaces: Any, *,
        loads: Any = None, units: str = "m kg s", modes: Any = None,
        cutoff: float | None = None, fixed_modes: int | None = None, damping: Any = 0.0,
        rayleigh: Any = None, geometric_stiffness: Any = None, load_stiffness: Any = None,
        mass_factor: float = 1.0, stiffness_factor: float = 1.0, position: Any = (0.0, 0.0, 0.0),
        rotation: Any = None, velocity: Any = (0.0, 0.0, 0.0),
        angular_velocity: Any = (0.0, 0.0, 0.0), formulation: str | Formulation = "so3",
        shape: Any = None, faces: Any = None, nodal_stress: Any = None,
    ) -> None:  # fmt: skip
        who = label(name, "FlexibleBody")
        object.__setattr__(self, "call", _with_paths(self.call))
        self._set(
            name=name,
            position=vector(who, "position", position, "m"),
            rotation=rotation_matrix(who, "rotation", rotation),
            velocity=vector(who, "velocity", velocity, "m/s"),
            angular_velocity=vector(who, "angular_velocity", angular_velocity, "rad/s"),
            shapes=checked_shapes(who, shape),
        )
        with naming_files(M, K, coordinates, faces, nodal_stress):
            mesh = FiniteElementModel.checked(who, M, K, coordinates, interfaces, units, loads)
            references = _references(who, load_stiffness, geometric_stiffness)
            mesh = mesh.with_references({x: load for x, (load, _) in references.items()})
            shapes = _shapes(mesh, modes, cutoff, fixed_modes)
            inertia = invariants(mesh, shapes)
            skin = skin_of(mesh, faces, nodal_stress, shapes.values)
        heavy = _factor(who, "mass_factor", mass_factor)
        stiff = _factor(who, "stiffness_factor", stiffness_factor)
        shapes = replace(shapes, M=heavy * shapes.M, K=stiff * shapes.K)
        W0, W1, W2 = (heavy * x for x in inertia)
        moved = {x: _interface(mesh, shapes, x) for x in mesh.interfaces}
        n = len(shapes.K)
        constants = ModalConstants(
            W0, W1, W2, shapes.K, _damping(who, shapes, damping, rayleigh),
            heavy * _geometric(mesh, shapes, geometric_stiffness),
            *(np.array([x[i] for x in moved.values()]).reshape(-1, *size)
              for i, size in enumerate(((3,), (n, 3), (n, 3)))),
            **_stress(mesh, shapes, {x: A for x, (_, A) in references.items()}),
        )  # fmt: skip
        try:
            carrier = named(formulation) if isinstance(formulation, str) else formulation
        except ValueError as error:
            raise ValueError(f"{who}: {error}") from None
        if not isinstance(carrier, Formulation):
            raise TypeError(
                f"{who}: formulation must be a name or a Formulation, got {shown(carrier)}"
            )
        try:
            self._set(formulation=modal(carrier, constants))
        except ValueError as error:
            raise ValueError(f"{who}: {error}") from None
        self._set(
            mass=float(W0[0, 0]), center_of_mass=W0[0, 1:] / W0[0, 0], second_moments=W0[1:, 1:],
            frequencies=shapes.frequencies, missing_compliance=shapes.missing_compliance,
            face_names=tuple(moved), patches=dict(zip(moved, constants.places, strict=True)),
            nodal=NodalShapes(mesh.x, shapes.values, self._remark, bool(references)),
            labels=mesh.labels,
            skin=skin,
            _sizes={x: _reach(mesh, x) for x in moved}, _turns=constants.turns,
            _stiffened=geometric_stiffness is not None,
        )  # fmt: skip
        self._warn(self._too_fast(float(np.linalg.norm(self.angular_velocity))))
        self._warn(self._too_stiff())
        self._warn(mesh.doubt)

    frequencies: np.ndarray
    missing_compliance: float
    patches: dict[str, np.ndarray]
    nodal: NodalShapes
    labels: np.ndarray
    skin: Skin | None
    _sizes: dict[str, float]
    _turns: np.ndarray
    _stiffened: bool

    def interface(self, name: str, position: Any = (0.0, 0.0, 0.0), axes: Any = None) -> Frame:
        """Return a frame fixed to an interface: position [m] from its centre, axes of the body."""
        if name not in self.patches:
            raise KeyError(f"{self.name}: {absent('interface ', name, self.patches)}")
        return Frame(self, position, axes, face=1 + list(self.patches).index(name))

    def face_pose(self, face: int) -> tuple[np.ndarray, np.ndarray]:
        """Return origin (3,) [m] and rotation (3, 3) of a face at the initial pose."""
        if face == 0:
            return self.position, self.rotation
        return self.position + self.rotation @ [*self.patches.values()][face - 1], self.rotation

    def placed_frame(self, point: np.ndarray, axes: np.ndarray) -> Frame:
        """Return the frame at an inertial point: on the interface that is there."""
        local = self.rotation.T @ (point - self.position)
        if not self.patches:
            raise ValueError(f"{self.name}: there is no interface to attach to; name its nodes")
        gaps = {x: float(np.linalg.norm(local - c)) for x, c in self.patches.items()}
        name = min(gaps, key=lambda x: gaps[x] - self._sizes[x])
        if gaps[name] > self._sizes[name]:
            raise ValueError(
                f"{self.name}: there is no interface at {shown(local)} m in body axes, "
                f"the nearest, {name!r}, is {gaps[name]:.6g} m away; give a frame of it, "
                f"body.interface({name!r}, position)"
            )
        return self.interface(name, local - self.patches[name], self.rotation.T @ axes)

    def _remark(self, yd: np.ndarray, q: np.ndarray) -> str:
        """Return what is to be said of a motion: rates of the frame, coordinates."""
        p = q[:, -len(self.frequencies) :]
        turns = np.linalg.norm(np.einsum("tj,kja->tka", p, self._turns), axis=-1)
        words = []
        if turns.size and turns.max() > _SMALL_TURN:
            name = self.face_names[int(turns.max(axis=0).argmax())]
            words.append(
                f"interface {name!r} of {self.name!r} turns by {turns.max():.3g} rad in the frame, "
                f"modes are for less than {_SMALL_TURN:g} rad; divide the body, or use a Beam"
            )
        spin = np.sqrt(0.5 * (yd[:, 1:] ** 2).sum((-1, -2)))
        words.append(self._too_fast(float(spin.max(initial=0.0))))
        return "; ".join(x for x in words if x)

    def _too_fast(self, spin: float) -> str:
        lowest = 2 * np.pi * float(self.frequencies.min())
        if self._stiffened or spin <= _SLOW * lowest:
            return ""
        return (
            f"{self.name!r} spins at {spin:.3g} rad/s, more than a quarter of its lowest frequency "
            f"({lowest:.3g} rad/s), without geometric stiffness: it is too soft; give "
            "geometric_stiffness, divide the body, or use a Beam"
        )

    def _too_stiff(self) -> str:
        if self.missing_compliance < _STIFF:
            return ""
        return (
            f"{self.name!r}: its {len(self.frequencies)} shapes leave out "
            f"{100 * self.missing_compliance:.2g} % of the compliance between its interfaces: "
            "loads there move it too little; take fixed_modes=6 in the place of modes or cutoff, "
            "or more shapes"
        )

    def _warn(self, text: str) -> None:
        if text:
            warnings.warn(text, UserWarning, stacklevel=4)


def _with_paths(call: Call) -> Call:
    """Return the call with names of files as paths, which model files tell from their folder."""
    files = {x: Path(v) for x, v in call.arguments().items() if x in _FILES and isinstance(v, str)}
    options = call.options | {k: v for k, v in call.arguments().items() if k != "name"} | files
    return call._replace(args=(), options={"name": call.arguments()["name"], **options})


def _factor(who: str, what: str, value: Any) -> float:
    """Return a factor that leaves the numbers of a matrix their digits."""
    x = number(who, what, value, "-", positive=True)
    if x < 1.0 / LARGEST:
        raise ValueError(f"{who}: {what} must not be less than {1.0 / LARGEST:g} [-], got {x:g}")
    return x


def _shapes(mesh: FiniteElementModel, modes: Any, cutoff: Any, fixed: Any) -> Shapes:
    """Return the shapes that are asked for."""
    if sum(x is not None for x in (modes, cutoff, fixed)) > 1:
        raise ValueError(f"{mesh.who}: give one of modes, cutoff and fixed_modes")
    if (mesh.soft or mesh.references.size) and (modes is not None or cutoff is not None):
        raise ValueError(
            f"{mesh.who}: loads and load_stiffness need the statics of all that interfaces can do; "
            "give fixed_modes in the place of modes or cutoff"
        )
    if cutoff is not None:
        return reduced(mesh, None, number(mesh.who, "cutoff", cutoff, "Hz", positive=True))
    if fixed is not None:
        return reduced(
            mesh, None, None, whole(mesh.who, "fixed_modes", fixed, 0 if mesh.interfaces else 1)
        )
    if modes is None:
        return reduced(mesh, None, None, _FIXED)
    if is_whole(modes, 1):
        return reduced(mesh, int(modes), None)
    return given_shapes(mesh, array(mesh.who, "modes", modes, "a number from 1, or shapes (n, m)"))


def _interface(
    mesh: FiniteElementModel, shapes: Shapes, name: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return centre (3,), and shifts and turns (m, 3) of a patch: those that fit its nodes best."""
    center, dofs, R = mesh.patches[name]
    motions = np.linalg.lstsq(R, shapes.values.reshape(-1, len(shapes.K))[dofs], rcond=None)[0]
    return center, motions[:3].T, motions[3:].T


def _reach(mesh: FiniteElementModel, name: str) -> float:
    """Return how far from its centre a point may be that is taken for one of a patch [m]."""
    nodes = mesh.x[mesh.interfaces[name]]
    size = np.linalg.norm(nodes - nodes.mean(axis=0), axis=1).max()
    return float(1.01 * size + 1e-6 * np.ptp(mesh.x, axis=0).max())


def _damping(who: str, shapes: Shapes, ratio: Any, rayleigh: Any) -> np.ndarray:
    """Return the damping matrix (m, m) [N s/m]."""
    omega, vectors = shapes.modes
    zeta = array(who, "damping", ratio, "a ratio, or one for each mode [-]")
    if zeta.shape not in ((), omega.shape) or not np.isfinite(zeta).all() or (zeta < 0).any():
        raise ValueError(
            f"{who}: damping must be a ratio, or {len(omega)} of them, not negative [-], got "
            f"{shown(ratio)}"
        )
    zeta, back = sized(who, "damping", zeta, "-"), shapes.M @ vectors
    D = (back * (2 * zeta * omega)) @ back.T
    if rayleigh is not None:
        alpha, beta = vector(who, "rayleigh", rayleigh, "1/s, s", 2)
        if min(alpha, beta) < 0:
            raise ValueError(
                f"{who}: rayleigh must not be negative [1/s, s], got {shown(rayleigh)}"
            )
        D = D + alpha * shapes.M + beta * shapes.K
    return np.asarray(D)


def _references(who: str, value: Any, spin: Any) -> dict[str, tuple[Any, Any]]:
    """Return reference loads and their matrices by name."""
    example = "{'thrust': (nodal forces, matrix)}"
    pairs = mapping(who, "load_stiffness", {} if value is None else value, example)
    for name, pair in pairs.items():
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise TypeError(
                f"{who}: load_stiffness[{name!r}] must be nodal forces and a matrix, got "
                f"{shown(pair)}"
            )
    if pairs and spin:
        raise ValueError(
            f"{who}: give one of geometric_stiffness and load_stiffness, the stress of the spin is "
            "in both; make the load of the spin a reference load"
        )
    return pairs


def _stress(
    mesh: FiniteElementModel, shapes: Shapes, matrices: dict[str, Any]
) -> dict[str, np.ndarray]:
    """Return reference loads on the shapes (r, m), and stiffness from their stress (r, m, m)."""
    n = len(shapes.K)
    psi = shapes.values.reshape(-1, n)
    G = [psi.T @ (mesh.another(f"load_stiffness[{x!r}]", A, False) @ psi)
         for x, A in matrices.items()]  # fmt: skip
    Q = mesh.references.reshape(-1, len(psi)) @ psi
    k = Q @ np.linalg.solve(shapes.K, Q.T)  # twice the energies of what the loads do
    most = np.abs(mesh.references.reshape(-1, len(psi))) @ np.abs(psi) / np.sqrt(np.diag(shapes.K))
    size = np.linalg.norm(most, axis=1)
    if len(Q) and np.linalg.eigvalsh(k / np.outer(size, size))[0] < _RANK:
        raise ValueError(
            f"{mesh.who}: load_stiffness must have loads that deform the body, each in its way; "
            "leave out those that others, or an interface by itself, make up"
        )
    return {"loads": Q, "load_stiffness": np.array(G).reshape(-1, n, n)}


def _geometric(mesh: FiniteElementModel, shapes: Shapes, matrices: Any) -> np.ndarray:
    """Return stiffness for each product of two components of angular velocity (m, m, 3, 3)."""
    n = len(shapes.K)
    G = np.zeros((n, n, 3, 3))
    if matrices is None:
        return G
    if not isinstance(matrices, dict) or not set(matrices) <= set(_PAIRS):
        raise TypeError(
            f"{mesh.who}: geometric_stiffness must be a dict of {', '.join(_PAIRS)} and matrices, "
            f"got {shown(matrices)}"
        )
    psi = shapes.values.reshape(-1, n)
    for pair, matrix in matrices.items():
        A = mesh.another(f"geometric_stiffness[{pair!r}]", matrix, True)
        a, b = _PAIRS[pair]
        half = 0.5 * psi.T @ (A @ psi)
        G[:, :, a, b] += half
        G[:, :, b, a] += half
    return G
