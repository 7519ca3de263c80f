"""Fits: against curve_fit on formulas, coverage of intervals, what is not seen, files, failures."""

import signal

import numpy as np
import pytest
from scipy.optimize import curve_fit
from scipy.stats import f as f_distribution

import mbd

RUN = {"t_end": 1.5, "step": 0.01}
TRUE = {"upper": 1.5, "lower": 0.8, "damping": 0.4}
NOISE = {"first.angle": 4e-3, "two.position.z": 2e-3}
START = {"upper": 1.4, "lower": 0.9, "damping": 0.3}


def oscillator(position=1.0):
    """A mass at a damped spring, at rest, which moves as the formula below."""
    system = mbd.System()
    mass = system.add(mbd.PointMass("mass", mass=1.3, position=(position, 0, 0)))
    system.add(mbd.Spring("spring", system.ground, mass, stiffness=20.0, damping=0.5, length=0.7))
    return system


def vibration(t, k, c, L, start=1.0):
    """x = L + (x0 - L) exp(-d t) (cos w t + d/w sin w t), d = c/2m, w^2 = k/m - d^2."""
    d = c / 2.6
    w = np.sqrt(k / 1.3 - d * d)
    return L + (start - L) * np.exp(-d * t) * (np.cos(w * t) + d / w * np.sin(w * t))


SPRING = ["spring.stiffness", "spring.damping", "spring.length"]


def pendulum(upper=1.5, lower=0.8, damping=0.4):
    system = mbd.System(gravity=(0, 0, -9.81))
    m1, m2 = mbd.Parameter("upper", upper), mbd.Parameter("lower", lower)
    c = mbd.Parameter("damping", damping)
    one = mbd.RigidBody("one", mass=m1, inertia=(1e-3, m1 / 12, m1 / 12), position=(0.5, 0, 0))
    two = mbd.RigidBody("two", mass=m2, inertia=(1e-3, m2 / 12, m2 / 12), position=(1.5, 0, 0))
    system.add(one), system.add(two)
    first = mbd.Revolute("first", system.ground, one, at=(0, 0, 0), axis=(0, 1, 0))
    second = mbd.Revolute("second", one, two, at=(1, 0, 0), axis=(0, 1, 0))
    system.add(first), system.add(second)
    system.add(mbd.JointSpring("friction", first, stiffness=2.0, damping=c))
    system.add(mbd.JointSpring("spring", second, stiffness=5.0))
    return system


@pytest.mark.parametrize("absolute", [True, False])
def test_a_fit_is_that_of_curve_fit_on_the_formula(absolute):
    """Values and covariance; what the steps leave out goes with h^2, and two steps take it away."""
    rng = np.random.default_rng(27183)
    t = np.linspace(0.0, 2.0, 61)
    sigma = rng.uniform(0.005, 0.015, len(t))
    y = vibration(t, 25.0, 0.8, 0.6) + sigma * rng.normal(size=len(t))
    value, covariance = curve_fit(
        vibration, t, y, [20.0, 0.5, 0.7], sigma=sigma, absolute_sigma=absolute, xtol=1e-14,
        ftol=1e-14,
    )  # fmt: skip
    data = {"mass.position.x": (t, y, sigma)}
    coarse, fine = (
        mbd.fit(oscillator(), data, SPRING, step=h, absolute_sigma=absolute) for h in (4e-3, 2e-3)
    )
    assert fine.success
    x = (4 * np.array(list(fine.values.values())) - list(coarse.values.values())) / 3
    C = (4 * fine.covariance - coarse.covariance) / 3
    assert np.allclose(x, value, rtol=1e-6)
    assert np.allclose(C, covariance, rtol=1e-6)
    assert np.abs(np.array(list(fine.values.values())) / value - 1).max() > 1e-6  # not by itself


def drawn(exact, rng):
    return {
        name: (exact.t, y + NOISE[name] * rng.normal(size=y.shape), NOISE[name])
        for name, y in (
            ("first.angle", exact["first"].angle), ("two.position.z", exact["two"].position[:, 2])
        )
    }  # fmt: skip


def covered(n, seed):
    """Return how many of n draws have each true value in its interval, and all in the ellipsoid."""
    rng, exact = np.random.default_rng(seed), mbd.simulate(pendulum(), **RUN)
    system, counts = pendulum().build(), dict.fromkeys([*TRUE, "all"], 0)
    true = np.array(list(TRUE.values()))
    for _ in range(n):
        fit = mbd.fit(system, drawn(exact, rng), START, step=RUN["step"], absolute_sigma=False)
        assert fit.success, fit
        for name, (low, high) in fit.confidence().items():
            counts[name] += low <= TRUE[name] <= high
        d = np.array(list(fit.values.values())) - true
        far = d @ np.linalg.solve(fit.covariance, d) / len(d)
        counts["all"] += far <= f_distribution.ppf(0.95, len(d), fit.degrees)
    return counts


def test_a_double_pendulum_is_recovered_within_its_intervals():
    assert all(x >= 2 for x in covered(3, 31415).values())


