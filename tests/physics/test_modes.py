"""Modes against published frequencies, in every formulation; energies, labels, shapes, refusals."""

import numpy as np
import pytest
from scenes import chain, four_bar

import mbd
from mbd.linear.arnoldi import largest
from mbd.runs.progress import Progress

from .tools import RIGID, published, scene

ALL = [
    *RIGID,
    mbd.EulerParameters("reduced"),
    mbd.EulerParameters("projected"),
    mbd.Scalable(velocities="u"),
]


# sqrt(g x / l), x zeros of the Laguerre polynomial L_N: points on massless links, g = 9.81, l = 1
POINTS = {
    2: (2.3971993978641, 5.7873512980361),
    3: (2.0195911472489, 4.7441427396672, 7.8552123627319),
    5: (1.6079573179767, 3.7236385444663, 5.9397758218564, 8.3373734567593, 11.135809637487),
}
RODS = {
    1: (3.8360135557633,),
    2: (2.6801140122534, 7.1886708702877),
    3: (2.1810876126705, 5.4249423960075, 10.248872878878),
    10: (
        1.1912959338622, 2.7601376236998, 4.44153975778, 6.302157957034, 8.4010178124615,
        10.822172038787, 13.670082766186, 17.06784862951, 21.217447473986, 26.637701525004,
    ),
}  # fmt: skip
WHIRL = {  # rpm: signed whirl speeds of a rigid rotor on two bearings [rad/s]
    0: (-418.69344506442, -195.0105955927, 195.0105955927, 418.69344506442),
    1000: (-342.16178110172, -193.36644584303, 196.0184351386, 514.04271700558),
    5000: (-211.56080337561, -153.2259445034, 197.81530384834, 1039.6360700278),
    10000: (-202.97902679164, -89.895679212295, 198.6077807029, 1839.5961772954),
    30000: (-200.72494171731, -31.607571331468, 199.43316457162, 5268.8871044602),
}


def hanging(n, formulation):
    """Uniform rods of 1 m on hinges about y, hanging."""
    return chain(
        n, (formulation,), joint="Revolute", along=(0, 0, -1), inertia=(1 / 12, 1 / 12, 1e-2)
    )


def points(n):
    """Points on massless links of 1 m, hanging."""
    system = mbd.System(gravity=(0, 0, -9.81))
    last = system.ground
    for i in range(n):
        point = system.add(mbd.PointMass(f"mass {i}", mass=2.0, position=(0, 0, -i - 1.0)))
        system.add(mbd.Distance(f"link {i}", last, point))
        last = point
    return system


def name_of(formulation):
    return formulation if isinstance(formulation, str | None) else formulation.name


# --- numbers from elsewhere -----------------------------------------------------------------------
@pytest.mark.parametrize("formulation", [None, *ALL], ids=name_of)
@pytest.mark.parametrize("ends", ["fixed-free", "fixed-fixed", "free-free"])
def test_chain_of_masses(ends, formulation):
    system = scene("spring_mass").build(ends=ends, amplitude=0.0, formulation=formulation)
    exact = np.array([w for w in published("E01")[ends.replace("-", "_")] if w > 1e-9])
    found = mbd.modes(system)
    free = found.eigenvalues == 0.0
    assert free.sum() == len(found) - len(exact)
    assert np.allclose(2 * np.pi * found.frequency[~free], exact, rtol=1e-12, atol=0)
    assert np.all(found.damping == 0.0)


def test_proportional_damping_of_the_chain_of_masses():
    """c = beta k: s = -beta w^2 / 2 +- i w sqrt(1 - (beta w / 2)^2), also beyond critical."""
    w = np.array(published("E01")["fixed_free"])
    for beta in (0.01, 0.3):
        system = scene("spring_mass").build(amplitude=0.0, damping=300 * beta)
        found = mbd.modes(system).eigenvalues
        root = np.sqrt(((beta * w / 2) ** 2 - 1).astype(complex))
        exact = np.concatenate([w * (-beta * w / 2 + root), w * (-beta * w / 2 - root)])
        exact = exact[exact.imag >= 0.0]
        moving = found[found != 0.0]
        assert len(moving) == len(exact)
        for s in exact:
            assert np.abs(moving - s).min() < 1e-9 * abs(s)


