"""The numeric core in one run: split angle against direct sum, and one whole control change.

Writes ``numeric.json`` and ``numeric.md`` beside this file. Ratios are the result; milliseconds
belong to the machine they were measured on. They are processor time of the one thread that works,
so that waiting for other programs does not count. Run: ``python benchmarks/numeric.py``.
"""

from __future__ import annotations

import os

# A server shares its cores among people, so one thread is what a control change can count on.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import json
import platform
import statistics
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import posviz
from posviz import measures
from posviz.encodings.rotary import RotaryEncoding

HERE = Path(__file__).parent
TRAINED, TARGET = 4096, 131_072
LONG = 1 << 20
BUCKETS = 360  # as the page draws them
LENGTHS = np.unique(np.geomspace(TRAINED, TARGET, 33).astype(np.int64))
FOUR_WAYS = {
    "factor and base": ("linear", "ntk_aware", "yarn", "yarn?ramp=turns"),
    "with remapped distances": ("yarn", "ntk_aware", "leaky_rerope", "self_extend"),
}


def seconds(call: Callable[[], object]) -> float:
    started = time.process_time()
    call()
    return time.process_time() - started


def extra_megabytes(call: Callable[[], np.ndarray]) -> float:
    """Peak of what NumPy allocates during a call, less its result."""
    tracemalloc.start()
    result = call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return (peak - result.nbytes) / 2**20


def split_angle() -> dict[str, float]:
    """2^20 distances, 64 pairs; the direct sum in blocks that fit a cache, its fastest form."""
    frequencies = posviz.get("rope")().trained_frequencies()
    distances = np.arange(LONG, dtype=np.float64)
    direct = [seconds(lambda: measures.direct_cos_mean(distances, frequencies)) for _ in range(3)]
    split = [seconds(lambda: measures.cos_mean(frequencies, LONG)) for _ in range(15)]
    away = measures.cos_mean(frequencies, LONG) - measures.direct_cos_mean(distances, frequencies)
    return {
        "ratio": statistics.median(direct) / statistics.median(split),
        "direct_ms": 1e3 * statistics.median(direct),
        "split_ms": 1e3 * statistics.median(split),
        "largest_difference": float(np.abs(away).max()),
        "extra_megabytes": extra_megabytes(lambda: measures.cos_mean(frequencies, LONG)),
        "extra_megabytes_at_2^22": extra_megabytes(lambda: measures.cos_mean(frequencies, 1 << 22)),
    }


def panels(spec: RotaryEncoding) -> None:
    """All that the context-extension page asks of one method, every distance included."""
    decay = measures.score_decay(spec, length=TARGET)
    measures.thin(decay.distances, decay.scores, BUCKETS, True)
    measures.spectrum(spec, length=TARGET, trained_length=TRAINED)
    measures.short_range_cost(spec, length=TARGET)
    measures.temperature(spec, length=TARGET)
    measures.needle_weight(spec, lengths=LENGTHS, trained_length=TRAINED)
    measures.clock(spec, pair=20, position=9000, length=TARGET, trained_length=TRAINED)


def control_change(links: tuple[str, ...], factor: float) -> None:
    """Four links read anew, with everything that the panels ask of each."""
    for link in links:
        spec = posviz.parse(link)
        if "scaling_factor" in type(spec).model_fields:
            spec = spec.with_values(scaling_factor=factor)
        panels(spec)


def baseline() -> None:
    """The curve of unscaled RoPE behind them, which only the base and the lengths change."""
    ghost = measures.score_decay(posviz.parse("rope"), length=TARGET)
    measures.thin(ghost.distances, ghost.scores, BUCKETS, True)


def control_changes() -> dict[str, dict[str, Any]]:
    known = {encoding.id for encoding in posviz.catalog()}
    found = {}
    for name, links in FOUR_WAYS.items():
        if not {link.partition("?")[0] for link in links} <= known:
            continue
        factors = np.linspace(2, 32, 60).tolist()
        control_change(links, 1.5)
        took = sorted(1e3 * seconds(lambda f=f, s=links: control_change(s, f)) for f in factors)
        found[name] = {
            "links": links,
            "median_ms": statistics.median(took),
            "p95_ms": took[int(0.95 * len(took))],
        }
    return found


def direct_change_ms() -> float:
    """What the four curves of one change would cost as direct sums."""
    distances = np.arange(TARGET, dtype=np.float64)
    frequencies = posviz.get("rope")().trained_frequencies()
    return 4e3 * seconds(lambda: measures.direct_cos_mean(distances, frequencies))


def table(found: dict[str, Any]) -> str:
    split = found["split_angle"]
    rows = [
        (
            "score decay, 2^20 distances × 64 pairs: direct sum / split angle",
            f"{split['ratio']:.0f}",
        ),
        ("largest difference between the two", f"{split['largest_difference']:.1e}"),
        ("memory beyond the result", f"{split['extra_megabytes']:.1f} MB"),
        ("the same at 2^22 distances", f"{split['extra_megabytes_at_2^22']:.1f} MB"),
    ]
    for name, change in found["control_change"].items():
        label = f"one control change, four methods at 131,072 tokens ({name})"
        times = f"{change['median_ms']:.1f} ms median, {change['p95_ms']:.1f} ms p95"
        rows.append(
            (f"{label}: its curves alone as direct sums / all of it", f"{change['ratio']:.0f}")
        )
        rows.append((label, times))
    rows.append(
        (
            "and the unscaled curve, when the base or a length changes",
            f"{found['baseline_ms']:.1f} ms",
        )
    )
    lines = ["| measured | result |", "|---|---|"]
    lines += [f"| {what} | {result} |" for what, result in rows]
    machine = f"{found['machine']}, NumPy {found['numpy']}, {found['threads']} thread(s)"
    return "\n".join([*lines, "", f"Machine: {machine}.", ""])


def ratios(found: dict[str, Any]) -> list[dict[str, Any]]:
    """What the README quotes."""
    split = found["split_angle"]
    return [
        {
            "what": "score decay over 2^20 distances: time of the split angle / direct sum",
            "ratio": round(1 / split["ratio"], 4),
            "asked": "at most 0.02",
        }
    ]


def main() -> None:
    found: dict[str, Any] = {
        "machine": platform.machine(),
        "numpy": np.__version__,
        "threads": int(os.environ["OMP_NUM_THREADS"]),
        "split_angle": split_angle(),
        "control_change": control_changes(),
        "baseline_ms": 1e3 * statistics.median(seconds(baseline) for _ in range(30)),
    }
    direct = direct_change_ms()
    for change in found["control_change"].values():
        change["ratio"] = direct / change["median_ms"]
    found["ratios"] = ratios(found)
    (HERE / "numeric.json").write_text(json.dumps(found, indent=2) + "\n")
    (HERE / "numeric.md").write_text(table(found))
    print(table(found))


if __name__ == "__main__":
    main()
