"""Make the stored results again: ``python -m posviz.lab.kernels``."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from pathlib import Path

from posviz.lab.kernels.records import STORED, KernelRun, write_runs
from posviz.lab.kernels.run import measure
from posviz.lab.kernels.shape import KernelPlan
from posviz.lab.workers import Progress

COMMAND = "python -m posviz.lab.kernels"
STORED_RUNS = (
    ("rope?head_dim=64", 16384, 180.0),
    ("alibi", 4096, 50.0),
    ("sliding_window?window=512", 4096, 40.0),
)
"""Link, longest sequence, most seconds: together under five minutes."""


def stored_plans(
    longest: int | None = None, seconds: float | None = None
) -> tuple[KernelPlan, ...]:
    """One comparison for each link, all with four heads of 64 dimensions in float32.

    ``longest`` shortens every one of them, ``seconds`` is the budget of each instead of its own.
    """
    return tuple(
        KernelPlan(
            link=link,
            heads=4,
            head_dim=64,
            shortest=min(512, longest or 512),
            longest=min(own_longest, longest or own_longest),
            most_seconds=seconds or own_seconds,
        )
        for link, own_longest, own_seconds in STORED_RUNS
    )


def main(arguments: list[str] | None = None) -> int:
    """Run the comparisons one after the other and write them to a file."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--longest", type=int, help="no sequence is longer, tokens")
    parser.add_argument("--seconds", type=float, help="most seconds of each link")
    parser.add_argument("--output", type=Path, default=STORED / "cpu.json")
    given = parser.parse_args(arguments)
    runs = [_run(plan) for plan in stored_plans(given.longest, given.seconds)]
    write_runs(given.output, runs, shlex.join([*COMMAND.split(), *written(arguments)]))
    print(f"written to {given.output}")
    return 0


def written(arguments: list[str] | None) -> list[str]:
    """The arguments as they were given, without the place of the file, on which no number hangs."""
    found = list(sys.argv[1:] if arguments is None else arguments)
    while any(hits := [one.partition("=")[0] == "--output" for one in found]):
        at = hits.index(True)
        del found[at : at + (1 if "=" in found[at] else 2)]
    return found


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