@pytest.mark.parametrize("n", [1, *POINTS, 10])
def test_hanging_points(n):
    laguerre = np.polynomial.laguerre.lagroots([0] * n + [1])
    exact = np.sqrt(9.81 * laguerre)
    if n in POINTS:
        assert np.allclose(exact, POINTS[n], rtol=1e-12)
    found = mbd.modes(points(n))
    assert np.allclose(2 * np.pi * found.frequency, np.repeat(exact, 2), rtol=1e-11, atol=0)


@pytest.mark.parametrize("formulation", ALL, ids=name_of)
@pytest.mark.parametrize("n", RODS)
def test_hanging_rods(n, formulation):
    found = mbd.modes(hanging(n, formulation))
    assert np.allclose(2 * np.pi * found.frequency, RODS[n], rtol=1e-11, atol=0)
    assert np.all(found.eigenvalues.real == 0.0)


@pytest.mark.parametrize("formulation", ALL, ids=name_of)
def test_hanging_bar_of_the_chains_swings(formulation):
    """The bar of the reference chains: w^2 = m g L / 2 / (J + m L^2 / 4) = 14.678."""
    system = mbd.System(gravity=(0, 0, -9.81))
    J = 0.8416666666666667
    bar = mbd.RigidBody(
        "bar", mass=10.0, inertia=(J, J, 0.016666666666666666), position=(0, 0, -0.5),
        formulation=formulation,
    )  # fmt: skip
    system.add(bar)
    system.add(mbd.Spherical("pin", system.ground, bar, at=(0, 0, 0)))
    found = mbd.modes(system)
    square = 10 * 9.81 * 0.5 / (J + 10 * 0.25)
    assert square == pytest.approx(14.678, abs=5e-4)
    assert np.allclose(found.eigenvalues.imag**2, [0.0, square, square], rtol=1e-12, atol=1e-12)
    assert found[0].label == "free rotation about z of 'bar'"
    assert {m.label for m in found} >= {"swing of 'bar' about x", "swing of 'bar' about y"}


# --- one model, many coordinates ------------------------------------------------------------------
def mixed(formulations, *, damping=0.4):
    """A deflected spatial chain with springs, a damper and a closed loop."""
    kinds = iter(formulations)
    system = mbd.System(gravity=(0.3, 0.2, -9.81))
    bodies = []
    for i, x in enumerate(((0.5, 0, 0), (1.2, 0.4, 0), (1.5, 1.1, 0.2))):
        bodies.append(
            system.add(
                mbd.RigidBody(
                    f"b{i}", mass=1.0 + i, inertia=(0.1, 0.15, 0.2), position=x,
                    center_of_mass=(0.05, -0.1, 0.02 * i), formulation=next(kinds),
                )
            )
        )  # fmt: skip
    a, b, c = bodies
    system.add(mbd.Revolute("hinge", system.ground, a, at=(0, 0, 0), axis=(0, 1, 0.2)))
    system.add(mbd.Spherical("ball", a, b, at=(1, 0, 0)))
    system.add(
        mbd.Universal("cross", b, c, at=(1.4, 0.8, 0), axis=(1, 0, 0), second_axis=(0, 0, 1))
    )
    system.add(mbd.Distance("rod", system.ground, c, at=(1.5, 1.5, 1.5), to=(1.5, 1.4, 0.3)))
    for i, body in enumerate(bodies):
        system.add(
            mbd.Spring(f"spring {i}", system.ground, body, at=(i, 1, 2), to=body.position + 0.1,
                       stiffness=400.0, damping=damping)
        )  # fmt: skip
    return system


