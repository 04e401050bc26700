"""Bases that follow the length, a fixed alpha, and steps."""

from __future__ import annotations

from typing import Any

import pytest

from posviz import configs
from tests.configs.spellings import SPELLINGS, spelled


def dynamic(factor: float = 2.0, window: int = 4096, **keys: Any) -> dict[str, Any]:
    rope = {"rope_type": "dynamic", "factor": factor, **keys}
    return spelled("rope_scaling", rope, base=1e4, window=window)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_bases_at_the_window_at_twice_and_at_the_target(spelling: str) -> None:
    config = spelled(spelling, {"rope_type": "dynamic", "factor": 2.0}, base=1e4, window=2048)
    (found,) = configs.check(config, target_length=2380).of("PV210")
    assert configs.check(config).severity == "info"
    assert found.values["base_at_2048"] == 10000.0
    assert found.values["base_at_2380"] == pytest.approx(13301.34634, rel=1e-9)
    assert found.values["base_at_4096"] == pytest.approx(30527.73675, rel=1e-9)
    assert found.values["base_at_twice_published"] == pytest.approx(20221.26169, rel=1e-9)
    assert found.values["nominal_extended_context"] == 4096


def test_what_each_runtime_does() -> None:
    (found,) = configs.check(dynamic()).of("PV210")
    assert "stays until a call shorter" in found.runtimes["transformers"]
    assert "without memory" in found.runtimes["mlx"]
    assert "does nothing" in found.runtimes["vllm"]
    assert "no dynamic NTK" in found.runtimes["llama_cpp"]


@pytest.mark.parametrize("runtime", ["vllm", "llama_cpp", "ollama"])
def test_where_it_does_nothing_a_static_base_is_named(runtime: str) -> None:
    (found,) = configs.check(dynamic(), runtime=runtime, target_length=8192).of("PV211")
    assert found.severity == "warn"
    assert found.values["static_base"] == pytest.approx(20221.26169, rel=1e-9)
    assert not configs.check(dynamic(), runtime=runtime, target_length=4096).of("PV211")


@pytest.mark.parametrize("runtime", ["transformers", "mlx"])
def test_where_it_works_nothing_is_warned(runtime: str) -> None:
    report = configs.check(dynamic(), runtime=runtime, target_length=8192)
    assert report.severity == "info"


def test_without_a_runtime_a_length_that_needs_it_names_those_that_do_nothing() -> None:
    (found,) = configs.check(dynamic(), target_length=8192).of("PV211")
    assert found.severity == "warn"
    assert "does nothing in vLLM, llama.cpp and Ollama" in found.message
    assert found.patch == ()  # where it runs in transformers there is nothing to change
    for length in (None, 4096):
        report = configs.check(dynamic(), target_length=length)
        assert (report.severity, report.of("PV211")) == ("info", ())
    trained = dynamic(max_trained_positions=2048)
    (found,) = configs.check(trained, target_length=8192).of("PV211")
    assert found.values["ignored_by"] == ["llama_cpp", "ollama"]


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("runtime", ["vllm", "llama_cpp", "ollama"])
def test_yarn_for_the_wanted_length_is_the_change(runtime: str, spelling: str) -> None:
    config = spelled(spelling, {"rope_type": "dynamic", "factor": 2.0}, base=1e4, window=4096)
    report = configs.check(config, runtime=runtime, target_length=12288)
    changed = configs.check(report.patched("PV211"), runtime=runtime, target_length=12288)
    spec: Any = changed.model.spec()
    assert (spec.id, spec.scaling_factor, spec.original_max_position_embeddings) == (
        "yarn",
        3,
        4096,
    )
    assert (spec.base, changed.model.window) == (1e4, 12288)
    assert changed.severity in ("ok", "info")
    (found,) = configs.check(config, runtime=runtime).of("PV211")
    assert found.patch == ()
    assert "Name the length that is wanted" in found.message


def test_its_plot_has_the_line_that_such_a_runtime_computes() -> None:
    (found,) = configs.check(dynamic(), runtime="vllm", target_length=8192).of("PV211")
    assert found.panel == "turns"  # beside the method stands unscaled RoPE


def test_one_diagnosis_says_what_dynamic_does_and_who_limits_it() -> None:
    report = configs.check(dynamic())
    about = [each for each in report.diagnoses if "dynamic" in each.message]
    assert [each.code for each in about] == ["PV210"]
    assert "nominal extended context is 8192" in about[0].message
    assert "which limit holds depends on the engine" in about[0].message


def test_vllm_with_a_trained_length_of_its_own_is_left_alone() -> None:
    config = dynamic(max_trained_positions=2048)
    assert not configs.check(config, runtime="vllm", target_length=8192).of("PV211")


def test_factor_one_still_follows_the_length() -> None:
    (found,) = configs.check(dynamic(1.0)).of("PV212")
    assert found.values["base_at_8192"] == pytest.approx(20221.26169, rel=1e-9)
    assert not configs.check(dynamic(2.0)).of("PV212")


def test_a_fixed_alpha_is_one_base() -> None:
    config = dynamic(1.0, alpha=1000.0)
    (found,) = configs.check(config).of("PV213")
    # 10⁴ · 1000^(128/126)
    assert found.values["effective_base"] == pytest.approx(11158839.925, rel=1e-9)
    assert found.severity == "ok"
    assert configs.check(config, target_length=8192).of("PV213")[0].severity == "warn"


def test_steps_of_the_first_qwen() -> None:
    config = {
        "head_dim": 128,
        "rope_theta": 1e4,
        "seq_length": 2048,
        "max_position_embeddings": 8192,
        "use_dynamic_ntk": True,
    }
    report = configs.check(config, target_length=8193)
    (found,) = report.of("PV214")
    expected = {2048: 1, 2049: 3, 4096: 3, 4097: 7, 8192: 7, 8193: 15}
    assert {length: found.values[f"alpha_at_{length}"] for length in expected} == expected
    # 10⁴ · 3^(128/126)
    assert found.values["base_at_4096"] == pytest.approx(30527.73675, rel=1e-9)
    assert not report.of("PV204")


@pytest.mark.parametrize("length", [None, True, "x", 0, -5, 2.5, 1e300, [], {}])
def test_a_strange_seq_length_is_no_fault(length: Any) -> None:
    config = {"head_dim": 128, "rope_theta": 1e4, "seq_length": length, "use_dynamic_ntk": True}
    assert configs.check(config).of("PV173")
