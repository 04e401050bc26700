"""An encoder of the BERT family reads one text at true and at other position ids; heavy."""

from __future__ import annotations

import math

import numpy as np
import torch

from posviz.lab.language_model import load
from posviz.lab.language_model.observe import facts
from posviz.lab.language_model.orders import position_ids
from posviz.lab.language_model.records import MAP_CELLS, MOST_TOKENS, Permuted
from posviz.lab.workers import Progress, Report
from posviz.measures import observed

_LEAST = 5
"""Tokens: the two that mark the ends, and three words."""


def permuted(
    report: Report, *, model: str, text: str, order: str, seed: int = 0, other: str = ""
) -> Permuted:
    """What breaks when the tokens keep their places and only their position ids change.

    To the model, tokens with permuted ids are a text whose words stand in another order: its layers
    hold nothing else about places.

    Parameters
    ----------
    order : a name of `orders.ORDERS`.
    other : a second text, whose likeness to the first is measured with both kinds of ids; NaN
        where there is none.

    Raises
    ------
    LabError : no such model or order, a model that is no encoder, too short a text.
    """
    loaded = load.encoder(model, report)
    rows = int(loaded.model.config.max_position_embeddings)
    most = min(MOST_TOKENS, rows)
    read = load.tokens_of(loaded, text, most, least=_LEAST)
    count = len(read.pieces)
    ids = position_ids(order, count, seed=seed, rows=rows)
    report(Progress(0, 4, "true position ids"))
    weights, embedding = _pass(loaded, read.ids, np.arange(count))
    report(Progress(1, 4, "other position ids"))
    others, moved = _pass(loaded, read.ids, ids)
    similarity = permuted_similarity = math.nan
    if other:
        report(Progress(2, 4, "the second text"))
        second = load.tokens_of(loaded, other, most, least=_LEAST, name="the second text").ids
        size = second.shape[1]
        _, there = _pass(loaded, second, np.arange(size))
        similarity = _cosine(embedding, there)
        _, there = _pass(loaded, second, position_ids(order, size, seed=seed, rows=rows))
        permuted_similarity = _cosine(moved, there)
    maps, places = observed.block_map(weights, MAP_CELLS)
    return Permuted(
        model=loaded.source.name,
        title=loaded.source.title,
        order=order,
        seed=seed,
        layers=weights.shape[0],
        heads=weights.shape[1],
        tokens=tuple(loaded.tokenizer.convert_ids_to_tokens(read.ids[0].tolist())),
        cut_from=read.total,
        position_ids=ids,
        maps=maps,
        permuted_maps=observed.block_map(others, MAP_CELLS)[0],
        map_places=places,
        neighbours=observed.neighbour_share(weights),
        permuted_neighbours=observed.neighbour_share(others),
        id_neighbours=_by_ids(others, ids),
        change=observed.row_change(weights, others),
        cosine=_cosine(embedding, moved),
        other=other,
        similarity=similarity,
        permuted_similarity=permuted_similarity,
        facts=facts(loaded, text),
    )


def _pass(
    loaded: load.Loaded, tokens: torch.Tensor, ids: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Attention (layers, heads, n, n) and the sentence's embedding: the mean over its tokens."""
    with torch.inference_mode():
        found = loaded.model(
            input_ids=tokens,
            attention_mask=torch.ones_like(tokens),
            position_ids=torch.from_numpy(np.ascontiguousarray(ids))[None],
            output_attentions=True,
        )
    weights = torch.cat(found.attentions).numpy()
    return weights, found.last_hidden_state[0].double().mean(dim=0).numpy()


def _by_ids(weights: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Share of attention on tokens whose ids stand beside; NaN where ids tell no neighbours."""
    if len(np.unique(ids)) < len(ids):
        return np.full(weights.shape[:-2], np.nan)
    order = np.argsort(ids)
    return np.asarray(observed.neighbour_share(weights[..., order, :][..., order]))


def _cosine(one: np.ndarray, other: np.ndarray) -> float:
    return float(one @ other / (np.linalg.norm(one) * np.linalg.norm(other)))
