"""The context-extension page in a real browser: what a person does, and what they then see."""

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

import posviz
from posviz import configs, measures

pytestmark = pytest.mark.browser

APP = Path(__file__).parents[2] / "app.py"
LLAMA3_SCALED = {
    "model_type": "llama",
    "hidden_size": 2048,
    "num_attention_heads": 32,
    "head_dim": 64,
    "max_position_embeddings": 131072,
    "rope_theta": 500000.0,
    "rope_scaling": {
        "rope_type": "llama3",
        "factor": 32.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    },
}


@pytest.fixture
def open_page(page: Page, serve: Callable[[Path], str]) -> Callable[[str], Page]:
    def opened(query: str = "") -> Page:
        page.goto(f"{serve(APP)}/context_extension{query}")
        settled(page)
        return page

    return opened


def settled(page: Page) -> None:
    """Wait until every panel that is in sight was drawn by Plotly and nothing is asked for."""
    page.locator(".pv-board[data-state=idle]").wait_for(timeout=60_000)
    page.locator("[data-panel=wavelengths] .pv-plot path.js-line").first.wait_for(timeout=60_000)
    page.wait_for_timeout(700)


def drawn(page: Page, panel: str) -> dict[str, dict[str, Any]]:
    """What Plotly holds for a panel, by the name of the trace."""
    page.locator(f"[data-panel={panel}]").scroll_into_view_if_needed()
    page.wait_for_timeout(400)
    traces = page.evaluate(
        """(id) => document.querySelector(`[data-panel=${id}] .pv-plot`).data.map(
             (t) => ({name: t.name, x: Array.from(t.x || []), y: Array.from(t.y || [])}))""",
        panel,
    )
    return {trace["name"]: trace for trace in traces}


def typed(page: Page, control: str, text: str) -> None:
    box = page.locator(f"[data-control='{control}'] [data-part=box]")
    box.fill(text)
    box.press("Enter")
    settled(page)


def test_first_view_is_filled_without_a_click(open_page: Callable[..., Page]) -> None:
    page = open_page()
    panels = page.locator("[data-panel]")
    assert panels.count() == 10
    for i in range(panels.count()):
        panels.nth(i).scroll_into_view_if_needed()
        expect(panels.nth(i).locator(".pv-plot .main-svg").first).to_be_visible()
    lines = drawn(page, "wavelengths")
    yarn = posviz.parse("yarn").encode([0.0], length=65536)
    np.testing.assert_allclose(lines["A · YaRN"]["y"], yarn.wavelengths, rtol=1e-6)
    assert lines["unscaled RoPE"]["y"][63] == pytest.approx(54410.14313, rel=1e-6)


def test_pasted_configuration_is_drawn_moved_shared_and_exported(
    open_page: Callable[..., Page],
) -> None:
    page = open_page()
    page.get_by_text("Use your own config.json", exact=True).click()
    page.get_by_label("Paste a config.json").fill(json.dumps(LLAMA3_SCALED))
    page.get_by_role("button", name="Read it").click()
    page.locator("[data-control='a.low_freq_factor']").wait_for(timeout=30_000)
    settled(page)
    model = configs.read(LLAMA3_SCALED)
    reference = model.rotation(length=8192)
    lines = drawn(page, "wavelengths")
    np.testing.assert_allclose(lines["A · Llama 3 scaling"]["y"], reference.wavelengths, rtol=1e-6)
    notes = page.locator("[data-panel=wavelengths]").inner_text()
    assert "15 kept, 3 blended, 14 divided" in notes  # case B94

    typed(page, "scaling_factor", "8")
    spec = model.spec().with_values(scaling_factor=8.0)
    lines = drawn(page, "wavelengths")
    np.testing.assert_allclose(
        lines["A · Llama 3 scaling"]["y"], spec.encode([0.0]).wavelengths, rtol=1e-6
    )

    page.wait_for_timeout(600)
    shown = page.locator("[data-text='a.transformers'] pre").inner_text()
    assert json.loads(shown)["rope_parameters"]["factor"] == 8

    address = page.url
    assert "config=" in address
    assert "scaling_factor=8" in address
    page.goto("about:blank")
    page.goto(address)
    settled(page)
    again = drawn(page, "wavelengths")
    assert again == lines