@pytest.mark.slow
def test_intervals_of_95_per_cent_cover_in_90_of_100_draws():
    """Each parameter by itself, and all of them at once in their ellipsoid (Student, Fisher)."""
    counts = covered(100, 16180)
    assert all(x >= 90 for x in counts.values()), counts


T = np.linspace(0.0, 2.0, 41)
FAR = {"step": 0.01}


def measured(k=25.0, c=0.8, L=0.6, noise=0.01, seed=2718, **options):
    return vibration(T, k, c, L, **options) + noise * np.random.default_rng(seed).normal(size=41)


def test_what_acts_only_together_is_named():
    """Of a mass at a spring only k/m and c/m can be seen, and no load across."""
    start = {"mass.mass": 1.3, "spring.stiffness": 24.0, "spring.damping": 0.8,
             "gravity.y": 0.0, "spring.length": 0.6}  # fmt: skip
    fit = mbd.fit(oscillator(), {"mass.position.x": (T, measured())}, start, **FAR)
    text = repr(fit)
    assert "gravity.y: nothing that was measured depends on it" in text
    assert "mass.mass, spring.stiffness and spring.damping act only together" in text
    assert fit["spring.stiffness"] / fit["mass.mass"] == pytest.approx(25.0 / 1.3, rel=0.02)
    assert [np.isinf(x) for x in fit.standard_errors.values()] == [True] * 4 + [False]
    assert text.splitlines()[0] in fit._repr_html_().replace("&#x27;", "'")
    band, open_band = fit.prediction("mass.velocity.x"), fit.prediction("mass.position.y")
    assert np.all(np.isfinite(band.high))  # the motion is seen, whatever the mass
    assert np.isinf(open_band.high).mean() > 0.9


def test_experiments_share_parameters_and_have_their_own():
    """Another start of known and another of unknown velocity; gaps; a quantity of one's own."""
    own = mbd.Parameter("push", 0.1)
    gaps = np.where(np.arange(41) % 3, measured(start=1.2), np.nan)
    other = mbd.Experiment(
        {
            "mass.position.x": (T, gaps, 0.01),
            "twice": (lambda run: 2 * run["mass"].position[:, 0], T[:5], gaps[:5] * 2, 0.02),
        },
        values={"mass.position.x": 1.2, "mass.velocity.x": own},
    )
    data = [{"mass.position.x": (T, measured(), 0.01)}, other]
    fit = mbd.fit(oscillator(), data, [*SPRING, own], bounds={"spring.damping": (0, 0.6)}, **FAR)
    assert fit.success
    assert fit.held == {"spring.damping": "high"}
    assert np.isnan(fit.standard_errors["spring.damping"])
    assert "spring.damping is held by its high bound" in fit.remarks
    assert abs(fit["push"]) < 4 * fit.standard_errors["push"]
    assert list(fit.residuals) == ["0: mass.position.x", "1: mass.position.x", "1: twice"]
    assert np.isnan(fit.residuals["1: mass.position.x"]).sum() == 14
    assert fit.degrees == 41 + 27 + 3 - 3
    alone = mbd.fit(oscillator(), data[0], SPRING, fixed={"spring.damping": fit["spring.damping"]},
                    **FAR)  # fmt: skip
    assert alone["spring.damping"] == pytest.approx(0.8, abs=0.1)  # fixed, then fitted: its start


def test_curves_of_unknown_noise_are_weighted_by_their_own():
    rng = np.random.default_rng(1729)
    t, y = T, measured(noise=0.0)
    slow = y + 0.02 * rng.normal(size=(30, 41))
    fit = mbd.fit(
        oscillator(),
        [{"mass.position.x": (t, y + 0.001 * rng.normal(size=41))},
         *({"mass.position.x": (t, x)} for x in slow[:1])],
        SPRING, **FAR,
    )  # fmt: skip
    sizes = [x[0] for x in fit.sigma.values()]
    assert np.allclose(sizes, [0.001, 0.02], rtol=0.35)
    assert fit.chi2 / fit.degrees == pytest.approx(1.0, rel=0.02)
    assert abs(fit["spring.stiffness"] - 25.0) < 0.06  # as by the better curve alone


def test_curves_without_noise_have_none():
    run = mbd.simulate(oscillator(), 2.0, 0.01)
    data = [{"mass.position": (run.t, run["mass"].position)}] * 2
    fit = mbd.fit(oscillator(), data, {"spring.stiffness": 15.0}, **FAR)
    assert fit.success
    assert fit["spring.stiffness"] == pytest.approx(20.0, rel=1e-9)