def test_same_eigenvalues_in_every_formulation_about_a_deflected_state():
    reference = mbd.modes(mbd.equilibrium(mixed(["so3"] * 3)))
    assert len(reference) == 5
    assert reference.stable
    for kinds in (*([f] * 3 for f in ALL), ("directors", "se3", "euler_parameters")):
        found = mbd.modes(mbd.equilibrium(mixed(kinds)))
        error = np.abs(found.eigenvalues - reference.eigenvalues)
        assert error.max() < 1e-10 * np.abs(reference.eigenvalues).max()
        assert np.allclose(found.kinetic, reference.kinetic, rtol=0, atol=1e-8)
        assert np.allclose(found.potential, reference.potential, rtol=0, atol=1e-7)
        assert found.labels == reference.labels


@pytest.mark.slow
def test_redundant_rows_change_nothing():
    """A parallelogram that hangs is one pendulum, with three rows too many."""
    for formulation in RIGID:
        system = four_bar((formulation,))
        del system.forces["push"]
        hung = mbd.equilibrium(system)
        assert hung.model.redundant
        # m g l sum over two cranks (arm 1/2) and the coupler (arm 1), about the hinges
        inertia = 2 * (0.08 + 0.25) + 1.0
        exact = np.sqrt(9.81 * (0.5 + 0.5 + 1.0) / inertia)
        for found in (mbd.modes(hung), mbd.modes(hung, n=1, solver="sparse")):
            assert 2 * np.pi * found.frequency == pytest.approx([exact], rel=1e-9)


@pytest.mark.parametrize("formulation", ["so3", "directors", "euler_parameters"])
def test_sparse_agrees_with_dense(formulation):
    system = hanging(12, formulation)
    a, b = mbd.modes(system, n=5), mbd.modes(system, n=5, solver="sparse")
    assert np.allclose(a.eigenvalues, b.eigenvalues, rtol=1e-9, atol=0)
    assert np.allclose(np.abs(a.shapes), np.abs(b.shapes), rtol=0, atol=1e-6)
    every = mbd.modes(system).frequency
    near = mbd.modes(system, n=2, solver="sparse", near=0.4 * every[6] + 0.6 * every[7])
    assert near.frequency == pytest.approx(every[[6, 7]], rel=1e-8)


@pytest.mark.parametrize("n", [2, 4])
def test_redundant_rows_take_no_motions_from_the_sparse_ones(n):
    """A planar four-bar of hinges, three of their rows redundant, beside a chain."""
    system = hanging(n, "so3")
    corners = np.array([(8, 0, 0), (8, 0, 1), (10, 0, 2), (11, 0, 0)], float)
    bars = [
        system.add(
            mbd.RigidBody(f"side {i}", mass=1.0, inertia=(0.1, 0.2, 0.3), position=(p + q) / 2)
        )
        for i, (p, q) in enumerate(zip(corners, corners[1:], strict=False))
    ]
    ends = [system.ground, *bars, system.ground]
    for i, at in enumerate(corners):
        system.add(mbd.Revolute(f"corner {i}", ends[i], ends[i + 1], at=at, axis="y"))
    pose = mbd.equilibrium(system)
    assert system.build().report(pose.state).n_redundant >= 3
    a, b = mbd.modes(pose, n=n + 1), mbd.modes(pose, n=n + 1, solver="sparse")
    assert len(a.eigenvalues) == n + 1
    assert np.allclose(a.eigenvalues, b.eigenvalues, rtol=1e-8, atol=0)


def test_sparse_with_dampers_spin_and_free_motions():
    system = mixed(["so3", "directors", "se3"])
    pose = mbd.equilibrium(system)
    a, b = mbd.modes(pose), mbd.modes(pose, n=5, solver="sparse")
    assert np.allclose(a.eigenvalues, b.eigenvalues, rtol=1e-8, atol=0)
    free = scene("spring_mass").build(ends="free-free", amplitude=0.0, n=4)
    a, b = mbd.modes(free, n=12), mbd.modes(free, n=11, solver="sparse")
    assert np.count_nonzero(b.eigenvalues == 0.0) == 9
    assert np.allclose(a.eigenvalues[9:11], b.eigenvalues[9:], rtol=1e-9)
    rotor = scene("rotor").build(amplitude=0.0)
    a = mbd.modes(rotor).eigenvalues.imag
    b = mbd.modes(rotor, n=3, solver="sparse").eigenvalues.imag
    assert np.allclose(a[a > 1][:1], b[b > 1][:1], rtol=1e-9)


