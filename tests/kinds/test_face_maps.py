"""The maps between coordinates and faces, for every formulation, against differences."""

import numpy as np
import pytest
from charts import CHARTS
from scipy.spatial.transform import Rotation

import mbd
from mbd.algebra.rotations import tilde
from mbd.formulations import NAMES
from mbd.machine import buffer as m
from mbd.model.workspace import Workspace
from mbd.small_motions.face_maps import face_maps
from mbd.small_motions.small_motion import small_motion

FORMS = [
    *NAMES,
    mbd.EulerParameters("full", "B1"),
    mbd.EulerParameters("reduced"),
    mbd.EulerParameters("projected"),
    mbd.Scalable(velocities="u"),
    mbd.Unified("tetrahedral"),
    *CHARTS.values(),
]


def name_of(formulation):
    return formulation if isinstance(formulation, str) else formulation.name


def moving(formulation):
    """A point and a body that move at random."""
    rng = np.random.default_rng(7193)
    system = mbd.System()
    system.add(mbd.PointMass("point", mass=1.0, position=rng.normal(size=3), velocity=(1, 2, 3)))
    system.add(
        mbd.RigidBody(
            "body", mass=1.0, inertia=(1.0, 1.1, 1.2), position=rng.normal(size=3),
            rotation=Rotation.from_rotvec(rng.normal(size=3)), velocity=rng.normal(size=3),
            angular_velocity=rng.normal(size=3), center_of_mass=(0.1, 0.2, -0.1),
            formulation=formulation,
        )
    )  # fmt: skip
    return system.build()


@pytest.mark.parametrize("formulation", FORMS, ids=name_of)
def test_maps_are_the_derivatives_of_the_face(formulation):
    model = moving(formulation)
    state = model.state
    found = face_maps(model, state)[1]
    here = model.numbering.v[found.v]
    v = state.v[found.v]

    def face(increment, velocity):
        work = Workspace(model, state)
        work.vector(m.D)[here] = increment
        work.vector(m.V)[here] = velocity
        work.evaluate()
        return work.vector(m.Y, 36)[24:].copy(), work.vector(m.YD, 36)[24:].copy()

    def difference(which, x, u):
        h = 1e-4
        return sum(
            w * face(k * h * x, u)[which] for k, w in ((-2, 1), (-1, -8), (1, 8), (2, -1))
        ) / (12 * h)

    unit = np.eye(len(v))
    Y = np.stack([difference(0, e, v) for e in unit], 1)
    D = np.stack([difference(1, e, v) for e in unit], 1)
    Yd = np.stack([difference(1, v, e) for e in unit], 1)
    assert np.allclose(found.Y, Y, rtol=0, atol=1e-10)
    assert np.allclose(found.D, D, rtol=0, atol=1e-10)
    assert np.allclose(found.Yd, Yd, rtol=0, atol=1e-10)
    assert np.allclose(found.omega, model.system["body"].angular_velocity, rtol=0, atol=1e-12)


@pytest.mark.parametrize("formulation", FORMS, ids=name_of)
@pytest.mark.parametrize("omega", [(0.0, 0.0, 0.0), (0.3, -1.2, 0.7)])
def test_small_motions_keep_their_faces_while_they_are_carried(formulation, omega):
    """Two motions a little apart, carried for a while: delta' stays as A and C say.

    The difference of faces, seen from the frame and the spin of the body, must change at the rate
    Y (w + A delta).
    """
    model = moving(formulation)
    state = model.state
    omega = np.array(omega)
    motion = small_motion(model, state, omega)
    body = motion.maps[1]
    rng = np.random.default_rng(5)
    delta, w = rng.normal(size=(2, body.v.stop - body.v.start))
    A = motion.A.toarray()[body.v, body.v]
    # the spin of the body in the frame, about its centre of mass
    center = model.system["body"].center_of_mass
    s = np.zeros((4, 4))
    s[1:, 1:] = tilde(body.y[1:] @ (body.omega - omega))
    s[1:, 0] = -s[1:, 1:] @ center
    rate = (body.Y @ w + body.D @ delta).reshape(4, 3)
    dy = (body.Y @ delta).reshape(4, 3)
    seen = rate - np.cross(omega, dy) - s.T @ dy
    assert np.allclose(seen.ravel(), body.Y @ (w + A @ delta), rtol=0, atol=1e-12)
