"""All heads of one encoding beside each other: what each of them looks at."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from posviz.encodings.base import Encoding
from posviz.measures.content import Content, Hay
from posviz.measures.rows import bias_block, logit_row
from posviz.measures.running import BLOCK
from posviz.measures.split_angle import Floats
from posviz.results import LogitRow, frozen


@dataclass(frozen=True, kw_only=True)
class HeadProfiles:
    """Weights of the last query in every head, without anybody's needle.

    Attributes
    ----------
    distances : (distances,) whole tokens, evenly spaced on a log axis, 0 first.
    weights : (heads, distances).
    entropy : (heads,) nats.
    half_life : (heads,) first distance at which the logit has fallen by ln 2, whole tokens;
        infinite where it never does.
    """

    distances: Floats
    weights: Floats
    entropy: Floats
    half_life: Floats


def head_profiles(
    spec: Encoding, length: int, *, content: Content | None = None, most: int = 240
) -> HeadProfiles:
    """Weights against distance for all heads at once, in one pass over the distances.

    Memory: one block of heads × 2^14 numbers, whatever the length.
    """
    content = content or Content()
    row = logit_row(spec, length)
    seen = row.keys_seen(length)
    spaced = np.geomspace(1, max(1, length - 1), most).round().astype(np.int64)
    at = np.unique(np.concatenate(([0], spaced[spaced < length])))
    top = np.full((row.heads, 1), -np.inf)
    total, moment = np.zeros((2, row.heads, 1))
    logits = np.full((row.heads, len(at)), -np.inf)
    fallen = np.full(row.heads, np.inf)
    for first, block in _blocks(row, content, seen):
        raised = np.maximum(top, block.max(axis=1, keepdims=True))
        down = np.where(np.isfinite(top), top - raised, 0.0)
        moment = np.exp(down) * (moment + down * total)
        total, top = np.exp(down) * total, raised
        above = np.exp(block - top)
        total += above.sum(axis=1, keepdims=True)
        moment += (above * (block - top)).sum(axis=1, keepdims=True)
        inside = (at >= first) & (at < first + block.shape[1])
        logits[:, inside] = block[:, at[inside] - first]
        below = block <= logits[:, :1] - math.log(2)
        place = np.where(below.any(axis=1), first + below.argmax(axis=1), np.inf)
        fallen = np.minimum(fallen, place)
    if seen < length:
        # Beyond the window there is nothing left.
        fallen = np.minimum(fallen, seen)
    return HeadProfiles(
        distances=frozen(at.astype(np.float64)),
        weights=frozen(np.exp(logits - top) / total),
        entropy=frozen((np.log(total) - moment / total)[:, 0]),
        half_life=frozen(fallen),
    )


def head_weights(spec: Encoding, length: int, *, content: Content | None = None) -> Floats:
    """Weights of all keys in every head for the last query, nearest key first: (heads, length)."""
    content = content or Content()
    row = logit_row(spec, length)
    seen = row.keys_seen(length)
    weights = np.zeros((row.heads, length))
    for first, block in _blocks(row, content, seen):
        weights[:, first : first + block.shape[1]] = block
    part = weights[:, :seen]
    part -= part.max(axis=1, keepdims=True)
    np.exp(part, out=part)
    part /= part.sum(axis=1, keepdims=True)
    result: Floats = frozen(weights)
    return result


def _blocks(row: LogitRow, content: Content, seen: int) -> Iterator[tuple[int, Floats]]:
    """Logits of all heads, block after block: first distance, (heads, keys)."""
    # The content's logits are the same in every head; the row without its bias gives them once.
    hay = Hay(row, content, None)
    for first in range(0, seen, BLOCK):
        end = min(first + BLOCK, seen)
        shared = np.asarray(hay(first, end))[None, :]
        if row.bias is None:
            yield first, shared
        else:
            yield first, shared + np.asarray(bias_block(row, first, end))
