"""Plots beside the picture: lines of the run, one cursor for all, by pointer and by key."""

import json

import numpy as np
import pytest
from animation.browser import Browser, needs_chromium
from animation.models import pendulum
from animation.test_page import block, unpacked

PLOTS = ["hinge.angle", "rod.velocity", "energy"]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("browser"))
    yield browser.open(pendulum().animate(plots=PLOTS).html, "t=0.2")
    browser.close()


def test_lines_are_those_of_the_run():
    solution = pendulum()
    text = solution.animate(plots=PLOTS).html
    data = json.loads(block(text, "data"))
    assert [x["title"] for x in data["plots"]] == ["hinge.angle", "rod.velocity", "energy"]
    assert [x["unit"] for x in data["plots"]] == ["rad", "m/s", "J"]
    t = unpacked(text, data["t"])[:, 0]
    k = np.searchsorted(solution.t, t - 1e-6)
    wanted = {"x": solution["rod"].velocity[k, 0], "z": solution["rod"].velocity[k, 2]}
    lines = {x["label"]: x["middle"] + unpacked(text, x)[:, 0] for x in data["plots"][1]["lines"]}
    for name, values in wanted.items():
        assert np.abs(lines[name] - values).max() < 1e-5 * np.ptp(values)
    total = next(x for x in data["plots"][2]["lines"] if "total" in x["label"])
    energy = solution.energy.total[k]
    shown = total["middle"] + unpacked(text, total)[:, 0]
    assert np.abs(shown - energy).max() < 1e-5 * np.ptp(energy)


def test_what_is_no_quantity_is_refused_by_name():
    with pytest.raises(KeyError, match=r"animate: nothing is called 'hinge.angel'"):
        pendulum().animate(plots=["hinge.angel"])
    with pytest.raises(TypeError, match="animate: plots must be a name or names in a list"):
        pendulum().animate(plots=3)


@needs_chromium
def test_the_cursor_is_where_the_picture_is(page):
    solution = pendulum()
    page.evaluate("document.getElementById('time').focus()")
    for t in (0.2, 0.4):
        page.evaluate(f"location.hash = 't={t}'")
        page.wait(f"document.getElementById('view').dataset.t === '{t}'")
        said = float(page.evaluate("document.querySelector('figcaption b').textContent"))
        assert said == pytest.approx(np.interp(t, solution.t, solution["hinge"].angle), rel=1e-3)
    # press in the middle of a plot: everything goes to the middle of the run
    box = page.evaluate(
        "(() => { const b = document.querySelector('.curve').getBoundingClientRect();"
        " return [b.left + EDGE.left + (b.width - EDGE.left - EDGE.right) / 2, b.top + 40]; })()"
    )
    where = {"x": box[0], "y": box[1], "button": "left", "buttons": 1, "clickCount": 1}
    page.call("Input.dispatchMouseEvent", type="mousePressed", **where)
    page.call("Input.dispatchMouseEvent", type="mouseReleased", **where)
    page.wait("Math.abs(Number(document.getElementById('view').dataset.t) - 0.25) < 5e-3")
    assert float(page.evaluate("document.getElementById('time').value")) == pytest.approx(
        0.25, abs=5e-3
    )


@needs_chromium
def test_plots_stand_beside_or_below_and_can_be_put_away(page):
    for width, beside in ((1200, True), (400, False)):
        page.resize(width, 700)
        page.wait(f"window.innerWidth === {width}")
        stage, plots = page.evaluate(
            "['stage', 'plots'].map((x) => { const b = document.getElementById(x)"
            ".getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]; })"
        )
        assert (plots[0] >= stage[2] - 1) == beside
        assert (plots[1] >= stage[3] - 1) != beside
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.resize(800, 600)
    page.press("p")
    page.wait("document.getElementById('plots').hidden")
    page.press("p")
    page.wait("!document.getElementById('plots').hidden")


@needs_chromium
def test_everything_to_press_has_a_name(page):
    nameless = page.evaluate(
        "[...document.querySelectorAll('button, select, input, canvas, aside, form, main')]"
        ".filter((x) => !(x.getAttribute('aria-label') || x.textContent.trim()"
        " || x.labels?.[0]?.textContent.trim() || x.matches('main')))"
        ".map((x) => x.outerHTML.slice(0, 80))"
    )
    assert nameless == []


@needs_chromium
@pytest.mark.parametrize("ends", [(0, 1), (-4.321e6, 8e6), (1234567, 1234569.5), (2e-9, 7e-9)])
def test_numbers_of_an_axis_tell_its_marks_apart(ends, page):
    low, high = ends
    marks, texts = page.evaluate(
        f"(() => {{ const x = named(ticks({low}, {high}, 6));"
        " return [0, 1].map((i) => x.map((y) => y[i])); })()"
    )
    assert len(set(texts)) == len(texts) >= 3
    assert [float(x) for x in texts] == pytest.approx(marks, rel=1e-12, abs=1e-9 * (high - low))
    assert max(map(len, texts)) <= 12


@needs_chromium
def test_long_numbers_are_not_cut(page):
    """The axis leaves room for them: nothing is drawn at the left edge, something beside it."""
    inked = """(() => {
        const aside = document.getElementById("plots");
        const keep = table; table = () => ({ values: [0, 200] });
        const world = { times: [0, 1] }, [span] = spansOf({ modes: [] }, world.times);
        const app = { state: { t: 0, dark: false, span } };
        const lines = [{ label: "x", middle: 123456789 }];
        const plot = buildPlot({ title: "long", unit: "J", lines },
          null, world, app, aside);
        table = keep;
        const before = EDGE.left;
        EDGE.left = Math.max(before, plot.margin());
        plot.paint(); plot.refresh();
        const canvas = aside.lastChild.querySelector("canvas"), pen = canvas.getContext("2d");
        const part = (x, w) => pen.getImageData(x, 0, w, canvas.height).data
          .some((v, i) => i % 4 === 3 && v);
        const found = [part(0, 2), part(2, EDGE.left - 6)];
        aside.lastChild.remove();
        EDGE.left = before;
        return found;
    })()"""
    assert page.evaluate(inked) == [False, True]