def test_the_largest_eigenvalues_come_in_order_and_as_often_as_they_count():
    inverse = 1.0 / np.repeat(np.arange(1.0, 41.0), 3)
    values, vectors, complete = largest(np.diag(inverse).dot, 120, 9)
    assert complete
    assert np.allclose(1.0 / values[:9].real, [1, 1, 1, 2, 2, 2, 3, 3, 3], rtol=1e-9)
    assert np.allclose(inverse[:, None] * vectors, vectors * values, rtol=0, atol=1e-9)
    values, _, complete = largest(np.diag(inverse).dot, 120, 120)  # that is all there is
    assert complete
    assert np.allclose(np.sort(values.real), np.sort(inverse), rtol=1e-9)


def test_eigenvalues_that_gather_end_the_search_for_the_largest():
    """Those apart from the others are found; where the others are does not matter."""
    gathered = 0.5 - 1e-9 * np.arange(1000.0) ** 2
    values, _, complete = largest(np.diag(np.append(gathered, [2.0, 1.0])).dot, 1002, 12)
    assert not complete
    assert np.allclose(values, [2.0, 1.0])


# --- moving bases ---------------------------------------------------------------------------------
@pytest.mark.parametrize("formulation", ALL, ids=name_of)
def test_spinning_rotor(formulation):
    for rpm, exact in WHIRL.items():
        system = scene("rotor").build(formulation, rpm=rpm, amplitude=0.0)
        s = mbd.modes(system).eigenvalues
        found = s.imag[s.imag > 0]
        # the axial motion and the turn about the axis are free
        assert np.allclose(np.sort(found), np.sort(np.abs(exact)), rtol=1e-12, atol=0)
        assert np.abs(s.real).max() < 1e-9


@pytest.mark.parametrize("formulation", ALL, ids=name_of)
def test_nutation_of_a_top_in_steady_precession(formulation):
    """Small nutation about steady precession P: with C n = A cos(th) P + Q / P, Q = m g l,

    A^2 w^2 = (C n)^2 - 4 A Q cos(th) + A^2 P^2 sin(th)^2 - ... from the effective potential,
    A w^2 = d/dth of [ (A P cos - C n) P sin + ... ] at constant momenta.
    """
    top = scene("steady_top")
    P = top.rate()
    found = mbd.modes(top.build(formulation), rotating=(0, 0, P))
    A, C, n, th, Q = top.A, top.C, top.SPIN, top.THETA, top.LOAD
    # V(th) = (L - C n cos)^2 / (2 A sin^2) + Q cos, L = A sin^2 P + C n cos
    s, c = np.sin(th), np.cos(th)
    L = A * s * s * P + C * n * c
    x, dx, ddx = L - C * n * c, C * n * s, C * n * c
    second = (dx * dx + x * ddx) / (A * s * s) - 4 * x * dx * c / (A * s**3)
    second += x * x * (1 + 2 * c * c) / (A * s**4) - Q * c
    exact = np.sqrt(second / A)
    assert found.eigenvalues.imag.max() == pytest.approx(exact, rel=1e-9)
    assert found.stable


def test_solutions_of_large_models_are_counted(capsys, monkeypatch):
    """On a terminal, or if it is asked for."""
    steps, update = [], Progress.update
    monkeypatch.setattr(Progress, "update", lambda bar, n: (steps.append(n), update(bar, n)))
    monkeypatch.setattr("mbd.analyses.modes.NEUTRAL_MANY", 5)
    system = hanging(12, "so3")
    quiet = mbd.modes(system)
    assert capsys.readouterr().err == ""
    assert len(quiet.eigenvalues) == 12 < sum(steps)
    shown = mbd.modes(system, progress=True)
    assert "solution" in capsys.readouterr().err
    assert np.array_equal(quiet.eigenvalues, shown.eigenvalues)
    with pytest.raises(TypeError, match="modes: progress"):
        mbd.modes(system, progress="yes")


