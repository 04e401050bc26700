"""Makes the stored results again: ``python -m posviz.lab.extension``.

Each method's result is written as soon as it is there. What was finished is taken from the cache
and what was interrupted goes on after its last chunk, so the command can be stopped at any time.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from posviz.lab.errors import LabError
from posviz.lab.extension import stored
from posviz.lab.extension.cache import Cache
from posviz.lab.extension.curves import losses_of
from posviz.lab.extension.means import difference
from posviz.lab.extension.plan import Plan
from posviz.lab.extension.records import LossCurve, PasskeyGrid
from posviz.lab.workers import Progress
from posviz.parameters import ParameterError

METHODS = (
    "rope",
    "linear?scaling_factor=2",
    "ntk_aware?scaling_factor=2",
    "yarn?scaling_factor=2",
)
TEXT = Path(__file__).parent.parent / "passages" / "alice.txt"
_EVERY = 10.0
"""Seconds between two lines about progress."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what was asked for and write it; the exit code is 1 where something failed."""
    asked = _parser().parse_args(arguments)
    if asked.clear:
        cache = Cache()
        print(f"removed: {cache.clear() / 1e6:.1f} MB in {cache.root}")
        return 0
    from posviz.lab.extension.passkey import grid  # torch and transformers
    from posviz.lab.extension.run import measure

    text = asked.text.read_text(encoding="utf-8")
    about: dict[str, Any] = {
        "model": asked.model,
        "text": asked.text.name,
        "command": stored.COMMAND,
        "arguments": list(arguments if arguments is not None else sys.argv[1:]),
    }
    curves: list[LossCurve] = []
    grids: list[PasskeyGrid] = []
    shared = {
        "model": asked.model,
        "text": text,
        "threads": asked.threads,
        "seed": asked.seed,
        "artificial_window": asked.artificial_window,
    }
    try:
        for link in asked.links if "loss" in asked.what else ():
            curves.append(measure(_Lines(link), link=link, length=asked.length, **shared))
            about["differences"] = _differences(asked, text, curves)
            stored.write(asked.out, about, curves, grids)
        for link in asked.links if "passkey" in asked.what else ():
            found = grid(_Lines(f"{link}, pass keys"), link=link, lengths=asked.lengths, **shared)
            grids.append(found)
            stored.write(asked.out, about, curves, grids)
    except (LabError, ParameterError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"written: {asked.out}")
    return 0


def _differences(
    asked: argparse.Namespace, text: str, curves: Sequence[LossCurve]
) -> list[dict[str, Any]]:
    """Each method's loss less that of the first one, token by token, from the cache."""
    values = {"length": asked.length, "artificial_window": asked.artificial_window}
    plans = [Plan(link=curve.link, **values) for curve in curves]
    losses = [losses_of(asked.model, text, plan) for plan in plans]
    first = losses[0]
    return [
        {"link": curve.link, "against": curves[0].link}
        | difference(row, first, curve.trained_window)
        for curve, row in zip(curves[1:], losses[1:], strict=True)
        if row is not None and first is not None
    ]


class _Lines:
    """Progress as lines of text."""

    def __init__(self, name: str) -> None:
        self.name, self.last = name, 0.0

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if now - self.last >= _EVERY or progress.done >= progress.total:
            self.last = now
            print(f"{self.name}: {progress.note}", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=stored.COMMAND, description=__doc__)
    parser.add_argument("--model", default="smollm2", help="short name or path")
    parser.add_argument("--links", nargs="+", default=list(METHODS), help="methods")
    parser.add_argument("--length", type=int, default=12288, help="tokens of the loss curves")
    parser.add_argument(
        "--lengths",
        nargs="+",
        type=int,
        default=[2048, 4096, 8192, 12288],
        help="tokens of the haystacks",
    )
    parser.add_argument(
        "--what", nargs="+", choices=("loss", "passkey"), default=["loss", "passkey"]
    )
    parser.add_argument("--text", type=Path, default=TEXT, help="a text file")
    parser.add_argument("--seed", type=int, default=0, help="of the pass keys")
    parser.add_argument(
        "--artificial-window", type=int, default=None, help="a shorter window to look beyond"
    )
    parser.add_argument("--clear", action="store_true", help="empty the cache and measure nothing")
    parser.add_argument("--threads", type=int, default=2, help="of torch")
    parser.add_argument(
        "--out", type=Path, default=stored.path_of(stored.DEFAULT), help="the file to write"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
