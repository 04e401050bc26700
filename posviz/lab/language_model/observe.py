"""The attention of every head of a model over one text; heavy."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import torch

from posviz import __version__, link
from posviz.encodings.base import Encoding
from posviz.lab.errors import LabError
from posviz.lab.hashes import text_hash
from posviz.lab.language_model import load, predicted
from posviz.lab.language_model.layers import (
    Seen,
    attention_modules,
    core_weights,
    encoded,
    run,
    spec_of,
)
from posviz.lab.language_model.records import (
    MAP_CELLS,
    MEAN_ENTROPY,
    MOST_TOKENS,
    HeadMap,
    Observation,
)
from posviz.lab.workers import Progress, Report
from posviz.measures import observed
from posviz.results import Rotation

MATCH = 10.5
"""Logit of a key that equals its query, as on the attention page: an illustration, no head's."""
_READ_WITH = ("torch", "transformers", "gguf", "tokenizers")
"""Packages that the numbers depend on: how a file becomes weights, and a text tokens."""


@dataclass
class _Gathered:
    """What is kept of each layer: a few numbers per head and token."""

    report: Report
    layers: int
    specs: list[Encoding]
    encodings: dict[Encoding, Rotation] = field(default_factory=dict)
    arrays: dict[str, list[np.ndarray]] = field(default_factory=dict)
    places: np.ndarray = field(default_factory=lambda: np.zeros(0))
    gaps: list[float] = field(default_factory=list)

    def look(self, seen: Seen) -> None:
        self.report(Progress(seen.layer, self.layers, f"layer {seen.layer}"))
        result = self._encoding(seen)
        core = core_weights(result, seen)
        self.gaps.append(float((core - seen.weights).abs().max()))
        self._measure(seen.weights)
        queries, keys = seen.queries[:, 1:], seen.keys_by_head[:, 1:]
        self._keep(mean_query=queries.mean(dim=1), mean_key=keys.mean(dim=1))
        turned = (
            result.rotate_queries(seen.queries.double()),
            result.rotate_keys(seen.keys_by_head.double()),
        )
        q, k = (one[:, 1:].norm(dim=-1).mean(dim=-1) for one in turned)
        self._keep(sizes=q * k * seen.scale)
        maps, self.places = observed.block_map(seen.weights.numpy(), MAP_CELLS)
        self._keep(maps=maps)

    def _encoding(self, seen: Seen) -> Rotation:
        spec = self.specs[seen.layer]
        if spec not in self.encodings:
            self.encodings[spec] = encoded(spec, seen.weights.shape[-1])
        return self.encodings[spec]

    def _measure(self, weights: torch.Tensor) -> None:
        by_distance = observed.mean_by_distance(weights)
        rest = observed.without_first(weights)
        self._keep(
            by_distance=by_distance,
            without_first=observed.mean_by_distance(rest),
            per_query=observed.entropy(weights),
            received=observed.received(weights),
            entropy=observed.filled_entropy(weights),
            first=observed.first_share(weights),
            diagonal=observed.diagonal_share(weights),
            previous=by_distance[..., 1],
            distance=observed.mean_distance(rest),
        )

    def _keep(self, **found: Any) -> None:
        for name, values in found.items():
            self.arrays.setdefault(name, []).append(np.asarray(values, dtype=np.float32))

    def stacked(self, name: str) -> np.ndarray:
        """(layers, heads, …)."""
        return np.stack(self.arrays[name])


def observe(
    report: Report, *, model: str, text: str, tokens: int = MOST_TOKENS, match: float = MATCH
) -> Observation:
    """Statistics of every head, small maps, and the core's predictions beside them.

    Parameters
    ----------
    model : a short name or a path, as `sources.find` takes it.
    tokens : how many of the text are read, at most 512.
    match : logit of a key that equals its query, for the illustration with equal content.

    Raises
    ------
    LabError : no such model, or one whose attention cannot be read; too short a text.
    """
    loaded = load.decoder(model, report)
    read = load.tokens_of(loaded, text, checked_tokens(tokens))
    started = time.perf_counter()
    layers = len(attention_modules(loaded))
    gathered = _Gathered(report, layers, [spec_of(loaded, layer) for layer in range(layers)])
    run(loaded, read.ids, gathered.look)
    return _observation(loaded, read, gathered, match, started, text)


