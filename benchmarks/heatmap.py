"""A matrix of 512 x 512 that follows a slider: one of our heatmaps against go.Heatmap.

Ours is the score map of the context-extension page, 512 x 512 cells among eight other panels that
move too; the other page has nothing but its heatmap. Writes heatmap.json and heatmap.md.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os

import measuring
from measuring import FOLDER, NAIVE_CHART, NAIVE_OPTIONS, Side, ratio, running

from posviz.docs import table

MAP = "[data-panel=score_map] canvas.pv-cells"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--script", default="app.py", help="script that serves our heatmap")
    parser.add_argument("--page", default="context_extension", help="path and query of our page")
    parser.add_argument("--slider", default="base", help="label of our slider")
    parser.add_argument("--chart", default=MAP, help="CSS selector of our heatmap")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--presses", type=int, default=10)
    options = parser.parse_args()
    with (
        running("naive_heatmap_app.py", folder=FOLDER, options=NAIVE_OPTIONS) as naive_address,
        running(options.script) as our_address,
    ):
        naive = Side("go.Heatmap", naive_address, "base", NAIVE_CHART, panels=1)
        page = f"{our_address}/{options.page}"
        ours = Side("PosViz", page, options.slider, options.chart)
        measuring.compare([naive, ours], runs=options.runs, presses=options.presses)
    name = "key_to_responsive_ms"
    what = "heatmap of 512 × 512: slider key → drawn and page free, median"
    ratios = [ratio(what, ours.p(name, 50), naive.p(name, 50), "at most 0.25")]
    sides = [dataclasses.asdict(side) for side in (naive, ours)]
    result = {"ratios": ratios, "cpus": os.cpu_count(), "sides": sides}
    (FOLDER / "heatmap.json").write_text(json.dumps(result, indent=1) + "\n")
    text = table(["times in ms", naive.name, ours.name], measuring.report([naive, ours]))
    (FOLDER / "heatmap.md").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
