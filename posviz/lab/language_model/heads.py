"""Queries and keys of one head before the rotation: real decay instead of random; heavy."""

from __future__ import annotations

import numpy as np
import torch

from posviz import attention, link
from posviz.lab.language_model import load, predicted
from posviz.lab.language_model.layers import Seen, encoded, spec_of
from posviz.lab.language_model.observe import checked_tokens, map_of, one_layer
from posviz.lab.language_model.records import MOST_TOKENS, Closely, QueriesKeys
from posviz.lab.workers import Report
from posviz.measures import observed
from posviz.measures.observed import expected_by_distance
from posviz.results import Result


def closely(report: Report, *, model: str, text: str, layer: int, head: int) -> Closely:
    """The map of a head, and its queries and keys, from one pass that ends after its layer.

    Raises
    ------
    LabError : as :func:`queries_and_keys`.
    """
    loaded = load.decoder(model, report)
    read = load.tokens_of(loaded, text, MOST_TOKENS)
    spec_of(loaded, layer)  # refuses before anything is measured
    seen = one_layer(loaded, read, layer, head, report)
    return Closely(map=map_of(seen, head, model, read), pair=_pair(seen, head, loaded, model, read))


def queries_and_keys(
    report: Report, *, model: str, text: str, layer: int, head: int, tokens: int = MOST_TOKENS
) -> QueriesKeys:
    """q and k of a head over a text, their logits against distance, and those of their means.

    Raises
    ------
    LabError : as `observe.head_map`; a layer that does not rotate queries and keys.
    """
    loaded = load.decoder(model, report)
    read = load.tokens_of(loaded, text, checked_tokens(tokens))
    spec_of(loaded, layer)  # refuses before anything is measured
    return _pair(one_layer(loaded, read, layer, head, report), head, loaded, model, read)


def _pair(seen: Seen, head: int, loaded: load.Loaded, model: str, read: load.Tokens) -> QueriesKeys:
    spec = spec_of(loaded, seen.layer)
    q, k = seen.queries[head].double(), seen.keys_by_head[head].double()
    mean_q, mean_k = (one[1:].mean(dim=0).numpy() for one in (q, k))
    rest = len(read.pieces) - 1
    measured, spread = _logits(encoded(spec, len(read.pieces)), q, k, seen.scale)
    given = predicted.mean_logits(spec, mean_q, mean_k, rest)
    weights = observed.without_first(seen.weights[head])
    return QueriesKeys(
        model=model,
        layer=seen.layer,
        head=head,
        key_head=_key_head(seen, head),
        tokens=read.pieces,
        queries=q.float().numpy(),
        keys=k.float().numpy(),
        mean_query=mean_q,
        mean_key=mean_k,
        distances=np.arange(rest),
        measured=measured,
        spread=spread,
        given=given,
        weight=observed.mean_by_distance(weights).numpy(),
        predicted=expected_by_distance(given),
        link=link(spec),
        window=loaded.reading.trained_window or loaded.reading.window,
    )


def _logits(
    result: Result, q: torch.Tensor, k: torch.Tensor, scale: float
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of the logits at each distance, the first token left out."""
    logits = attention.logits(result, q, k, scale=scale)[1:, 1:]
    mean = observed.mean_by_distance(logits)
    # About the mean of each distance: a difference of squares would lose the small ones.
    places = torch.arange(logits.shape[0])
    gaps = (places[:, None] - places[None, :]).clamp(min=0)
    spread = observed.mean_by_distance((logits - mean[gaps]) ** 2).sqrt()
    return mean.numpy(), spread.numpy()


def _key_head(seen: Seen, head: int) -> int:
    return head // (seen.queries.shape[0] // seen.keys.shape[0])
