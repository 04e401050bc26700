"""Slider → plot on the attention page at 131,072 tokens, against a plain Streamlit page of it.

Four encodings on both. Ours answers a moving slider through a route of its own, whose times and
bytes the browser's resource timing gives. Panels that follow only at rest are no part of what is
measured. Writes attention_browser.json and attention_browser.md.
"""

from __future__ import annotations

import argparse
import dataclasses
import gzip
import json
import os
import statistics
from argparse import Namespace
from dataclasses import dataclass, field
from typing import Any

import measuring
from measuring import FOLDER, NAIVE_CHART, NAIVE_OPTIONS, Side, latency, ratio, running
from playwright.sync_api import Page, Response

from posviz.docs import table
from posviz.ui.attention.desk import DESK, SLOW

# The panels that follow the match while it moves.
CHANGING = ("decay", "weights", "entropy", "reach", "needle", "first_token")
LINES = ", ".join(f"[data-panel={name}] .js-plotly-plot" for name in CHANGING)
ADDRESS = "attention?length=131072&a=rope&b=yarn&c=alibi&d=xpos"
MATCH, LENGTH = "match g", "context length ℓ"
MOST_KILOBYTES = 60

# The buffer of resource timings holds 250 unless told otherwise.
WATCH_ROUTE = (
    "() => { performance.clearResourceTimings(); performance.setResourceTimingBufferSize(9999); }"
)
ROUTE_TIMES = """path => performance.getEntriesByType('resource')
  .filter(e => new URL(e.name).pathname.endsWith(path) && e.responseEnd && e.encodedBodySize)
  .map(e => ({bytes: e.encodedBodySize, unpacked: e.decodedBodySize,
              ms: e.responseEnd - e.requestStart, waited: e.requestStart - e.startTime}))"""

# A body that a press of a key fetches; the first that the page fetches may hold more.
Bodies = list[tuple[str, bytes]]


@dataclass
class Ours(Side):
    """Our page, with what its route answered."""

    answers: list[dict[str, float]] = field(default_factory=list)
    """Of single presses of a key: bytes sent and unpacked, milliseconds from request to end."""
    drag_answers: list[dict[str, float]] = field(default_factory=list)
    length_drags: list[dict[str, Any]] = field(default_factory=list)
    length_answers: list[dict[str, float]] = field(default_factory=list)
    compressed: list[int] = field(default_factory=list)
    """Bytes of answers after gzip, whatever the server does."""
    encodings: set[str] = field(default_factory=set)
    """Content encodings that the server used; "none" for none."""

    def answered(self, name: str, percent: float, of: str = "answers") -> float:
        values = [each[name] for each in getattr(self, of)]
        return float(latency.pct(values, percent) or float("nan"))


def opened(page: Page, side: Side, slider: str, presses: int, seconds: float) -> Any:
    """The page of a side, opened with the probe set on a slider."""
    options = Namespace(
        url=side.address,
        slider=slider,
        chart=side.chart,
        nth=[],
        n=presses,
        warm=3,
        expect=side.panels,
        timeout=20,
        quiet=0.3,
        rate=40,
        seconds=seconds,
    )
    driven = latency.Page(options, page)
    driven.open()
    page.evaluate(WATCH_ROUTE)
    return driven


def route_times(page: Page) -> list[dict[str, float]]:
    """What the browser noted of our route since it was last asked."""
    found: list[dict[str, float]] = page.evaluate(ROUTE_TIMES, f"/{DESK.route}")
    page.evaluate(WATCH_ROUTE)
    return found


def measure(side: Side, *, presses: int, seconds: float) -> None:
    """Single presses of a key, then one drag; ours once more with the slider of the length."""
    with measuring.browser_page() as page:
        driven = opened(page, side, MATCH, presses, seconds)
        side.keys.append({**latency.keys(driven, driven.a), "charts": side.panels})
        if isinstance(side, Ours):
            side.answers += route_times(page)[driven.a.warm :]
        side.drags.append(latency.motion(driven, driven.a, "drag"))
        if isinstance(side, Ours):
            side.drag_answers += route_times(page)
            driven = opened(page, side, LENGTH, presses, seconds)
            side.length_drags.append(latency.motion(driven, driven.a, "drag"))
            side.length_answers += route_times(page)


def weigh(side: Ours, presses: int) -> None:
    """What the answers weigh once compressed; apart from the timing, which reading bodies slows."""
    bodies: Bodies = []

    def keep(response: Response) -> None:
        if response.url.endswith(DESK.route) and response.status == 200:
            bodies.append((response.header_value("content-encoding") or "none", response.body()))

    with measuring.browser_page() as page:
        driven = opened(page, side, MATCH, presses, 1)
        page.on("requestfinished", lambda request: keep(request.response()))
        driven.focus()
        for _ in range(presses):
            driven.reset()
            page.keyboard.press("ArrowRight")
            driven.idle(0.5)
    # The first answers hold texts that the page keeps from then on.
    side.compressed += [len(gzip.compress(body, 6)) for _, body in bodies[1:]]
    side.encodings |= {encoding for encoding, _ in bodies}


