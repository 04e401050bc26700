"""Conversions, dynamic bases and exports of practice, by the calls that a person would make."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

from posviz import configs, solver
from tests.cases.practice import check_says, expected, given, near, severity

RUNTIMES = {
    "transformers_v4": "transformers_v4",
    "transformers_v5": "transformers",
    "vllm_old": "vllm_old",
    "vllm_new": "vllm",
    "sglang": "sglang",
    "llama_cpp": "llama_cpp",
}
"""Which of our runtimes each target of the export case is."""


def settings_of(target: str) -> configs.Settings:
    return configs.export(configs.read(given("B109")["config"]), RUNTIMES[target])


@pytest.mark.parametrize("name", ["B35", "B38"])
def test_the_base_of_each_call_depends_on_its_own_length_only(name: str) -> None:
    config, lengths = given(name)["config"], given(name)["lengths"]
    model = configs.check(config).model
    bases = expected(name).get("base_sequence") or expected(name)["base"]
    dim = config["hidden_size"] // config["num_attention_heads"]
    seconds = [model.rotation(length=length).inv_freq[1] for length in lengths]
    found = [float(second ** (-dim / 2)) for second in seconds]
    assert found == near(bases)
    assert np.isfinite(found).all()
    assert min(found) >= config["rope_theta"] * (1 - 1e-12)
    assert configs.check(config).severity != "error"


def test_a_long_call_leaves_no_trace() -> None:
    model = configs.check(given("B35")["config"]).model
    calls = [model.rotation(length=length).inv_freq for length in given("B35")["lengths"]]
    assert np.abs(calls[0] - calls[-1]).max() == expected("B35")["max_abs_difference_first_vs_last"]
    assert np.abs(calls[0] - calls[1]).max() > 0.01


def test_alpha_in_steps_jumps_just_past_the_window() -> None:
    asked = given("B40")
    alphas = solver.alpha_at_lengths("alpha_of_steps", asked["lengths"], original=asked["window"])
    assert list(alphas) == expected("B40")["alpha"]
    (definition,) = solver.meanings("alpha_of_steps")
    check_says("B40", definition.meaning, (r"jumps from 1 to 3 just past the window",))
    between = solver.alpha_at_lengths("alpha_of_steps", [2049, 2500, 3000, 4096], original=2048)
    assert set(between) == {3.0}  # a staircase, no curve


def test_a_base_becomes_alpha_under_the_definition_that_is_named() -> None:
    model = given("B43")["model"]
    known = {"base": model["rope_theta"], "rotary_dim": model["head_dim"]}
    found = solver.convert("ntk_base", given("B43")["from"]["base"], **known, to="alpha_ntk")
    assert found.number("alpha_ntk") == near(expected("B43")["alpha"])
    back = solver.convert("alpha_ntk", 3.5, **known, to="ntk_base")
    assert back.number("ntk_base") == near(expected("B43")["base_if_alpha_3.5"])
    assert found.severity == back.severity == severity("B43")
    assert "3.5 is alpha as a product" in " ".join(found.notes)
    assert "35702.94534" in " ".join(found.notes)


def test_a_frequency_scale_is_the_reciprocal_and_shrinks_above_one() -> None:
    names = ("compress_pos_emb", "rope_scale", "factor")
    scales, factors = given("B46")["from"]["rope_freq_scale"], expected("B46")["hf_linear_factor"]
    told = []
    for scale, factor in zip(scales, factors, strict=True):
        for name in names:
            found = solver.convert("rope_freq_scale", scale, to=name)
            assert found.number("factor") == near(factor)
            told.append((found.severity, " ".join(found.notes)))
    severities = [severity for severity, _ in told]
    assert severities == ["ok"] * 6 + [severity("B46")] * 3
    check_says("B46", told[-1][1], (r"frequency scale above 1 shrinks the context",))
    assert "Where 8 was meant as the factor, the frequency scale is 0.125" in told[-1][1]


def test_alpha_is_read_under_every_definition_and_each_dimension() -> None:
    model, numbers = given("B48")["model"], expected("B48")
    found = solver.convert(
        "alpha",
        given("B48")["from"]["alpha"],
        base=model["rope_theta"],
        rotary_dim=model["rotary_dims"],
        to="ntk_base",
    )
    assert found.number("ntk_base", read_as="alpha_product") == near(numbers["product"])
    for dim in model["rotary_dims"]:
        base = found.number("ntk_base", rotary_dim=dim, read_as="alpha_ntk")
        assert base == near(numbers[f"ntk_d{dim}"])
    assert found.severity == severity("B48")
    ideas = (r"6 definitions: alpha_ntk, alpha_product, .*which one a tool means decides",)
    check_says("B48", " ".join(found.notes), ideas)


def test_m_is_not_the_logit_gain() -> None:
    found, numbers = solver.attention_factor(given("B56")["factor"]), expected("B56")
    for name in ("m", "logit_gain", "temperature", "double_application_gain"):
        assert getattr(found, name) == near(numbers[name])
    told = " ".join(found.notes)
    check_says("B56", told, (r"applied to both q and k",))
    assert "m itself is not the gain of the logits" in told


def test_two_bases_side_by_side() -> None:
    found, numbers = configs.compare(given("B51")["a"], given("B51")["b"]), expected("B51")
    layer = found.layer()
    assert layer.slowest_wavelength_a == near(numbers["a.slowest_wavelength"])
    assert layer.slowest_wavelength_b == near(numbers["b.slowest_wavelength"])
    angles = numbers["a.angle_pair32_pos1000"], numbers["b.angle_pair32_pos1000"]
    assert layer.angles(32, 1000) == near(angles)
    assert [row.name for row in found.differing] == ["base"]
    for side in ("a", "b"):
        assert configs.check(given("B51")[side]).severity == severity("B51")


def test_every_target_gets_settings_that_name_their_version() -> None:
    model = configs.check(given("B109")["config"]).model
    for target in given("B109")["targets"]:
        settings = settings_of(target)
        check_says("B109", " ".join(settings.notes), (r"version assumed",))
        assert (configs.read_export(settings).spec() == model.spec()) is expected("B109")[
            "json_round_trip_equal"
        ]
    flags: Any = settings_of("llama_cpp").data
    wanted = expected("B109")["llama_cpp"]
    assert {name: flags[name] for name in wanted} == wanted
    assert configs.check(given("B109")["config"]).severity == severity("B109")


def test_the_current_vllm_gets_no_flag_that_it_no_longer_has() -> None:
    new, old = settings_of("vllm_new").text, settings_of("vllm_old").text
    assert "--rope-scaling" not in new
    assert "--rope-theta" not in new
    assert "--rope-scaling" in old


@pytest.mark.parametrize("target", ["vllm_new", "vllm_old", "sglang"])
def test_json_on_a_command_line_is_quoted(target: str) -> None:
    quoted = re.findall(r"'(\{.*?\})'", settings_of(target).text, re.DOTALL)
    assert quoted
    for text in quoted:
        assert isinstance(json.loads(text), dict)
    assert settings_of(target).text.count("{") == "".join(quoted).count("{")


def test_the_new_spelling_keeps_the_base_inside_its_dict() -> None:
    for target in ("transformers_v5", "vllm_new"):
        assert "rope_theta" in json.dumps(settings_of(target).data)
    inside: Any = settings_of("transformers_v5").data
    assert inside["rope_parameters"]["rope_theta"] == 1000000.0
