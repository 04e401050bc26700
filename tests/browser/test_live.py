"""The live board in a real browser, on the demonstration page: its numbers are plain waves."""

import io
import json
import math
import re
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import BrowserContext, Page, expect
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

pytestmark = pytest.mark.browser

DEMO = Path(__file__).parent / "apps" / "demo.py"
LINES = 8 * 5
PANELS = 9
PAIRS = np.arange(64)

# Watches every frame: does each panel still hold the same drawing, with lines in it?
WATCH = """() => {
  const plots = [...document.querySelectorAll('[data-panel^=p] .pv-plot')];
  const drawings = plots.map((plot) => plot.querySelector('.main-svg'));
  window.seen = { frames: 0, blank: 0, remounted: 0, dimmed: 0, moves: [] };
  let last = '';
  const tick = (time) => {
    seen.frames++;
    const now = [...document.querySelectorAll('[data-panel^=p] .pv-plot')];
    now.forEach((plot, i) => {
      if (plot !== plots[i] || plot.querySelector('.main-svg') !== drawings[i]) seen.remounted++;
      if (plot.querySelectorAll('path.js-line').length < 5) seen.blank++;
    });
    for (let node = plots[0]; node; node = node.parentElement)
      if (Number(getComputedStyle(node).opacity) < 1) { seen.dimmed++; break; }
    const path = now[0].querySelectorAll('path.js-line')[1].getAttribute('d');
    if (path !== last) { last = path; seen.moves.push(time); }
    if (!seen.stop) requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}"""

# Sets a slider as a key press does, and reads the paths as soon as the panel is redrawn.
STEP_AND_READ = """([name, k]) => new Promise((done) => {
  const panel = document.querySelector('[data-panel=p0]');
  const plot = panel.querySelector('.pv-plot');
  const range = document.querySelector(`[data-control=${name}] [data-part=range]`);
  new MutationObserver((_, observer) => {
    observer.disconnect();
    const full = plot._fullLayout;
    done({
      paths: [...plot.querySelectorAll('path.js-line')].map((p) => p.getAttribute('d')),
      x: [...full.xaxis.range, full.xaxis._length], y: [...full.yaxis.range, full.yaxis._length],
      drawnByPlotly: Array.from(plot.data[1].y),
    });
  }).observe(panel, { attributes: true, attributeFilter: ['data-rev'] });
  range.value = k;
  range.dispatchEvent(new Event('input', { bubbles: true }));
})"""


class Traffic:
    """What goes over the page's websocket; a request is open until a reply carries its stamp."""

    def __init__(self, page: Page) -> None:
        self.sent: list[BackMsg] = []
        self.received: list[int] = []
        self.asked = self.answered = self.most_open = 0
        page.on("websocket", self._watch)

    def _watch(self, socket) -> None:
        socket.on("framesent", self._out)
        socket.on("framereceived", self._in)

    def _out(self, payload) -> None:
        message = BackMsg.FromString(payload)
        if message.WhichOneof("type") == "rerun_script":
            self.sent.append(message)
            self.asked = (request(message) or {}).get("seq", 0)
            self.most_open = max(self.most_open, self.asked - self.answered)

    def _in(self, payload) -> None:
        message = ForwardMsg.FromString(payload)
        self.received.append(len(payload))
        packet = message.delta.new_element.bidi_component.bytes
        if packet:
            (length,) = struct.unpack_from("<I", packet)
            self.answered = json.loads(packet[4 : 4 + length])["stamp"]

    def reset(self) -> None:
        self.sent, self.received, self.most_open = [], [], 0


def request(message: BackMsg) -> dict | None:
    """The board's request in a message to the server."""
    for widget in message.rerun_script.widget_states.widgets:
        if widget.WhichOneof("value") == "json_value":
            return json.loads(widget.json_value).get("request")
    return None


@pytest.fixture(scope="module")
def url(serve: Callable[[Path], str]) -> str:
    return serve(DEMO)


class Window:
    """One window for all tests that can go back to the start; with what it sent and received."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.errors: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.traffic = Traffic(page)
        load(page, url)
        self.start = page.evaluate(VALUES)

    def afresh(self) -> None:
        self.page.mouse.move(5, 5)
        if self.page.evaluate(VALUES) != self.start or self.page.locator("[aria-invalid]").count():
            self.page.get_by_role("button", name="Reset", exact=True).click()
            settle(self.page)
        self.page.evaluate("scrollTo(0, 0)")
        self.traffic.reset()
        self.errors.clear()


VALUES = "() => ({ ...document.querySelector('.pv-panel').panel.board.values })"


@pytest.fixture(scope="module")
def window(_light: BrowserContext, url: str) -> Iterator[Window]:
    page = _light.new_page()
    yield Window(page, url)
    page.close()


@pytest.fixture
def page(window: Window) -> Iterator[Page]:
    """The shared window with every control at its start; a script error fails the test."""
    window.afresh()
    yield window.page
    assert window.errors == []


@pytest.fixture
def traffic(page: Page, window: Window) -> Traffic:
    return window.traffic


def settle(page: Page) -> None:
    """Wait until every panel in sight is drawn and nothing is under way."""
    page.locator(".pv-board[data-state=idle][data-rest=yes]").wait_for()


def load(page: Page, url: str) -> Page:
    page.goto(url)
    page.wait_for_function(
        "n => document.querySelectorAll('.pv-plot .js-line').length >= n", arg=LINES
    )
    settle(page)
    return page


def part(page: Page, control: str, name: str):
    return page.locator(f"[data-control={control}] [data-part={name}]")


def drawn(page: Page, panel: str, trace: int, axis: str = "y") -> np.ndarray:
    """A trace as Plotly now holds it."""
    return np.array(
        page.locator(f"[data-panel={panel}] .pv-plot").evaluate(
            "(plot, [i, axis]) => Array.from(plot.data[i][axis])", [trace, axis]
        )
    )


def wavelength(factor: float, trace: int = 1, base: float = 10000) -> np.ndarray:
    return base ** (PAIRS / 64) * (1 + trace * factor / 10)


def slope(row: int, column: int, shift: float = 0.0) -> float:
    return 1 - (2 - shift / 10) * (row - column) / 511


def slope_colour(row: int, column: int, shift: float = 0.0, *, dark: bool = False) -> list[float]:
    """Red, green, blue and alpha of a cell of the map, from its colour scale's three stops."""
    middle = [0x1A, 0x1E, 0x26] if dark else [255, 255, 255]
    stops = np.array([[0xA5, 0x00, 0x26], middle, [0x08, 0x51, 0x9C]])
    value = slope(row, column, shift)
    return [*(np.interp(value, [-1, 0, 1], stops[:, k]) for k in range(3)), 255]


