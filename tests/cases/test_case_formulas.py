"""Whole ladders of configurations against the published formulas, written out beside the tests."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from posviz import configs
from tests.cases.formulas import (
    bounds,
    dynamic_alpha,
    ladder,
    llama3,
    longrope,
    longrope_magnitude,
    magnitude,
    raised,
    slowest,
    yarn,
)
from tests.cases.kind import SPELLINGS
from tests.cases.practice import near

HEADS = ((1e4, 64), (5e5, 128), (1e6, 128), (150000.0, 64), (1e7, 256))
"""Base and head dimension."""
EXTENSIONS = ((4096, 4.0), (8192, 8.0), (32768, 2.5))
"""Original window and factor."""
GRID = [(*head, *extension) for head, extension in itertools.product(HEADS, EXTENSIONS)]


def model(rope: dict[str, Any], base: float, dim: int, window: float) -> configs.Model:
    config = {
        "head_dim": dim,
        "rope_theta": base,
        "max_position_embeddings": int(window),
        "rope_scaling": rope,
    }
    return configs.check(config).model


@pytest.mark.parametrize(("base", "dim", "original", "factor"), GRID)
def test_yarn(base: float, dim: int, original: int, factor: float) -> None:
    rope = {"rope_type": "yarn", "factor": factor, "original_max_position_embeddings": original}
    rotation = model(rope, base, dim, factor * original).rotation()
    ramp = bounds(base, dim, original)
    assert rotation.inv_freq == near(np.array(yarn(base, dim, factor, ramp)), 1e-12)
    assert rotation.attention_factor == near(magnitude(factor), 1e-12)


@pytest.mark.parametrize(("base", "dim", "original", "factor"), GRID)
def test_llama3(base: float, dim: int, original: int, factor: float) -> None:
    rope = {
        "rope_type": "llama3",
        "factor": factor,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": original,
    }
    rotation = model(rope, base, dim, 131072).rotation()
    wanted = llama3(base, dim, factor, 1.0, 4.0, original)
    assert rotation.inv_freq == near(np.array(wanted), 1e-12)
    assert rotation.attention_factor == 1.0


@pytest.mark.parametrize(("base", "dim", "original", "factor"), GRID)
def test_linear_and_dynamic(base: float, dim: int, original: int, factor: float) -> None:
    linear = model({"type": "linear", "factor": factor}, base, dim, original)
    assert linear.rotation().inv_freq == near(np.array(ladder(base, dim)) / factor, 1e-12)
    dynamic = model({"type": "dynamic", "factor": factor}, base, dim, original)
    for length in (1, original, original + 1, 3 * original):
        alpha = dynamic_alpha(factor, length, original)
        wanted = np.array(ladder(raised(base, alpha, dim), dim))
        assert dynamic.rotation(length=length).inv_freq == near(wanted, 1e-12)


@pytest.mark.parametrize(("base", "dim", "original", "factor"), GRID)
def test_longrope(base: float, dim: int, original: int, factor: float) -> None:
    short = [1.0 + pair / dim for pair in range(dim // 2)]
    long = [1.0 + pair for pair in range(dim // 2)]
    rope = {
        "rope_type": "longrope",
        "short_factor": short,
        "long_factor": long,
        "original_max_position_embeddings": original,
    }
    found = model(rope, base, dim, factor * original)
    for length, factors in ((original, short), (original + 1, long)):
        rotation = found.rotation(length=length)
        assert rotation.inv_freq == near(np.array(longrope(base, dim, factors)), 1e-12)
        assert rotation.attention_factor == near(longrope_magnitude(factor, original), 1e-12)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_share_that_rotates_in_every_spelling(spelling: str) -> None:
    rope = {
        "rope_type": "yarn",
        "factor": 4.0,
        "original_max_position_embeddings": 32768,
        "partial_rotary_factor": 0.5,
    }
    config = {
        "head_dim": 128,
        "num_hidden_layers": 32,
        "rope_theta": 1e6,
        "max_position_embeddings": 131072,
        "rope_scaling": rope,
    }
    report = configs.check(SPELLINGS[spelling](config))
    rotation = report.model.rotation("full_attention")
    assert rotation.inv_freq == near(np.array(yarn(1e6, 64, 4.0, bounds(1e6, 64, 32768))), 1e-12)
    assert report.severity == "ok"
    plain = configs.check({**config, "rope_scaling": {"partial_rotary_factor": 0.5}})
    assert plain.values["slowest_wavelength"] == near(slowest(1e6, 64), 1e-12)
