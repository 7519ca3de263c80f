"""Nothing depends on where the scene is, on the order of its parts, or on how many there are."""

import itertools

import numpy as np
import pytest
from recipes import (
    FORMS,
    GRAVITY,
    JOINING,
    LOADS,
    ROW_PARTS,
    SCALING,
    SCALINGS,
    STILL,
    Motion,
    Raw,
    elsewhere,
    on_pairs,
    pair,
)
from scenes import by_label, chain, four_bar, random_system
from scipy.spatial.transform import Rotation

import mbd
from mbd.formulations import NAMES
from mbd.interactions.kind import Attachment, Element
from mbd.machine import buffer as m
from mbd.model.state import State
from mbd.model.workspace import Workspace

MOTION = Motion(Rotation.from_rotvec((0.9, -1.7, 0.6)).as_matrix(), (3.0, -5.0, 2.0))


def accelerations(system):
    """Return accelerations of all faces, joint forces and moments at the described state."""
    model = system.build()
    state = mbd.assemble_pose(model)
    work = Workspace(model, state)
    work.evaluate()
    work.rates()
    ydd = work.vector(m.YDD, 12 * (len(system.bodies) + 1))[12:].reshape(-1, 4, 3).copy()
    y = work.vector(m.Y, len(ydd) * 12 + 12)[12:].reshape(-1, 4, 3).copy()
    return y, ydd, state


def check_moved(make):
    """Compare a scene with the same scene elsewhere; the ground may not take part."""
    y, ydd, _ = accelerations(make(STILL))
    y2, ydd2, _ = accelerations(make(MOTION))
    assert np.allclose(y2[:, 0], y[:, 0] @ MOTION.Q.T + MOTION.c, rtol=0, atol=1e-11)
    assert np.allclose(y2[:, 1:], y[:, 1:] @ MOTION.Q.T, rtol=0, atol=1e-12)
    size = max(1.0, np.abs(ydd).max())
    assert np.allclose(ydd2, ydd @ MOTION.Q.T, rtol=0, atol=1e-10 * size)
    assert np.abs(ydd).max() > 0.1


@pytest.mark.parametrize(("name", "first", "second"), on_pairs(JOINING))
def test_part_does_not_know_where_it_is(name, first, second):
    def make(motion):
        system, one, two = pair(first, second, motion)
        system.add(JOINING[name](one, two, motion))
        return system

    check_moved(make)


ON_ONE = [
    *itertools.product(LOADS, [*NAMES, *(f for f in FORMS if FORMS[f].rigid)]),
    *itertools.product(SCALINGS, SCALING),
]


@pytest.mark.parametrize(("name", "formulation"), ON_ONE, ids=str)
def test_load_turns_with_the_scene(name, formulation):
    def make(motion):
        system, one, _ = pair(FORMS.get(formulation, formulation), "ground", motion)
        system.add({**LOADS, **SCALINGS}[name](one, motion))
        return system

    check_moved(make)


@pytest.mark.parametrize("formulation", NAMES)
def test_rigid_motion_does_not_stretch(formulation):
    """Springs at their free length give no force wherever the scene was moved as a whole."""
    system, one, two = pair(formulation, formulation)
    here = {"at": (0.2, 0.1, 0.3)}
    system.add(mbd.Spring("s", one, two, **here, to=(0.5, 0.2, 0.9), stiffness=1e3))
    system.add(mbd.Bushing("b", one, two, **here, stiffness=(1e3,) * 6))
    hinge = mbd.Revolute("h", one, two, **here, axis=(0, 0, 1))
    system.add(mbd.RotationalSpring("r", hinge, stiffness=1e3))
    model = system.build()
    q = np.concatenate([
        b.formulation.initial(
            MOTION.point(b.position), MOTION.Q @ b.rotation, np.zeros(3), np.zeros(3)
        )[0]
        for b in system.bodies.values()
    ])  # fmt: skip
    work = Workspace(model, model.state.replace(q=q, v=np.zeros(model.n_v)))
    work.evaluate()
    assert np.abs(work.vector(m.FY, 36)).max() < 1e-11


# --- batches and order ---------------------------------------------------------------------------
def blocks(model, q, v, a, lam):
    A = model.assemble(State(0.3, q, v, a, lam))
    return A.M, A.G, A.K, A.B, A.Bt, A.residual[:, None], A.gap[:, None]


