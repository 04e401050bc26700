"""Attention at any length in one run: every fast form against the ways it would else be done.

Writes ``attention.json`` and ``attention.md`` beside this file. Ratios are the result; milliseconds
belong to the machine. They are processor time of the one thread that works, except where a row says
that torch used all cores: then both sides of its ratio are time on the clock.
Run: ``python benchmarks/attention.py``.
"""

from __future__ import annotations

import os

# A server shares its cores among people, so one thread is what a control change can count on.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import json
import math
import platform
import statistics
import time
import tracemalloc
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.special

import posviz
from posviz import measures
from posviz.encodings.base import Encoding
from posviz.measures import Content

try:
    import torch
except ImportError:  # the lite installation: its rows are left out, and the table says so
    torch = None

HERE = Path(__file__).parent
LONG = 1 << 20
COMPARED = 131_072
MATRIX = 1 << 12
HEADS = 12
BLOCK = 4096
METHODS = ("rope", "yarn", "alibi", "xpos")
SAME = Content(content="same")
GROWTH = tuple(1 << power for power in (14, 16, 18, 20, 22))
GUIDE_MS, MOST_MEGABYTES, MOST_SLOPE = 60, 100, 1.1

Call = Callable[[], object]


def timed(call: Call, most: int, clock: Callable[[], float] = time.process_time) -> float:
    """Median over ``most`` calls, seconds, after one that warms up; fewer where each is slow."""
    taken: list[float] = []
    call()
    while len(taken) < most and (len(taken) < 3 or sum(taken) < 8):
        started = clock()
        call()
        taken.append(clock() - started)
    return statistics.median(taken)


@dataclass
class Compared:
    """One thing done in several ways."""

    what: str
    ours_ms: float
    others: dict[str, dict[str, float]]
    """Name to ms and ratio, theirs over ours."""
    largest_difference: float


def compared(
    what: str, ours: Call, others: dict[str, Call], difference: float, most: int = 3
) -> Compared:
    """Time the ways in turn; a name that ends with the number of torch's threads gets them."""
    own = timed(ours, 15)
    found = {}
    for name, call in others.items():
        found[name] = against(own, ours, name, call, most)
    return Compared(what, 1e3 * own, found, difference)


def against(own: float, ours: Call, name: str, call: Call, most: int) -> dict[str, float]:
    if not name.endswith("all cores"):
        took = timed(call, most)
        return {"ms": 1e3 * took, "ratio": took / own}
    torch.set_num_threads(os.cpu_count() or 1)
    took = timed(call, most, time.perf_counter)
    torch.set_num_threads(1)
    return {"ms": 1e3 * took, "ratio": took / timed(ours, 15, time.perf_counter)}


# --- decay


def torch_decay(frequencies: np.ndarray, count: int) -> np.ndarray:
    """Mean cosine as a direct sum in float64, block by block."""
    inv_freq = torch.tensor(frequencies)
    mean = torch.empty(count, dtype=torch.float64)
    for first in range(0, count, BLOCK):
        at = torch.arange(first, min(first + BLOCK, count), dtype=torch.float64)
        mean[first : first + BLOCK] = torch.cos(torch.outer(at, inv_freq)).mean(dim=1)
    return np.asarray(mean.numpy())


def rotate_half(x: Any) -> Any:
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


def rotary_module_decay(frequencies: np.ndarray, count: int) -> np.ndarray:
    """What the rotary module of transformers gives to q = k = 1, position after position.

    Its own formula: inv_freq in float32, emb = cat(freqs, freqs), cos and sin of it, then
    q·cos + rotate_half(q)·sin. The query stands at the last position.
    """
    inv_freq = torch.tensor(frequencies).to(torch.float32)

    def rotated(positions: Any) -> Any:
        freqs = positions[:, None].to(torch.float32) * inv_freq[None, :]
        emb = torch.cat((freqs, freqs), dim=-1)
        ones = torch.ones(emb.shape, dtype=torch.float32)
        return ones * emb.cos() + rotate_half(ones) * emb.sin()

    query = rotated(torch.tensor([count - 1]))[0]
    scores = torch.empty(count, dtype=torch.float32)
    for first in range(0, count, BLOCK):
        end = min(first + BLOCK, count)
        distances = torch.arange(first, end)
        scores[first:end] = rotated(count - 1 - distances) @ query / query.numel()
    return np.asarray(scores.numpy())