def rows(naive: Side, ours: Ours) -> list[list[str]]:
    """The table of all pages, and what our route did."""

    def mean(name: str) -> str:
        return f"{statistics.mean(each[name] for each in ours.length_drags):.1f}"

    def route(name: str, of: str = "answers") -> str:
        return f"{ours.answered(name, 50, of):.0f} / {ours.answered(name, 95, of):.0f}"

    compressed = f"{statistics.median(ours.compressed):.0f} / {max(ours.compressed)}"
    gaps = max(each["gap_ms"].get("max", float("nan")) for each in ours.length_drags)
    encodings = ", ".join(sorted(ours.encodings))
    server = "server: last answer after the request"
    shared = [
        [
            f"websocket: {what}" if "per update: median" in what and "long" not in what else what,
            *rest,
        ]
        for what, *rest in measuring.report([naive, ours])
        if not what.startswith(server)
    ]
    return [
        *shared,
        ["route: request → whole answer, single keys: median / p95", "", route("ms")],
        [
            "route: request → whole answer, in the drag: median / p95",
            "",
            route("ms", "drag_answers"),
        ],
        ["route: bytes of an answer: median / p95", "", route("bytes")],
        [f"route: the same after gzip (sent with: {encodings}): median / most", "", compressed],
        [
            "drag of the length from 8 to 4,194,304: updates per second",
            "0.0",
            mean("updates_per_s"),
        ],
        ["the same: longest time between two updates", "", f"{gaps:.0f}"],
        ["the same: release → settled", "", mean("release_to_settled_ms")],
        ["the same: charts made anew", "", f"{sum(d['remounts'] for d in ours.length_drags)}"],
        [
            "the same: route, request → whole answer: median / p95",
            "",
            route("ms", "length_answers"),
        ],
    ]


def ratios(naive: Side, ours: Ours) -> list[dict[str, Any]]:
    """What the README quotes."""
    what, name = "attention at 131,072 tokens", "key_to_responsive_ms"
    updates = statistics.mean(drag["updates_per_s"] for drag in ours.drags)
    along = statistics.mean(drag["updates_per_s"] for drag in ours.length_drags)
    anew = sum(run["remounts_per_update"] for run in ours.keys)
    anew += sum(drag["remounts"] for drag in [*ours.drags, *ours.length_drags])
    sent = ours.answered("bytes", 50) / 1024
    return [
        ratio(
            f"{what}: slider key → last panel drawn and page free, median",
            ours.p(name, 50),
            naive.p(name, 50),
            "at most 0.25",
        ),
        {
            "what": f"{what}: updates per second while the match is dragged",
            "ratio": round(updates, 1),
            "asked": "at least 10",
        },
        {
            "what": "attention: updates per second while the length is dragged from 8 to 4,194,304",
            "ratio": round(along, 1),
            "asked": "–",
        },
        {"what": f"{what}: charts made anew", "ratio": round(anew, 1), "asked": "0"},
        {
            "what": f"{what}: KB per update, compressed",
            "ratio": round(statistics.median(ours.compressed) / 1024, 1),
            "asked": f"at most {MOST_KILOBYTES}",
        },
        {"what": f"{what}: KB per update as sent", "ratio": round(sent, 1), "asked": "–"},
    ]


def write(naive: Side, ours: Ours) -> None:
    found = ratios(naive, ours)
    sides = [dataclasses.asdict(side) for side in (naive, ours)]
    sides[1]["encodings"] = sorted(ours.encodings)
    result = {"ratios": found, "cpus": os.cpu_count(), "slow_panels": SLOW, "sides": sides}
    (FOLDER / "attention_browser.json").write_text(json.dumps(result, indent=1) + "\n")
    text = table(["times in ms", naive.name, ours.name], rows(naive, ours))
    (FOLDER / "attention_browser.md").write_text(text + "\n")
    print(text)
    print(table(["what", "measured", "asked for"], ([str(v) for v in r.values()] for r in found)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", default=ADDRESS, help="path and query of our page")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--presses", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=3, help="how long a drag takes")
    options = parser.parse_args()
    panels = len(CHANGING)
    with (
        running("naive_attention_app.py", folder=FOLDER, options=NAIVE_OPTIONS) as naive_address,
        running("app.py") as our_address,
    ):
        naive = Side("plain Streamlit page", naive_address, MATCH, NAIVE_CHART, panels=panels)
        ours = Ours("PosViz", f"{our_address}/{options.page}", MATCH, LINES, panels=panels)
        for run in range(options.runs):
            for side in (naive, ours):
                print(f"run {run + 1} of {options.runs}: {side.name}", flush=True)
                measure(side, presses=options.presses, seconds=options.seconds)
        weigh(ours, presses=8)
    write(naive, ours)


if __name__ == "__main__":
    main()