def cell(page: Page, row: int, column: int) -> list[int]:
    """The pixel of a cell in the map's own canvas."""
    return page.locator("[data-panel=heat] canvas").evaluate(
        "(canvas, [r, c]) => [...canvas.getContext('2d').getImageData(c, r, 1, 1).data]",
        [row, column],
    )


def on_screen(page: Page, row: int, column: int) -> tuple[float, float]:
    """Where the map's axes put the middle of a cell, in the window."""
    box, axes = page.locator("[data-panel=heat] .pv-plot").evaluate(
        """plot => { const { left, top } = plot.getBoundingClientRect();
          const axis = (a) => [...a.range, a._offset, a._length];
          return [[left, top], [axis(plot._fullLayout.xaxis), axis(plot._fullLayout.yaxis)]]; }"""
    )
    (x0, x1, left, width), (y0, y1, top, height) = axes
    x = box[0] + left + width * ((column + 0.5) * 128 - x0) / (x1 - x0)
    y = box[1] + top + height * (1 - ((row + 0.5) * 128 - y0) / (y1 - y0))
    return x, y


def seen_at(page: Page, row: int, column: int) -> tuple[int, ...]:
    """The colour that the window shows where a cell's middle should be."""
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    x, y = on_screen(page, row, column)
    return picture.getpixel((int(x), int(y)))


def vertices(path: str) -> np.ndarray:
    return np.array([[float(v) for v in p.split(",")] for p in path[1:].split("L")])


def test_all_controls_and_panels_are_there_on_the_first_view(page):
    expect(page.locator(".pv-panel")).to_have_count(PANELS)
    assert page.get_by_role("figure", name="Panel 3. over distance").count() == 1
    assert page.get_by_role("slider", name="factor", exact=True).count() == 1
    expect(page.get_by_role("switch", name="wide")).to_be_checked()
    expect(page.get_by_label("kind")).to_have_value("sine")
    expect(part(page, "factor", "box")).to_have_value("4")
    expect(page.locator("[data-control=shift]")).to_contain_text("1.277 from s")
    expect(page.locator("[data-control=odd]")).to_contain_text(
        "There is no control of the kind “dial”."
    )
    np.testing.assert_allclose(drawn(page, "p0", 1), wavelength(4), rtol=1e-6)
    assert page.locator("[data-panel=p0] .pv-notes li").all_inner_texts() == [
        "12 kept",
        "20 blended",
        "32 divided",
    ]


@pytest.mark.alone
def test_a_key_press_moves_the_lines_to_the_new_numbers_before_plotly_draws(page):
    seen = page.evaluate(STEP_AND_READ, ["factor", 100])
    np.testing.assert_allclose(seen["drawnByPlotly"], wavelength(4), rtol=1e-6)
    points = vertices(seen["paths"][1])
    x0, x1, width = seen["x"]
    y0, y1, height = seen["y"]
    pairs = x0 + points[:, 0] / width * (x1 - x0)
    logs = y1 - points[:, 1] / height * (y1 - y0)
    expected = np.interp(pairs, PAIRS, np.log10(wavelength(6)))
    np.testing.assert_allclose(logs, expected, atol=0.6 / height * (y1 - y0))
    assert pairs[0] == pytest.approx(0, abs=0.02)
    assert pairs[-1] == pytest.approx(63, abs=0.02)
    settle(page)
    np.testing.assert_allclose(drawn(page, "p0", 1), wavelength(6), rtol=1e-6)


def test_a_gap_in_a_curve_stays_a_gap_in_the_draft_and_after_it(page):
    paths = "p => [...p.querySelectorAll('path.js-line')].map(l => l.getAttribute('d'))"
    plot = page.locator("[data-panel=p1] .pv-plot")
    before = plot.evaluate(paths)
    assert len(before) == 6
    assert [path.count("M") for path in before] == [1] * 6
    page.evaluate(STEP_AND_READ, ["factor", 100])
    sketched = plot.evaluate(paths)
    assert sketched[2].count("M") == 2
    assert sketched[3] == ""
    settle(page)
    after = plot.evaluate(paths)
    assert [path.count("M") for path in after] == [1] * 6
    assert after[2] != before[2]


