"""Slider → plot in a real browser: the context-extension page against a plain Streamlit page.

Both servers run at the same time and the runs alternate. Writes browser.json and browser.md.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os

import measuring
from measuring import FOLDER, NAIVE_CHART, NAIVE_OPTIONS, Side, ratio, running

from posviz.docs import table

# The panels that every step of the base changes. The map is a canvas, which heatmap.py measures;
# the others do not depend on the base, or only when a bound of the ramp jumps to the next pair.
CHANGING = ("wavelengths", "turns", "score_decay", "short_range_cost", "clock")
LINES = ", ".join(f"[data-panel={name}] .js-plotly-plot" for name in CHANGING)
WHAT = "slider key → last panel drawn and page free"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", default="context_extension", help="path and query of our page")
    parser.add_argument("--slider", default="base", help="label of our slider")
    parser.add_argument("--chart", default=LINES, help="CSS selector of our charts")
    parser.add_argument("--panels", type=int, default=len(CHANGING), help="how many change")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--presses", type=int, default=12)
    options = parser.parse_args()
    with (
        running("naive_app.py", folder=FOLDER, options=NAIVE_OPTIONS) as naive_address,
        running("app.py") as our_address,
    ):
        naive = Side("plain Streamlit page", naive_address, "base", NAIVE_CHART, panels=4)
        page = f"{our_address}/{options.page}"
        ours = Side("PosViz", page, options.slider, options.chart, panels=options.panels)
        measuring.compare([naive, ours], runs=options.runs, presses=options.presses)
    write(naive, ours)


def write(naive: Side, ours: Side) -> None:
    name = "key_to_responsive_ms"
    updates = [drag["updates_per_s"] for drag in ours.drags]
    ratios = [
        ratio(f"{WHAT}, median", ours.p(name, 50), naive.p(name, 50), "at most 0.25"),
        ratio(f"{WHAT}, p95", ours.p(name, 95), naive.p(name, 95), "at most 0.333"),
        {
            "what": "plot updates per second while the slider is dragged (plain page: none)",
            "ratio": round(sum(updates) / len(updates), 1),
            "asked": "at least 10",
        },
    ]
    rows = measuring.report([naive, ours])
    sides = [dataclasses.asdict(side) for side in (naive, ours)]
    result = {"ratios": ratios, "cpus": os.cpu_count(), "sides": sides}
    (FOLDER / "browser.json").write_text(json.dumps(result, indent=1) + "\n")
    text = table(["times in ms", naive.name, ours.name], rows)
    (FOLDER / "browser.md").write_text(text + "\n")
    print(text)
    print(table(["what", "measured", "asked for"], ([str(v) for v in r.values()] for r in ratios)))


if __name__ == "__main__":
    main()
