"""Feed the configuration doctor broken inputs for a while: `python scripts/fuzz.py --seconds 120`.

Every input comes from a number, which a failure names: `--only NUMBER` repeats it alone.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import resource
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

MOST_MEMORY = 200
"""MB beyond what the process has before the first input."""
PROCESSES = 2


def one(number: int, starts: list[Any]) -> tuple[Any, str]:
    """The input of a number, and what came of it."""
    from tests.fuzz.judging import judge
    from tests.fuzz.mutations import inputs

    draw = random.Random(number)
    given = inputs(starts, draw)
    return given, judge(given, draw)


def work(first: int, seconds: float, results: Any) -> None:
    """Every PROCESSES-th number from ``first`` on, until the time is over or one fails."""
    from tests.fuzz.judging import judge, seeds
    from tests.fuzz.mutations import hostile_files

    starts = seeds()
    before = memory()
    until, counts, number = time.monotonic() + seconds, Counter[str](), first
    try:
        for name, data in hostile_files().items() if first == 0 else ():
            counts[f"hostile {judge(data, random.Random(name))}"] += 1
        while time.monotonic() < until:
            counts[one(number, starts)[1]] += 1
            number += PROCESSES
        grown = memory() - before
        assert grown <= MOST_MEMORY, f"{grown:.0f} MB more than before"
    except Exception:  # noqa: BLE001  anything at all is what this looks for; it is shown and fails
        results.put((counts, f"input {number}\n{traceback.format_exc()}"))
        return
    results.put((counts, ""))


def memory() -> float:
    """The most memory that this process ever held, MB."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def fuzz(seconds: float, first: int) -> int:
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    workers = [
        context.Process(target=work, args=(first + at, seconds, results)) for at in range(PROCESSES)
    ]
    for worker in workers:
        worker.start()
    answers = [results.get() for _ in workers]
    for worker in workers:
        worker.join()
    counts = sum((count for count, _ in answers), Counter[str]())
    failures = [failure for _, failure in answers if failure]
    for failure in failures:
        print(failure, file=sys.stderr)
    said = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
    print(f"{sum(counts.values())} inputs, {len(failures)} failed: {said}")
    return int(bool(failures))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--first", type=int, default=0, help="the first number")
    parser.add_argument("--only", type=int, help="this number alone, printed")
    asked = parser.parse_args()
    if asked.only is None:
        return fuzz(asked.seconds, asked.first)
    from tests.fuzz.judging import seeds

    given, outcome = one(asked.only, seeds())
    print(given if isinstance(given, bytes) else json.dumps(given), outcome)
    return 0


if __name__ == "__main__":
    sys.exit(main())
