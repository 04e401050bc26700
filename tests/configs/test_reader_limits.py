"""Values of keys that have nothing to do with the case, which must not stop a reading."""

from __future__ import annotations

from typing import Any

import pytest

from posviz import configs


@pytest.mark.parametrize("value", [{"a": 1}, [], "x", True, None, 0.5])
def test_attn_factor_of_any_kind_reads(value: Any) -> None:
    rope = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
    config = {"head_dim": 128, "rope_theta": 1e6, "max_position_embeddings": 131072}
    assert configs.check({**config, "rope_scaling": {**rope, "attn_factor": value}}) is not None


@pytest.mark.parametrize("window", [1e300, 2**40 + 1, 10**15])
def test_a_window_beyond_every_model_is_refused(window: float) -> None:
    report = configs.check({"head_dim": 8, "rope_theta": 1e4, "max_position_embeddings": window})
    assert report.severity == "error"
    assert "must be at most 1099511627776 (2^40)" in report.of("PV130")[0].message


def test_the_longest_window_reads() -> None:
    config = {"head_dim": 8, "rope_theta": 1e4, "max_position_embeddings": 2**40}
    assert configs.check(config, target_length=4096).severity == "ok"
