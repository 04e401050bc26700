"""FIRE's distance, and small networks with the weights given: shared by FIRE, DAPE and others."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from array_api_compat import array_namespace

from posviz.results import Array

Activation = Literal["relu", "leaky_relu", "silu"]
_LEAK = 0.01
"""Slope of a leaky ReLU below 0, PyTorch's default."""


def psi(distance: Array, c: Array | float) -> Array:
    """ψ(x) = ln(|c·x| + 1), of any shape: near distances are told apart better than far ones."""
    xp = array_namespace(distance)
    return xp.log(xp.abs(c * distance) + 1)


def normalised_distance(
    distance: Array, query: Array, *, c: Array | float, threshold: Array | float, eps: float
) -> Array:
    """ψ(δ) / (ψ(max(m, threshold)) + eps): from 0 to below 1 for distances up to m.

    Parameters
    ----------
    distance : (queries, keys) tokens.
    query : (queries, 1) tokens, the query's position m.
    c, threshold : learned numbers; the threshold keeps short sequences from being stretched.
    eps : keeps the quotient finite where the threshold is 0.

    Li et al., arXiv:2310.04418, section 3.2; the repositories chuanyang-Zheng/DAPE and
    mcleish7/arithmetic add eps outside ψ as here.
    """
    xp = array_namespace(query)
    least = xp.zeros_like(query) + threshold
    return psi(distance, c) / (psi(xp.where(query > least, query, least), c) + eps)


def perceptron(
    values: Array, layers: Sequence[tuple[Array, Array]], activation: Activation
) -> Array:
    """Layers x W^T + b one after the other, with the activation between them.

    Parameters
    ----------
    values : (..., in) features.
    layers : (weight (out, in), bias (out,)) of each layer.

    Returns
    -------
    (..., out) of the last layer, without an activation.
    """
    xp = array_namespace(values)
    for place, (weight, bias) in enumerate(layers):
        values = _activated(values, activation, xp) if place else values
        values = xp.matmul(values, xp.matrix_transpose(weight)) + bias
    return values


def _activated(values: Array, activation: Activation, xp: Any) -> Array:
    if activation == "silu":
        # x·σ(x), with an exponential that cannot overflow.
        small = xp.exp(-xp.abs(values))
        return values * xp.where(values > 0, 1 / (1 + small), small / (1 + small))
    leak = _LEAK if activation == "leaky_relu" else 0.0
    return xp.where(values > 0, values, leak * values)


def named_layers(parts: Mapping[str, Array], *names: str) -> list[tuple[Array, Array]]:
    """Weight and bias of layers by their names: ``mlp.0`` has ``mlp.0.weight``, ``mlp.0.bias``."""
    return [(parts[f"{name}.weight"], parts[f"{name}.bias"]) for name in names]


def linear_start(
    rng: np.random.Generator, name: str, inputs: int, outputs: int
) -> dict[str, np.ndarray]:
    """PyTorch's initialisation of a linear layer: U(±1/√inputs) for its weight and its bias."""
    reach = 1 / math.sqrt(inputs)
    return {
        f"{name}.weight": rng.uniform(-reach, reach, (outputs, inputs)),
        f"{name}.bias": rng.uniform(-reach, reach, outputs),
    }


def heads_first(values: Array) -> Array:
    """(..., heads) as (heads, ...)."""
    return array_namespace(values).moveaxis(values, -1, 0)
