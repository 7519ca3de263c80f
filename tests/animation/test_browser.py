"""The page in a browser: what the pictures show is where the bodies are."""

import numpy as np
import pytest
from animation.browser import needs_chromium, patch, show
from animation.models import BAR, BLUE, GREEN, RED, marked, pendulum, run

import mbd

pytestmark = needs_chromium
ONLY = "show=bodies"


@pytest.mark.parametrize("t", [0.0, 0.3712, 1.0])
def test_bodies_are_where_the_solution_says(t, tmp_path):
    solution = run()
    seen = show(solution.animate(arrows=False).html, tmp_path, f"t={t}&{ONLY}")
    assert float(seen.canvas("data-t")) == t
    assert seen.text("output", "clock") == f"t = {t:.2f} s"
    for body, point, channel in (("marked", RED, 0), ("marked", GREEN, 1), ("bar", BLUE, 2)):
        path = solution[body].at(point).position
        wanted = seen.project([np.interp(t, solution.t, x) for x in path.T])
        assert np.abs(patch(seen.picture, channel)[0] - wanted).max() < 1.5, (body, wanted)
    # the bar points where its axis does
    i = int(np.argmin(np.abs(solution.t - t)))
    R, x = solution["bar"].rotation[i], solution["bar"].position[i]
    axis = R @ BAR / np.linalg.norm(BAR)
    along = seen.project(x + 0.25 * axis) - seen.project(x - 0.25 * axis)
    middle, pixels = patch(seen.picture, 2)
    main = np.linalg.svd(pixels - middle, full_matrices=False)[2][0]
    assert abs(main @ along) / np.linalg.norm(along) > np.cos(np.deg2rad(2.0))


def test_title_labels_and_legend(tmp_path):
    solution = mbd.simulate(marked('<b>"1" & 2'), t_end=0.1, step=1e-2, progress=False)
    page = solution.animate(title="A <script> & more", show=("bodies", "labels", "grid")).html
    seen = show(page, tmp_path, "t=0.05")
    assert "<title>A &lt;script&gt; &amp; more</title>" in seen.dom
    assert seen.text("p", "message") == ""
    labels = seen.dom.split('id="labels"')[1].split("</div>")[0]
    assert '&lt;b&gt;"1" &amp; 2</span>' in labels
    assert ">bar</span>" in labels
    assert 'hidden=""' not in labels
    assert seen.text("ul", "legend").startswith("grid ")


def test_arrows_have_a_legend_with_units(tmp_path):
    seen = show(pendulum().animate().html, tmp_path, "t=0.4&show=bodies,loads,reactions")
    drawing = pendulum().animate().drawing
    legend = seen.text("ul", "legend")
    for word, unit in (("force", "N"), ("moment", "N m"), ("reaction force", "N")):
        assert f"{word}: {drawing.scales[unit][0]:g} {unit} drawn as" in legend
    assert "grid" not in legend


def test_it_plays_by_itself_and_at_rest_if_so_asked(tmp_path):
    page = run().animate().html
    seen = show(page, tmp_path)
    assert seen.text("button", "play") == "Pause"
    assert seen.text("output", "clock") != "t = 0.00 s"
    seen = show(page, tmp_path, "", "--force-prefers-reduced-motion")
    assert seen.text("button", "play") == "Play"
    assert seen.text("output", "clock") == "t = 0.00 s"


def test_keys(tmp_path):
    """Play, pause, step, ends, names, fit and orbit by the keyboard alone."""
    keys = """<script>setTimeout(() => {
      const canvas = document.getElementById("view"), say = [];
      const press = (key, at = document.body) => at.dispatchEvent(
        new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
      const text = (name) => say.push(document.getElementById(name).textContent);
      press("End"); text("clock");
      press("Home"); press("."); press("."); press(","); text("clock");
      press(" "); text("play");
      press(" "); text("play");
      say.push(canvas.dataset.projection.length > 100);
      const before = canvas.dataset.projection;
      press("l");
      press("ArrowLeft", canvas);
      setTimeout(() => { // when it has been drawn again
        say.push(document.getElementById("labels").hidden, canvas.dataset.projection !== before);
        document.title = say.join("|");
      }, 3000);
    }, 2000);</script>"""
    seen = show(run().animate().html, tmp_path, "t=0.5", behind=keys)
    assert "<title>t = 1.00 s|t = 0.02 s|Pause|Play|true|false|true</title>" in seen.dom


def test_without_webgl_it_says_so(tmp_path):
    seen = show(run().animate().html, tmp_path, "", "--disable-3d-apis")
    assert "This page draws with WebGL, which the browser does not offer here" in seen.text(
        "p", "message"
    )
    assert 'id="message" role="alert">' in seen.dom  # not hidden


def test_notebooks_show_it(tmp_path):
    inner = run().animate(arrows=False, show="bodies")._repr_html_()
    seen = show(f"<!doctype html><html><body>{inner}</body></html>", tmp_path)
    assert patch(seen.picture, 0)
    assert patch(seen.picture, 1)
