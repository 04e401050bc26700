"""Make the stored curves again: ``python -m posviz.lab.training``.

One file per training, written as soon as it is done; files that this code and this plan have
already made are skipped, so a stopped run goes on where it was.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

from posviz.catalog import parse
from posviz.lab.training import stored
from posviz.lab.training.extend import METHODS, extended
from posviz.lab.training.plan import EXTENDED_BY, Plan
from posviz.lab.training.run import trained
from posviz.lab.training.tasks import TASKS
from posviz.lab.training.trainable import trainable_links

FIRST_TASK = "markov"
MAIN = (
    "nope", "sinusoidal", "learned", "rope", "xpos", "alibi", "t5", "kerple_log", "fire", "cope",
)  # fmt: skip
"""Encodings whose curves ship for every task, and for three seeds."""
SEEDS = (0, 1, 2)
EXTENSION_TASKS = ("markov", "retrieval")
MOST_SECONDS = 36000.0
"""A stored training is never cut, however busy the machine is."""


@dataclass(frozen=True)
class Work:
    """One file to make: a training, or an extension where there is no link."""

    task: str
    seed: int
    link: str = ""


def work(tasks: tuple[str, ...], links: tuple[str, ...], seeds: tuple[int, ...]) -> Iterator[Work]:
    """What ships, as far as it was asked for: the first task for every encoding comes first."""
    for seed in seeds:
        for task in tasks:
            every = task == FIRST_TASK and seed == SEEDS[0]
            chosen = links or (trainable_links() if every else MAIN)
            yield from (Work(task, seed, link) for link in chosen)


def extensions(tasks: tuple[str, ...], seeds: tuple[int, ...]) -> Iterator[Work]:
    for seed in seeds:
        yield from (Work(task, seed) for task in EXTENSION_TASKS if task in tasks)


def main(arguments: list[str] | None = None) -> int:
    chosen = _parser().parse_args(arguments)
    tasks, seeds = tuple(chosen.task or TASKS), tuple(chosen.seeds or SEEDS)
    todo = [] if chosen.only_extension else list(work(tasks, tuple(chosen.links or ()), seeds))
    if not chosen.links:
        todo = [*extensions(tasks, seeds), *todo]
    for place, one in enumerate(todo, start=1):
        print(f"{place}/{len(todo)} {one.task} {one.link or 'extension'} seed {one.seed}: ", end="")
        sys.stdout.flush()
        print(_made(one))
    return 0


def _made(one: Work) -> str:
    """Make a file unless it is there; a few words on what came of it."""
    began = time.monotonic()
    values = {"seed": one.seed, "most_seconds": MOST_SECONDS}
    if not one.link:
        plan = Plan.for_extension(one.task, **values)
        path = stored.FOLDER / "extension" / f"{one.task}_{one.seed}.json"
        if stored.is_current(path, plan.model_dump()):
            return "is there"
        result = extended(plan, EXTENDED_BY, tuple(METHODS), lambda *_: None)
        stored.write(path, result)
        return f"{time.monotonic() - began:.0f} s"
    plan = Plan.for_task(one.task, **values)
    path = stored.file_of(one.task, one.link, one.seed)
    if stored.is_current(path, plan.model_dump()):
        return "is there"
    curve = trained(parse(one.link), plan, lambda *_: None)
    stored.write(path, curve)
    ends = ", ".join(f"{n}: {x:.3g}" for n, x in zip(curve.lengths, curve.score, strict=True))
    return f"{time.monotonic() - began:.0f} s; {ends}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m posviz.lab.training", description=__doc__)
    parser.add_argument("--task", action="append", choices=list(TASKS), help="only this task")
    parser.add_argument("--links", nargs="*", help="only these encodings")
    parser.add_argument("--seeds", nargs="*", type=int, help="only these seeds")
    parser.add_argument(
        "--only-extension", action="store_true", help="only extension without fine-tuning"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
