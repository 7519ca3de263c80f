"""The page in a browser: what the pictures show is where the bodies are."""

import numpy as np
import pytest
from animation.browser import Browser, needs_chromium, patch
from animation.models import BAR, BLUE, GREEN, RED, marked, pendulum, run
from scipy.spatial.transform import Rotation

import mbd

pytestmark = needs_chromium
ONLY = "show=bodies"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    found = Browser(tmp_path_factory.mktemp("browser"))
    yield found
    found.close()


@pytest.mark.parametrize(
    ("t", "eye"),
    [(0.3712, "&view=top"), pytest.param(0.0, "", marks=pytest.mark.slow), (1.0, "&follow=bar")],
)
def test_bodies_are_where_the_solution_says(t, eye, browser):
    solution = run()
    page = browser.open(solution.animate(arrows=False).html, f"t={t}&{ONLY}{eye}")
    assert float(page.canvas("t")) == t
    assert page.text("clock") == f"t = {t:.2f} s"
    picture = page.picture()
    for body, point, channel in (("marked", RED, 0), ("marked", GREEN, 1), ("bar", BLUE, 2)):
        path = solution[body].at(point).position
        wanted = page.project([np.interp(t, solution.t, x) for x in path.T])
        # the middle of a bar in perspective is not quite the middle of its picture
        assert np.abs(patch(picture, channel)[0] - wanted).max() < (3 if body == "bar" else 1)
    # the bar points where its axis does
    i = int(np.argmin(np.abs(solution.t - t)))
    R, x = solution["bar"].rotation[i], solution["bar"].position[i]
    axis = R @ BAR / np.linalg.norm(BAR)
    along = page.project(x + 0.25 * axis) - page.project(x - 0.25 * axis)
    middle, pixels = patch(picture, 2)
    main = np.linalg.svd(pixels - middle, full_matrices=False)[2][0]
    assert abs(main @ along) / np.linalg.norm(along) > np.cos(np.deg2rad(2.0))


def test_every_shape(browser, tmp_path):
    """A mesh, a capsule and a box, placed and turned in a body that is turned too."""
    file = tmp_path / "wedge.obj"
    file.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    turned = Rotation.from_rotvec([0.5, -1.0, 0.3])
    places = {1: (0.5, 0, 0), 0: (0, 0.6, 0.2), 2: (-0.5, -0.3, 0)}
    shapes = [
        mbd.Mesh(file, scale=0.2, at=places[1], rotation=turned, color="#00ff00"),
        mbd.Capsule(0.05, 0.2, at=places[0], axis=(1, 1, 0), color="#ff0000"),
        mbd.Box((0.1, 0.2, 0.15), at=places[2], rotation=turned, color="#0000ff"),
    ]
    system = mbd.System()
    lean = Rotation.from_rotvec([0.2, 0.4, 2.0])
    place = {"position": (3, 2, 1), "rotation": lean}
    system.add(mbd.RigidBody("body", mass=1.0, inertia=(1, 1, 1), shape=shapes, **place))
    page = browser.open(
        mbd.simulate(system, 0.1, 0.05, progress=False).animate().html, f"t=0&{ONLY}"
    )
    picture = page.picture()
    corners = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]) * 0.2
    for channel, place in places.items():
        points = np.array([place]) if channel != 1 else place + turned.apply(corners)
        seen = np.array([page.project(lean.apply(p) + np.array([3, 2, 1])) for p in points])
        middle, pixels = patch(picture, channel)
        if channel == 1:  # the corners of the mesh are those of its picture
            assert np.abs(pixels.min(0) - seen.min(0)).max() < 2
            assert np.abs(pixels.max(0) - seen.max(0)).max() < 2
        else:
            assert np.abs(middle - seen[0]).max() < 2


def test_title_labels_and_legend(browser):
    solution = mbd.simulate(marked('<b>"1" & 2'), t_end=0.1, step=1e-2, progress=False)
    shown = ("bodies", "labels", "grid")
    page = browser.open(solution.animate(title="A <script> & more", show=shown).html, "t=0.05")
    assert page.evaluate("document.title") == "A <script> & more"
    assert page.hidden("message")
    assert not page.hidden("labels")
    labels = page.evaluate(
        "[...document.querySelectorAll('#labels span')].map((x) => [x.textContent, x.hidden])"
    )
    assert labels == [['<b>"1" & 2', False], ["bar", False]]
    assert page.text("legend").startswith("grid ")


