"""Jobs of the lab in a real browser: the page moves while they run, and only then."""

import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from streamlit.proto.BackMsg_pb2 import BackMsg

pytestmark = pytest.mark.browser

APP = Path(__file__).parent / "apps" / "lab_jobs.py"
WAIT = 30_000

# Watches every frame: are the drawings the same nodes, with their lines in them, and not faded?
WATCH = """() => {
  const find = () => [...document.querySelectorAll('.pv-plot')];
  const plots = find(), drawings = plots.map((plot) => plot.querySelector('.main-svg'));
  window.seen = { frames: 0, remounted: 0, blank: 0, dimmed: 0, shapes: new Set() };
  const tick = () => {
    seen.frames++;
    const now = find();
    if (now.length !== plots.length) seen.remounted++;
    now.forEach((plot, i) => {
      if (plot !== plots[i] || plot.querySelector('.main-svg') !== drawings[i]) seen.remounted++;
      const line = plot.querySelector('path.js-line')?.getAttribute('d');
      if (!line) seen.blank++; else seen.shapes.add(line);
    });
    for (let node = plots[0]; node; node = node.parentElement)
      if (Number(getComputedStyle(node).opacity) < 1) { seen.dimmed++; break; }
    if (!seen.stop) requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}"""
SEEN = "() => { seen.stop = true; return { ...seen, shapes: seen.shapes.size }; }"


@pytest.fixture(scope="module")
def url(serve: Callable[[Path], str]) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POSVIZ_WORKERS", "1")
        return serve(APP)


@pytest.fixture
def opened(new_page: Callable[..., Page], url: str) -> Callable[..., Page]:
    """A session of its own; its job is cancelled when the window is closed."""

    def open_page(**options) -> Page:
        page = new_page(**options)
        page.goto(url)
        expect(page.get_by_role("button", name="Count", exact=True)).to_be_visible(timeout=WAIT)
        return page

    return open_page


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def bar(page: Page):
    return page.get_by_test_id("stProgress")


def process_of(page: Page) -> int:
    expect(bar(page)).to_contain_text(re.compile(r"step \d+ of process \d+"), timeout=WAIT)
    return int(re.search(r"of process (\d+)", bar(page).inner_text())[1])


@pytest.mark.alone
def test_progress_moves_in_place_and_the_page_is_quiet_afterwards(opened) -> None:
    page = opened()
    press(page, "Count")
    process_of(page)
    expect(page.locator(".pv-plot path.js-line")).to_have_count(2, timeout=WAIT)
    page.evaluate(WATCH)
    first = bar(page).inner_text()
    expect(bar(page)).not_to_have_text(first, timeout=WAIT)
    expect(page.get_by_text(re.compile(r"used, about .* left"))).to_be_visible(timeout=WAIT)
    expect(page.get_by_text("result: 250")).to_be_visible(timeout=WAIT)
    expect(page.locator(".pv-board[data-rest=yes]")).to_be_visible(timeout=WAIT)
    seen = page.evaluate(SEEN)
    assert seen["shapes"] > 4
    assert (seen["remounted"], seen["blank"], seen["dimmed"]) == (0, 0, 0), seen
    expect(page.get_by_text("page run 3")).to_be_visible()  # opened, pressed, ended: no more
    assert bar(page).count() == 0


def polls(page: Page) -> list[BackMsg]:
    """Every run that the browser asks for from now on."""
    sent: list[BackMsg] = []

    def heard(payload) -> None:
        message = BackMsg.FromString(payload)
        if message.WhichOneof("type") == "rerun_script":
            sent.append(message)

    page.on("websocket", lambda socket: socket.on("framesent", heard))
    return sent


@pytest.mark.alone
def test_the_page_asks_only_while_a_job_is_on(new_page, url) -> None:
    page = new_page()
    asked = polls(page)
    page.goto(url)
    expect(page.get_by_role("button", name="Count fast", exact=True)).to_be_visible(timeout=WAIT)
    press(page, "Count fast")
    expect(page.get_by_text("result: 30")).to_be_visible(timeout=WAIT)
    page.wait_for_timeout(500)
    before = len(asked)
    assert any(message.rerun_script.is_auto_rerun for message in asked)
    page.wait_for_timeout(2500)
    assert len(asked) == before


def test_cancel_ends_a_run_and_the_next_one_works(opened) -> None:
    page = opened()
    press(page, "Count long")
    process_of(page)
    press(page, "Cancel")
    expect(page.get_by_text(re.compile(r"Cancelled after \d"))).to_be_visible(timeout=WAIT)
    expect(page.locator(".pv-plot").first).to_be_visible()  # what was there so far
    press(page, "Count fast")
    expect(page.get_by_text("result: 30")).to_be_visible(timeout=WAIT)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_job_and_its_figures_are_accessible_on_a_phone(opened, scheme) -> None:
    page = opened(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    press(page, "Count long")
    process_of(page)
    expect(page.locator("[data-panel=half] path.js-line")).to_be_visible(timeout=WAIT)
    violations = Axe().run(page).response["violations"]
    assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in violations] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    press(page, "Cancel")
    expect(page.get_by_text(re.compile(r"Cancelled after \d"))).to_be_visible(timeout=WAIT)


@pytest.mark.alone
def test_a_killed_worker_gives_a_sentence_soon(opened) -> None:
    page = opened()
    press(page, "Count long")
    os.kill(process_of(page), signal.SIGKILL)
    killed = time.monotonic()
    expect(page.get_by_text("ended by the system (signal 9), most likely")).to_be_visible(
        timeout=WAIT
    )
    # The pool knows at once and the page asks every second; the rest is the browser's, under load.
    assert time.monotonic() - killed < 8
    press(page, "Count fast")
    expect(page.get_by_text("result: 30")).to_be_visible(timeout=WAIT)


@pytest.mark.alone
def test_the_queue_is_shown_and_a_closed_window_gives_its_place_free(opened) -> None:
    first, second = opened(), opened()
    press(first, "Count long")  # a minute
    process_of(first)
    press(second, "Count fast")
    expect(second.get_by_text("Place 1 in the queue: yours is the next run.")).to_be_visible(
        timeout=WAIT
    )
    began = time.monotonic()
    first.context.close()
    expect(second.get_by_text("result: 30")).to_be_visible(timeout=WAIT)
    assert time.monotonic() - began < 25


def test_the_numbers_and_the_picture_can_be_saved_while_a_job_runs(opened) -> None:
    page = opened()
    press(page, "Count long")
    process_of(page)
    panel = page.locator("[data-panel=whole]")
    expect(panel.locator("path.js-line")).to_be_visible(timeout=WAIT)
    with page.expect_download(timeout=WAIT) as saved:
        panel.get_by_role("button", name="CSV").click()
    assert saved.value.suggested_filename == "posviz-whole.csv"
    lines = Path(saved.value.path()).read_text().splitlines()
    assert lines[:2] == ["series,time,height", "wave,0,0.0"]
    with page.expect_download(timeout=WAIT) as saved:
        panel.get_by_role("button", name="SVG").click()
    assert "<svg" in Path(saved.value.path()).read_text()
    first = bar(page).inner_text()
    expect(bar(page)).not_to_have_text(first, timeout=WAIT)  # it goes on
    press(page, "Cancel")
    expect(page.get_by_text(re.compile(r"Cancelled after \d"))).to_be_visible(timeout=WAIT)
