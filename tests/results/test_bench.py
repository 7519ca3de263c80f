"""A bench: the problems of publications, what is known of them, own formulations and methods."""

import matplotlib as mpl
import numpy as np
import pytest

import mbd
from mbd.cli import main
from mbd.files import scenes
from mbd.runs.methods import METHODS
from mbd.studies.benchmarks import BENCHMARKS
from mbd.studies.error_measures import QUANTITIES

from .test_comparison import Euler, rod

mpl.use("Agg")

BOTH = "GeneralizedAlpha, RadauCollocation"
MEASURES = {
    "kynema_body": {"position", "rotation", "angular_velocity"},
    "heavy_top": {"position", "velocity", "angular_velocity", "force"},
    "unstable_axis": {"angular_velocity"},
    "multipliers": {"rotation", "angular_velocity"},
    "breathing_body": {"position", "rotation", "angular_velocity", "scale"},
    "squeezed_body": {"angular_velocity", "scale"},
    "non_twisting": {"rotation", "angular_velocity", "multipliers"},
    "non_twisting_load": {"rotation", "angular_velocity", "multipliers"},
}


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_problem_converges_to_what_is_known_of_it(name):
    """Generalized-alpha with its order; collocation says that the published values are right."""
    mark = BENCHMARKS[name]
    words = "so3, directors" if mark.formulations == "all" else None
    found = mbd.bench(name, formulations=words, methods=BOTH, turns=0)
    assert found.reference.startswith("what the scene knows: ")
    assert any(mark.source in note for note in found.notes)
    assert {row["problem"] for row in found.rows} == {name}
    known = {x for x in QUANTITIES if np.isfinite(found.rows[0][f"{x}_error"])}
    assert known == MEASURES[name]
    for row in found.rows:
        assert row["status"] == "done"
        assert row["rotation_drift"] < 1e-8
        size = 1 + mbd_size(name)
        for what in known:
            error, order = row[f"{what}_error"], row[f"{what}_order"]
            if row["method"] == "RadauCollocation":
                assert error < 1e-7 * size, what
            elif error > 1e-6 * size:
                assert abs(order - 2) < 0.3, (row["formulation"], what)


def mbd_size(name):
    """Return the largest number that is known."""
    module = scenes.load(BENCHMARKS[name].scene).module
    return max(float(np.abs(value).max()) for _, _, value, *_ in module.REFERENCE)


def test_own_formulations_and_methods_join_by_a_line():
    mine = mbd.Unified("tetrahedral")
    found = mbd.bench(rod, formulations=["so3", mine], methods=["all", Euler()], steps=[4e-3, 2e-3],
                      t_end=0.1, turns=0)  # fmt: skip
    methods = [*METHODS, "Euler"]
    assert {(r["formulation"], r["method"]) for r in found.rows} == {
        (f, m) for f in ("so3", "unified (tetrahedral)") for m in methods
    }
    assert found.reference.startswith("so3, extrapolated")
    assert found.reference.endswith("by RadauCollocation")  # the method of the highest order
    assert found.reference_error["position"] < 1e-10
    done = [r for r in found.rows if r["status"] == "done"]
    there = list(dict.fromkeys(r["method"] for r in done))
    assert {"GeneralizedAlpha", "RadauCollocation", "Euler"} <= set(there)
    assert "LieRungeKutta4" not in there  # which knows no rows
    order = {r["method"]: r["position_order"] for r in done}
    assert abs(order["GeneralizedAlpha"] - 2) < 0.1
    assert abs(order["Euler"] - 1) < 0.1
    figure = found.plot()
    texts = [x.get_text() for x in figure.legends[0].get_texts()]
    assert texts == ["so3", "unified (tetrahedral)", *there]
    assert len({line.get_color() for line in figure.axes[1].lines}) == 2


def test_a_comparison_is_a_case_of_it():
    """The same rows, to the last digit, of one method against the same values."""
    scene = scenes.load("heavy_top")
    exact = {x: value for x, t, value, *_ in scene.module.REFERENCE
             if t == 1.0 and not x.startswith("energy")}  # fmt: skip
    how = {"formulations": "so3, se3", "steps": [1e-3, 5e-4], "turns": 0}
    one = mbd.compare("heavy_top", method="GeneralizedAlpha", t_end=1.0, reference=exact, **how)
    other = mbd.bench("heavy_top", methods="GeneralizedAlpha", **how)
    assert [str(x) for x in one.rows] == [str(x) for x in other.rows]
    assert np.isfinite(one.rows[0]["angular_velocity_error"])  # known in body axes


@pytest.mark.parametrize(
    "options", [{"t_end": 0.5}, {"velocities": "u"}, {"reference": "scalable"}]
)
def test_what_is_not_known_is_extrapolated(options):
    found = mbd.bench("breathing_body", formulations="scalable", methods=BOTH, turns=0, **options)
    assert found.reference.startswith("scalable")
    assert "extrapolated" in found.reference
    assert found.rows[0]["scale_error"] > 0


def test_forms_of_a_paper_have_the_multipliers_of_the_paper():
    found = mbd.bench("multipliers", methods="RadauCollocation", steps=[2e-3], turns=0)
    module = scenes.load("multipliers").module
    forms = [("full", None), ("full", "B1"), ("reduced", None), ("projected", None)]
    own = [row["own_multiplier"] for row in found.rows]
    assert own == pytest.approx([module.multiplier(*x) for x in forms], abs=1e-6)


@pytest.mark.parametrize(("options", "said"), [
    ({"problem": 3}, "bench: problem must be a function"),
    ({"problem": "heavy_tip"}, "bench: there is no scene 'heavy_tip'"),
    ({"methods": []}, "bench: method must be an integrator, or several"),
    ({"methods": "euler"}, "bench: method must be one of GeneralizedAlpha"),
    ({"formulations": "so4"}, "bench: formulations must be all or of so3"),
    ({"steps": [2.0]}, "bench: steps must not be longer than t_end = 1 s"),
    ({"watch": "tip"}, "bench: there is no body or joint 'tip' to watch; there are top, pin"),
    ({"reference": {"top.colour": 1}}, "bench: the reference may have top.position"),
    ({"length": 2.0}, "bench: heavy_top has no parameter 'length'"),
])  # fmt: skip
def test_wrong_input_is_named(options, said):
    given = {"problem": "heavy_top", "formulations": "so3", "turns": 0, **options}
    with pytest.raises((ValueError, TypeError), match=said):
        mbd.bench(**given)


def test_command_line(tmp_path, capsys):
    assert main(["bench"]) == 0
    told = capsys.readouterr().out
    assert all(f"  {name} " in told for name in BENCHMARKS)
    table, picture = tmp_path / "b.csv", tmp_path / "b.png"
    some = ["--formulations", "so3", "--steps", "1e-3,5e-4", "--turns", "0"]
    assert main(["bench", "unstable_axis", *some, "--csv", str(table), "--plot", str(picture)]) == 0
    told = capsys.readouterr().out
    assert f"unstable_axis to t = 0.1 s, {len(METHODS)} methods" in told
    assert "Holzinger" in told
    assert table.read_text().splitlines()[1].startswith("unstable_axis,so3,GeneralizedAlpha,")
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert main(["bench", "unstable_axis", "--steps", "fine"]) == 2
    assert "bench: --steps must be numbers with commas" in capsys.readouterr().err