def decay() -> list[Compared]:
    """Score decay of RoPE over 2^20 distances, 64 pairs."""
    spec = posviz.parse("rope")
    row = measures.logit_row(spec, LONG)
    frequencies = np.asarray(row.inv_freq)
    distances = np.arange(LONG, dtype=np.float64)
    exact = measures.direct_cos_mean(distances, frequencies)
    ways: dict[str, Call] = {
        "direct sum in NumPy": lambda: measures.direct_cos_mean(distances, frequencies)
    }
    if torch is not None:
        ways |= {
            "direct sum in torch": lambda: torch_decay(frequencies, LONG),
            "direct sum in torch, all cores": lambda: torch_decay(frequencies, LONG),
            "rotary module's formula, float32": lambda: rotary_module_decay(frequencies, LONG),
            "rotary module's formula, float32, all cores": lambda: rotary_module_decay(
                frequencies, LONG
            ),
        }
    found = [
        compared(
            "score decay, 2^20 distances × 64 pairs",
            lambda: measures.cos_mean(frequencies, LONG),
            ways,
            away(measures.cos_mean(frequencies, LONG), exact),
        )
    ]
    found.append(
        compared(
            "the same as logits (equal_scores)",
            lambda: measures.equal_scores(spec, length=LONG, match=10.5),
            {
                "direct sum in NumPy": lambda: (
                    10.5 * measures.direct_cos_mean(distances, frequencies)
                )
            },
            away(np.asarray(measures.equal_scores(spec, length=LONG)), exact),
        )
    )
    return found


def away(ours: np.ndarray, theirs: np.ndarray) -> float:
    return float(np.abs(ours - theirs).max())