@pytest.mark.alone
def test_one_update_costs_few_messages_and_few_bytes(page, traffic):
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft"):
        traffic.reset()
        part(page, "factor", "range").focus()
        page.keyboard.press(key)
        settle(page)
        assert len(traffic.sent) == 1
        assert len(traffic.received) <= 12
        assert sum(traffic.received) <= 60_000


@pytest.mark.alone
def test_a_drag_draws_live_with_one_request_in_flight_and_the_newest_value_stays(page, traffic):
    page.evaluate(WATCH)
    traffic.reset()
    box = part(page, "factor", "range").bounding_box()
    y = box["y"] + box["height"] / 2
    start = box["x"] + box["width"] * 0.2
    page.mouse.move(start, y)
    page.mouse.down()
    began = time.monotonic()
    for k in range(60):
        page.mouse.move(start + box["width"] * 0.75 * k / 59, y)
        time.sleep(max(0, began + k / 30 - time.monotonic()))
    seconds = time.monotonic() - began
    during = page.evaluate("() => seen.moves.length")
    page.mouse.up()
    settle(page)
    seen = page.evaluate("() => { seen.stop = true; return seen; }")
    # An idle machine draws 13 a second; a busy one must still move.
    assert during / seconds >= 3
    assert traffic.most_open == 1
    assert (seen["blank"], seen["remounted"], seen["dimmed"]) == (0, 0, 0)
    final = float(part(page, "factor", "box").input_value())
    assert 14 < final <= 16
    np.testing.assert_allclose(drawn(page, "p0", 1), wavelength(final), rtol=1e-6)
    assert request(traffic.sent[-1])["values"]["factor"] == final


def test_zoom_survives_an_update_and_can_be_taken_back(page):
    panel = page.locator("[data-panel=p1]")
    panel.get_by_role("button", name="Zoom", exact=True).click()
    box = panel.locator(".pv-hit").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + box["height"] * 0.3)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.7, box["y"] + box["height"] * 0.8, steps=5)
    page.mouse.up()
    read = "plot => plot._fullLayout.xaxis.range.concat(plot._fullLayout.yaxis.range)"
    expect(panel.get_by_role("button", name="Reset zoom")).to_be_visible()
    zoomed = panel.locator(".pv-plot").evaluate(read)
    part(page, "factor", "range").focus()
    page.keyboard.press("ArrowRight")
    settle(page)
    assert drawn(page, "p0", 1)[0] == pytest.approx(1 + 4.05 / 10)
    assert panel.locator(".pv-plot").evaluate(read) == zoomed
    panel.get_by_role("button", name="Reset zoom").click()
    assert panel.locator(".pv-plot").evaluate(read)[0] == pytest.approx(0, abs=0.01)
    panel.get_by_role("button", name="Zoom", exact=True).click()


def test_reset_takes_away_typed_text_that_could_not_be_used(page):
    part(page, "factor", "box").fill("abc")
    part(page, "factor", "box").press("Enter")
    page.get_by_role("button", name="factor: back to 4").click()
    expect(part(page, "factor", "box")).to_have_value("4")
    expect(page.locator("[data-control=factor] .pv-message")).to_be_hidden()


@pytest.mark.parametrize(
    ("text", "got"), [("abc", "abc"), ("-1", "-1"), ("", "nothing"), ("1e999", "1e999")]
)
def test_a_number_that_cannot_be_used_is_kept_and_explained_and_not_sent(page, traffic, text, got):
    traffic.reset()
    box = part(page, "factor", "box")
    box.fill(text)
    box.press("Enter")
    expect(page.locator("[data-control=factor] .pv-message")).to_have_text(
        f"factor must be a number above 0; got {got}."
    )
    # Another control goes on working, and its reply leaves the typed text alone.
    page.get_by_role("switch", name="wide").click()
    settle(page)
    expect(box).to_have_value(text)
    assert len(traffic.sent) == 1
    values = request(traffic.sent[0])["values"]
    assert (values["factor"], values["wide"]) == (4, False)


def test_an_exact_number_beyond_the_slider_pins_its_thumb(page):
    box = part(page, "base", "box")
    box.fill("8000000")
    box.press("Enter")
    settle(page)
    np.testing.assert_allclose(drawn(page, "p0", 0), wavelength(4, 0, 8e6), rtol=1e-6)
    range_ = part(page, "base", "range")
    assert range_.input_value() == range_.get_attribute("max")
    expect(box).to_have_value("8000000")


def test_a_log_slider_moves_in_ratios(page):
    part(page, "base", "range").evaluate(
        "r => { r.value = r.max / 4; r.dispatchEvent(new Event('input')); }"
    )
    expect(part(page, "base", "box")).to_have_value("1000")


def test_reset_brings_back_every_value(page):
    for control, text in (("factor", "7.5"), ("base", "500")):
        part(page, control, "box").fill(text)
        part(page, control, "box").press("Enter")
    part(page, "shift", "auto").uncheck()
    settle(page)
    expect(part(page, "shift", "box")).to_be_enabled()
    page.get_by_role("button", name="Reset", exact=True).click()
    settle(page)
    expect(part(page, "factor", "box")).to_have_value("4")
    expect(part(page, "base", "box")).to_have_value("10000")
    expect(part(page, "shift", "auto")).to_be_checked()
    np.testing.assert_allclose(drawn(page, "p0", 1), wavelength(4), rtol=1e-6)


