"""What a run on a model hands back: plain arrays, which a page draws without torch.

Layers and heads are counted from 0, positions and distances in tokens. Measured arrays are float32.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from posviz.lab.language_model import predicted

MOST_TOKENS = 512
"""Tokens of a text whose attention is observed; beyond it a text is cut, and the record says so."""
MAP_CELLS = 48
"""Cells along a side of the small map of a head."""

MEAN_ENTROPY = "entropy"
STATISTICS: Mapping[str, str] = {
    MEAN_ENTROPY: "mean entropy over ln(n), first token included",
    "first": "share on the first token",
    "diagonal": "share on the token itself",
    "previous": "share on the token before",
    "distance": "mean distance after the first token (tokens)",
    "prediction": "correlation with the prediction, beyond no positions",
}
"""What heads can be sorted by: name, and words for it."""
MOST_GAP = 1e-3
"""Between a model's weights and the core's. More is no rounding: the model does something else."""


@dataclass(frozen=True, kw_only=True)
class Observation:
    """The attention of every head of a decoder over one text, from one forward pass.

    Attributes
    ----------
    tokens : (n,) pieces of the text as the model reads it.
    cut_from : tokens that the text had before it was cut; n where it was not.
    by_distance : (layers, heads, n) mean attention at distance δ, over the queries that have one.
    without_first : (layers, heads, n - 1) the same among the tokens after the first, each query's
        weights summing to 1 over them: the share of a sink would blur every distance.
    entropy : (layers, heads, n) nats, per query.
    received : (layers, heads, n) mean attention that a key gets from itself and all later queries.
    statistics : name → (layers, heads), the names of STATISTICS.
    maps : (layers, heads, cells, cells) means over blocks of queries × keys.
    map_places : (cells,) middle of each block, in tokens.
    predicted_mean : (layers, heads, n - 1) the core's prediction of ``without_first`` where every
        query is the mean of this head's queries on this text and every key the mean of its keys:
        the waves of `measures.given_scores`. Nothing is fitted to the weights.
    predicted_equal : (layers, n - 1) an illustration of the layer's frequencies alone: the same
        where every key equals its query, with the logit ``match``, which is no head's own.
    sizes : (layers, heads) mean |q| times mean |k| times the scale, after the rotation: the logit
        of a query and a key of mean size that point the same way. Most heads' is above ``match``.
    gaps : (layers,) largest difference between the model's own weights and those that the core
        gives for its q and k.
    links : the encodings that the model's configuration means, those of its layers in order, each
        once.
    facts : model, hash of its weights, hash of the text, versions.
    """

    model: str
    title: str
    layers: int
    heads: int
    key_heads: int
    tokens: tuple[str, ...]
    cut_from: int
    by_distance: np.ndarray
    without_first: np.ndarray
    entropy: np.ndarray
    received: np.ndarray
    statistics: Mapping[str, np.ndarray]
    maps: np.ndarray
    map_places: np.ndarray
    match: float
    predicted_equal: np.ndarray
    predicted_mean: np.ndarray
    sizes: np.ndarray
    gaps: np.ndarray
    links: tuple[str, ...]
    seconds: float
    facts: Mapping[str, Any]

    @property
    def predicted_none(self) -> np.ndarray:
        """(n - 1,) mean attention at a distance where all logits are equal."""
        return predicted.from_no_positions(len(self.tokens) - 1)

    @property
    def largest_gap(self) -> float:
        """Of all layers."""
        return float(self.gaps.max())

    @property
    def odd_layers(self) -> tuple[int, ...]:
        """Layers whose weights the core does not make: they hold more than q, k and rotation."""
        return tuple(int(layer) for layer in np.flatnonzero(self.gaps > MOST_GAP))

    @property
    def most_entropy(self) -> np.ndarray:
        """(n,) ln of the number of keys that each query sees, nats."""
        return np.asarray(np.log(np.arange(1, len(self.tokens) + 1)))

    def ranked(self, statistic: str, *, descending: bool = True) -> list[tuple[int, int]]:
        """(layer, head) of every head, sorted by a statistic; ties stay in the model's order."""
        values = self.statistics[statistic].ravel()
        order = np.argsort(-values if descending else values, kind="stable")
        return [(int(place) // self.heads, int(place) % self.heads) for place in order]


@dataclass(frozen=True, kw_only=True)
class HeadMap:
    """The whole map of one head.

    Attributes
    ----------
    weights : (n, n) queries × keys, each row summing to 1.
    received : (n,) mean attention that a key gets from the queries that see it.
    entropy : (n,) nats, per query.
    by_distance : (n,) mean attention at a distance.
    """

    model: str
    layer: int
    head: int
    tokens: tuple[str, ...]
    weights: np.ndarray
    received: np.ndarray
    entropy: np.ndarray
    by_distance: np.ndarray


@dataclass(frozen=True, kw_only=True)
class QueriesKeys:
    """Queries and keys of one head before the rotation, and what their logits do with distance.

    The first token is left out of means over tokens: as a sink its key is unlike all others.

    Attributes
    ----------
    queries, keys : (n, head_dim) before the rotation; groups of query heads share a key head.
    mean_query, mean_key : (head_dim,) over the tokens from 1 on.
    distances : (n - 1,) 0 … n-2: those that tokens from 1 on have.
    measured : (n - 1,) mean of the logits q_m·R·k_n/√D at a distance.
    spread : (n - 1,) their standard deviation; 0 where there is one pair only.
    given : (n - 1,) `measures.given_scores` of the mean query and the mean key: what is left where
        every token is the average one, and only the distance tells keys apart.
    weight : (n - 1,) measured mean attention among the tokens after the first, at a distance.
    predicted : (n - 1,) the mean attention that ``given`` makes in a softmax over those tokens.
    link : the encoding, as the core reads it from the model's configuration.
    window : tokens of the original window that the configuration names, or else of its only one;
        None where it names none.
    """

    model: str
    layer: int
    head: int
    key_head: int
    tokens: tuple[str, ...]
    queries: np.ndarray
    keys: np.ndarray
    mean_query: np.ndarray
    mean_key: np.ndarray
    distances: np.ndarray
    measured: np.ndarray
    spread: np.ndarray
    given: np.ndarray
    weight: np.ndarray
    predicted: np.ndarray
    link: str
    window: int | None


@dataclass(frozen=True, kw_only=True)
class Closely:
    """One head closely, from one pass: its map, and its queries and keys."""

    map: HeadMap
    pair: QueriesKeys


@dataclass(frozen=True, kw_only=True)
class Permuted:
    """An encoder that reads the same tokens at true and at other position ids.

    Attributes
    ----------
    order, seed : what was done to the ids; ``position_ids`` are the ids themselves, (n,).
    maps, permuted_maps : (layers, heads, cells, cells) attention, in the order of the text.
    map_places : (cells,) middle of each block, in tokens.
    neighbours, permuted_neighbours : (layers, heads) share of attention on the tokens beside, as
        the text has them.
    id_neighbours : (layers, heads) with the other ids: share on the tokens whose ids stand beside.
    change : (layers, heads) mean absolute change of a weight row, Σ|a' - a|/2 per query: 0 for the
        same attention, 1 where no weight stayed.
    cosine : of the sentence's embedding with true and with other ids.
    similarity, permuted_similarity : cosine of the two sentences' embeddings, both with true ids,
        then both with ids of the other order; NaN where there is one sentence only.
    """

    model: str
    title: str
    order: str
    seed: int
    layers: int
    heads: int
    tokens: tuple[str, ...]
    cut_from: int
    position_ids: np.ndarray
    maps: np.ndarray
    permuted_maps: np.ndarray
    map_places: np.ndarray
    neighbours: np.ndarray
    permuted_neighbours: np.ndarray
    id_neighbours: np.ndarray
    change: np.ndarray
    cosine: float
    other: str
    similarity: float
    permuted_similarity: float
    facts: Mapping[str, Any]