def test_what_is_not_steady_is_refused():
    with pytest.raises(ValueError, match="coefficients that change with time"):
        mbd.modes(scene("rotor").build(amplitude=0.0, across=(2.0, 4.0)))
    with pytest.raises(ValueError, match="neither an equilibrium nor a steady motion: 'bar 0'"):
        mbd.modes(chain(1))
    with pytest.raises(ValueError, match="neither an equilibrium nor a steady motion: 'bar 1'"):
        mbd.modes(chain(2), n=1, solver="sparse")
    with pytest.raises(ValueError, match="neither an equilibrium nor a steady motion: 'top'"):
        mbd.modes(scene("steady_top").build(), rotating=(0, 0, 1.0))


# --- energies, labels, shapes, tables -------------------------------------------------------------
def test_energy_parts_sum_to_one():
    found = mbd.modes(mbd.equilibrium(mixed(["so3"] * 3)))
    assert np.allclose(found.kinetic.sum(1), 1.0)
    assert np.allclose(found.potential.sum(1), 1.0)
    assert found[0].kinetic.keys() == {"b0", "b1", "b2"}
    free = mbd.modes(scene("spring_mass").build(ends="free-free", amplitude=0.0))
    assert np.all(free.potential[free.eigenvalues == 0.0] == 0.0)


def test_two_masses_share_the_energy_as_their_masses_say():
    """Two free masses on a spring: amplitudes as 1/m, so kinetic energies as 1/m too."""
    system = mbd.System()
    for name, mass, x in (("small", 1.0, 0.0), ("large", 3.0, 1.0)):
        body = mbd.PointMass(name, mass=mass, position=(x, 0, 0))
        system.add(body)
    system.add(mbd.Spring("s", system["small"], system["large"], stiffness=12.0))
    found = mbd.modes(system)
    assert found[-1].frequency == pytest.approx(np.sqrt(12 / 0.75) / (2 * np.pi), rel=1e-13)
    assert found[-1].kinetic == pytest.approx({"small": 0.75, "large": 0.25})
    assert "translation of 'small' along x and translation of 'large' along x" in found[-1].label
    assert "against each other" in found[-1].label
    assert sum("rigid translation along" in label for label in found.labels[:5]) >= 1


@pytest.mark.parametrize("formulation", RIGID)
def test_shapes_as_states_satisfy_the_rows(formulation):
    found = mbd.modes(hanging(3, formulation))
    history = found[1].history(amplitude=0.3, instants=9)
    assert history.gap.max() < 1e-9
    assert history.t[-1] == pytest.approx(1 / found[1].frequency)
    x = history["bar 2"].position
    assert np.allclose(x[0], x[-1], atol=1e-9)
    assert np.allclose(x[0, 0], -x[4, 0], atol=1e-9)
    assert np.abs(x[:, 0]).max() > 0.02
    small = found[1].state(1e-5)
    slope = (small.q - found.state.q) / 1e-5
    assert np.abs(slope).max() == pytest.approx(3.0, rel=0.9)  # the model is three metres long


def test_table_and_arrays():
    found = mbd.modes(hanging(2, "so3"))
    text = str(found)
    assert "Hz" in text.splitlines()[1]
    assert "0.42655" in text
    pytest.importorskip("xarray")
    data = found.to_xarray()
    assert data.frequency.attrs["units"] == "Hz"
    assert float(data.kinetic.sel(mode=0).sum()) == pytest.approx(1.0)