def relative(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Largest relative difference, of numbers that are not next to underflow."""
    counts = theirs > 1e-290
    return float(np.abs(ours[counts] / theirs[counts] - 1).max())


# --- entropy at every length


def numpy_entropy(logits: np.ndarray) -> float:
    above = logits - logits.max()
    raised = np.exp(above)
    total = raised.sum()
    return float(np.log(total) - raised @ above / total)


def scipy_entropy(logits: np.ndarray) -> float:
    shares = logits - scipy.special.logsumexp(logits)
    return float(-(np.exp(shares) @ shares))


def torch_entropy(logits: Any) -> float:
    shares = logits - torch.logsumexp(logits, dim=0)
    return float(-(torch.exp(shares) @ shares))


def over_all_lengths(entropy: Callable[[Any], float], row: Any, count: int) -> float:
    """Seconds that one softmax per length would take for every length up to that of the row.

    ``count`` log-spaced lengths are timed, each the median of three; between them the time is taken
    as a straight line and summed over all whole lengths.
    """
    lengths = np.unique(np.geomspace(1, LONG, count).round().astype(int))
    entropy(row)
    taken = []
    for length in lengths:
        part = row[:length]
        repeated = max(1, 20_000 // int(length))  # the clock's tick is a microsecond
        runs = []
        for _ in range(3):
            started = time.process_time()
            for _ in range(repeated):
                entropy(part)
            runs.append((time.process_time() - started) / repeated)
        taken.append(statistics.median(runs))
    every = np.arange(1, LONG + 1)
    return float(np.interp(every, lengths, taken).sum())


def entropies(samples: int) -> list[Compared]:
    """Entropy for every length up to 2^20: one pass against one softmax per length."""
    slope = measures.logit_row(posviz.parse("alibi"), LONG).bias
    assert slope is not None
    distances = np.arange(LONG, dtype=np.float64)
    rope = measures.logit_row(posviz.parse("rope"), LONG)
    rows = {
        "ALiBi's bias, equal content": np.ascontiguousarray(slope(distances)[0]),
        "RoPE, every key equal to the query": SAME.match
        * np.asarray(measures.alike(rope, 0, LONG)),
    }
    found = []
    for name, row in rows.items():
        own = timed(lambda r=row: measures.running_softmax(r), 15)
        checked = np.unique(np.geomspace(1, LONG, 40).round().astype(int))
        ours = measures.running_softmax(row).entropy[checked - 1]
        direct = np.array([numpy_entropy(row[:length]) for length in checked])
        ways = {
            "one softmax per length in NumPy": over_all_lengths(numpy_entropy, row, samples),
            "one scipy.special.logsumexp per length": over_all_lengths(scipy_entropy, row, samples),
        }
        if torch is not None:
            ways["one torch.logsumexp per length"] = over_all_lengths(
                torch_entropy, torch.from_numpy(row), samples
            )
        others = {way: {"ms": 1e3 * took, "ratio": took / own} for way, took in ways.items()}
        # The one linear form that NumPy has gives the normaliser, without the entropy.
        accumulated = timed(lambda r=row: np.logaddexp.accumulate(r), 3)
        others["np.logaddexp.accumulate, the normaliser alone"] = {
            "ms": 1e3 * accumulated,
            "ratio": accumulated / own,
        }
        what = f"entropy at every length to 2^20 ({name})"
        found.append(Compared(what, 1e3 * own, others, away(ours, direct)))
    return found


# --- heads


def numpy_heads(slopes: np.ndarray, length: int) -> np.ndarray:
    logits = -slopes[:, None] * np.arange(length, dtype=np.float64)
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def torch_heads(slopes: Any, length: int) -> Any:
    logits = -slopes[:, None] * torch.arange(length, dtype=torch.float64)
    return torch.softmax(logits, dim=-1)


def alibi_tensor_heads(slopes: Any, length: int) -> Any:
    """As transformers' ``build_alibi_tensor`` makes its row from an attention mask, in float32,
    then the softmax; q·k is 0, so that nothing is added. Keys from the first token on."""
    mask = torch.ones(1, length, dtype=torch.int64)
    places = ((mask.cumsum(dim=-1) - 1) * mask)[:, None, :]
    alibi = (slopes.to(torch.float32)[..., None] * places).reshape(HEADS, 1, length)
    return torch.softmax(alibi, dim=-1, dtype=torch.float32)


def matrix_entropies(slopes: np.ndarray, length: int) -> np.ndarray:
    """Entropy of every query in every head from whole matrices: (heads, length)."""
    at = np.arange(length, dtype=np.float64)
    distance = at[:, None] - at[None, :]
    entropy = np.empty((len(slopes), length))
    for head, slope in enumerate(slopes):
        logits = np.where(distance >= 0, -slope * distance, -np.inf)
        raised = np.exp(logits - logits.max(axis=1, keepdims=True))
        weights = raised / raised.sum(axis=1, keepdims=True)
        entropy[head] = -np.where(
            weights > 0, weights * np.log(np.maximum(weights, 1e-300)), 0
        ).sum(axis=1)
    return entropy


def running_entropies(spec: Encoding, length: int) -> np.ndarray:
    bias = measures.logit_row(spec, length).bias
    assert bias is not None
    rows = bias(np.arange(length, dtype=np.float64))
    return np.stack([measures.running_softmax(row).entropy for row in rows])


def heads() -> list[Compared]:
    """ALiBi with 12 heads: the last query's weights, and the entropy of all queries."""
    spec = posviz.parse(f"alibi?heads={HEADS}")
    slopes = np.array(spec.slopes(np.empty(0)))
    ways: dict[str, Call] = {"12 rows of softmax in NumPy": lambda: numpy_heads(slopes, COMPARED)}
    if torch is not None:
        given = torch.from_numpy(slopes)
        ways |= {
            "12 rows of softmax in torch": lambda: torch_heads(given, COMPARED),
            "12 rows of softmax in torch, all cores": lambda: torch_heads(given, COMPARED),
            "an alibi tensor of one row, float32": lambda: alibi_tensor_heads(given, COMPARED),
        }
    found = [
        compared(
            "weights of the last query in 12 heads of ALiBi, 2^17 keys (head_weights)",
            lambda: measures.head_weights(spec, COMPARED),
            ways,
            away(measures.head_weights(spec, COMPARED), numpy_heads(slopes, COMPARED)),
            most=9,
        )
    ]
    ours = measures.head_profiles(spec, COMPARED)
    at = ours.distances.astype(int)
    found.append(
        compared(
            "the same at the 240 distances of a plot, with entropies (head_profiles)",
            lambda: measures.head_profiles(spec, COMPARED),
            {"12 rows of softmax in NumPy": lambda: numpy_heads(slopes, COMPARED)},
            away(ours.weights, numpy_heads(slopes, COMPARED)[:, at]),
            most=9,
        )
    )
    found.append(
        compared(
            "entropy of all 2^12 queries in 12 heads",
            lambda: running_entropies(spec, MATRIX),
            {"12 matrices of 2^12 × 2^12 in NumPy": lambda: matrix_entropies(slopes, MATRIX)},
            away(running_entropies(spec, MATRIX), matrix_entropies(slopes, MATRIX)),
        )
    )
    return found


# --- four methods


@dataclass
class Picture:
    """What the page asks of one method."""

    scores: np.ndarray
    weights: np.ndarray
    table: np.ndarray
    """(lengths, 5): entropy, reach of 99 % and of half, weights of first token and needle."""


LENGTHS = measures.context_lengths(COMPARED)


def our_picture(link: str) -> Picture:
    spec = posviz.parse(link)
    scores = measures.equal_scores(spec, length=COMPARED, match=SAME.match)
    profile = measures.weight_profile(spec, COMPARED, content=SAME)
    found = measures.context_curves(spec, LENGTHS, content=SAME)
    columns = (found.entropy, found.reach, found.half_reach, found.first_weight, found.needle)
    return Picture(np.asarray(scores), profile.weights, np.stack(columns, axis=1))


def direct_picture(link: str) -> Picture:
    """The same numbers from a direct sum and one softmax per length."""
    row = measures.logit_row(posviz.parse(link), COMPARED)
    distances = np.arange(COMPARED, dtype=np.float64)
    bias = np.zeros(COMPARED) if row.bias is None else np.asarray(row.bias(distances))[0]
    score = direct_score(row, distances)
    logits = SAME.match * row.rotary_gain * score + bias
    raised = np.exp(logits - logits.max())
    table = []
    for length in LENGTHS.tolist():
        part = logits[:length]
        exps = np.exp(part - part.max())
        weights = exps / exps.sum()
        held = np.cumsum(weights)
        place = SAME.needle_distance(length)
        hay = bias[:length].copy()
        hay[place] += SAME.match * row.rotary_gain
        around = np.exp(hay - hay.max())
        table.append(
            (
                numpy_entropy(part),
                np.searchsorted(held, 0.99) + 1,
                np.searchsorted(held, 0.5) + 1,
                weights[-1],
                around[place] / around.sum(),
            )
        )
    return Picture(logits, raised / raised.sum(), np.array(table))


def direct_score(row: Any, distances: np.ndarray) -> np.ndarray | float:
    if row.inv_freq is None:
        return 1.0
    if row.log_kept is None:
        return measures.direct_cos_mean(distances, row.inv_freq)
    score = np.empty(distances.size)
    for first in range(0, distances.size, BLOCK):
        at = distances[first : first + BLOCK, None]
        waves = np.exp(at * row.log_kept) * np.cos(at * row.inv_freq)
        score[first : first + BLOCK] = waves.mean(axis=1)
    return score


def pictures() -> list[Compared]:
    worst = 0.0
    for link in METHODS:
        ours, theirs = our_picture(link), direct_picture(link)
        worst = max(
            worst,
            away(ours.scores, theirs.scores),
            away(ours.weights, theirs.weights),
            relative(ours.table, theirs.table),
        )
    what = "scores, weights, and entropy, reach, needle, first token at 40 lengths: "
    return [
        compared(
            f"{what}RoPE, YaRN, ALiBi, xPos at 131,072 tokens",
            lambda: [our_picture(link) for link in METHODS],
            {
                "direct sums and one softmax per length": lambda: [
                    direct_picture(x) for x in METHODS
                ]
            },
            worst,
        )
    ]


# --- growth


def growing() -> dict[str, Callable[[int], Call]]:
    """Measures by name: from a length to the call that is timed."""
    specs = {link: posviz.parse(link) for link in METHODS}
    twelve = posviz.parse(f"alibi?heads={HEADS}")
    frequencies = np.asarray(measures.logit_row(specs["rope"], 1).inv_freq)

    def entropy(length: int) -> Call:
        logits = -np.arange(length) / 16.0
        return lambda: measures.running_softmax(logits)

    def curves(link: str) -> Callable[[int], Call]:
        return lambda length: (
            lambda: measures.context_curves(
                specs[link], measures.context_lengths(length), content=SAME
            )
        )

    def profile(link: str) -> Callable[[int], Call]:
        return lambda length: lambda: measures.weight_profile(specs[link], length, content=SAME)

    return {
        "decay (cos_mean)": lambda n: lambda: measures.cos_mean(frequencies, n),
        "decay of xPos (equal_scores)": lambda n: (
            lambda: measures.equal_scores(specs["xpos"], length=n)
        ),
        "entropy at every length (running_softmax)": entropy,
        "entropy, reach, needle at 40 lengths, RoPE (context_curves)": curves("rope"),
        "entropy, reach, needle at 40 lengths, xPos (context_curves)": curves("xpos"),
        "entropy, reach, needle at 40 lengths, ALiBi (context_curves)": curves("alibi"),
        "weights of RoPE (weight_profile)": profile("rope"),
        "12 heads of ALiBi (head_profiles)": lambda n: lambda: measures.head_profiles(twelve, n),
    }


def growth(name: str, make: Callable[[int], Call]) -> dict[str, Any]:
    """Milliseconds by length, the exponent that fits them best, and the memory at 2^22."""
    taken = {length: 1e3 * timed(make(length), 9) for length in GROWTH}
    points = np.log([*taken.items()])
    return {
        "measure": name,
        "ms": {f"2^{round(math.log2(length))}": round(ms, 3) for length, ms in taken.items()},
        "slope": float(np.polyfit(points[:, 0], points[:, 1], 1)[0]),
        "extra_megabytes": extra_megabytes(make(GROWTH[-1])),
    }


def extra_megabytes(call: Call) -> float:
    """Peak of what is allocated during a call, less its result."""
    tracemalloc.start()
    result = call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return (peak - size_of(result)) / 2**20


def size_of(result: object) -> int:
    if isinstance(result, np.ndarray):
        return result.nbytes
    return sum(part.nbytes for part in vars(result).values() if isinstance(part, np.ndarray))


# --- the report


def table(found: dict[str, Any]) -> str:
    lines = [
        "| what | PosViz, ms | another way | its ms | times as long | largest difference |",
        "|---|---|---|---|---|---|",
    ]
    for one in found["compared"]:
        differs = f"{one['largest_difference']:.1e}"
        for way, other in one["others"].items():
            cells = (one["what"], f"{one['ours_ms']:.2f}", way, f"{other['ms']:,.4g}")
            lines.append(f"| {' | '.join(cells)} | {other['ratio']:,.3g} | {differs} |")
    lengths = [*found["growth"][0]["ms"]]
    lines += [
        "",
        f"| measure, ms at | {' | '.join(lengths)} | grows with length to the power "
        "| MB beyond the result at 2^22 |",
        f"|{'---|' * (len(lengths) + 3)}",
    ]
    for one in found["growth"]:
        times = " | ".join(f"{ms:.3g}" for ms in one["ms"].values())
        lines.append(
            f"| {one['measure']} | {times} | {one['slope']:.2f} | {one['extra_megabytes']:.0f} |"
        )
    return "\n".join([*lines, "", *notes(found), ""])


def notes(found: dict[str, Any]) -> Iterable[str]:
    yield (
        f"Machine: {found['machine']}, NumPy {found['numpy']}, torch {found['torch']}, "
        f"{found['cpus']} cores. All is processor time of one thread, except the rows of torch on "
        "all cores, where both sides are time on the clock."
    )
    yield ""
    yield (
        f"One softmax per length: {found['samples']} log-spaced lengths are timed and their time, "
        "a straight line between them, is summed over all 2^20 lengths. transformers is not "
        "among the requirements, so that the formulas of its rotary module and of its alibi tensor "
        "are written out in torch, in float32 as there."
    )


def ratios(found: dict[str, Any]) -> list[dict[str, Any]]:
    """What the README quotes."""
    by_name = {one["what"]: one for one in found["compared"]}

    def first(start: str, way: str) -> float:
        one = next(each for name, each in by_name.items() if name.startswith(start))
        return float(f"{next(v['ratio'] for k, v in one['others'].items() if k == way):.3g}")

    slowest = max(found["growth"], key=lambda one: one["ms"]["2^20"])
    steepest = max(found["growth"], key=lambda one: one["slope"])
    largest = max(found["growth"], key=lambda one: one["extra_megabytes"])
    rows = [
        (
            "score decay over 2^20 distances: direct sum in NumPy / split angle",
            first("score decay", "direct sum in NumPy"),
            "at least 50",
        ),
        *(
            (
                f"{one['what']}: one softmax per length / one pass",
                first(one["what"], way),
                "at least 1000",
            )
            for one in found["compared"]
            for way in one["others"]
            if way == "one softmax per length in NumPy"
        ),
        (
            "weights of 12 heads of ALiBi, 2^17 keys: softmax in NumPy / head_weights",
            first("weights of the last", "12 rows of softmax in NumPy"),
            "–",
        ),
        (
            "four methods at 131,072 tokens, all curves: direct in NumPy / PosViz",
            first("scores, weights", "direct sums and one softmax per length"),
            "–",
        ),
        (
            f"growth from 2^14 to 2^22, exponent of the steepest: {steepest['measure']}",
            round(steepest["slope"], 2),
            f"at most {MOST_SLOPE}",
        ),
        (
            f"MB beyond the result at 2^22, the most: {largest['measure']}",
            round(largest["extra_megabytes"]),
            f"at most {MOST_MEGABYTES}",
        ),
        (
            f"ms at 2^20, the slowest measure: {slowest['measure']}",
            round(slowest["ms"]["2^20"], 1),
            f"guide: at most {GUIDE_MS}",
        ),
    ]
    return [{"what": what, "ratio": ratio, "asked": asked} for what, ratio, asked in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=200, help="lengths that are timed")
    options = parser.parse_args()
    if torch is not None:
        torch.set_num_threads(1)
    groups = [decay(), entropies(options.samples), heads(), pictures()]
    found: dict[str, Any] = {
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "numpy": np.__version__,
        "torch": "not installed" if torch is None else torch.__version__,
        "threads": int(os.environ["OMP_NUM_THREADS"]),
        "samples": options.samples,
        "compared": [vars(one) for group in groups for one in group],
        "growth": [growth(name, make) for name, make in growing().items()],
    }
    found["ratios"] = ratios(found)
    (HERE / "attention.json").write_text(json.dumps(found, indent=2) + "\n")
    (HERE / "attention.md").write_text(table(found))
    print(table(found))


if __name__ == "__main__":
    main()
