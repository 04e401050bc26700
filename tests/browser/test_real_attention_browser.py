"""The page of real attention in a browser: a run of the real model, and a click on a head."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from posviz.lab import installed
from posviz.lab.language_model.sources import SMOLLM2

pytestmark = pytest.mark.browser
APP = Path(__file__).parents[2] / "app.py"
FADES = """() => [...document.querySelectorAll('.katex-display')]
    .map((formula) => getComputedStyle(formula).getPropertyValue('--pv-right'))"""
LOADING = 120_000
"""Milliseconds that a busy machine may take to load the model and run it."""


def test_a_run_shows_every_head_and_a_click_on_a_tile_chooses_one(page: Page, serve):
    reason = SMOLLM2.missing() or installed.missing("torch", "transformers")
    if reason:
        pytest.skip(reason)
    page.goto(f"{serve(APP)}/real_attention?section=model&text=The+ship+came+back+at+night+again.")
    page.get_by_role("button", name="Run", exact=True).click(timeout=30_000)
    # Before the run the stored heads stand there, under the same titles.
    expect(page.get_by_text("Stored results")).to_be_hidden(timeout=LOADING)
    # While the new ones come, the old ones still stand for a moment.
    maps = page.get_by_role("heading", name="Attention map of all 270 heads")
    expect(maps).to_have_count(1, timeout=LOADING)
    expect(page.get_by_role("heading", name="Layer 16, head 0", exact=True)).to_be_visible()
    # What does not scroll does not fade: there is nothing more of these formulas to see.
    assert set(page.evaluate(FADES)) == {"1"}
    plot = page.locator(".st-key-plot-heads .nsewdrag").first
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    assert box is not None
    # 30 tiles across and 9 down, a tenth of a tile of air around all of them.
    page.mouse.click(
        box["x"] + box["width"] * (5.5 + 0.1) / 30.2, box["y"] + box["height"] * (3.5 + 0.1) / 9.2
    )
    expect(page.get_by_role("heading", name="Layer 5, head 3", exact=True)).to_be_visible()
    expect(page).to_have_url(re.compile("layer=5&head=3"))
    page.get_by_role("button", name="Look closely at layer 5, head 3").click()
    link = page.get_by_role("link", name=re.compile("Take q and k to the attention page"))
    expect(link).to_be_visible(timeout=30_000)
    assert "question=given" in (link.get_attribute("href") or "")