def test_pictures(tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    found = mbd.modes(hanging(2, "so3"))
    found.plot(tmp_path / "modes.png")
    found[0].animate(tmp_path / "mode.html")
    assert (tmp_path / "modes.png").stat().st_size > 5000
    assert (tmp_path / "mode.html").stat().st_size > 5000


def test_unstable_modes_grow():
    system = hanging(1, "so3")
    up = mbd.equilibrium(system, seek="nearest", state=_turned(system))
    assert not up.stable
    found = mbd.modes(up)
    assert not found.stable
    assert found[0].label.startswith(("growing", "decaying"))
    assert np.sort(found.damping).tolist() == [-1.0, 1.0]
    assert found.eigenvalues.real.max() == pytest.approx(RODS[1][0], rel=1e-10)


def _turned(system):
    """The rod nearly upside down."""
    model = system.build()
    body = model.system.bodies["bar 0"]
    turn = np.pi - 0.1
    R = np.array([[np.cos(turn), 0, np.sin(turn)], [0, 1, 0], [-np.sin(turn), 0, np.cos(turn)]])
    zero = np.zeros(3)
    q, _ = body.formulation.initial(R @ body.position, R, zero, zero)
    return model.state.replace(q=q)


def test_arguments_are_checked():
    system = hanging(2, "so3")
    for bad, match in (
        ({"n": 0}, "n must be a whole number"),
        ({"solver": "lanczos"}, "solver must be"),
        ({"solver": "sparse"}, "say how many"),
        ({"near": 1.0, "solver": "dense"}, "near= needs"),
    ):
        with pytest.raises(ValueError, match=match):
            mbd.modes(system, **bad)
    with pytest.raises(TypeError, match="expected a System"):
        mbd.modes("pendulum")
    with pytest.raises(TypeError, match="leave out state="):
        mbd.modes(mbd.equilibrium(system), state=system.build().state)
    with pytest.raises(IndexError, match="there are 2 modes"):
        mbd.modes(system)[2]


def test_large_models_are_not_solved_by_dense_matrices(monkeypatch):
    """Without n the slowest modes are found, which are those of all."""
    system = chain(155, joint="Revolute", along=(0, 0, -0.1), mass=0.1, inertia=(1e-4, 1e-4, 1e-5))
    model = system.build()
    assert model.n_v == 930
    whole = mbd.modes(model, solver="dense").frequency
    monkeypatch.setattr("mbd.analyses.modes.dense", None)
    some = mbd.modes(model).frequency
    assert len(whole) == 155
    assert len(some) == 40
    assert np.allclose(some, whole[:40], rtol=1e-6, atol=0)
    assert len(mbd.modes(model, n=7)) == 7


@pytest.mark.parametrize("speed", [0.0, 2.0])
def test_drives_on_velocities_hold_what_drives_on_positions_hold(speed):
    """A swing on a hub that is braked or driven; of a braked one the equilibrium too."""
    found = []
    for motion in ({"velocity": speed}, {"position": mbd.ConstantSpeed(speed)}):
        system = mbd.System(gravity=(0, 0, -9.81))
        spin = {"angular_velocity": (0, 0, speed)}
        hub = system.add(mbd.RigidBody("hub", mass=1, inertia=(0.1, 0.1, 0.1), **spin))
        bob = mbd.RigidBody("bob", mass=1, inertia=(0.1, 0.2, 0.1), position=(1, 0, 0),
                            velocity=(0, speed, 0), **spin)  # fmt: skip
        system.add(bob)
        shaft = mbd.Revolute("shaft", system.ground, hub, at=(0, 0, 0), axis=(0, 0, 1))
        swing = mbd.Revolute("swing", hub, bob, at=(0.5, 0, 0), axis=(0, 1, 0))
        system.add(mbd.Drive("motor", system.add(shaft), **motion))
        system.add(mbd.JointSpring("spring", system.add(swing), stiffness=30.0, damping=0.1))
        frame = {"rotating": (0, 0, speed)} if speed else {}
        rest = mbd.equilibrium(system, **frame)
        assert np.allclose(rest["hub"].rotation, np.eye(3))
        linear = mbd.linearize(
            rest.model, rest.state, inputs=["swing"], outputs=["swing.angle"], **frame
        )
        dense, sparse = mbd.modes(rest), mbd.modes(rest, n=1, solver="sparse")
        assert (len(dense), len(sparse), dense.free_levels) == (1, 1, ())
        roots = [*dense.eigenvalues, *sparse.eigenvalues, *np.linalg.eigvals(linear.A)]
        found.append(np.sort_complex(np.where(np.imag(roots) < 0, np.conj(roots), roots)))
    assert np.allclose(*found, rtol=1e-9)
    assert np.ptp(found[0].imag) < 1e-8
