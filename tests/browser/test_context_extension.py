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
    assert panels.count() == 9
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
    page.get_by_text("Use your own config.json").click()
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
    assert re.search(r"largest relative error 2\.04\d* at pair 38", panel.inner_text())


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
