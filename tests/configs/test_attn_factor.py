"""attn_factor and attention_factor side by side: every runtime comes to the same number."""

from __future__ import annotations

from typing import Any

import pytest

from posviz import configs
from posviz.configs.writers import read_export

YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
# 0.1·ln 4 + 1
DERIVED = 1.1386294361119891


def config(**more: Any) -> dict[str, Any]:
    return {
        "head_dim": 128,
        "rope_theta": 1e6,
        "max_position_embeddings": 131072,
        "rope_scaling": {**YARN, **more},
    }


@pytest.mark.parametrize("attn", [0.5, 0.9, 2, 1.25])
def test_the_repair_leaves_those_who_were_right(attn: float) -> None:
    before = config(attn_factor=attn)
    after = configs.check(before).patched("PV164")
    assert configs.read(after).rotation().attention_factor == pytest.approx(attn * DERIVED)
    for each in (before, after):
        spec: Any = read_export(each, "sglang").spec()
        assert spec.magnitude(1) == pytest.approx(attn * DERIVED)


@pytest.mark.parametrize("runtime", [None, "sglang", "vllm_old", "transformers", "vllm"])
def test_both_keys_that_agree_are_not_complained_about(runtime: str | None) -> None:
    both = config(attn_factor=0.9, attention_factor=0.9 * DERIVED)
    report = configs.check(both, runtime=runtime)
    assert report.severity == "ok", report.diagnoses


def test_two_that_differ_are_told_and_not_decided() -> None:
    found = configs.check(config(attn_factor=0.9, attention_factor=1.0)).of("PV164")[0]
    assert found.severity == "warn"
    assert not found.patch


def test_with_two_mscales_there_is_no_one_number() -> None:
    found = configs.check(config(attn_factor=0.9, mscale=1.0, mscale_all_dim=0.5)).of("PV164")[0]
    assert not found.patch
    assert "Write both" not in found.message


def test_it_says_who_reads_which_key() -> None:
    text = configs.check(config(attn_factor=0.5)).of("PV164")[0].message
    assert "older vLLM and SGLang multiply" in text
    assert "attention_factor = 0.5 × (0.1·ln 4 + 1) = 0.569314718" in text
