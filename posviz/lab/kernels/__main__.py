"""Make the stored results again: ``python -m posviz.lab.kernels``."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from posviz.lab.kernels.records import STORED, KernelRun, write_runs
from posviz.lab.kernels.run import measure
from posviz.lab.kernels.shape import KernelPlan
from posviz.lab.workers import Progress

COMMAND = "python -m posviz.lab.kernels"
LINKS = ("rope?head_dim=64", "alibi", "sliding_window?window=512")


def stored_plans(longest: int, most_seconds: float) -> tuple[KernelPlan, ...]:
    """One comparison for each link, all with four heads of 64 dimensions in float32."""
    return tuple(
        KernelPlan(
            link=link,
            heads=None if link.startswith("sliding") else 4,
            head_dim=64,
            shortest=256,
            longest=longest,
            most_seconds=most_seconds,
        )
        for link in LINKS
    )


def main(arguments: list[str] | None = None) -> int:
    """Run the comparisons one after the other and write them to a file."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--longest", type=int, default=16384, help="the longest sequence, tokens")
    parser.add_argument("--seconds", type=float, default=600.0, help="most seconds of each link")
    parser.add_argument("--output", type=Path, default=STORED / "cpu.json")
    given = parser.parse_args(arguments)
    runs = [_run(plan) for plan in stored_plans(given.longest, given.seconds)]
    write_runs(given.output, runs, COMMAND)
    print(f"written to {given.output}")
    return 0


def _run(plan: KernelPlan) -> KernelRun:
    print(plan.link, flush=True)
    begun, last = time.monotonic(), ""

    def report(progress: Progress) -> None:
        nonlocal last
        if progress.note != last:
            last = progress.note
            print(f"  {time.monotonic() - begun:6.1f} s  {last}", flush=True)

    return measure(report, **plan.arguments)


if __name__ == "__main__":
    sys.exit(main())
