"""Makes the stored results again: ``python -m posviz.lab.extension``.

Each method's result is written as soon as it is there. What was finished is taken from the cache
and what was interrupted goes on after its last chunk, so the command can be stopped at any time.
With ``--what passkey`` the loss curves of the file are kept, and the other way round.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from posviz.lab.errors import LabError
from posviz.lab.extension import stored
from posviz.lab.extension.cache import Cache
from posviz.lab.extension.curves import gaps
from posviz.lab.extension.plan import PasskeyPlan, Plan
from posviz.lab.extension.records import LossCurve, PasskeyGrid
from posviz.lab.hashes import text_hash
from posviz.lab.language_model.sources import find
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
    asked = parser().parse_args(arguments)
    if asked.clear:
        cache = Cache()
        print(f"removed: {cache.clear() / 1e6:.1f} MB in {cache.root}")
        return 0
    try:
        _measure(asked)
    except (LabError, ParameterError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"written: {asked.out}")
    return 0


def _measure(asked: argparse.Namespace) -> None:
    from posviz.lab.extension.passkey import grid  # torch and transformers
    from posviz.lab.extension.run import measure

    text = asked.text.read_text(encoding="utf-8")
    found = _kept(asked, text_hash(text))
    about = {
        "model": asked.model,
        "title": find(asked.model).title,
        "text": asked.text.name,
        "seed": asked.seed,
        "command": command(asked),
    }
    shared = {"model": asked.model, "text": text, "threads": asked.threads}
    for link in asked.links if "loss" in asked.what else ():
        measured = measure(_Lines(link), link=link, **shared, **_loss_values(asked))
        curves = [*(one for one in found.curves if one.link in asked.links), measured]
        plans = [Plan(link=one.link, **_loss_values(asked)) for one in curves]
        found = replace(found, curves=tuple(curves), gaps=gaps(asked.model, text, plans))
        stored.write(asked.out, replace(found, about=about))
    for link in asked.links if "passkey" in asked.what else ():
        lines = _Lines(f"{link}, pass keys")
        keys = grid(lines, link=link, **shared, **_passkey_values(asked))
        found = replace(found, grids=(*found.grids, keys))
        stored.write(asked.out, replace(found, about=about))


def _loss_values(asked: argparse.Namespace) -> dict[str, Any]:
    return {"length": asked.length, "artificial_window": asked.artificial_window}


def _passkey_values(asked: argparse.Namespace) -> dict[str, Any]:
    return {
        "lengths": tuple(asked.lengths),
        "key_seed": asked.seed,
        "artificial_window": asked.artificial_window,
    }


def _kept(asked: argparse.Namespace, text_hash: str) -> stored.Stored:
    """What the file holds of the kind that is not measured now."""
    nothing = stored.Stored(name=asked.out.stem, about={})
    if not asked.out.is_file() or {"loss", "passkey"} <= set(asked.what):
        return nothing
    found = stored.read(asked.out)
    if "loss" in asked.what:
        kept, values = replace(found, curves=(), gaps=()), _passkey_values(asked)
    else:
        kept, values = replace(found, grids=()), _loss_values(asked)
    held: list[LossCurve | PasskeyGrid] = [*kept.curves, *kept.grids]
    for one in held:
        plan = {name: _same(one.facts["plan"][name]) for name in values}
        if one.facts["text_hash"] != text_hash or plan != {
            name: _same(value) for name, value in values.items()
        }:
            raise LabError(
                f"--out must be another file, or the same model, text and values must be asked "
                f"for: {asked.out} holds {one.link} with {plan}."
            )
    return kept


def _same(value: Any) -> Any:
    """A value as JSON gives it back."""
    return [float(one) for one in value] if isinstance(value, list | tuple) else value


def command(asked: argparse.Namespace) -> str:
    """The command that measures all of this again: both kinds, with all that is no default."""
    words = [stored.COMMAND]
    for action in parser()._actions:
        value = getattr(asked, action.dest, None)
        if action.dest in ("help", "what", "clear", "out") or value == action.default:
            continue
        given = value if isinstance(value, list) else [value]
        words += [action.option_strings[0], *(shlex.quote(str(one)) for one in given)]
    return " ".join(words)


class _Lines:
    """Progress as lines of text."""

    def __init__(self, name: str) -> None:
        self.name, self.last = name, 0.0

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if now - self.last >= _EVERY or progress.done >= progress.total:
            self.last = now
            print(f"{self.name}: {progress.note}", flush=True)


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=stored.COMMAND, description=__doc__)
    parser.add_argument("--model", default="smollm2", help="short name or path")
    parser.add_argument("--links", nargs="+", default=list(METHODS), help="methods")
    parser.add_argument(
        "--length", type=int, default=Plan().length, help="tokens of the loss curves"
    )
    parser.add_argument(
        "--lengths",
        nargs="+",
        type=int,
        default=[int(one) for one in PasskeyPlan().lengths],
        help="tokens of the pass keys' texts, question and answer included",
    )
    parser.add_argument(
        "--what",
        nargs="+",
        choices=("loss", "passkey"),
        default=["loss", "passkey"],
        help="what is measured; the file keeps what it holds of the other kind",
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
