"""Explore, compare and catalog in a real browser: what a person does, and what they then see."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

import posviz

pytestmark = pytest.mark.browser

APP = Path(__file__).parents[2] / "app.py"


@pytest.fixture
def open_page(page: Page, serve: Callable[[Path], str]) -> Callable[[str], Page]:
    def opened(path: str) -> Page:
        page.goto(f"{serve(APP)}/{path}")
        page.locator(".pv-board[data-state=idle]").wait_for(timeout=60_000)
        page.wait_for_timeout(700)
        return page

    return opened


def line(page: Page, panel: str) -> tuple[list[Any], list[Any]]:
    """The first line that Plotly holds for a panel."""
    page.locator(f"[data-panel={panel}]").scroll_into_view_if_needed()
    page.wait_for_timeout(500)
    found = page.evaluate(
        """(id) => { const t = document.querySelector(`[data-panel=${id}] .pv-plot`).data[0];
             return [Array.from(t.x), Array.from(t.y)]; }""",
        panel,
    )
    return found[0], found[1]


def settle(page: Page) -> None:
    page.wait_for_timeout(800)
    page.locator(".pv-board[data-state=idle]").wait_for(timeout=60_000)
    page.wait_for_timeout(500)


def test_explore_fills_its_first_view_and_follows_a_control(
    open_page: Callable[[str], Page],
) -> None:
    page = open_page("explore?encoding=alibi")
    x, y = line(page, "bias_profile")
    np.testing.assert_allclose(y, -0.5 * np.asarray(x), rtol=1e-5)
    box = page.locator("[data-control=heads] [data-part=box]")
    box.fill("16")
    box.press("Enter")
    settle(page)
    _, y = line(page, "bias_profile")
    np.testing.assert_allclose(y, -(2**-0.5) * np.asarray(x), rtol=1e-5)
    assert "heads=16" in page.evaluate("location.search")
    # The code below follows the values too.
    expect(page.locator("[data-text=numpy] pre")).to_contain_text("16, 8.0, 'causal'")


def test_a_bad_value_gives_a_sentence_and_the_picture_stays(
    open_page: Callable[[str], Page],
) -> None:
    page = open_page("explore?encoding=alibi")
    before = line(page, "bias_profile")
    box = page.locator("[data-control=heads] [data-part=box]")
    box.fill("0")
    box.press("Enter")
    message = page.locator("[data-control=heads] .pv-message")
    expect(message).to_contain_text("heads must be a whole number of at least 1")
    assert line(page, "bias_profile") == before


def test_choosing_another_encoding_shows_its_formula_and_figures(
    open_page: Callable[[str], Page],
) -> None:
    page = open_page("explore")
    page.get_by_role("radio", name="rotary").or_(
        page.get_by_role("button", name="rotary", exact=True)
    ).first.click()
    page.locator("[data-panel=odometer]").wait_for(timeout=60_000)
    assert page.evaluate("location.search").startswith("?encoding=")
    expect(page.locator(".katex").first).to_be_visible()


def test_compare_says_which_forms_are_equal_up_to_a_shift(
    open_page: Callable[[str], Page],
) -> None:
    page = open_page("compare?a=alibi&b=alibi&b.form=key_only")
    expect(page.get_by_text("which the softmax drops")).to_be_visible()
    assert page.locator("[data-panel^=bias_matrix__]").count() == 3


def test_the_catalog_leads_to_every_encoding(page: Page, serve: Callable[[Path], str]) -> None:
    page.goto(f"{serve(APP)}/catalog")
    table = page.locator("table.posviz-catalog")
    table.wait_for(timeout=60_000)
    links = table.locator("a[href*='explore?encoding=']")
    assert links.count() == len(posviz.catalog())
    links.filter(has_text="ALiBi").first.click()
    page.locator("[data-panel=bias_profile]").wait_for(timeout=60_000)
    assert "/explore" in page.url


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_kind_of_result_is_drawn_without_an_error(
    open_page: Callable[[str], Page], scheme: str
) -> None:
    errors: list[str] = []
    kinds = ("learned", "m_rope", "cope", "sliding_window", "length_curriculum", "self_extend")
    for encoding in kinds:
        page = open_page(f"explore?encoding={encoding}")
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.on("pageerror", lambda error: errors.append(str(error)))
        assert page.locator("[data-panel]").count() >= 1, encoding
        expect(page.get_by_text("This panel could not be drawn")).to_have_count(0)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert errors == []


@pytest.mark.parametrize(
    ("sentence", "code"),
    [
        ("The table of X is not installed here: `make models` gets it.", ["make models"]),
        ("link must be a link; got 'not installed here: `make models`'.", []),
        ("`make models` and more: `make x`.", []),
    ],
)
def test_a_board_shows_the_command_of_its_own_sentence_as_code(
    page: Page, sentence: str, code: list[str]
) -> None:
    source = (APP.parent / "posviz" / "ui" / "live" / "assets" / "dom.js").read_text("utf-8")
    page.goto("about:blank")
    shown = page.evaluate(
        """async ([source, sentence]) => {
             const address = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
             const { el, withCommand } = await import(address);
             const box = el('p', {}, ...withCommand(sentence));
             return [box.textContent, [...box.querySelectorAll('code')].map((c) => c.textContent)];
           }""",
        [source, sentence],
    )
    assert shown == [sentence.replace("`", "") if code else sentence, code]