def test_the_cursor_is_shared_by_all_panels_of_its_axis_and_reads_every_trace(page):
    hit = page.locator("[data-panel=p0] .pv-hit")
    box = hit.bounding_box()
    low, high = page.locator("[data-panel=p0] .pv-plot").evaluate("p => p._fullLayout.xaxis.range")
    page.mouse.click(
        box["x"] + box["width"] * (40 - low) / (high - low), box["y"] + box["height"] / 2
    )
    expect(hit).to_have_attribute("aria-valuenow", "40")
    for panel in ("p0", "p2", "p4"):
        values = page.locator(f"[data-panel={panel}] .pv-value").all_inner_texts()
        expected = [wavelength(4, trace)[40] for trace in range(5)]
        read = [float(text.replace("\u202f", "")) for text in values]
        np.testing.assert_allclose(read, expected, rtol=1e-4)
    expect(part(page, "pair", "box")).to_have_value("40")
    page.keyboard.press("ArrowLeft")
    expect(part(page, "pair", "box")).to_have_value("39")
    expect(page.locator("[data-panel=p0] .pv-formula math")).to_be_visible()
    formula = page.locator("[data-panel=p0] math").text_content()
    assert "39" in formula
    assert f"{wavelength(4, 0)[39]:.5g}" in formula


def test_reset_right_after_a_cursor_step_leaves_nothing_under_way(page):
    # The step is still waiting to be told when the reply to the reset replaces it.
    page.locator("[data-panel=p0] .pv-hit").focus()
    page.evaluate(
        """() => {
          const hit = document.querySelector('[data-panel=p0] .pv-hit');
          hit.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowLeft', bubbles: true }));
          const { board } = document.querySelector('.pv-panel').panel;
          board.act('reset');
          board.requests.change();
        }"""
    )
    settle(page)


def test_hovering_moves_the_cursor_without_asking_python(page, traffic):
    traffic.reset()
    before = page.locator("[data-panel=p3] .pv-value").all_inner_texts()
    box = page.locator("[data-panel=p1] .pv-hit").bounding_box()
    for part_ in (0.2, 0.5, 0.8):
        page.mouse.move(box["x"] + box["width"] * part_, box["y"] + 20)
    page.wait_for_timeout(300)
    assert page.locator("[data-panel=p3] .pv-value").all_inner_texts() != before
    page.mouse.move(5, 5)
    page.wait_for_timeout(100)
    assert page.locator("[data-panel=p3] .pv-value").all_inner_texts() == before
    assert traffic.sent == []


@pytest.mark.alone
def test_play_steps_once_per_reply_and_goes_round(page, traffic):
    part(page, "pair", "box").fill("60")
    part(page, "pair", "box").press("Enter")
    settle(page)
    traffic.reset()
    button = page.get_by_role("button", name="Play pair")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    page.wait_for_function(
        "() => { const v = Number(document.querySelector('[data-control=pair] [data-part=box]')"
        ".value); return v > 2 && v < 50; }"
    )
    button.click()
    settle(page)
    pairs = [request(message)["values"]["pair"] for message in traffic.sent]
    assert pairs[:6] == [61, 62, 63, 0, 1, 2]
    assert traffic.most_open == 1


def test_csv_of_a_panel_comes_from_python(page):
    with page.expect_download() as waiting:
        page.locator("[data-panel=p2]").get_by_role("button", name="CSV").click()
    assert waiting.value.suggested_filename == "p2.csv"
    lines = Path(waiting.value.path()).read_text().splitlines()
    assert lines[0] == "y"
    np.testing.assert_allclose([float(line) for line in lines[1:]], wavelength(4, 0))


@pytest.mark.parametrize("form", ["PNG", "SVG"])
def test_pictures_are_made_in_the_browser(page, form):
    with page.expect_download() as waiting:
        page.locator("[data-panel=p1]").get_by_role("button", name=form).click()
    data = Path(waiting.value.path()).read_bytes()
    assert waiting.value.suggested_filename == f"p1.{form.lower()}"
    if form == "PNG":
        assert struct.unpack(">II", data[16:24]) == (1800, 1040)
    else:
        assert b"Panel 1" in data
        assert data.count(b"js-line") >= 5


# Watches the map at every frame: is its canvas the same one, and is a cell of it ever blank?
WATCH_MAP = """() => {
  const canvas = document.querySelector('[data-panel=heat] canvas');
  window.map = { frames: 0, blank: 0, remounted: 0, colours: new Set() };
  const tick = () => {
    map.frames++;
    const now = document.querySelector('[data-panel=heat] canvas');
    if (now !== canvas || !now.clientWidth) map.remounted++;
    const pixel = now.getContext('2d').getImageData(0, 300, 1, 1).data;
    if (!pixel[3]) map.blank++;
    map.colours.add(pixel.join());
    if (!map.stop) requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}"""


@pytest.fixture
def map_page(page: Page) -> Page:
    page.locator("[data-panel=heat]").scroll_into_view_if_needed()
    settle(page)
    return page


