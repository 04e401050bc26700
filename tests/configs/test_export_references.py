"""Settings out, held against what vLLM, MLX and llama.cpp's ggml computed from such settings.

Two things are compared for every case: what is written with what the runtime was given, and the
rotation that our reader makes of the text with the numbers that came out of the runtime.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from posviz import configs, parse
from posviz.encodings.base import Encoding

REFERENCES = Path(__file__).parents[1] / "references"
METHODS = ("rope", "linear", "ntk_aware", "yarn", "llama3", "p_rope", "longrope")


def reference_cases(prefix: str) -> list[dict[str, Any]]:
    """Cases of a runtime that hold frequencies or a table, not rotated vectors alone."""
    cases = []
    for method in METHODS:
        content = json.loads((REFERENCES / f"{method}.json").read_text(encoding="utf-8"))
        cases += [case for case in content["cases"] if case["id"].startswith(prefix)]
    wanted = {"cos", "wavelength_over_2pi", "mscale"}
    return [case for case in cases if wanted & set(case["outputs"])]


VLLM, MLX, GGML = (reference_cases(prefix) for prefix in ("vllm-", "mlx-", "ggml-"))


def test_there_are_cases() -> None:
    assert (len(VLLM), len(MLX), len(GGML)) == (11, 3, 4)


def read_again(written: configs.Settings) -> Any:
    """The spec that the text alone means, over the head and what else is not a setting."""
    keys = ("head_dim", "qk_rope_head_dim", "rope_interleave")
    head = {key: written.data[key] for key in keys if key in written.data}
    model = configs.read_export(written.text, written.runtime, written.base_config or head)
    return model.spec()


def assert_close(ours: Any, theirs: Any, tolerance: Mapping[str, float]) -> None:
    np.testing.assert_allclose(ours, theirs, rtol=tolerance["rtol"], atol=tolerance["atol"])


def assert_same_table(spec: Any, case: Mapping[str, Any]) -> None:
    rotation = spec.encode(np.array(case["params"]["positions"], dtype=np.float64))
    angles = np.outer(rotation.positions, rotation.inv_freq)
    for name, wave in (("cos", np.cos), ("sin", np.sin)):
        assert_close(rotation.attention_factor * wave(angles), case["outputs"][name], case["tol"])


@pytest.mark.parametrize("case", VLLM, ids=lambda case: case["id"])
def test_vllm(case: dict[str, Any]) -> None:
    written = configs.export(parse(case["spec"]), "vllm")
    ours = json.loads(shlex.split(written.text)[1])["rope_parameters"]
    theirs = case["params"]["rope_parameters"]
    if isinstance(theirs, dict):
        unsaid = {"beta_fast": 32.0, "beta_slow": 1.0} if "yarn" in theirs["rope_type"] else {}
        # vLLM's DeepSeek classes make deepseek_yarn of yarn.
        renamed = theirs | {"rope_type": theirs["rope_type"].removeprefix("deepseek_")}
        assert unsaid | ours == unsaid | renamed
    spec = read_again(written)
    if "mscale" in case["outputs"]:
        assert_close(spec.magnitude(1), case["outputs"]["mscale"], case["tol"])
    else:
        assert_same_table(spec, case)


@pytest.mark.parametrize("case", VLLM, ids=lambda case: case["id"])
def test_the_older_flags_mean_the_same_or_are_refused(case: dict[str, Any]) -> None:
    spec = parse(case["spec"])
    refused = {"vllm-ntk-fixed": "ntk", "vllm-proportional": "proportional"}
    refused["vllm-yarn-untruncated"] = "truncate"
    if case["id"] in refused:
        with pytest.raises(configs.ExportError, match=refused[case["id"]]):
            configs.export(spec, "vllm_old")
        return
    again = read_again(configs.export(spec, "vllm_old"))
    if "mscale" in case["outputs"]:
        assert_close(again.magnitude(1), case["outputs"]["mscale"], case["tol"])
    else:
        assert_same_table(again, case)


@pytest.mark.parametrize("case", MLX, ids=lambda case: case["id"])
def test_mlx(case: dict[str, Any]) -> None:
    written = configs.export(parse(case["spec"]), "mlx")
    ours = json.loads(written.text)
    assert ours["rope_scaling"] == case["params"]["scaling_config"]
    assert (ours["rope_theta"], written.data["head_dim"]) == (
        case["params"]["base"],
        case["params"]["dims"],
    )
    rotation = read_again(written).encode([0.0])
    wavelengths = np.array([value or np.inf for value in case["outputs"]["wavelength_over_2pi"]])
    assert_close(rotation.inv_freq, 1 / wavelengths, case["tol"])
    scale = case["outputs"].get("input_scale", 1.0)
    assert_close(rotation.attention_factor, scale, case["tol"])


def around(spec: Encoding) -> configs.Model:
    """A Llama model with this spec, so that the architecture's name is known."""
    config = {
        "model_type": "llama",
        "head_dim": spec.head_dim,  # type: ignore[attr-defined]
        "max_position_embeddings": 4096,
    }
    return configs.read(config).with_spec(spec)


@pytest.mark.parametrize("case", GGML, ids=lambda case: case["id"])
def test_llama_cpp(case: dict[str, Any]) -> None:
    spec = parse(case["spec"])
    written = configs.export(around(spec), "llama_cpp")
    flags, theirs = written.data, case["params"]
    assert 1 / flags.get("rope_scale", 1.0) == theirs["freq_scale"]
    assert flags["rope_freq_base"] == theirs["freq_base"]
    assert (flags["rope_scaling"] == "yarn") == (theirs["ext_factor"] == 1.0)
    # llama.cpp hands its key attn_factor to this parameter of ggml; 1 where there is no key.
    key, _, value = flags.get("override_kv", "=float:1").partition("=float:")
    assert key in ("", "llama.rope.scaling.attn_factor")
    assert float(value) == pytest.approx(theirs["attn_factor"], rel=1e-15)
    assert_same_table(read_again(written), case)