def test_a_fit_goes_around_values_without_a_run():
    """A soft spring, from a stiff one: steps lead to negative masses."""
    data = {"mass.position.x": (T, vibration(T, 0.4, 0.3, 0.6))}
    start = {"spring.stiffness": 60.0, "mass.mass": 1.3}
    fit = mbd.fit(oscillator(), data, start, **FAR)
    assert fit.success
    assert "mass must be positive" in fit.failures[0][1]
    assert fit.failures[0][0]["mass.mass"] < 0
    with pytest.raises(ValueError, match="^fit: there is no run at the start, .*stabilized"):
        mbd.fit(oscillator(), data, start, method=mbd.GeneralizedAlpha(constraints="stabilized"),
                **FAR)  # fmt: skip


def bar(inertia):
    """A bar on a hinge, whose inertia about it must not exceed the sum of the other two."""
    system = mbd.System(gravity=(0, 0, -9.81))
    body = mbd.RigidBody("bar", mass=1.0, inertia=(0.05, inertia, 0.05), position=(0.5, 0, 0))
    system.add(body)
    system.add(mbd.Revolute("hinge", system.ground, body, at=(0, 0, 0), axis=(0, 1, 0)))
    return system


def test_a_fit_that_stops_where_runs_end_is_no_success():
    """The best inertia is beyond those that a body can have."""
    t = np.linspace(0.0, 0.5, 26)
    fast, slow = (mbd.simulate(bar(x), 0.5, 0.02)["hinge"].angle for x in (0.05, 0.099))
    data = {"hinge.angle": (t, fast + 3 * (slow - fast))}
    fit = mbd.fit(bar(0.06), data, ["bar.inertia.yy"], step=0.02)
    assert not fit.success
    assert fit.status == 1
    assert "another step would lead farther, but there is no run: " in fit.message
    assert fit["bar.inertia.yy"] == pytest.approx(0.1, rel=1e-2)


def test_a_fit_goes_on_where_it_was_killed(tmp_path):
    """To the last bit; a record that was cut off is made again."""
    data, file = {"mass.position.x": (T, measured())}, tmp_path / "a.fit"
    whole = mbd.fit(oscillator(), data, SPRING, file=file, **FAR)
    text = file.read_bytes()
    for share in (0.005, 0.4, 0.93):
        file.write_bytes(text[: int(share * len(text))])
        if share < 0.1:
            with pytest.raises(ValueError, match=r"^fit: .*a.fit must be a file of this call"):
                mbd.fit(oscillator(), data, SPRING, file=file, **FAR)
            continue
        again = mbd.fit(oscillator(), data, SPRING, file=file, **FAR)
        assert again.values == whole.values
        assert again.evaluations == whole.evaluations
        assert file.read_bytes() == text
    with pytest.raises(ValueError, match="which differs in data of 'mass.position.x'"):
        mbd.fit(oscillator(), {"mass.position.x": (T, measured(seed=3))}, SPRING, file=file, **FAR)
    with pytest.raises(ValueError, match="must be a file of this call with the parameters"):
        mbd.fit(oscillator(), data, SPRING[:2], file=file, **FAR)


def test_an_interrupt_returns_the_best_so_far():
    calls = []

    def place(run):
        calls.append(1)
        if len(calls) == 70:
            signal.raise_signal(signal.SIGINT)
        return run["mass"].position[:, 0]

    before = signal.getsignal(signal.SIGINT)
    fit = mbd.fit(oscillator(), {"place": (place, T, measured())}, SPRING, **FAR)
    assert signal.getsignal(signal.SIGINT) is before
    assert (fit.status, fit.success, fit.message) == (-1, False, "interrupted by the user")
    assert fit.evaluations == 2
    first = float(np.sum((vibration(T, 20.0, 0.5, 0.7) - measured()) ** 2))
    assert sum(x**2 for x in fit.residuals["place"]) < 0.5 * first


def rebounding(t, g, z, v, e=0.7):
    """Height of a ball that is thrown and rebounds from the floor with e of its velocity."""
    out, start = np.empty_like(t), 0.0
    while start < t[-1]:
        d = t - start
        out = np.where(d >= 0, z + v * d - 0.5 * g * d * d, out)
        start += (v + np.sqrt(v * v + 2 * g * z)) / g
        z, v = 0.0, e * np.sqrt(v * v + 2 * g * z)
    return out


def test_a_fit_through_rebounds():
    """Instants after an event move; what is measured is measured at fixed ones."""
    system = mbd.System(gravity=(0, 0, -9.81))
    system.add(mbd.PointMass("ball", mass=0.3, position=(0, 0, 0.8)))
    floor = mbd.Event(
        "floor", lambda s: s["ball"].position[:, 2], direction=-1,
        change=lambda model, state: state.replace(v=-0.7 * state.v),
    )  # fmt: skip
    t = np.linspace(0.013, 1.3, 60)
    data = {"ball.position.z": (t, rebounding(t, 9.7, 0.83, 0.2), 1e-3)}
    names = ["gravity.z", "ball.position.z", "ball.velocity.z"]
    fit = mbd.fit(system, data, names, step=0.01, events=floor)
    assert fit.success, fit
    assert fit.values == pytest.approx(dict(zip(names, (-9.7, 0.83, 0.2), strict=True)), rel=1e-7)
    assert fit.evaluations <= 8