def test_a_map_shows_every_cell_in_its_colour_and_reads_the_one_under_the_pointer(map_page):
    page = map_page
    for row, column in ((0, 0), (300, 100), (511, 0), (511, 511)):
        np.testing.assert_allclose(cell(page, row, column), slope_colour(row, column), atol=2)
    assert cell(page, 100, 300)[3] == 0
    for place in ((300, 100), (450, 60), (200, 190)):
        np.testing.assert_allclose(seen_at(page, *place), slope_colour(*place)[:3], atol=6)
    assert seen_at(page, 100, 300) == (255, 255, 255)
    scale = page.locator("[data-panel=heat] .pv-scale")
    assert scale.all_inner_texts() == ["score\n−1\n0\n1"]
    page.mouse.move(*on_screen(page, 450, 60))
    row, column, value = np.array(
        page.locator(".pv-readout:visible")
        .inner_text()
        .replace("\u202f", "")
        .replace("−", "-")
        .removeprefix("query ")
        .replace("key ", "")
        .replace("score ≈ ", "")
        .split(", "),
        dtype=float,
    )
    assert row == pytest.approx(450.5 * 128, abs=128)
    assert column == pytest.approx(60.5 * 128, abs=128)
    assert value == pytest.approx(slope(450, 60), abs=0.015)
    page.mouse.move(*on_screen(page, 100, 300))
    expect(page.locator(".pv-readout:visible")).to_have_text(re.compile(r"score –$"))


@pytest.mark.alone
def test_a_map_follows_the_values_without_a_blank_frame(map_page, traffic):
    page = map_page
    part(page, "shift", "auto").uncheck()
    settle(page)
    page.evaluate(WATCH_MAP)
    before = page.locator("[data-panel=heat]").get_attribute("data-rev")
    traffic.reset()
    for k in (20, 40, 50):
        part(page, "shift", "range").evaluate(
            "(r, k) => { r.value = k; r.dispatchEvent(new Event('input')); }", k
        )
        settle(page)
    seen = page.evaluate("() => { map.stop = true; return { ...map, colours: map.colours.size }; }")
    assert (seen["blank"], seen["remounted"], seen["colours"]) == (0, 0, 4)
    assert int(page.locator("[data-panel=heat]").get_attribute("data-rev")) >= int(before) + 3
    np.testing.assert_allclose(cell(page, 511, 0), slope_colour(511, 0, 5), atol=2)
    np.testing.assert_allclose(seen_at(page, 450, 60), slope_colour(450, 60, 5)[:3], atol=6)
    assert sum(traffic.received) <= 3 * 60_000


def test_a_map_follows_the_zoom_of_its_axes(map_page):
    page = map_page
    page.mouse.move(*on_screen(page, 250, 50))
    page.mouse.down()
    page.mouse.move(*on_screen(page, 350, 150), steps=4)
    page.mouse.up()
    reset = page.locator("[data-panel=heat]").get_by_role("button", name="Reset zoom")
    expect(reset).to_be_visible()
    settle(page)
    box = page.locator("[data-panel=heat] .pv-map").bounding_box()
    a, b = on_screen(page, 260, 70), on_screen(page, 340, 140)
    assert b[0] - a[0] > box["width"] / 2
    assert b[1] - a[1] > box["height"] / 2
    for place in ((260, 70), (340, 60), (340, 140)):
        np.testing.assert_allclose(seen_at(page, *place), slope_colour(*place)[:3], atol=3)
    # Nothing of the map outside its axes.
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    assert picture.getpixel((int(box["x"]) - 50, int(box["y"]) + 5)) == (255, 255, 255)
    reset.click()
    np.testing.assert_allclose(seen_at(page, 450, 60), slope_colour(450, 60)[:3], atol=6)


@pytest.mark.parametrize("form", ["PNG", "SVG"])
def test_a_picture_of_a_map_holds_the_map_and_its_colour_bar(map_page, form):
    with map_page.expect_download() as waiting:
        map_page.locator("[data-panel=heat]").get_by_role("button", name=form).click()
    data = Path(waiting.value.path()).read_bytes()
    if form == "SVG":
        assert data.count(b"data:image/png;base64,") == 1
        assert b"colorbar" in data
        return
    pixels = np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)[:, :1600]
    rows, columns = np.nonzero(np.abs(pixels - [0x08, 0x51, 0x9C]).sum(2) < 30)
    assert rows.size > 2000
    # The diagonal falls from the upper left to the lower right.
    assert np.corrcoef(rows, columns)[0, 1] > 0.95
    rows_low, columns_low = np.nonzero(np.abs(pixels - [0xA5, 0x00, 0x26]).sum(2) < 60)
    assert rows_low.size > 200
    assert rows_low.mean() > rows.mean()
    assert columns_low.mean() < columns.mean()


def test_the_address_bar_follows_the_values(page):
    part(page, "factor", "box").fill("7.5")
    part(page, "factor", "box").press("Enter")
    page.wait_for_url("**/?base=10000*&factor=7.5")


def test_texts_follow_the_values_and_can_be_switched(page):
    part(page, "factor", "box").fill("7.5")
    part(page, "factor", "box").press("Enter")
    expect(page.locator("[data-text=code] pre")).to_have_text("factor = 7.5")
    page.get_by_role("tab", name="transformers").click()
    expect(page.locator("[data-text=hf] pre")).to_be_visible()
    expect(page.locator("[data-text=vllm] pre")).to_be_hidden()


