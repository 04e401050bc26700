"""The page of tiny trainings in a real browser: curves that grow, a cancel, a result."""

import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(find_spec("torch") is None, reason="training needs torch"),
]

APP = Path(__file__).parents[2] / "app.py"
TINY = "layers=1&width=16&heads=2&sequences=4&test_sequences=1&test_up_to=2"
ALONE = "c=off&d=off&e=off&f=off"
POINTS = """() => Object.fromEntries(
  (document.querySelector('[data-panel=loss] .pv-plot').data || [])
    .filter((trace) => !trace.name.includes('stored'))
    .map((trace) => [trace.name, trace.x.length]))"""
GROWS = f"(name) => (({POINTS})()[name] || 0) > 3"


def points(page: Page) -> dict[str, Any]:
    found = page.evaluate(POINTS)
    assert isinstance(found, dict)
    return found


def test_curves_grow_while_training_runs_a_cancel_keeps_what_is_done_and_a_run_ends_in_a_result(
    page: Page, serve: Callable[[Path], str]
) -> None:
    page.goto(f"{serve(APP)}/train_short?a=nope&b=causal&steps=5000&{TINY}&{ALONE}")
    board = page.locator(".pv-board")
    page.locator(".pv-board[data-state=idle]").wait_for(timeout=60_000)
    board.evaluate("(board) => { board.mine = true; }")
    start = page.get_by_role("button", name="Train these 2 encodings")
    start.click()

    # The curve of the first one grows in place, and nothing else can be started meanwhile.
    page.wait_for_function(GROWS, arg="A · NoPE", timeout=60_000)
    before = points(page)["A · NoPE"]
    expect(start).to_be_disabled()
    page.wait_for_function(f"(n) => ({POINTS})()['A · NoPE'] > n", arg=before, timeout=30_000)
    assert board.evaluate("(board) => board.mine === true")

    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("Cancelled after")).to_be_visible(timeout=30_000)
    expect(start).to_be_enabled(timeout=30_000)
    page.wait_for_function(f"() => !('A · NoPE' in ({POINTS})())")  # it was not finished

    # The same with few steps comes to its end; the worker is warm.
    steps = page.locator("[data-control=steps] [data-part=box]")
    steps.fill("8")
    steps.press("Enter")
    expect(page).to_have_url(re.compile(r"steps=8(&|$)"), timeout=30_000)
    start.click()
    expect(page.get_by_text("Finished in")).to_be_visible(timeout=60_000)
    table = page.locator(".posviz-trained")
    expect(table.get_by_text("trained here in")).to_have_count(2, timeout=30_000)
    page.wait_for_function(f"() => ({POINTS})()['B · Causal mask'] > 1", timeout=30_000)
    assert board.evaluate("(board) => board.mine === true")

    # A stored curve is faint, and so is the sample of it in the legend.
    looks = page.locator("[data-panel=length] .pv-legend li").evaluate_all(
        "all => all.map((li) => [li.innerText.includes('stored'), "
        "Number(getComputedStyle(li.querySelector('.pv-sample')).opacity)])"
    )
    assert sorted({(is_stored, opacity < 0.5) for is_stored, opacity in looks}) == [
        (False, False),
        (True, True),
    ]
