"""The attention page in a real browser: what a person does, and what they then see."""

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

import posviz
from posviz import measures
from posviz.measures import Content

pytestmark = pytest.mark.browser

APP = Path(__file__).parents[2] / "app.py"
PAIRS = 1e4 ** (-np.arange(0, 128, 2) / 128)
VALUES = "() => ({ ...document.querySelector('.pv-panel').panel.board.values })"
KEY = "root => root.panel.key"

# Watches every frame: does each panel still hold the same drawing? When did the curve move?
WATCH = """() => {
  const plots = [...document.querySelectorAll('[data-panel] .pv-plot')];
  const drawings = plots.map((plot) => plot.querySelector('.main-svg'));
  window.seen = { frames: 0, remounted: 0, moves: 0, stop: false };
  const path = () =>
    document.querySelector('[data-panel=decay] path.js-line').getAttribute('d');
  let last = path();
  const tick = () => {
    seen.frames++;
    [...document.querySelectorAll('[data-panel] .pv-plot')].forEach((plot, i) => {
      if (plot !== plots[i] || (drawings[i] && plot.querySelector('.main-svg') !== drawings[i]))
        seen.remounted++;
    });
    const now = path();
    if (now !== last) { last = now; seen.moves++; }
    if (!seen.stop) requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}"""


@pytest.fixture
def open_page(page: Page, serve: Callable[[Path], str]) -> Callable[[str], Page]:
    def opened(query: str = "") -> Page:
        page.goto(f"{serve(APP)}/attention{query}")
        page.locator("[data-panel=decay] .pv-plot path.js-line").first.wait_for(timeout=60_000)
        settle(page)
        return page

    return opened


def settle(page: Page) -> None:
    """Wait until every panel in sight is drawn and nothing is under way."""
    page.locator(".pv-board[data-state=idle][data-rest=yes]").wait_for(timeout=60_000)


def panel_of(page: Page, name: str) -> Any:
    panel = page.locator(f"[data-panel={name}]")
    panel.scroll_into_view_if_needed()
    panel.locator(".pv-plot .main-svg").first.wait_for()
    return panel


