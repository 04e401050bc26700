"""Numbers behind figures whose traces do not tell them all, as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from posviz.lab.extension.records import MEASURED, Gap, LossCurve, PasskeyGrid
from posviz.lab.language_model.records import STATISTICS, Observation, Permuted


def written(titles: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table as CSV text."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(titles)
    writer.writerows(rows)
    return out.getvalue()


def statistics(seen: Observation) -> str:
    """One row per head, all statistics."""
    return written(
        ["layer", "head", *STATISTICS.values()],
        (
            [layer, head, *(float(seen.statistics[name][layer, head]) for name in STATISTICS)]
            for layer in range(seen.layers)
            for head in range(seen.heads)
        ),
    )


def decays(seen: Observation, heads: Sequence[tuple[int, int]]) -> str:
    """One row per head and distance: measured, predicted, no positions, and the illustration."""
    flat = seen.predicted_none
    return written(
        [
            "layer",
            "head",
            "distance (tokens)",
            "measured",
            "predicted from mean q and k",
            "no positions",
            "equal content",
        ],
        (
            [
                *head,
                distance,
                float(seen.without_first[head][distance]),
                float(seen.predicted_mean[head][distance]),
                float(flat[distance]),
                float(seen.predicted_equal[head[0]][distance]),
            ]
            for head in heads
            for distance in range(seen.without_first.shape[-1])
        ),
    )


def maps(seen: Observation, heads: Sequence[tuple[int, int]]) -> str:
    """One row per head and block of queries; columns are the blocks of keys, by their middle."""
    places: list[Any] = [float(place) for place in seen.map_places]
    return written(
        ["layer", "head", "query \\ key", *places],
        (
            [*head, places[row], *(float(cell) for cell in cells)]
            for head in heads
            for row, cells in enumerate(seen.maps[head])
        ),
    )


def neighbours(found: Permuted) -> str:
    """One row per head: attention on the tokens beside, with both kinds of ids, and the change."""
    return written(
        [
            "layer",
            "head",
            "true ids",
            "other ids, beside in the text",
            "other ids, beside by id",
            "weight moved",
        ],
        (
            [
                layer,
                head,
                *(
                    float(values[layer, head])
                    for values in (
                        found.neighbours,
                        found.permuted_neighbours,
                        found.id_neighbours,
                        found.change,
                    )
                ),
            ]
            for layer in range(found.layers)
            for head in range(found.heads)
        ),
    )


def losses(found: Sequence[LossCurve]) -> str:
    """One row per method and window of positions."""
    return written(
        ["link", "position (tokens)", "loss (nats per token)", "low", "high", "tokens"],
        _by_position(found),
    )


def gaps(found: Sequence[Gap]) -> str:
    """The same of the differences to the plain model."""
    return written(
        ["link", "position (tokens)", "difference (nats per token)", "low", "high", "tokens"],
        _by_position(found),
    )


def _by_position(found: Sequence[LossCurve | Gap]) -> Iterable[Sequence[Any]]:
    return (
        [one.link, *row]
        for one in found
        for row in zip(one.positions, one.mean, one.low, one.high, one.counts, strict=True)
    )


def passkeys(found: Sequence[PasskeyGrid]) -> str:
    """One row per method, length and depth."""
    return written(
        ["link", "length (tokens)", "depth", *MEASURED],
        (
            [one.link, length, depth, *(getattr(one, name)[row][column] for name in MEASURED)]
            for one in found
            for row, length in enumerate(one.lengths)
            for column, depth in enumerate(one.depths)
        ),
    )
