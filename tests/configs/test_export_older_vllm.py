"""Flags for vLLM before 0.11.1."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from posviz import configs, get
from tests.configs.case_files import LLAMA_4096, QWEN_YARN


def text_of(runtime: str, **lengths: int) -> str:
    return configs.export(configs.read(QWEN_YARN), runtime, **lengths).text


def llama(**more: Any) -> configs.Model:
    return configs.read(LLAMA_4096 | more)


def test_older_vllm_gets_its_own_flags_and_says_up_to_which_release() -> None:
    written = configs.export(configs.read(QWEN_YARN), "vllm_old")
    words = shlex.split(written.text)
    assert words[0::2] == ["--rope-scaling", "--rope-theta", "--max-model-len"]
    assert json.loads(words[1]) == QWEN_YARN["rope_scaling"]
    assert words[3::2] == ["1000000", "131072"]
    assert "vLLM 0.11.1 removed --rope-scaling" in written.notes[0]


def test_the_removed_flags_are_written_for_older_vllm_only() -> None:
    for runtime in set(configs.RUNTIMES) - {"vllm_old", "llama_cpp"}:
        text = text_of(runtime)
        assert "--rope-scaling" not in text
        assert "--rope-theta" not in text
    assert "--hf-overrides" not in text_of("vllm_old")


def test_older_vllm_has_no_flag_that_removes_a_model_s_own_scaling() -> None:
    plain = get("rope")(base=1e6, head_dim=128)
    words = shlex.split(configs.export(configs.read(QWEN_YARN).with_spec(plain), "vllm_old").text)
    assert json.loads(words[1]) == {"rope_type": "linear", "factor": 1.0}
    assert "--rope-scaling" not in configs.export(llama(), "vllm_old").text


def test_older_vllm_s_attention_factor_is_a_multiple_and_mscale_unread() -> None:
    # m(16, 1)/m(16, 0.8) = 1.277258872/1.221807098 = 1.045385048; divided by 1.277258872 it is
    # 1/1.221807098.
    spec = get("yarn")(scaling_factor=16.0, mscale=1.0, mscale_all_dim=0.8)
    written = json.loads(shlex.split(configs.export(spec, "vllm_old").text)[1])
    assert written["attn_factor"] == pytest.approx(1 / 1.221807098, rel=1e-9)
    assert "mscale" not in written
