"""The map of two costs in a real browser: a point that moves two values at once."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page

from posviz import configs, measures

pytestmark = pytest.mark.browser

APP = Path(__file__).parents[2] / "app.py"
PANEL = "[data-panel=cost_pad]"
HANDLE = f"{PANEL} .pv-handle"


@pytest.fixture
def open_page(page: Page, serve: Callable[[Path], str]) -> Callable[[str], Page]:
    def opened(query: str = "") -> Page:
        page.goto(f"{serve(APP)}/context_extension{query}")
        page.locator(PANEL).wait_for(timeout=60_000)
        page.locator(PANEL).scroll_into_view_if_needed()
        at_rest(page)
        page.locator(HANDLE).wait_for(timeout=30_000)
        return page

    return opened


def at_rest(page: Page) -> None:
    page.locator(".pv-board[data-state=idle][data-rest=yes]").wait_for(timeout=60_000)
    page.wait_for_timeout(700)  # what the server left out while the point moved
    page.locator(".pv-board[data-state=idle][data-rest=yes]").wait_for(timeout=60_000)


def number(page: Page, control: str) -> float:
    text = page.locator(f"[data-control='{control}'] [data-part=box]").input_value()
    return float(text.replace(",", ""))


def revision(page: Page, panel: str) -> int:
    return int(page.locator(f"[data-panel={panel}]").get_attribute("data-rev") or 0)


def point(page: Page) -> tuple[float, float]:
    """Where Plotly has the current point, in the numbers of the axes."""
    x, y = page.evaluate(
        """() => {
          const trace = document.querySelector('[data-panel=cost_pad] .pv-plot').data
            .find((one) => one.name === 'current point');
          return [trace.x[0], trace.y[0]];
        }"""
    )
    return x, y


def dragged(page: Page, across: float, up: float, steps: int = 12, *, release: bool = True) -> None:
    """Take hold of the point and bring it this many pixels away."""
    box = page.locator(HANDLE).bounding_box()
    assert box
    left, top = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(left, top)
    page.mouse.down()
    for step in range(1, steps + 1):
        page.mouse.move(left + across * step / steps, top - up * step / steps)
        page.wait_for_timeout(40)
    if release:
        page.mouse.up()


@pytest.mark.alone
def test_drag_of_the_point_moves_both_numbers_the_address_and_the_other_panels(
    open_page: Callable[..., Page],
) -> None:
    page = open_page()
    assert (number(page, "a.beta_fast"), number(page, "a.beta_slow")) == (32, 1)
    before = revision(page, "wavelengths")
    answers: list[int] = []
    page.on(
        "response",
        lambda answer: (
            answers.append(len(answer.body()))
            if answer.url.endswith("/posviz/context_extension")
            else None
        ),
    )
    dragged(page, -90, 40)
    at_rest(page)
    fast, slow = number(page, "a.beta_fast"), number(page, "a.beta_slow")
    assert fast < 25
    assert slow > 1.2
    assert f"a.beta_fast={fast:g}" in page.url
    assert f"a.beta_slow={slow:g}" in page.url
    assert revision(page, "wavelengths") > before
    assert point(page) == pytest.approx((fast, slow))
    assert answers
    assert max(answers) <= 60_000
    # The costs that the panel tells are those of the values in the boxes.
    preset = next(one for one in configs.presets() if one.id == "yarn-llama-2-7b-64k")
    spec = configs.read(preset.config).spec().with_values(beta_fast=fast, beta_slow=slow)
    distances = np.arange(1.0, 65)[:, None]
    now, trained = (
        np.cos(distances * each).mean(1)
        for each in (spec.frequencies(65536), spec.trained_frequencies())
    )
    said = page.locator(PANEL).inner_text()
    assert f"change {abs(now - trained).mean():.4g}," in said
    assert f"scores × {measures.temperature(spec, length=65536).gain:.4g}," in said


def test_while_the_point_moves_the_map_tells_the_point_and_else_the_cell(
    open_page: Callable[..., Page],
) -> None:
    page = open_page()
    dragged(page, -83, 37, release=False)
    readout = page.locator(f"{PANEL} .pv-readout")
    told = re.match(r"point: beta_slow ([\d.]+), beta_fast ([\d.]+), J at", readout.inner_text())
    assert told
    page.mouse.up()
    at_rest(page)
    assert float(told[1]) == number(page, "a.beta_slow")
    assert float(told[2]) == number(page, "a.beta_fast")
    box = page.locator(HANDLE).bounding_box()
    assert box
    page.mouse.move(box["x"] - 40, box["y"] - 40)
    assert readout.inner_text().startswith("cell around beta_slow ")


def test_a_formula_wider_than_its_panel_scrolls_in_its_own_box(
    open_page: Callable[..., Page],
) -> None:
    page = open_page()
    page.set_viewport_size({"width": 390, "height": 844})
    at_rest(page)
    found = page.evaluate(
        """() => {
          const box = document.querySelector('[data-panel=cost_pad] .pv-formula');
          box.scrollLeft = 1e6;
          return {
            page: document.documentElement.scrollWidth,
            right: box.getBoundingClientRect().right,
            end: box.lastElementChild.getBoundingClientRect().right,
            hidden: box.scrollWidth - box.clientWidth,
            shadow: getComputedStyle(box).backgroundImage,
          };
        }"""
    )
    assert found["page"] <= 390
    assert found["hidden"] > 0
    assert found["end"] <= found["right"] + 1
    assert found["shadow"].count("gradient") == 4  # what says that there is more to see


def test_point_keeps_out_of_blank_cells(open_page: Callable[..., Page]) -> None:
    page = open_page("?a.beta_fast=4&a.beta_slow=3")
    dragged(page, -80, 60)
    at_rest(page)
    assert number(page, "a.beta_fast") >= number(page, "a.beta_slow")
    assert page.locator(".pv-problems").inner_text() == ""


def test_arrow_keys_move_the_point_and_the_button_takes_the_proposal(
    open_page: Callable[..., Page],
) -> None:
    page = open_page("?pad=base_and_factor&weight=0.25")
    handle = page.locator(HANDLE)
    handle.focus()
    handle.press("ArrowRight")
    handle.press("Shift+ArrowDown")
    at_rest(page)
    assert number(page, "base") > 10_000
    assert number(page, "scaling_factor") < 16
    assert "target=65536" in page.url  # the map is one of a fixed target length
    assert "weight=0.25" in page.url
    page.get_by_role("button", name="Take the proposal").click()
    at_rest(page)
    said = page.locator(PANEL).inner_text()
    proposed = re.search(r"proposal for w = 0\.25: base ([\d.]+), scaling_factor ([\d.]+)", said)
    assert proposed
    assert number(page, "base") == float(proposed[1])
    assert number(page, "scaling_factor") == float(proposed[2])
    for _ in range(4):
        handle.press("Shift+ArrowUp")  # far enough that the point does not cover the star
    at_rest(page)
    assert number(page, "scaling_factor") != float(proposed[2])
    star = page.locator(f"{PANEL} .scatterlayer .trace").nth(-2).locator("path.point")
    star.click(force=True)
    at_rest(page)
    assert number(page, "base") == float(proposed[1])
    assert number(page, "scaling_factor") == float(proposed[2])