def violations(page: Page) -> list[tuple[str, list[str]]]:
    """What axe finds, with a panel's help open and a typed number refused."""
    page.locator("[data-panel=p0] .pv-more").evaluate("details => { details.open = true; }")
    part(page, "factor", "box").fill("abc")
    part(page, "factor", "box").press("Enter")
    found = Axe().run(page, context=".pv-board").response["violations"]
    return [(v["id"], [n["html"][:200] for n in v["nodes"][:3]]) for v in found]


def test_the_light_board_has_no_accessibility_violation(page):
    assert violations(page) == []


def test_the_dark_board_is_dark_and_accessible_and_a_switch_needs_no_reload(new_page, url):
    page = load(new_page(color_scheme="dark"), url)
    line = "document.querySelectorAll('[data-panel=p0] path.js-line')[0].style.stroke"
    ink = "document.querySelector('[data-panel=p0] .xtick text').style.fill"
    assert page.evaluate(line) == "rgb(86, 180, 233)"
    assert page.evaluate(ink) == "rgb(250, 250, 250)"
    near_zero = (300, 45)
    np.testing.assert_allclose(cell(page, *near_zero), slope_colour(*near_zero, dark=True), atol=2)
    assert violations(page) == []
    page.emulate_media(color_scheme="light")
    page.wait_for_function(f"() => {line} === 'rgb(0, 114, 178)'")
    settle(page)
    assert page.evaluate(ink) != "rgb(250, 250, 250)"
    np.testing.assert_allclose(cell(page, *near_zero), slope_colour(*near_zero), atol=2)


def test_a_narrow_window_has_one_column_with_the_controls_folded_on_top(new_page, url):
    page = load(new_page(viewport={"width": 390, "height": 900}), url)
    expect(part(page, "factor", "box")).to_be_hidden()
    page.get_by_text("Controls", exact=True).click()
    expect(part(page, "factor", "box")).to_be_visible()
    lefts = page.locator(".pv-panel").evaluate_all("all => all.map(p => p.offsetLeft)")
    assert len(set(lefts)) == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_reply_that_takes_a_lost_panel_for_held_is_asked_again_in_full(page, traffic):
    # As after a server's memory and a browser's memory have come apart: both keys say "held".
    page.locator("[data-panel=p0]").evaluate(
        "root => { root.panel.key = 'unknown to the server'; root.panel.board.store.clear(); }"
    )
    traffic.reset()
    page.get_by_role("switch", name="wide").click()
    settle(page)
    np.testing.assert_allclose(drawn(page, "p0", 1), wavelength(4), rtol=1e-6)
    assert page.get_by_text("Reload the page").count() == 0


def test_no_reply_is_said_and_asked_again(new_page, url):
    page, lost = new_page(), []

    def hold(socket):
        server = socket.connect_to_server()

        def pass_on(payload):
            message = BackMsg.FromString(payload)
            if message.WhichOneof("type") == "rerun_script" and request(message) and not lost:
                lost.append(message)
            else:
                server.send(payload)

        socket.on_message(pass_on)

    page.route_web_socket("**/_stcore/stream", hold)
    page.clock.install()
    load(page, url)
    part(page, "factor", "box").fill("6")
    part(page, "factor", "box").press("Enter")
    expect(page.get_by_text("waiting for the server…")).to_be_hidden()
    page.clock.fast_forward(3500)
    expect(page.get_by_text("waiting for the server…")).to_be_visible()
    assert len(lost) == 1
    page.clock.fast_forward(2000)
    page.wait_for_function(
        f"() => Math.abs(document.querySelector('[data-panel=p0] .pv-plot').data[1].y[0] "
        f"- {math.fsum([1, 0.6])}) < 1e-6",
    )


# The page of waves: a session and a route, as the app's own pages have them.

WAVES = Path(__file__).parent / "apps" / "waves.py"
LAST = 2**17
SAID = "() => JSON.parse(document.querySelector('.pv-panel').panel.board.zoomSaid)"


@pytest.fixture(scope="module")
def waves_url(serve: Callable[[Path], str]) -> str:
    return serve(WAVES)


@pytest.fixture
def waves(new_page, waves_url: str) -> Page:
    page = new_page()
    page.asked = []
    page.on(
        "request",
        lambda sent: page.asked.append(sent.post_data_json or {}),
    )
    return open_waves(page, waves_url)


def open_waves(page: Page, url: str) -> Page:
    page.goto(url)
    page.wait_for_function("() => document.querySelectorAll('.js-line').length >= 16")
    settle(page)
    return page


def zoom_into(page: Page, panel: str, start: float, end: float) -> list[float]:
    """Drag over a part of a plot's width; gives the powers of ten between which it then shows."""
    root = page.locator(f"[data-panel={panel}]")
    root.get_by_role("button", name="Zoom", exact=True).click()
    box = root.locator(".pv-hit").bounding_box()
    page.mouse.move(box["x"] + box["width"] * start, box["y"] + box["height"] * 0.2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * end, box["y"] + box["height"] * 0.8, steps=5)
    page.mouse.up()
    expect(root.get_by_role("button", name="Reset zoom")).to_be_visible()
    return powers(page, panel)


