r"""Steady motion: only then do small motions about it have constant matrices.

The base motion is followed for a while, its faces carried by the frame and by the spins of the
bodies, :math:`y(\tau) = e^{\tilde\Omega\tau} y\,e^{s\tau}`. There the accelerations must still be
those of this motion, the rows be satisfied, and the state matrix be what it was.
"""

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from mbd.algebra.norms import norms
from mbd.algebra.rotations import tilde
from mbd.base.tolerances import LARGEST, ROUND_OFF
from mbd.integration.consistent import consistent
from mbd.machine import buffer as m
from mbd.model.state import State
from mbd.small_motions.face_maps import inverses
from mbd.small_motions.minimal import Minimal, changed, minimal
from mbd.small_motions.small_motion import SmallMotion, carried, small_motion
from mbd.statics.balance import Statics
from mbd.statics.imbalance import imbalance


def steady(motion: SmallMotion) -> Minimal:
    """Return small motions in independent coordinates; refuse matrices that change with time."""
    base = minimal(motion)
    require_balance(motion)
    if motion.at_rest:
        return base
    tau = _while(motion)
    try:
        state = consistent(motion.model, _followed(motion, tau))
    except ValueError as error:
        raise ValueError(
            f"the base motion is not steady: followed for {tau:.3g} s as it moves now, it violates "
            f"constraints ({error}); give the rate of its frame, rotating=(x, y, z) [rad/s], or a "
            "state of steady motion"
        ) from None
    later = small_motion(motion.model, state, motion.omega, motion.memories)
    later = changed(later, _transport(motion, later, tau))
    moved = minimal(later, base.bases)
    rows = _row_errors(later, base)
    size, fastest = base.sizes()
    change = np.abs(moved.S - base.S) * size / size[:, None]
    if change.size and change.max() > ROUND_OFF**0.5 * fastest:
        where = base.labels[int(np.argmax(change.max(1)))]
    elif rows is not None:
        where = rows
    else:
        return base
    raise ValueError(
        "the base motion is not steady: its small motions have coefficients that change with time, "
        f"first at {where!r}; time-periodic systems (an unsymmetric rotor in an unsymmetric "
        "bearing, a load that turns against the frame) cannot be linearised to constant matrices. "
        "If the motion is steady in a turning frame, give its rate, rotating=(x, y, z) [rad/s]"
    )


def require_balance(motion: SmallMotion) -> None:
    """Check that the accelerations are those of a steady motion.

    What they should not be times the mass is out of balance, and is compared with the loads as that
    of an equilibrium is.
    """
    model, state = motion.model, motion.state
    wanted = motion.C @ state.v
    g = motion.M @ (state.a - wanted)
    rest = imbalance(model, state.replace(a=wanted), g, motion.K, motion.maps)
    if rest.round:
        return
    worst = int(np.argmax(np.abs(g) * model.units))
    who = model.numbering.body_of_v(worst)
    raise ValueError(
        f"the state is neither an equilibrium nor a steady motion: {who!r} accelerates "
        f"({model.numbering.v_labels[worst]}: {state.a[worst]:.3g} instead of "
        f"{wanted[worst]:.3g} per s^2); out of balance are {rest.largest}, with loads of "
        f"{rest.loads}; find one with mbd.equilibrium(system), or give the rate of the frame, "
        "rotating=(x, y, z) [rad/s]"
    )


def _while(motion: SmallMotion) -> float:
    """Return a time in which something turns by about a radian, or a length is passed; 0: never."""
    rates = [motion.omega, *(body.omega - motion.omega for body in motion.maps)]
    fastest = float(norms(rates).max())
    if fastest > 0.0:
        return 0.7 / fastest if fastest * LARGEST > 1.0 else 0.0
    speed = float(norms([body.yd[0] for body in motion.maps]).max())
    length = float(motion.model.F[m.LENGTH])
    return length / speed if speed * LARGEST > length else 0.0