def check_batch(many, ones):
    """Assemble three copies of a scene in one model and one by one: equal to the last bit."""
    model = many.build()
    rng = np.random.default_rng(61297)
    q, v = elsewhere(model, rng)
    a, lam = rng.normal(size=model.n_v), rng.normal(size=model.n_lam)
    rows = by_label(model.numbering.v_labels, range(model.n_v))
    lams = by_label(model.numbering.lam_labels, range(model.n_lam))
    assert len(lams) == model.n_lam
    whole = [x.toarray() if hasattr(x, "toarray") else x for x in blocks(model, q, v, a, lam)]
    n_q = 0
    for one in ones:
        part = one.build()
        i = [rows[x] for x in part.numbering.v_labels]
        k = [lams[x] for x in part.numbering.lam_labels]
        mine = blocks(part, q[n_q : n_q + part.n_q], v[i], a[i], lam[k])
        n_q += part.n_q
        cuts = ((i, i), (i, i), (i, i), (k, i), (i, k), (i, [0]), (k, [0]))
        for big, small, cut in zip(whole, mine, cuts, strict=True):
            small = small.toarray() if hasattr(small, "toarray") else small
            assert np.array_equal(big[np.ix_(*cut)], small)
    coupled = sum(x.build().assemble().B.nnz for x in ones)
    assert coupled == model.assemble().B.nnz


def trio(formulations, add):
    """Return one system with three pairs of bodies, and three with one each."""
    together = mbd.System(gravity=GRAVITY)
    apart = []
    for i in range(3):
        alone = mbd.System(gravity=GRAVITY)
        alone.ground = together.ground
        rng = np.random.default_rng(61331 + i)
        made = []
        for k, f in enumerate(formulations):
            b = mbd.RigidBody(
                f"{i}{k}", mass=rng.uniform(1, 2), inertia=rng.uniform(1, 1.5, 3),
                center_of_mass=rng.uniform(-1, 1, 3), position=rng.uniform(-1, 1, 3),
                formulation=f,
            )  # fmt: skip
            made.append(together.add(alone.add(b)))
        part = add(i, *made)
        if part is not None:
            together.add(alone.add(part))
        apart.append(alone)
    return together, apart


@pytest.mark.parametrize("name", NAMES)
def test_batch_of_bodies(name):
    check_batch(*trio((name, name), lambda i, one, two: None))


@pytest.mark.parametrize("second", NAMES)
@pytest.mark.parametrize("name", [x for x in JOINING if x not in ROW_PARTS], ids="-".join)
def test_batch_of_parts(name, second):
    recipe = JOINING[name]

    def add(i, one, two):
        made = recipe(one, two, Motion(shift=(0.1 * i, 0.0, 0.0)))
        renamed = [
            Element(e.kind, [Attachment(a.body, a.weights) for a in e.attachments], e.numbers,
                    e.memory, e.rows, e.row_kinds, e.law)
            for e in made.elements()
        ]  # fmt: skip
        return Raw(f"part {i}", (one, two), renamed)

    check_batch(*trio(("so3", second), add))


def shuffled(system, rng):
    """Return the system with its parts added in another order."""
    other = mbd.System(gravity=system.gravity)
    other.ground = system.ground
    for table in (system.bodies, system.joints, system.forces):
        parts = list(table.values())
        for i in rng.permutation(len(parts)):
            other.add(parts[i])
    return other


@pytest.mark.parametrize("seed", [20011, 20021, 20023, 20029])
def test_order_of_parts_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    system = random_system("tree", rng, 6)
    one, two = system, shuffled(system, rng)
    models = one.build(), two.build()
    q, v = elsewhere(models[0], rng)
    names = models[0].labels
    found = []
    a = by_label(names, rng.normal(size=len(names)))
    v = by_label(models[0].numbering.v_labels, v)
    by_body = {b: q[models[0].numbering.q[i]] for b, i in models[0].bodies.items()}
    for model in models:
        n = model.numbering
        state = State(
            0.0, np.concatenate([by_body[b] for b in model.bodies]),
            np.array([v[x] for x in n.v_labels]), np.array([a[x] for x in n.v_labels]),
            np.array([a[x] for x in n.lam_labels]),
        )  # fmt: skip
        A = model.assemble(state)
        r = {**by_label(n.v_labels, A.residual), **by_label(n.lam_labels, A.gap)}
        S = A.iteration_matrix(1e-2, 0.7).toarray()
        place = np.argsort(model.labels)
        found.append((np.array([r[x] for x in sorted(r)]), S[np.ix_(place, place)]))
    assert models[0].labels != models[1].labels
    assert np.allclose(found[0][0], found[1][0], rtol=0, atol=1e-12)
    assert np.allclose(found[0][1], found[1][1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("build", [lambda: chain(5, NAMES, spin=1.0), lambda: four_bar(NAMES)])
def test_order_of_parts_does_not_change_a_run(build):
    system = build()
    rng = np.random.default_rng(20047)
    method = mbd.GeneralizedAlpha(tol=1e-10)
    one = mbd.simulate(system, 0.1, 2e-3, method=method)
    two = mbd.simulate(shuffled(system, rng), 0.1, 2e-3, method=method)
    for name in system.bodies:
        assert np.allclose(one[name].position, two[name].position, rtol=0, atol=1e-9)
        assert np.allclose(one[name].rotation, two[name].rotation, rtol=0, atol=1e-9)
    for name in system.joints:
        assert np.allclose(one[name].force, two[name].force, rtol=0, atol=1e-4)
    assert np.ptp(one[next(iter(system.bodies))].rotation, axis=0).max() > 1e-2