def trace(page: Page, name: str, place: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A line as Plotly now holds it."""
    x, y = (
        panel_of(page, name)
        .locator(".pv-plot")
        .evaluate("(p, i) => [Array.from(p.data[i].x), Array.from(p.data[i].y)]", place)
    )
    return np.array(x), np.array(y, dtype=float)


def part(page: Page, control: str, name: str) -> Any:
    return page.locator(f"[data-control='{control}'] [data-part={name}]")


def length_of(page: Page) -> int:
    return int(page.evaluate(VALUES)["length"])


def cosines(distances: np.ndarray) -> np.ndarray:
    return np.asarray(np.cos(distances[:, None] * PAIRS).mean(axis=1))


def test_the_first_view_fills_every_panel_without_a_click_and_axe_finds_nothing(
    open_page: Callable[..., Page],
) -> None:
    page = open_page()
    panels = page.locator("[data-panel]")
    names = panels.evaluate_all("all => all.map(p => p.dataset.panel)")
    assert names[:6] == ["decay", "weights", "entropy", "reach", "needle", "first_token"]
    assert {"resolution", "receptive", "matrix", "bases", "bounds", "precision"} <= set(names)
    for name in names:
        panel = panel_of(page, name)
        drawn = ".pv-map" if name == "matrix" else ".pv-plot path.js-line"
        expect(panel.locator(drawn).first).to_be_visible()
        assert panel.locator(".pv-formula math").count() == 1
    expect(page.get_by_text("This panel could not be drawn")).to_have_count(0)
    x, y = trace(page, "decay")
    np.testing.assert_allclose(y, 10.5 * cosines(x), atol=1e-4)
    x, y = trace(page, "needle")
    at_length = np.flatnonzero(x == 32768)
    assert at_length.size == 1
    # One key of logit 10.5 among 32,767 of logit 0.
    expected = 1 / (1 + 32767 * math.exp(-10.5))
    assert y[at_length[0]] == pytest.approx(expected, rel=1e-5)
    page.evaluate("scrollTo(0, 0)")
    found = Axe().run(page, context=".pv-board").response["violations"]
    assert [(one["id"], [node["html"][:200] for node in one["nodes"][:3]]) for one in found] == []


@pytest.mark.alone
def test_dragging_the_match_draws_live_and_slow_panels_follow_at_rest(
    open_page: Callable[..., Page],
) -> None:
    page = open_page("?length=131072")
    for name in ("resolution", "matrix"):
        panel_of(page, name)
    part(page, "match", "range").scroll_into_view_if_needed()
    panel_of(page, "decay")
    settle(page)
    before = page.locator("[data-panel=matrix]").evaluate(KEY)
    page.evaluate(WATCH)
    box = part(page, "match", "range").bounding_box()
    y = box["y"] + box["height"] / 2
    start = box["x"] + box["width"] * 0.35
    page.mouse.move(start, y)
    page.mouse.down()
    began = time.monotonic()
    for step in range(45):
        page.mouse.move(start + box["width"] * 0.5 * step / 44, y)
        time.sleep(max(0.0, began + step / 30 - time.monotonic()))
    moves = page.evaluate("() => seen.moves")
    during = page.locator("[data-panel=matrix]").evaluate(KEY)
    page.mouse.up()
    settle(page)
    seen = page.evaluate("() => { seen.stop = true; return seen; }")
    assert moves / (time.monotonic() - began) >= 2  # a busy machine must still move
    assert seen["remounted"] == 0
    assert during == before
    match = float(page.evaluate(VALUES)["match"])
    assert 20 < match < 32
    x, y_drawn = trace(page, "decay")
    assert x[-1] == 131071
    np.testing.assert_allclose(y_drawn, match * cosines(x), atol=2e-4)
    # What is out of sight follows when it comes into sight.
    panel_of(page, "matrix")
    page.wait_for_function(
        "key => document.querySelector('[data-panel=matrix]').panel.key !== key", arg=before
    )
    lengths, _ = trace(page, "resolution")
    content = Content(content="same", match=match)
    expected = measures.resolution_curve(posviz.parse("rope"), [int(lengths[10])], content=content)
    page.wait_for_function(
        """expected => { const y = document.querySelector('[data-panel=resolution] .pv-plot')
             .data[0].y[10]; return Math.abs(y / expected - 1) < 1e-5; }""",
        arg=float(expected.resolution[0]),
    )
    assert f"match={match:g}" in page.evaluate("location.search")


def test_a_zoom_into_the_decay_is_answered_with_finer_points(
    open_page: Callable[..., Page],
) -> None:
    page = open_page("?length=131072")
    panel = panel_of(page, "decay")
    coarse, _ = trace(page, "decay")
    panel.get_by_role("button", name="Zoom", exact=True).click()
    box = panel.locator(".pv-hit").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.8, box["y"] + box["height"] * 0.2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + box["height"] * 0.8, steps=5)
    page.mouse.up()
    expect(panel.get_by_role("button", name="Reset zoom")).to_be_visible()
    ends = panel.locator(".pv-plot").evaluate("p => p._fullLayout.xaxis.range.map(e => 10 ** e)")
    page.wait_for_function(
        "n => document.querySelector('[data-panel=decay] .pv-plot').data[0].x.length > n",
        arg=len(coarse) + 100,
    )
    settle(page)
    x, y = trace(page, "decay")
    inside = [int(((one >= ends[0]) & (one <= ends[1])).sum()) for one in (coarse, x)]
    assert inside[1] > 4 * inside[0]
    np.testing.assert_allclose(y, 10.5 * cosines(x), atol=1e-4)
    again = panel.locator(".pv-plot").evaluate("p => p._fullLayout.xaxis.range.map(e => 10 ** e)")
    np.testing.assert_allclose(again, ends)
    panel.get_by_role("button", name="Reset zoom").click()
    page.wait_for_function(
        "n => document.querySelector('[data-panel=decay] .pv-plot').data[0].x.length <= n",
        arg=len(coarse) + 2,
    )


@pytest.mark.alone
def test_play_moves_the_length_in_the_entropy_panel_and_a_click_there_sets_it(
    open_page: Callable[..., Page],
) -> None:
    page = open_page()
    panel = panel_of(page, "entropy")
    hit = panel.locator(".pv-hit")
    assert hit.get_attribute("aria-valuenow") == "32768"
    play = part(page, "length", "play")
    play.click()
    page.wait_for_function(
        "() => Number(document.querySelector('[data-panel=entropy] .pv-hit')"
        ".getAttribute('aria-valuenow')) > 40000"
    )
    expect(play).to_have_attribute("aria-pressed", "true")
    play.click()
    settle(page)
    played = length_of(page)
    assert hit.get_attribute("aria-valuenow") == str(played)
    assert trace(page, "weights")[0][-1] == played - 1
    panel_of(page, "entropy")
    box = hit.bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.4, box["y"] + box["height"] / 2)
    page.wait_for_function("before => !location.search.includes(before)", arg=f"={played}")
    settle(page)
    chosen = length_of(page)
    assert 100 < chosen < played
    assert f"length={chosen}" in page.evaluate("location.search")
    assert trace(page, "weights")[0][-1] == chosen - 1
    x, y = trace(page, "entropy")
    content = Content(content="same")
    expected = measures.context_curves(posviz.parse("rope"), [chosen], content=content)
    assert y[x == chosen] == pytest.approx(expected.entropy[0], rel=1e-5)


def test_a_link_restores_the_view_and_a_lead_with_heads_shows_them(
    open_page: Callable[..., Page],
) -> None:
    page = open_page("?a=rope&b=off&d=off&length=5000&content=zero")
    part(page, "lead", "choice").select_option(index=1)
    page.locator("[data-panel=heads]").wait_for()
    settle(page)
    box = part(page, "c.heads", "box")
    box.fill("6")
    box.press("Enter")
    settle(page)
    heads = panel_of(page, "heads")
    page.wait_for_function(
        "() => document.querySelector('[data-panel=heads] .pv-plot').data.length === 6"
    )
    settle(page)
    assert heads.locator(".pv-plot path.js-line").count() == 6
    slopes = []
    for place in range(6):
        x, y = trace(page, "heads", place)
        slopes.append(math.log(y[1] / y[2]) / (x[2] - x[1]))
    # Six heads, as the authors' code has them: those of four, and every other one of eight.
    expected = [1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8]
    np.testing.assert_allclose(slopes, expected, rtol=1e-3)
    values, link = page.evaluate(VALUES), page.evaluate("location.search")
    assert "lead=c" in link
    again = open_page(f"?{link[1:]}")
    assert again.evaluate(VALUES) == values
    assert again.evaluate("location.search") == link
    assert again.locator("[data-panel=heads]").count() == 1


def test_a_narrow_window_has_no_sideways_scrolling_and_dark_pages_are_accessible(
    new_page: Callable[..., Page], serve: Callable[[Path], str]
) -> None:
    page = new_page(viewport={"width": 390, "height": 900}, color_scheme="dark")
    page.goto(f"{serve(APP)}/attention?lead=c")
    page.locator("[data-panel=decay] .pv-plot path.js-line").first.wait_for(timeout=60_000)
    settle(page)
    panel_of(page, "heads")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert (
        len(set(page.locator(".pv-panel").evaluate_all("all => all.map(p => p.offsetLeft)"))) == 1
    )
    wide = page.locator(".pv-panel").evaluate_all(
        "all => all.filter(p => p.scrollWidth > p.clientWidth + 1).map(p => p.dataset.panel)"
    )
    assert wide == []
    found = Axe().run(page, context=".pv-board").response["violations"]
    assert [(one["id"], [node["html"][:200] for node in one["nodes"][:3]]) for one in found] == []


def test_a_line_that_ends_before_the_cursor_has_no_value_there(
    open_page: Callable[[str], Page],
) -> None:
    page = open_page("?a=rope&b=shaw&c=off&d=off&length=4096")
    rows = panel_of(page, "entropy").locator(".pv-legend li")
    values = {
        row.locator(".pv-name").inner_text(): row.locator(".pv-value").inner_text()
        for row in rows.all()
    }
    assert values["B · Shaw, head 0"] == "–"
    assert values["A · RoPE"] != "–"