def test_arrows_have_a_legend_with_units(browser):
    page = browser.open(pendulum().animate().html, "t=0.4&show=bodies,loads,reactions")
    drawing, legend = pendulum().animate().drawing, page.text("legend")
    for word, unit in (("force", "N"), ("moment", "N m"), ("reaction force", "N")):
        assert f"{word}: {drawing.scales[unit][0]:g} {unit} drawn as" in legend
    assert "grid" not in legend


def test_it_plays_by_itself(browser):
    playing = r"/^t = 0.0*[1-9]/.test(document.getElementById('clock')?.textContent)"
    page = browser.open(run().animate(speed=0.05).html, ready=playing)
    assert page.text("play") == "Pause"
    page.press(" ")
    assert page.text("play") == "Play"
    assert page.evaluate("location.hash").startswith("#t=0.")


def test_it_rests_if_reduced_motion_is_asked_for(browser):
    page = browser.open(run().animate().html, reduced=True)
    assert page.text("play") == "Play"
    assert page.text("clock") == "t = 0.00 s"


def test_a_choice_of_modes(browser):
    """The third of five modes, a third of its period on; M goes to the next one."""
    system = mbd.System()
    balls = [mbd.Sphere(0.06, at=RED, color="#ff0000"), mbd.Sphere(0.06, at=GREEN, color="#00ff00")]
    body = system.add(mbd.RigidBody("marked", mass=1.0, inertia=(0.3, 0.2, 0.4), shape=balls))
    system.add(mbd.Bushing("mount", system.ground, body, at=(0, 0, 0), stiffness=range(5, 11)))
    found = mbd.modes(system)
    seconds = 1 / found[2].frequency
    html = found.animate(which=range(5), amplitude=0.3, arrows=False).html
    page = browser.open(html, f"mode=2&t={seconds / 3}&{ONLY}")
    assert page.text("legend").startswith(f"2: {found[2].frequency:.4g} Hz")
    assert page.text("clock") == f"t = {seconds / 3:.2f} s"
    at = found[2].history(0.3, instants=4)["marked"].at(RED).position[1]
    assert np.abs(patch(page.picture(), 0)[0] - page.project(at)).max() < 3
    page.press("m")
    page.wait("mode.value === '3'")
    assert page.text("clock") == "t = 0.00 s"


def test_keys(browser):
    """Play, pause, step, ends, names, orbit and fit by the keyboard alone."""
    page = browser.open(run().animate().html, "t=0.5")
    page.press("End")
    assert page.text("clock") == "t = 1.00 s"
    for key in ("Home", ".", ".", ","):
        page.press(key)
    assert page.text("clock") == "t = 0.02 s"
    page.press(" ")
    assert page.text("play") == "Pause"
    page.press(" ")
    assert page.text("play") == "Play"
    page.press("l")
    page.wait("!document.getElementById('labels').hidden")
    page.press("Home")
    page.wait("view.dataset.t === '0'")
    opening = page.canvas("projection")
    page.evaluate("document.getElementById('view').focus()")
    page.press("ArrowLeft")
    page.press("+")
    page.wait(f"view.dataset.projection !== {opening!r}")
    page.press("f")


def test_dark_and_light(browser):
    page = browser.open(run().animate().html, "t=0.5&theme=dark")
    assert page.picture()[280:320, :20].max() < 80
    page.press("d")
    page.wait("document.documentElement.dataset.theme === 'light'")
    page.wait("document.getElementById('theme').getAttribute('aria-pressed') === 'false'")
    assert page.picture()[280:320, :20].max() > 240


def test_fingers_turn_and_zoom_the_view(browser):
    page = browser.open(run().animate().html, "t=0.5")

    def move(start, end):
        for kind, points in (("touchStart", start), ("touchMove", end), ("touchEnd", [])):
            where = [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)]
            page.call("Input.dispatchTouchEvent", type=kind, touchPoints=where)

    before = page.canvas("projection")
    move([(400, 250)], [(460, 280)])
    page.wait(f"view.dataset.projection !== {before!r}")

    def size():
        ends = [page.project(solution[x].position[500]) for x in ("marked", "bar")]
        return np.linalg.norm(ends[1] - ends[0])

    solution, before = run(), page.canvas("projection")
    wide = size()
    move([(380, 250), (420, 250)], [(330, 250), (470, 250)])
    page.wait(f"view.dataset.projection !== {before!r}")
    assert size() > 1.5 * wide


def test_the_address_can_change(browser):
    page = browser.open(run().animate().html, "t=0.5")
    page.evaluate("location.hash = '#t=0.25&show=bodies'")
    page.wait("view.dataset.t === '0.25'")
    boxes = "[...document.querySelectorAll('#layers label')].map((x) => x.firstChild.checked)"
    assert page.evaluate(boxes) == [True, False, False]  # bodies, labels, grid


