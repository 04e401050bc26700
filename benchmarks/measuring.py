"""Drives a slider of a page in a real headless Chromium and pools what several runs measured."""

from __future__ import annotations

import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER / "latency"), str(FOLDER.parent / "scripts")]

import chromium  # noqa: E402
import slider_latency as latency  # noqa: E402
from local_server import ROOT, free_port, is_healthy, running  # noqa: E402
from playwright.sync_api import Page, sync_playwright  # noqa: E402

__all__ = ["ROOT", "free_port", "is_healthy", "running"]

# Usage statistics ask the network; they are no part of what is measured.
NAIVE_OPTIONS = ("--browser.gatherUsageStats=false", "--browser.serverAddress=localhost")
# The container: its content is made anew on every change.
NAIVE_CHART = "[data-testid=stPlotlyChart]"


@dataclass
class Side:
    """One of the two pages that are compared, and everything that was measured on it."""

    name: str
    address: str
    slider: str
    chart: str
    panels: int = 0
    """How many charts a move changes; 0 means: count them first, which needs charts that stay."""
    keys: list[dict[str, Any]] = field(default_factory=list)
    drags: list[dict[str, Any]] = field(default_factory=list)

    def samples(self, name: str) -> list[float]:
        return [value for run in self.keys for value in run[name]["samples"]]

    def p(self, name: str, percent: float) -> float:
        return float(latency.pct(self.samples(name), percent) or float("nan"))

    def total(self, name: str) -> int:
        return int(sum(run[name] for run in [*self.keys, *self.drags]))


@contextmanager
def browser_page() -> Iterator[Page]:
    """A page of a new browser with the probe inside."""
    path = chromium.find()
    if path is None:
        sys.exit("No Chromium was found: install one, or name it with CHROMIUM=...")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as profile:
        context = playwright.chromium.launch_persistent_context(
            profile,
            executable_path=path,
            headless=True,
            args=latency.FLAGS + latency.GPU["none"],
            viewport={"width": 1400, "height": 1000},
        )
        page = context.pages[0]
        page.add_init_script(latency.PROBE)
        yield page
        context.close()


def changing_charts(page: latency.Page) -> int:
    """How many charts one press of a key changes: not every panel depends on every slider."""
    counts = []
    for _ in range(2):
        page.reset()
        page.focus()
        page.p.keyboard.press("ArrowRight")
        page.idle(0.5)
        counts.append(page.ev("() => new Set(__lat.chart.map(c => c.i)).size"))
    if not max(counts):
        sys.exit(f"{page.a.url}: no chart changed when the slider {page.a.slider!r} moved")
    return int(max(counts))


def measure(side: Side, *, presses: int, seconds: float, rate: float) -> None:
    """One run: single presses of a key, then one drag of the thumb with the mouse."""
    options = Namespace(
        url=side.address,
        slider=side.slider,
        chart=side.chart,
        nth=[],
        n=presses,
        warm=3,
        expect=0,
        timeout=20,
        quiet=0.3,
        rate=rate,
        seconds=seconds,
    )
    with browser_page() as page:
        driven = latency.Page(options, page)
        driven.open()
        options.expect = side.panels or changing_charts(driven)
        side.keys.append({**latency.keys(driven, options), "charts": options.expect})
        side.drags.append(latency.motion(driven, options, "drag"))


def compare(
    sides: Sequence[Side], *, runs: int, presses: int, seconds: float = 3, rate: float = 40
) -> None:
    """Alternate the sides, so that what else the machine does meets both."""
    for run in range(runs):
        for side in sides:
            print(f"run {run + 1} of {runs}: {side.name}", flush=True)
            measure(side, presses=presses, seconds=seconds, rate=rate)


def ratio(what: str, ours: float, theirs: float, asked: str) -> dict[str, Any]:
    """One row of the README's table."""
    return {"what": what, "ratio": round(ours / theirs, 3), "asked": asked}


def report(sides: Sequence[Side]) -> list[list[str]]:
    """Rows of the table that compares the sides."""

    def row(what: str, value: Any) -> list[str]:
        return [what, *(str(value(side)) for side in sides)]

    def both(name: str, unit: str = "") -> Any:
        return lambda side: f"{side.p(name, 50):.0f} / {side.p(name, 95):.0f}{unit}"

    def drag(name: str) -> Any:
        return lambda side: round(sum(each[name] for each in side.drags) / len(side.drags), 1)

    return [
        row("key → last panel drawn, main thread free: median / p95", both("key_to_responsive_ms")),
        row("key → last panel drawn: median / p95", both("key_to_plot_ms")),
        row("key → last redraw: median / p95", both("key_to_settled_ms")),
        row("long tasks per update: median / p95", both("main_thread_longtask_ms")),
        row("server: last answer after the request: median / p95", both("ws_out_to_last_ws_in_ms")),
        row("panels that change", lambda side: max(run["charts"] for run in side.keys)),
        row("updates per second while dragging", drag("updates_per_s")),
        row("release of the drag → settled", drag("release_to_settled_ms")),
        row("messages per update: median / p95", both("msgs_in")),
        row("bytes per update: median / p95", both("bytes_in")),
        row("key presses without an answer", lambda side: sum(r["no_update"] for r in side.keys)),
        row("charts made anew per update", lambda s: max(r["remounts_per_update"] for r in s.keys)),
        row("charts made anew in drags", lambda side: sum(r["remounts"] for r in side.drags)),
        row("blank frames", lambda side: side.total("blank_chart_frames")),
        row("dimmed frames", lambda side: side.total("stale_dimmed_frames")),
    ]
