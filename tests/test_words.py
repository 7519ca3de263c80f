"""Objects by words: formulations with options, lists of them, and their names."""

import numpy as np
import pytest

import mbd
from mbd.base.spoken_options import parted
from mbd.files import scenes
from mbd.formulations import NAMES, named
from mbd.runs.methods import changed, method

WORDS = {
    "EulerParameters('reduced')": mbd.EulerParameters("reduced"),
    "EulerParameters( form='reduced', force_map = 'H' )": mbd.EulerParameters("reduced", "H"),
    "Unified('tetrahedral', length=0.3)": mbd.Unified("tetrahedral", length=0.3),
    "Unified(length=(1, 2, 3))": mbd.Unified(length=(1, 2, 3)),
    "Scalable(rigid=False)": mbd.Scalable(rigid=False),
    "Unified()": named("unified"),
    "SO3('cayley')": mbd.SO3("cayley"),
    "SE3": named("se3"),
    "S2": mbd.S2(),
    "EulerParameters": named("euler_parameters"),
}


def bar(formulation):
    return mbd.RigidBody("bar", mass=1.0, inertia=(1, 1, 1), formulation=formulation)


@pytest.mark.parametrize("words", WORDS)
def test_words_mean_the_object(words):
    assert named(words) is WORDS[words]
    assert bar(words).formulation is WORDS[words]


@pytest.mark.parametrize(("words", "said"), [
    ("quaternions",
     "must be one of so3, .*unified, or one of SO3, SE3, S2, InPlane, EulerParameters, Unif"),
    ("point", "must be one of so3, .*got 'point', which has no axes; use PointMass"),
    ("EulerParametersX('full')", "must be one of so3"),
    ("Unified('tetrahedral'", "must be a name, .*or one with options, such as"),
    ("Unified(length=x)", "must be a name, .*or one with options, such as"),
    ("Unified(3, 4)", "Unified takes the options kind, points, .*too many positional"),
    ("EulerParameters(kind=3)", "EulerParameters takes the options form, force_map"),
    ("EulerParameters('half')", "EulerParameters: form must be one of full"),
])  # fmt: skip
def test_wrong_words_are_named(words, said):
    with pytest.raises(ValueError, match=f"^bar: .*{said}"):
        bar(words)


def test_commas_in_brackets_and_quotes_do_not_part():
    assert parted("so3, se3") == ["so3", "se3"]
    text = "so3,EulerParameters('reduced', 'H') , Unified(points=[(1, 2), (3)], kind='a,(')"
    assert parted(text) == [
        "so3", "EulerParameters('reduced', 'H')", "Unified(points=[(1, 2), (3)], kind='a,(')",
    ]  # fmt: skip


def test_names_of_sets_say_their_options():
    rng = np.random.default_rng(8)
    own = {"points": rng.uniform(-1, 1, (6, 3)), "directions": rng.normal(size=(6, 3))}
    names = {
        "unified": [mbd.Unified(), mbd.Unified("hexahedral")],
        "unified (length 1)": [mbd.Unified("hexahedral", length=(1, 1, 1))],
        "unified (tetrahedral)": [mbd.Unified("tetrahedral")],
        "unified (length 0.3)": [mbd.Unified(length=0.3), mbd.Unified(length=(0.3, 0.3, 0.3))],
        "unified (length 0.3 x 2 x 0.5)": [mbd.Unified(length=(0.3, 2.0, 0.5))],
        "unified (tetrahedral, alpha 0.5, length 2)": [
            mbd.Unified("tetrahedral", alpha=0.5, length=2)
        ],
        "unified (own set)": [mbd.Unified(**own)],
    }  # fmt: skip
    for name, sets in names.items():
        assert {x.name for x in sets} == {name}
        assert all(x is sets[0] for x in sets)
    assert repr(mbd.Unified("tetrahedral")) == "Formulation('unified (tetrahedral)')"


@pytest.mark.parametrize("formulation", ["EulerParameters('reduced')", mbd.Unified("tetrahedral")])
@pytest.mark.parametrize("file", ["chain.py", "fourbar.toml", "arm.urdf"])
def test_scenes_and_files_take_words_and_objects(file, formulation):
    scene = scenes.load(scenes.folder() / file)
    used = {b.formulation for b in scene.build({"formulation": formulation}).bodies.values()}
    assert used == {named(formulation) if isinstance(formulation, str) else formulation}


def test_what_was_said_by_words_is_written_as_the_object(tmp_path):
    from mbd.files import code, modelfile

    system = scenes.load(scenes.named("chain")).build({"formulation": "EulerParameters('reduced')"})
    text = modelfile.to_text(system)
    assert 'type = "EulerParameters"' in text
    again = modelfile.from_text(text).system
    assert again.bodies["bar 1"].formulation is mbd.EulerParameters("reduced")
    scene = code.scene_text(system, run={}, title="", folder=tmp_path)
    assert "mbd.EulerParameters(" in scene


def test_names_of_sets_are_where_formulations_are_told():
    pytest.importorskip("xarray")
    system = mbd.System()
    system.add(bar("Unified('tetrahedral')"))
    model = system.build()
    assert "body  bar: unified (tetrahedral), 1 kg" in str(model.report())
    data = mbd.simulate(model, 0.01, 0.01).to_xarray()
    assert list(data.coords["formulation"].values) == ["unified (tetrahedral)"]


def test_methods_take_words_too_and_simulate_says_the_object():
    assert method("LieRungeKutta4('quaternion')") == mbd.LieRungeKutta4("quaternion")
    with pytest.raises(ValueError, match="LieRungeKutta4 takes the options scheme, got"):
        method("LieRungeKutta4(rho=0.5)")
    system = mbd.System()
    system.add(bar("so3"))
    for given, meant in {
        "LieRungeKutta4": r"mbd\.LieRungeKutta4\(\), got 'LieRungeKutta4'",
        "LieRungeKutta4('quaternion')": r"mbd\.LieRungeKutta4\('quaternion'\), got",
        mbd.EnergyMomentum: r"mbd\.EnergyMomentum\(\), got",
        "euler": r"mbd\.GeneralizedAlpha\(rho=0\.8\), got 'euler'",
    }.items():
        with pytest.raises(TypeError, match=f"simulate: method must be an .* object, {meant}"):
            mbd.simulate(system, 0.1, 0.1, method=given)


@pytest.mark.parametrize("kind", ["hht", "bossak", "newmark"])
def test_weights_leave_no_place_for_rho(kind):
    weighted = getattr(mbd.GeneralizedAlpha, kind)()
    assert changed(weighted, newton="full").newton == "full"
    with pytest.raises(ValueError, match="rho is no option of a GeneralizedAlpha with weights"):
        changed(weighted, rho=0.5)


def test_all_names_are_those_of_formulations():
    assert [named(x).name for x in NAMES] == list(NAMES)
