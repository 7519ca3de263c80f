"""Long chains from poses far away: where they hang, what it costs, whether they are stable."""

import numpy as np
import pytest
from families import SLOW
from scenes import chain
from scipy.optimize import root
from scipy.spatial.transform import Rotation

import mbd
from mbd.analyses import stability as in_full
from mbd.linear.inertia import Inertia
from mbd.model.null_space import null_space
from mbd.statics import balance as statics

WEIGHT = 9.81


def hung(n, start, formulation, joint="Spherical", span=0.8):
    """Return n bars of 1 m and 1 kg between two pins at one height, and the angles they start at.

    The starts: up and down to a point, links up and down by turns, and bumps of five links.
    """
    u = np.arange(n)
    signs = {
        "vee": np.where(u < n // 2, -1, 1), "tent": np.where(u < n // 2, 1, -1),
        "zigzag": np.where(u % 2, -1, 1), "bumps": np.where((u // 5) % 2, -1, 1),
    }  # fmt: skip
    angle = signs[start] * np.arccos(span)
    along = np.column_stack([np.cos(angle), np.zeros(n), np.sin(angle)])
    points = np.vstack([np.zeros(3), np.cumsum(along, axis=0)])
    system = mbd.System(gravity=(0, 0, -WEIGHT))
    last = system.ground
    for i in range(n):
        bar = mbd.RigidBody(
            f"bar {i}", mass=1.0, inertia=(1e-3, 0.02, 0.02), position=points[i] + along[i] / 2,
            rotation=Rotation.from_rotvec([0, -angle[i], 0]), formulation=formulation,
        )  # fmt: skip
        system.add(bar)
        options = {} if joint == "Spherical" else {"axis": (0, 1, 0)}
        system.add(getattr(mbd, joint)(f"pin {i}", last, bar, at=points[i], **options))
        last = bar
    system.add(mbd.Spherical("end", system.ground, last, at=points[-1]))
    return system


def catenary(n, width):
    """Return the corners of n rigid links of 1 m and 1 kg, from the balance of forces alone.

    A link carries the horizontal force H and the vertical force V_i at its middle, half its own
    weight between those at its ends, and points along their sum (no moment about its end).
    """
    below = WEIGHT * (np.arange(n) - (n - 1) / 2)  # symmetric: V vanishes in the middle

    def links(H):
        size = np.hypot(H, below)
        return np.column_stack([H / size, below / size])

    scale = WEIGHT * n
    found = root(lambda h: links(h * scale)[:, 0].sum() - width, 0.3, tol=1e-15)
    H = scale * found.x[0]
    assert abs(links(H)[:, 0].sum() - width) < 1e-10
    return np.vstack([[0.0, 0.0], np.cumsum(links(H), axis=0)]), H


@pytest.mark.parametrize(
    ("start", "joint", "formulation"),
    [
        ("vee", "Spherical", "so3"), ("tent", "Spherical", "directors"),
        ("zigzag", "Revolute", "se3"), ("bumps", "Spherical", "euler_parameters"),
        pytest.param("tent", "Revolute", "unified", marks=SLOW),
        pytest.param("tent", "Spherical", "scalable", marks=SLOW),
    ],
)  # fmt: skip
def test_a_hundred_links_hang_in_the_catenary_of_rigid_links(start, joint, formulation):
    corners, H = catenary(100, 80.0)
    found = mbd.equilibrium(hung(100, start, formulation, joint))
    middles = (corners[1:] + corners[:-1]) / 2
    at = np.array([found[f"bar {i}"].position for i in range(100)])
    assert np.allclose(at[:, [0, 2]], middles, rtol=0, atol=1e-9)
    assert np.allclose(at[:, 1], 0.0, rtol=0, atol=1e-9)
    force = found["pin 0"].force
    assert force == pytest.approx([-H, 0.0, WEIGHT * 50], abs=1e-6)
    assert found.stable
    assert found.iterations <= 40
    turning = joint == "Spherical"  # about the line between its ends
    assert found.free == (tuple(f"bar {i}" for i in range(100)) if turning else ())


def test_the_number_of_steps_hardly_grows_with_the_chain(monkeypatch):
    made = []
    first = statics.SaddlePoint.__init__
    monkeypatch.setattr(
        statics.SaddlePoint, "__init__", lambda self, *args: (made.append(1), first(self, *args))[1]
    )
    counts = []
    for n in (10, 100, 400):
        made.clear()
        found = mbd.equilibrium(chain(n, joint="Revolute"))
        assert found["bar 0"].position == pytest.approx([0, 0, -0.5], abs=1e-9)
        assert found[f"bar {n - 1}"].position == pytest.approx([0, 0, 0.5 - n], abs=1e-9)
        counts.append((found.iterations, len(made)))
    assert max(i for i, _ in counts) <= 16
    assert max(k for _, k in counts) <= 80  # factorisations


@pytest.mark.parametrize(("n", "formulation"), [(160, "so3"), (300, "directors")])
def test_the_slowest_motion_of_a_chain_of_balls_is_that_of_a_heavy_string(n, formulation):
    """Links on balls spin freely; that does not hide the slowest swing, j_0^2 g/(4 L)."""
    system = chain(n, (formulation,), joint=lambda i: "Revolute" if i < 20 else "Spherical",
                   along=(0, 0, -1), inertia=(0.1, 0.1, 0.01))  # fmt: skip
    found = mbd.equilibrium(system)
    assert found.stiffness == pytest.approx(2.404825557695773**2 * WEIGHT / (4 * n), rel=2e-3)
    assert found.stable
    assert found.free == tuple(f"bar {i}" for i in range(20, n))


@pytest.mark.parametrize("formulation", ["so3", "directors", mbd.EulerParameters("projected")])
def test_counted_and_in_full_agree_on_stability(formulation, monkeypatch):
    low = mbd.equilibrium(chain(9, (formulation,)))
    high = mbd.equilibrium(hung(9, "bumps", formulation), seek="nearest")
    for found in (low, high):
        both = []
        for few in (0, 10**6):
            monkeypatch.setattr(in_full, "_FEW", few)
            both.append(mbd.equilibrium(found.model, found.state, seek="nearest"))
        counted, dense = both
        assert counted.stable == dense.stable == (found is low)
        assert counted.stiffness == pytest.approx(dense.stiffness, rel=1e-9)
        assert counted.free == dense.free


@pytest.mark.parametrize("formulation", ["so3", "unified", "directors", "scalable"])
@pytest.mark.parametrize("closed", [False, True])
def test_inertia_counts_the_eigenvalues_below_a_number(closed, formulation):
    system = hung(7, "tent", formulation) if closed else chain(7, (formulation,), joint="Revolute")
    model = system.build()
    lam = 30 * np.random.default_rng(5).normal(size=model.n_lam)
    inertia, negative = Inertia(model), 0
    for sign in (1, -1):
        A = model.assemble(mbd.consistent(model).replace(lam=sign * lam))
        K = 0.5 * (A.K + A.K.T)
        N = null_space(A.B, A.M.diagonal() ** -0.5).toarray()
        values = np.linalg.eigvals(np.linalg.solve(N.T @ (A.M @ N), N.T @ (K @ N))).real
        size = np.abs(values).max()
        for x in size * np.array([-2.0, -0.3, -0.01, 1e-7, 0.02, 0.4, 2.0]):
            assert inertia.negative(K - x * A.M, A.B) == np.count_nonzero(values < x)
        negative += np.count_nonzero(values < 0)
    assert negative > 2


@pytest.mark.parametrize("n", [3, 160])
def test_of_a_chain_without_loads_all_links_are_free(n):
    """Nothing is stiff there, also where the spectrum of so many is not looked at in full."""
    system, last = mbd.System(), None
    for i in range(n):
        bar = mbd.RigidBody(f"{i}", mass=1.0, inertia=(0.01, 0.1, 0.1), position=(i + 0.5, 0, 0))
        system.add(bar)
        system.add(
            mbd.Revolute(f"pin {i}", last or system.ground, bar, at=(i, 0, 0), axis=(0, 1, 0))
        )
        last = bar
    found = mbd.equilibrium(system)
    assert found.stable
    assert found.free == tuple(map(str, range(n)))
