"""Kinds of interactions: attachments, own rows, numbers, kernels; their elements."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from mbd.machine.buffer import E_ENDS, SCRATCH_EACH, SCRATCH_OWN, halves


@dataclass(frozen=True)
class Kind:
    r"""One kind of interaction: declared facts and the kernels that run for all of it.

    Parameters
    ----------
    name : str
    n_attachments, n_rows : int
    pairs : tuple of (int, int)
        Which pairs of attachments are coupled by the element's stiffness.
    forces : kernel
        Adds face forces; writes the rows Phi.
    tangent : kernel
        Adds blocks of the matrix.
    rates : kernel or None
        Writes both time derivatives of the rows.
    accept : kernel or None
        Runs once after every accepted step, for elements with a memory.
    damped : bool
        Whether forces depend on velocities (then the maps of the velocity are formed). If no kind
        of a model declares it, faces have no velocities in a step.
    turns : bool
        Whether it counts turns of angles: its memory are angles, whose rates it needs in a step.
    stateless : bool
        Whether what it remembers is no part of a state: it follows from pose and time.
    accelerated : bool
        Whether forces depend on accelerations: an element with mass, which is ``damped`` too. If no
        kind of a model declares it, faces have no accelerations in a step.
    room : int
        Numbers after the element's own that its kernels may write.
    stresses : int
        Numbers after its own which are stresses of its strains. In the phase STRESS_AHEAD forces
        writes them, as they become along the velocities, and nothing else; in STRESS_GIVEN both
        kernels take them for those of the pose. In these phases, and in STRESS_HERE, with those of
        the pose itself, what goes slack does not.
    work : int
        Floats of scratch space after the maps of attachments, ``vector(I, n_attachments, 0)``.
    secant : bool
        Whether the gradient of the rows at the midpoint of a step is their secant: they are at most
        quadratic in the face and know no time. Of springs, whether there is such a secant, of
        elements with mass, whether the midpoint rule conserves their energy. The conserving scheme
        needs it.
    conserving : (kernel, kernel) or None
        What stands in the place of forces and tangent in steps of that scheme.
    smooth : bool
        Whether forces and rows are smooth functions of the numbers and faces of an element, laws
        apart: there is no contact, nothing that goes slack, no friction. Derivatives by parameters
        of others look whether a kink is near.
    set_valued : bool or str
        Whether the law is set-valued, such as an impact or dry friction, so that kernels cannot say
        it; or the name of that law, where several kinds have it. Only methods that declare
        ``Facts(set_valued=True)`` move a model that has the kind, all else refuses it by name.
    integrable : bool
        Whether rows on velocities are the rate of a function of the pose, less a law of time, as
        those of a drive: small motions keep that function.
    own_block : bool
        Whether rows give way, :math:`\Phi - C\lambda = 0`, with a diagonal block of their own in
        the matrix (``compliant_rows.py``). Elsewhere than in the time loop they are no rows.
    energy : kernel or None
        Adds the potential energy to F[POTENTIAL], the power that is dissipated to F[DISSIPATED] and
        the power that is put into the system to F[SUPPLIED]; in the phase START it takes the pose
        as zero of what it integrates. Without one, forces put all of their power into the system,
        and rows do no work.
    momenta : kernel or None
        Of an element with mass: adds its momentum :math:`\partial T/\partial\dot y` to the face
        forces, from which follow its kinetic energy (T is quadratic in the rates) and momenta.
    code : tuple of kernels
        Full measures, which its kernels call by the addresses after the head of a table.
    unit : str
        Of a row or of a measure: "m", "rad", "m^2", "-" for a pure number; of a row on velocities
        "m/s" or "rad/s".
    """

    name: str
    n_attachments: int
    n_rows: int
    pairs: tuple[tuple[int, int], ...]
    forces: Any
    tangent: Any
    rates: Any = None
    accept: Any = None
    damped: bool = False
    turns: bool = False
    stateless: bool = False
    accelerated: bool = False
    room: int = 0
    stresses: int = 0
    work: int = 0
    secant: bool = True
    conserving: tuple[Any, Any] | None = None
    smooth: bool = False
    set_valued: bool | str = False
    integrable: bool = False
    own_block: bool = False
    energy: Any = None
    momenta: Any = None
    code: tuple[Any, ...] = ()
    unit: str = "-"

    def __str__(self) -> str:
        """Return its name, for messages."""
        return self.name

    def __hash__(self) -> int:
        """Return the hash of its name: every element is looked up by its kind."""
        return hash(self.name)

    @property
    def law(self) -> str:
        """Name of its set-valued law."""
        return self.set_valued if isinstance(self.set_valued, str) else self.name

    @property
    def loads(self) -> bool:
        """Whether all power of its forces goes into the system, as that of a load."""
        stores = self.energy is not None or self.momenta is not None
        return not stores and not self.n_rows and self.forces is not None

    @property
    def scratch(self) -> int:
        """Floats of the scratch space that its kernels need."""
        return SCRATCH_OWN + SCRATCH_EACH * self.n_attachments + self.work

    def head(self, number: int, first: int, memory: int = 0) -> list[int]:
        """Return the head of a table: number of elements, place of the first, numbers it keeps."""
        blocks = E_ENDS + self.n_attachments
        pairs = blocks + 4 * self.n_attachments * bool(self.n_rows) + 2 * self.own_block
        size = pairs + 2 * len(self.pairs)
        code = (x for function in self.code for x in halves(function.address))
        return [number, first, size, blocks, pairs, self.n_attachments, memory, *code]


def face_name(body: str, face: int) -> str:
    """Return the name of a face: that of the body, after it the number if it is not the first."""
    return f"{body}/{face}" if face else body


class Attachment(NamedTuple):
    """A point (weights with w0 = 1) or a vector (w0 = 0) fixed to a face of a body."""

    body: str
    weights: tuple[float, float, float, float]
    face: int = 0

    @property
    def place(self) -> str:
        """Name of the face."""
        return face_name(self.body, self.face)


class Element(NamedTuple):
    """One element of a kind, as a part of the model describes it.

    Parameters
    ----------
    kind : Kind
    attachments : sequence of Attachment
    numbers : sequence of float
        Constants, laid out as the kernels of the kind expect.
    memory : sequence of float
        Initial values of the numbers that change at accepted steps.
    rows, row_kinds : sequence
        Names and kinds (force or moment) of the constraint rows.
    law : object or None
        A user's law, as prepared by ``laws.py``.
    """

    kind: Kind
    attachments: Sequence[Attachment]
    numbers: Sequence[float] = ()
    memory: Sequence[float] = ()
    rows: Sequence[str] = ()
    row_kinds: Sequence[int] = ()
    law: Any = None

    def __eq__(self, other: object) -> bool:
        """Compare all but the law, whose address differs from build to build."""
        return isinstance(other, Element) and self[:-1] == other[:-1]

    def __hash__(self) -> int:
        """Return a number that is equal for equal elements."""
        return hash(self[:-1])