def test_slider_key_press_moves_all_panels_to_the_numbers_of_the_core(
    open_page: Callable[..., Page],
) -> None:
    page = open_page()
    slider = page.get_by_role("slider", name="base", exact=True)
    slider.focus()
    for _ in range(3):
        slider.press("ArrowRight")
    settled(page)
    base = float(page.locator("[data-control=base] [data-part=box]").input_value().replace(",", ""))
    assert base > 10000
    spec = posviz.parse(f"yarn?base={base}")
    decay = measures.score_decay(spec, length=65536)
    line = drawn(page, "score_decay")["A · YaRN"]
    np.testing.assert_allclose(line["y"], decay.scores[np.array(line["x"], dtype=int)], atol=1e-5)


def test_value_in_the_address_that_cannot_be_used_is_reported(
    open_page: Callable[..., Page],
) -> None:
    page = open_page("?scaling_factor=0.5&b=yarm")
    said = page.locator(".pv-problems").inner_text()
    assert "scaling_factor must be a number of at least 1" in said
    assert "there is no method 'yarm'" in said


def test_reset_restores_the_first_view_and_its_short_address(
    open_page: Callable[..., Page],
) -> None:
    page = open_page("?b=ntk_aware&base=20000")
    assert "B · NTK-aware" in drawn(page, "divisors")
    page.get_by_role("button", name="Reset", exact=True).click()
    settled(page)
    page.wait_for_timeout(500)
    assert set(drawn(page, "wavelengths")) == {"unscaled RoPE", "A · YaRN"}
    assert re.search(r"/context_extension$", page.url)


def test_two_implementations_differ_by_the_error_that_is_named(
    open_page: Callable[..., Page],
) -> None:
    page = open_page("?profile_b=paper+%28ramp+in+turns%29&profile_a=transformers%2C+vLLM")
    panel = page.locator("[data-panel=profiles]")
    panel.scroll_into_view_if_needed()
    assert re.search(r"largest relative error 204\.\d*% at pair 38", panel.inner_text())


def test_csv_of_a_panel_holds_its_numbers(open_page: Callable[..., Page]) -> None:
    page = open_page()
    with page.expect_download() as download:
        page.locator("[data-panel=wavelengths]").get_by_role("button", name="CSV").click()
    rows = list(csv.DictReader(download.value.path().read_text(encoding="utf-8").splitlines()))
    assert rows[0]["series"] == "unscaled RoPE"
    assert float(rows[0]["tokens per turn"]) == pytest.approx(2 * np.pi, rel=1e-15)


def test_formula_carries_the_numbers_at_the_cursor(open_page: Callable[..., Page]) -> None:
    page = open_page("?pair=20")
    formula = page.locator("[data-panel=wavelengths] math").first
    text = formula.evaluate("(node) => node.textContent")
    assert "20" in text
    assert "111.7" in text  # 2π·10000^(40/128) tokens, the pair that YaRN still keeps


def test_long_refusals_are_readable_and_lists_survive(open_page: Callable[..., Page]) -> None:
    page = open_page("?model=phi-3-mini-128k&scaling_factor=1000000")
    said = page.locator(".pv-problems").inner_text()
    assert "the target length must be at most 4,194,304" in said
    listed = page.locator("[data-control='a.short_factor'] [data-part=list]").input_value()
    assert listed.startswith("1.1,1.1,1.1,")
    typed(page, "base", "20000")
    assert "base=20000" in page.url
    assert page.locator(".pv-problems").inner_text() == ""