def powers(page: Page, panel: str, axis: str = "xaxis") -> list[float]:
    return page.locator(f"[data-panel={panel}] .pv-plot").evaluate(
        "(plot, axis) => plot._fullLayout[axis].range", axis
    )


def inside(x: np.ndarray, ends: list[float]) -> int:
    logs = np.log10(x)
    return int(((logs >= ends[0] - 1e-6) & (logs <= ends[1] + 1e-6)).sum())


def first_x_is(page: Page, panel: str, x: float) -> None:
    """Wait until Plotly holds a curve that starts there."""
    page.wait_for_function(
        """([panel, x]) => { const plot = document.querySelector(`[data-panel=${panel}] .pv-plot`);
          return Math.abs(plot.data[0].x[0] / x - 1) < 1e-5; }""",
        arg=[panel, x],
    )


@pytest.mark.parametrize("path", ["route", "session"])
def test_a_zoom_is_answered_with_finer_points_and_keeps_its_range(waves, path):
    page = waves
    if path == "session":
        page.locator("[data-panel=fine]").evaluate("root => { root.panel.board.direct = null; }")
    assert inside(drawn(page, "fine", 0, "x"), [0, math.log10(LAST)]) == 300
    low, high = zoom_into(page, "fine", 0.4, 0.6)
    assert 1.5 < low < 2.5 < high < 3.5
    assert inside(drawn(page, "fine", 0, "x"), [low, high]) in range(50, 70)
    first_x_is(page, "fine", 10**low)
    settle(page)
    x = drawn(page, "fine", 0, "x")
    assert inside(x, [low, high]) == 300
    assert drawn(page, "fine", 5) == pytest.approx(np.cos(4 * np.log(x) + 5 / 3) + 5, abs=1e-4)
    assert powers(page, "fine") == [low, high]
    asked = [body["zoom"] for body in page.asked if "zoom" in body]
    assert bool(asked) == (path == "route")
    for zoom in asked:
        assert zoom == {"fine": pytest.approx([10**low, 10**high], rel=1e-12)}
    # Another value leaves the range and its finer points.
    part(page, "frequency", "range").focus()
    page.keyboard.press("ArrowRight")
    settle(page)
    assert powers(page, "fine") == [low, high]
    assert drawn(page, "fine", 0, "x") == pytest.approx(x)
    assert drawn(page, "fine", 0) == pytest.approx(np.cos(4.1 * np.log(x)), abs=1e-4)
    page.locator("[data-panel=fine]").get_by_role("button", name="Reset zoom").click()
    first_x_is(page, "fine", 1)
    settle(page)
    assert inside(drawn(page, "fine", 0, "x"), [low, high]) in range(50, 70)
    assert powers(page, "fine") == pytest.approx([0, math.log10(LAST)])
    assert page.evaluate(SAID) == {}


def test_a_double_click_shows_the_first_points_again(waves):
    page = waves
    low, _ = zoom_into(page, "fine", 0.2, 0.5)
    first_x_is(page, "fine", 10**low)
    settle(page)
    hit = page.locator("[data-panel=fine] .pv-hit").bounding_box()
    page.mouse.dblclick(hit["x"] + hit["width"] / 2, hit["y"] + hit["height"] / 2)
    first_x_is(page, "fine", 1)
    settle(page)
    assert powers(page, "fine") == pytest.approx([0, math.log10(LAST)])
    expect(page.get_by_role("button", name="Reset zoom").locator("visible=true")).to_have_count(0)


def test_reset_of_the_values_takes_the_zoom_back_and_its_points(waves):
    page = waves
    low, _ = zoom_into(page, "fine", 0.2, 0.5)
    first_x_is(page, "fine", 10**low)
    settle(page)
    page.get_by_role("button", name="Reset", exact=True).click()
    first_x_is(page, "fine", 1)
    settle(page)
    assert powers(page, "fine") == pytest.approx([0, math.log10(LAST)])


def test_a_panel_without_finer_points_does_not_ask(waves):
    page = waves
    zoom_into(page, "plain", 0.4, 0.6)
    page.wait_for_timeout(400)
    settle(page)
    assert page.evaluate(SAID) == {}
    assert page.asked
    assert not any(page.asked)


def test_an_answer_that_another_question_replaced_is_given_up_and_does_not_end_the_route(waves):
    page, held = waves, []
    page.clock.install()

    def hold(route):
        if held:
            route.continue_()
        else:
            held.append(route)

    page.route("**/posviz/waves", hold)
    with page.expect_event("requestfailed") as failed:
        part(page, "frequency", "range").focus()
        page.keyboard.press("ArrowRight")
        page.clock.fast_forward(5500)
    assert failed.value.failure == "net::ERR_ABORTED"
    page.clock.resume()
    x = drawn(page, "plain", 0, "x")
    settle(page)
    assert drawn(page, "plain", 0) == pytest.approx(np.cos(4.1 * np.log(x)), abs=1e-4)
    first, second = (body for body in page.asked if "board" in body)
    assert re.fullmatch("[0-9a-f]{24}", first["board"])
    assert second["board"] == first["board"]
    assert second["seq"] == first["seq"] + 1
    assert page.evaluate("() => document.querySelector('.pv-panel').panel.board.direct !== null")


def heads(page: Page) -> list[np.ndarray]:
    return [drawn(page, "four", head) for head in range(4)]