def head_map(
    report: Report, *, model: str, text: str, layer: int, head: int, tokens: int = MOST_TOKENS
) -> HeadMap:
    """The whole attention of one head, from a pass that ends after its layer.

    Raises
    ------
    LabError : as :func:`observe`; a layer or head that the model does not have.
    """
    loaded = load.decoder(model, report)
    read = load.tokens_of(loaded, text, checked_tokens(tokens))
    seen = one_layer(loaded, read, layer, head, report)
    return map_of(seen, head, model, read)


def map_of(seen: Seen, head: int, model: str, read: load.Tokens) -> HeadMap:
    """The map of one head of a layer that was run."""
    weights = seen.weights[head]
    return HeadMap(
        model=model,
        layer=seen.layer,
        head=head,
        tokens=read.pieces,
        weights=weights.numpy(),
        received=observed.received(weights).numpy(),
        entropy=observed.entropy(weights).numpy(),
        by_distance=observed.mean_by_distance(weights).numpy(),
    )


def one_layer(
    loaded: load.Loaded, read: load.Tokens, layer: int, head: int, report: Report
) -> Seen:
    """What one layer does with a text; the layers after it are not run."""
    layers = len(attention_modules(loaded))
    check_number(loaded, "layer", layer, layers)
    found: list[Seen] = []

    def look(seen: Seen) -> None:
        report(Progress(seen.layer, layer + 1, f"layer {seen.layer}"))
        if seen.layer == layer:
            found.append(seen)

    run(loaded, read.ids, look, last=layer)
    check_number(loaded, "head", head, found[0].weights.shape[0])
    return found[0]


def check_number(loaded: load.Loaded, name: str, value: int, count: int) -> None:
    """A layer or a head, from 0."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < count:
        raise LabError(
            f"{loaded.source.title}: {name} must be a whole number from 0 to {count - 1}; "
            f"got {value}."
        )


def checked_tokens(tokens: int) -> int:
    """How many tokens are read, if that many can be."""
    if isinstance(tokens, bool) or not isinstance(tokens, int) or not 8 <= tokens <= MOST_TOKENS:
        raise LabError(
            f"observed attention: tokens must be a whole number from 8 to {MOST_TOKENS}; "
            f"got {tokens}."
        )
    return tokens


def _observation(
    loaded: load.Loaded,
    read: load.Tokens,
    gathered: _Gathered,
    match: float,
    started: float,
    text: str,
) -> Observation:
    rest = len(read.pieces) - 1
    specs, without_first = gathered.specs, gathered.stacked("without_first")
    from_means = np.stack(
        [
            predicted.from_mean_content(spec, queries, keys, rest)
            for spec, queries, keys in zip(
                specs, gathered.arrays["mean_query"], gathered.arrays["mean_key"], strict=True
            )
        ]
    )
    names = (MEAN_ENTROPY, "first", "diagonal", "previous", "distance")
    statistics = {name: gathered.stacked(name) for name in names}
    statistics["prediction"] = predicted.correlation(without_first, from_means)
    return Observation(
        model=loaded.source.name,
        title=loaded.source.title,
        layers=gathered.layers,
        heads=int(without_first.shape[1]),
        key_heads=int(loaded.model.config.num_key_value_heads),
        tokens=read.pieces,
        cut_from=read.total,
        by_distance=gathered.stacked("by_distance"),
        without_first=without_first,
        entropy=gathered.stacked("per_query"),
        received=gathered.stacked("received"),
        statistics=statistics,
        maps=gathered.stacked("maps"),
        map_places=gathered.places,
        match=match,
        predicted_equal=_equal(specs, rest, match),
        predicted_mean=from_means.astype(np.float32),
        sizes=gathered.stacked("sizes"),
        gaps=np.asarray(gathered.gaps),
        links=tuple(dict.fromkeys(link(spec) for spec in specs)),
        seconds=time.perf_counter() - started,
        facts=facts(loaded, text),
    )


def facts(loaded: load.Loaded, text: str) -> dict[str, Any]:
    """What a result depends on: weights, text and versions."""
    return {
        "model_sha256": loaded.source.file_hash(),
        "text_sha256": text_hash(text),
        "posviz": __version__,
        **{name: _version(name) for name in _READ_WITH},
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _equal(specs: list[Encoding], count: int, match: float) -> np.ndarray:
    """One curve per layer, worked out once for each encoding."""
    curves = {spec: predicted.from_equal_content(spec, count, match) for spec in set(specs)}
    return np.stack([curves[spec] for spec in specs]).astype(np.float32)
