"""Combinations that have no value: one sentence that names both parameters and what came."""

from __future__ import annotations

from typing import Any

import pytest

import posviz
from posviz import ParameterError

LONG = {"head_dim": 4, "short_factor": (1.0, 1.0), "long_factor": (1.0, 2.0)}

RULES: list[tuple[str, dict[str, Any], str]] = [
    (
        "rope",
        {"head_dim": 65},
        "RoPE: head_dim and partial_rotary_factor must give an even number of rotary dimensions of "
        "at least 2; got 65 dimensions with 32 rotating pairs from head_dim 65 and "
        "partial_rotary_factor 1.0.",
    ),
    (
        "rope",
        {"head_dim": 8, "partial_rotary_factor": 0.2, "partial_rotary": "proportional"},
        "RoPE: head_dim and partial_rotary_factor must give an even number of rotary dimensions of "
        "at least 2; got 8 dimensions with 0 rotating pairs from head_dim 8 and "
        "partial_rotary_factor 0.2.",
    ),
    (
        "yarn",
        {"beta_fast": 1.0, "beta_slow": 32.0},
        "YaRN: beta_fast must be at least beta_slow; got beta_fast 1 and beta_slow 32.",
    ),
    (
        "ntk_by_parts",
        {"beta_slow": 40.0},
        "NTK-by-parts: beta_fast must be at least beta_slow; got beta_fast 32 and beta_slow 40.",
    ),
    (
        "llama3",
        {"low_freq_factor": 8.0},
        "Llama 3 scaling: high_freq_factor must be at least low_freq_factor; got "
        "high_freq_factor 4 and low_freq_factor 8.",
    ),
    (
        "ntk_aware",
        {"mixed_b": 0.5},
        "NTK-aware: mixed_b must be left out unless variant is vllm; got mixed_b 0.5 with variant "
        "published.",
    ),
    (
        "truncated_basis",
        {"frozen_turns": 2.0},
        "Truncated basis: frozen_turns must be at most kept_turns; got frozen_turns 2 and "
        "kept_turns 1.",
    ),
    (
        "rerope",
        {"original_max_position_embeddings": 1},
        "ReRoPE: original_max_position_embeddings must be at least 2 where query_scaling is true, "
        "because it is divided by ln L; got original_max_position_embeddings 1.",
    ),
    (
        "dca",
        {"chunk_size": 4096},
        "Dual chunk attention: chunk_size + local_window must be at most "
        "original_max_position_embeddings, and chunk_size below it; got chunk_size 4096, "
        "local_window 512 and original_max_position_embeddings 4096.",
    ),
    (
        "dca",
        {"rule": "code", "chunk_size": 512},
        "Dual chunk attention: local_window must be below chunk_size where rule is code; got "
        "local_window 512 and chunk_size 512.",
    ),
    (
        "longrope",
        {"head_dim": 128},
        "LongRoPE: short_factor must have one number for each of the 64 pairs of head_dim 128 "
        "with partial_rotary_factor 1; got 48 numbers.",
    ),
    (
        "longrope",
        {**LONG, "long_factor": (1.0,)},
        "LongRoPE: long_factor must have one number for each of the 2 pairs of head_dim 4 with "
        "partial_rotary_factor 1; got 1 numbers.",
    ),
    (
        "longrope",
        {"attention_factor": 1.5, "long_mscale": 1.25},
        "LongRoPE: long_mscale must be left out where attention_factor is given; got long_mscale "
        "1.25 and attention_factor 1.5.",
    ),
    (
        "longrope",
        {"original_max_position_embeddings": 1},
        "LongRoPE: original_max_position_embeddings must be at least 2 where magnitude_policy is "
        "su, because it is divided by ln L; got original_max_position_embeddings 1.",
    ),
]


@pytest.mark.parametrize(("encoding", "values", "message"), RULES)
def test_rule_names_both_parameters(encoding: str, values: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        posviz.get(encoding)(**values)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "link",
    [
        "yarn?beta_fast=1&beta_slow=1",
        "llama3?low_freq_factor=4&high_freq_factor=4",
        "truncated_basis?frozen_turns=1",
        "rerope?original_max_position_embeddings=1&query_scaling=false",
        "dca?chunk_size=3584",
        "longrope?original_max_position_embeddings=1&magnitude_policy=yarn",
        "longrope?original_max_position_embeddings=1&attention_factor=1",
        "longrope?original_max_position_embeddings=1&scaling_factor=1",
    ],
)
def test_the_edge_of_a_rule_is_allowed(link: str) -> None:
    assert posviz.parse(link).encode([0, 1]).inv_freq[0] > 0


@pytest.mark.parametrize(
    ("positions", "message"),
    [
        ([[0, 1]], "positions must be one row of numbers; got 2 axes."),
        ([float("nan")], "positions must be finite numbers; got NaN or infinity."),
        ([1.0, float("inf")], "positions must be finite numbers; got NaN or infinity."),
        ([True], "positions must be numbers; got bool values."),
        ("abc", "positions must be numbers; got <U3 values."),
        ([None], "positions must be numbers; got object values."),
        ([0, 1e300], "RoPE: positions must be at most 2^53 from 0; got 1e+300."),
        ([-1e300], "RoPE: positions must be at most 2^53 from 0; got 1e+300."),
    ],
)
def test_bad_positions_give_one_sentence(positions: Any, message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        posviz.parse("rope").encode(positions)
    assert str(caught.value) == message


def test_no_positions_give_an_empty_table() -> None:
    result = posviz.parse("rope").encode([])
    assert result.angles.shape == (0, 64)