# Watches every frame of a drag: the same drawings, none empty, nothing dimmed above them.
WATCH = """() => {
  const ids = ['wavelengths', 'divisors', 'turns', 'score_decay', 'short_range_cost', 'needle'];
  const plot = (id) => document.querySelector(`[data-panel=${id}] .pv-plot`);
  const drawings = ids.map((id) => plot(id).querySelector('.main-svg'));
  window.seen = { frames: 0, blank: 0, remounted: 0, dimmed: 0, moves: 0 };
  let last = '';
  const tick = () => {
    seen.frames++;
    ids.forEach((id, i) => {
      if (plot(id).querySelector('.main-svg') !== drawings[i]) seen.remounted++;
      if (plot(id).querySelectorAll('path.js-line').length < 1) seen.blank++;
    });
    for (let node = plot(ids[0]); node; node = node.parentElement)
      if (Number(getComputedStyle(node).opacity) < 1) { seen.dimmed++; break; }
    const path = plot('wavelengths').querySelectorAll('path.js-line')[1].getAttribute('d');
    if (path !== last) { last = path; seen.moves++; }
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}"""


@pytest.mark.alone
def test_drag_moves_the_plots_and_remounts_blanks_or_dims_nothing(
    open_page: Callable[..., Page],
) -> None:
    page = open_page("?b=ntk_aware&c=linear&d=dynamic_ntk")
    answers: list[int] = []
    page.on(
        "response",
        lambda answer: (
            answers.append(len(answer.body()))
            if answer.url.endswith("/posviz/context_extension")
            else None
        ),
    )
    box = page.get_by_role("slider", name="base", exact=True).bounding_box()
    assert box
    left, top = box["x"] + 0.3 * box["width"], box["y"] + box["height"] / 2
    page.mouse.move(left, top)
    page.mouse.down()
    page.evaluate(WATCH)
    for step in range(40):
        page.mouse.move(left + 0.01 * step * box["width"], top)
        page.wait_for_timeout(25)
    during = page.evaluate("seen.moves")
    page.mouse.up()
    settled(page)
    seen = page.evaluate("seen")
    assert during >= 5  # ten a second on a machine that does nothing else; this one may be busy
    assert (seen["remounted"], seen["blank"], seen["dimmed"]) == (0, 0, 0)
    assert len(answers) >= 5
    assert max(answers) <= 60_000
    # The newest value is the one that stays.
    text = page.locator("[data-control=base] [data-part=box]").input_value()
    spec = posviz.parse(f"yarn?base={float(text.replace(',', ''))}")
    shown = drawn(page, "wavelengths")["A · YaRN"]["y"]
    np.testing.assert_allclose(shown, spec.encode([0.0]).wavelengths, rtol=1e-6)


@pytest.mark.alone
def test_one_key_press_costs_one_answer_and_at_most_twelve_messages(
    open_page: Callable[..., Page],
) -> None:
    page = open_page()
    answers: list[str] = []
    frames: list[int] = []
    page.on(
        "request",
        lambda sent: answers.append(sent.url) if sent.url.endswith("/context_extension") else None,
    )
    page.on(
        "websocket",
        lambda socket: socket.on("framereceived", lambda frame: frames.append(len(frame))),
    )
    page.reload()
    settled(page)
    page.wait_for_timeout(800)
    answers.clear()
    frames.clear()
    page.get_by_role("slider", name="base", exact=True).press("ArrowRight")
    page.wait_for_timeout(1500)
    assert len(answers) == 1
    assert 1 <= len(frames) <= 12  # what the page itself says at rest
    assert sum(frames) <= 60_000


def test_zoom_survives_an_update(open_page: Callable[..., Page]) -> None:
    page = open_page()
    ranges = """() => {
      const full = document.querySelector('[data-panel=wavelengths] .pv-plot')._fullLayout;
      return [...full.xaxis.range, ...full.yaxis.range];
    }"""
    panel = page.locator("[data-panel=wavelengths]")
    before = page.evaluate(ranges)
    panel.get_by_role("button", name="Zoom", exact=True).click()
    box = panel.locator(".pv-plot").bounding_box()
    assert box
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 0.3 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + 0.7 * box["height"], steps=5)
    page.mouse.up()
    page.wait_for_timeout(500)
    zoomed = page.evaluate(ranges)
    assert zoomed != before
    typed(page, "scaling_factor", "8")
    assert page.evaluate(ranges) == pytest.approx(zoomed)
