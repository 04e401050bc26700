"""The report in a real browser: a diagnosis leads to its plot; a change is made and undone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from posviz.ui.context_extension.address import pack

pytestmark = pytest.mark.browser

APP = Path(__file__).parents[2] / "app.py"
WARNED = {
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "rope_theta": 1000000.0,
    "max_position_embeddings": 40960,
    "rope_scaling": {
        "rope_type": "yarn",
        "factor": 4.0,
        "original_max_position_embeddings": 32768,
    },
}


@pytest.fixture
def warned(page: Page, serve: Callable[[Path], str]) -> Page:
    page.goto(f"{serve(APP)}/context_extension?config={pack(WARNED)}")
    settled(page)
    return page


def settled(page: Page) -> None:
    page.locator(".pv-board[data-state=idle]").wait_for(timeout=60_000)
    page.locator("[data-panel=wavelengths] .pv-plot path.js-line").first.wait_for(timeout=60_000)
    page.wait_for_timeout(700)


def in_sight(page: Page, panel: str) -> bool:
    box = page.locator(f"[data-panel={panel}]").bounding_box()
    assert box is not None
    return box["y"] + box["height"] > 0 and box["y"] < 1000


def test_the_severity_is_seen_without_opening_anything(warned: Page) -> None:
    warning = warned.get_by_test_id("stAlertContentWarning")
    expect(warning.get_by_text("PV121")).to_be_in_viewport()


def test_a_change_is_made_and_undone_by_a_click_each(warned: Page) -> None:
    warned.get_by_role("button", name="Apply PV121").click()
    expect(warned.get_by_text("factor × original = 131072 differs")).to_have_count(0)
    settled(warned)
    assert pack(WARNED) not in warned.url
    warned.get_by_role("button", name="Undo PV121").click()
    expect(warned.get_by_text("factor × original = 131072 differs")).to_have_count(1)
    settled(warned)
    assert pack(WARNED) in warned.url


def test_a_diagnosis_brings_its_plot_into_sight_and_marks_it(
    page: Page, serve: Callable[[Path], str]
) -> None:
    page.set_viewport_size({"width": 1400, "height": 600})
    page.goto(f"{serve(APP)}/context_extension?model=llama-3.1-8b")
    settled(page)
    page.get_by_text("checked and right").last.click()
    shown = page.get_by_role("button", name="Show pair").first
    shown.click()
    pointed = page.locator(".pv-pointed")
    pointed.wait_for(timeout=20_000)
    expect(pointed).to_be_in_viewport()
    first = shown.inner_text().split()[2]
    expect(page.locator("[data-control=pair] input:not([type=range])").first).to_have_value(first)
