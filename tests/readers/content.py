"""Content-dependent biases in the shapes of the libraries that computed them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Case = dict[str, Any]


def cope_added(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    """What CoPE adds, for queries and for gate logits that are given on their own."""
    params = case["params"]
    queries = np.asarray(params["q"], dtype=float)[0]
    weight = np.asarray(params["weights"]["pos_emb"], dtype=float)
    # The one library keeps (numbers, head_dim), the other (1, head_dim, numbers).
    embedding = weight if weight.ndim == 2 else weight[0].T
    _, positions = spec.counted(np.asarray(params["attn_logits"], dtype=float)[0])
    return spec.contextual(queries, positions, embedding)[None]


def cope_logits(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    return np.asarray(case["params"]["attn_logits"], dtype=float) + cope_added(case, spec, expected)


def dape_logits(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    """The adapted logits; queries and keys are chosen so that q·k/√D are the given ones."""
    params = case["params"]
    content = np.asarray(params["logits"], dtype=float)[0]
    count = content.shape[-1]
    queries = content * math.sqrt(spec.head_dim)
    keys = np.broadcast_to(np.eye(count), content.shape)
    wanted = spec.initial_parameters()
    parameters = {name: np.asarray(params["weights"][name], dtype=float) for name in wanted}
    result = spec.encode(np.arange(float(count)), queries=queries, keys=keys, parameters=parameters)
    return np.asarray(result.logits)[None]