def turned_on(motion: SmallMotion) -> State:
    """Return the state after a turn of about a radian, every body carried on as it moves now."""
    return _followed(motion, _while(motion))


def turns_with(problem: Statics, pose: State, factor: float) -> bool:
    """Tell whether forces turn with the frame, at a pose in balance or not, but for round-off."""
    now = problem.at(pose, factor)
    motion = small_motion(problem.model, now.state, problem.omega)
    turned = turned_on(motion)
    later = small_motion(problem.model, turned, problem.omega)
    P = _transport(motion, later, turned.t - pose.t)
    for there in (turned, turned.replace(t=pose.t)):
        g = P.T @ problem.at(there, factor).forces - now.forces
        if imbalance(problem.model, now.state, g, now.K).round:
            return True
    return False


def _followed(motion: SmallMotion, tau: float) -> State:
    """Return the state after tau, every body carried on as it moves now."""
    q: list[np.ndarray] = []
    v: list[np.ndarray] = []
    frame = np.zeros((4, 4))
    frame[:3, :3] = tilde(motion.omega)
    for body in motion.maps:
        part = motion.model.nodes[body.name]
        center = part.center_of_mass
        R0 = body.y[1:].T / np.linalg.norm(body.y[1:], axis=1) if body.axes else np.eye(3)
        frame[:3, 3] = body.yd[0] + np.cross(body.omega, R0 @ center)
        turned = scipy.linalg.expm(frame * tau)
        turn = turned[:3, :3]
        spin = tilde(R0.T @ (body.omega - motion.omega)) if body.axes else np.zeros((3, 3))
        R = turn @ R0 @ scipy.linalg.expm(spin * tau)
        omega = turn @ body.omega
        position = body.y[0] + R0 @ center + turned[:3, 3] - R @ center
        velocity = turn @ frame[:3, 3] - np.cross(omega, R @ center)
        new = part.q_and_v(position, R, velocity, omega)
        inner = part.formulation.n_inner  # modes stay as they are
        for all_of, values, old in ((q, new[0], motion.state.q), (v, new[1], motion.state.v)):
            end = sum(map(len, all_of)) + len(values)
            values[len(values) - inner :] = old[end - inner : end]
            all_of.append(values)
    state = motion.state
    return state.replace(t=state.t + tau, q=np.concatenate(q), v=np.concatenate(v))


def _transport(motion: SmallMotion, later: SmallMotion, tau: float) -> sp.csr_matrix:
    """Return P, later coordinates = P carried coordinates."""
    turn = scipy.linalg.expm(tilde(motion.omega) * tau)
    blocks = []
    for body, back in zip(motion.maps, inverses(later.maps), strict=True):
        part = motion.model.nodes[body.name]
        _, s = carried(body, motion.omega, part.center_of_mass)
        n = body.Y.shape[1]
        moved = []
        for face, own in zip(body.faces, body.spins(s), strict=True):
            spun = scipy.linalg.expm(own * tau)
            moved.append(np.einsum("ab,jbn,jk->kan", turn, face.Y.reshape(4, 3, -1), spun))
        blocks.append(back @ np.concatenate(moved).reshape(-1, n))
    return sp.block_diag(blocks, format="csr")


def _row_errors(later: SmallMotion, base: Minimal) -> str | None:
    """Return the label of a body whose rows the carried bases violate."""
    b = base.bases
    rows = sp.vstack([later.Bp, later.Bv]).tocsr()
    checks = (
        later.Bp @ b.Np,
        rows @ b.N,
        rows @ b.W + sp.vstack([later.Bp @ later.A, later.H]) @ b.Np,
    )
    speed = 1.0 + np.abs(base.S).max(initial=0.0)
    for error, size in zip(checks, (1.0, 1.0, speed), strict=True):
        if error.size and np.abs(error).max() > ROUND_OFF**0.5 * size * max(1.0, np.abs(b.N).max()):
            return base.labels[int(np.argmax(np.abs(error).max(0)))]
    return None