def test_all_four_plots_of_a_panel_are_drawn_and_follow_the_values(waves):
    page = waves
    x = np.geomspace(1, LAST, 300)
    plot = page.locator("[data-panel=four] .pv-plot")
    assert plot.locator(".subplot").count() == 4
    for head, y in enumerate(heads(page)):
        assert y == pytest.approx(np.cos(4 * (head + 1) / 2 * np.log(x)), abs=1e-4)
    seen = page.evaluate(
        STEP_AND_READ.replace("data-panel=p0", "data-panel=four"), ["frequency", 50]
    )
    # The draft has the new numbers, each in its own plot.
    axis_lengths = plot.evaluate(
        "p => ['', 2, 3, 4].map(n => [p._fullLayout[`xaxis${n}`]._length, "
        "p._fullLayout[`yaxis${n}`]._length])"
    )
    assert len(seen["paths"]) == 4
    for head, (path, (width, height)) in enumerate(zip(seen["paths"], axis_lengths, strict=True)):
        points = vertices(path)
        logs = points[:, 0] / width * math.log(LAST)
        y = 1.2 - points[:, 1] / height * 2.4
        exact = np.cos(6 * (head + 1) / 2 * np.log(x))
        assert y == pytest.approx(np.interp(logs, np.log(x), exact), abs=0.05)
    settle(page)
    for head, y in enumerate(heads(page)):
        assert y == pytest.approx(np.cos(6 * (head + 1) / 2 * np.log(x)), abs=1e-4)
    for letter in "xy":
        colours = plot.locator(f".{letter}grid").evaluate_all(
            "lines => [...new Set(lines.map(line => line.style.stroke))]"
        )
        assert len(colours) == 1
    expect(page.locator(".pv-problem:visible")).to_have_count(0)


def test_the_cursor_stands_in_every_plot_whose_x_axis_matches_the_first(waves):
    page = waves
    box = page.locator("[data-panel=four] .pv-hit").bounding_box()
    # In the plot below left; the one below right has an axis of its own.
    x, y = box["x"] + box["width"] * 0.225, box["y"] + box["height"] * 0.8
    page.mouse.click(x, y)
    lines = page.locator("[data-panel=four] .pv-line")
    expect(lines).to_have_count(3)
    places = lines.evaluate_all("all => all.map(l => [l.x1, l.y1, l.y2].map(v => v.baseVal.value))")
    width, height = box["width"], box["height"]
    expected = [[0.225, 0, 0.44], [0.775, 0, 0.44], [0.225, 0.56, 1]]
    for place, part_ in zip(places, expected, strict=True):
        assert place == pytest.approx(np.array(part_) * [width, height, height], abs=2)
    values = page.locator("[data-panel=four] .pv-value").all_inner_texts()
    distance = float(page.locator("[data-panel=four] .pv-hit").get_attribute("aria-valuenow"))
    assert math.log10(distance) == pytest.approx(math.log10(LAST) / 2, abs=0.02)
    for head in range(3):
        exact = math.cos(4 * (head + 1) / 2 * math.log(distance))
        assert float(values[head].replace("−", "-")) == pytest.approx(exact, abs=1e-3)
    assert values[3] == ""
    page.mouse.click(box["x"] + box["width"] * 0.9, y)
    assert float(page.locator("[data-panel=four] .pv-hit").get_attribute("aria-valuenow")) == (
        distance
    )


def test_plots_that_match_are_zoomed_together_and_go_back_together(waves):
    page = waves
    low, high = zoom_into(page, "four", 0.1, 0.3)
    settle(page)
    part(page, "frequency", "range").focus()
    page.keyboard.press("ArrowRight")
    settle(page)
    assert powers(page, "four") == powers(page, "four", "xaxis2") == [low, high]
    assert powers(page, "four", "xaxis4") == pytest.approx([0, math.log10(LAST)])
    assert powers(page, "four", "yaxis2") == [-1.2, 1.2]
    page.locator("[data-panel=four]").get_by_role("button", name="Reset zoom").click()
    settle(page)
    for axis in ("xaxis", "xaxis2", "xaxis3"):
        assert powers(page, "four", axis) == pytest.approx([0, math.log10(LAST)])
    assert powers(page, "four", "yaxis") == [-1.2, 1.2]


def test_each_of_six_lines_has_a_dash_of_its_own_in_the_plot_and_in_the_legend(waves):
    page = waves
    read = "all => all.map(line => getComputedStyle(line).strokeDasharray)"
    in_plot = page.locator("[data-panel=fine] path.js-line").evaluate_all(read)
    in_legend = page.locator(".pv-shared line").evaluate_all(read)
    in_panel = page.locator("[data-panel=fine] .pv-legend line").evaluate_all(read)
    assert [len(set(dashes)) for dashes in (in_plot, in_legend, in_panel)] == [6, 6, 6]
    page.evaluate(STEP_AND_READ.replace("data-panel=p0", "data-panel=fine"), ["frequency", 50])
    assert page.locator("[data-panel=fine] path.js-line").evaluate_all(read) == in_plot


def test_the_page_of_waves_is_accessible_in_both_themes(new_page, waves_url):
    for scheme in ("light", "dark"):
        page = open_waves(new_page(color_scheme=scheme), waves_url)
        found = Axe().run(page, context=".pv-board").response["violations"]
        assert [(v["id"], [n["html"][:200] for n in v["nodes"][:3]]) for v in found] == []