def coil_and_ground():
    """Return a run of a mass on a red spring, without other red things."""
    system = mbd.System()
    bob = system.add(mbd.PointMass("bob", mass=1.0, position=(1.0, 0, 0)))
    system.add(mbd.Spring("coil", system.ground, bob, stiffness=10.0, length=0.8))
    return mbd.simulate(system, t_end=0.1, step=1e-2, progress=False)


def test_springs_are_hidden_with_their_layer(browser):
    page = browser.open(coil_and_ground().animate(show=("bodies",)).html, "t=0.05")
    for said, seen in (("bodies", False), ("bodies,springs", True), ("bodies", False)):
        page.evaluate(f"location.hash = '#t=0.05&show={said}'")
        page.wait(f"layers.textContent.includes('springs') && location.hash.endsWith({said!r})")
        page.evaluate("new Promise((done) => setTimeout(done, 100))")
        picture = page.picture()[:480]
        brown = (picture[..., 0] > 1.4 * picture[..., 2]) & (picture[..., 0] > 60)
        assert (brown.sum() > 200) == seen


def test_a_word_that_is_no_layer_is_named(browser):
    page = browser.open(coil_and_ground().animate().html, "t=0.05&show=bodies")
    before = page.picture()[:480]
    page.evaluate("location.hash = '#t=0.05&show=foo,bodies'")
    page.wait("!note.hidden")
    assert page.text("note").startswith("There is no foo to show; there are bodies, joints,")
    assert np.abs(page.picture()[60:400] - before[60:400]).max() == 0  # nothing has changed
    page.evaluate("location.hash = '#t=0.05&show=bodies'")
    page.wait("note.hidden")


def test_names_do_not_cover_each_other(browser):
    """Five bodies at nearly one place: those names that find no room are left out."""
    system = mbd.System()
    for i in range(5):
        place = {"position": (0.01 * i, 0, 0), "velocity": (0.3 * i, 0, 0)}
        system.add(mbd.PointMass(f"a point {i}", mass=1.0, **place))
    solution = mbd.simulate(system, t_end=1.0, step=0.05, progress=False)
    page = browser.open(solution.animate(show=("bodies", "labels"), follow="").html, "t=0")
    boxes = """[...document.querySelectorAll('#labels span')].filter((x) => !x.hidden)
        .map((x) => x.getBoundingClientRect()).map((r) => [r.left, r.top, r.right, r.bottom])"""
    for t, least, most in ((0, 3, 4), (1, 5, 5)):
        page.evaluate(f"location.hash = '#t={t}'")
        page.wait(f"view.dataset.t === '{t}'")
        seen = page.evaluate(boxes)
        assert least <= len(seen) <= most
        for i, a in enumerate(seen):
            for b in seen[:i]:
                assert a[0] >= b[2] or b[0] >= a[2] or a[1] >= b[3] or b[1] >= a[3]


def test_names_appear_under_the_pointer(browser):
    solution = run()
    page = browser.open(solution.animate().html, f"t=1&{ONLY}")
    page.point_at(page.project(solution["marked"].at(GREEN).position[-1]))
    page.wait("!document.getElementById('tip').hidden")
    assert page.text("tip") == "marked"
    page.point_at(np.array([3.0, 300.0]))
    page.wait("document.getElementById('tip').hidden")


def test_another_size_of_the_window(browser):
    solution = run()
    page = browser.open(solution.animate().html, f"t=1&{ONLY}")
    before = page.canvas("projection")
    page.resize(420, 700)
    page.wait(f"view.width === 420 && view.dataset.projection !== {before!r}")
    wanted = page.project(solution["marked"].at(GREEN).position[-1])
    assert np.abs(patch(page.picture(), 1)[0] - wanted).max() < 1


def test_without_webgl_it_says_so(tmp_path):
    browser = Browser(tmp_path, "--disable-3d-apis")
    try:
        visible = "document.getElementById('message')?.hidden === false"
        page = browser.open(run().animate().html, ready=visible)
        said = page.text("message")
    finally:
        browser.close()
    assert "This page draws with WebGL, which the browser does not offer here" in said


def test_notebooks_show_it(browser):
    inner = run().animate(arrows=False, show="bodies")._repr_html_()
    drawn = "frames[0]?.document.getElementById('clock')?.textContent"
    page = browser.open(f"<!doctype html><html><body>{inner}</body></html>", ready=drawn)
    page.evaluate("frames[0].document.getElementById('play').click()")
    page.wait("frames[0].document.getElementById('view').dataset.t")
    picture = page.picture()
    assert len(patch(picture, 0)[1]) > 20
    assert len(patch(picture, 1)[1]) > 20
