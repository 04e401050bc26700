"""What the reader said, as diagnoses: over spellings, rope types and places of the dict."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from posviz import configs

MODEL = {"hidden_size": 4096, "num_attention_heads": 32, "rope_theta": 1e6}
WINDOW = 131072
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
LISTS = {"short_factor": [1.0] * 64, "long_factor": [2.0] * 64}
DICTS: dict[str, dict[str, Any]] = {
    "linear": {"rope_type": "linear", "factor": 4.0},
    "dynamic": {"rope_type": "dynamic", "factor": 4.0},
    "ntk": {"rope_type": "ntk", "factor": 4.0},
    "yarn": YARN,
    "deepseek_yarn": {**YARN, "rope_type": "deepseek_yarn"},
    "llama3": {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    },
    "longrope": {
        "rope_type": "longrope",
        **LISTS,
        "factor": 4.0,
        "original_max_position_embeddings": 32768,
    },
}
Place = Callable[[dict[str, Any]], dict[str, Any]]


def legacy(rope: dict[str, Any]) -> dict[str, Any]:
    renamed = {("type" if key == "rope_type" else key): value for key, value in rope.items()}
    return {**MODEL, "max_position_embeddings": WINDOW, "rope_scaling": renamed}


def scaling(rope: dict[str, Any]) -> dict[str, Any]:
    return {**MODEL, "max_position_embeddings": WINDOW, "rope_scaling": rope}


def parameters(rope: dict[str, Any]) -> dict[str, Any]:
    return {**MODEL, "max_position_embeddings": WINDOW, "rope_parameters": rope}


def nested(rope: dict[str, Any]) -> dict[str, Any]:
    return {"model_type": "some_vl", "text_config": scaling(rope)}


def per_layer(rope: dict[str, Any]) -> dict[str, Any]:
    dicts = {"full_attention": rope, "sliding_attention": {"rope_type": "default"}}
    return {
        **MODEL,
        "max_position_embeddings": WINDOW,
        "layer_types": ["sliding_attention", "full_attention"],
        "rope_parameters": dicts,
    }


PLACES: dict[str, tuple[Place, str]] = {
    "legacy": (legacy, "rope_scaling"),
    "scaling": (scaling, "rope_scaling"),
    "parameters": (parameters, "rope_parameters"),
    "nested": (nested, "text_config.rope_scaling"),
    "per_layer": (per_layer, "rope_parameters.full_attention"),
}
EVERY_PLACE = pytest.mark.parametrize("place", list(PLACES))
EVERY_TYPE = pytest.mark.parametrize("rope_type", list(DICTS))


def only(report: configs.Report, code: str) -> configs.Diagnosis:
    found = report.of(code)
    assert len(found) == 1, [(each.code, each.message) for each in report.diagnoses]
    return found[0]


def mended(config: Any, code: str, **question: Any) -> configs.Report:
    """The report after the suggested change of one code."""
    report = configs.check(config, **question)
    return configs.check(report.patched(code), **question)


@EVERY_PLACE
@EVERY_TYPE
def test_a_factor_as_text_is_an_error_whose_change_is_the_number(
    place: str, rope_type: str
) -> None:
    put, path = PLACES[place]
    good = put(DICTS[rope_type])
    report = configs.check(put({**DICTS[rope_type], "factor": str(DICTS[rope_type]["factor"])}))
    found = only(report, "PV112")
    assert (found.severity, found.fields) == ("error", (f"{path}.factor",))
    assert report.patched("PV112") == good
    told = {each.code: each.severity for each in configs.check(good).diagnoses}
    assert {each.code for each in mended(report.model, "PV112").diagnoses} == set(told)


@EVERY_PLACE
@EVERY_TYPE
def test_a_reciprocal_factor_is_an_error_whose_change_is_the_factor(
    place: str, rope_type: str
) -> None:
    put, _ = PLACES[place]
    factor = DICTS[rope_type]["factor"]
    report = configs.check(put({**DICTS[rope_type], "factor": 1 / factor}))
    found = only(report, "PV113")
    assert found.values == {"suggested_factor": factor}
    assert "looks like a frequency scale" in found.message
    assert report.patched("PV113") == put(DICTS[rope_type])


@EVERY_PLACE
@EVERY_TYPE
def test_whole_and_decimal_numbers_are_the_same_everywhere(place: str, rope_type: str) -> None:
    put, _ = PLACES[place]
    whole = copy.deepcopy(DICTS[rope_type])
    whole["factor"] = int(whole["factor"])
    one, other = configs.check(put(DICTS[rope_type])), configs.check(put(whole))
    assert [each.code for each in one.diagnoses] == [each.code for each in other.diagnoses]
    assert one.values == other.values


@EVERY_PLACE
@pytest.mark.parametrize(
    "written", ["YaRN", "Yarn ", "YARN", "LLaMA3", "LongRoPE", "deepseek-yarn"]
)
def test_capitals_and_hyphens_in_a_type_are_mended(place: str, written: str) -> None:
    put, path = PLACES[place]
    name = written.strip().lower().replace("-", "_")
    report = configs.check(put({**DICTS[name], "rope_type": written}))
    found = only(report, "PV101")
    assert found.severity == "error"
    assert f"closest: {name}" in found.message
    assert found.fields[0].startswith(path)
    assert configs.check(report.patched("PV101")).severity != "error"


@pytest.mark.parametrize("written", ["none", "None", "", "  "])
def test_no_scaling_at_all_is_called_default(written: str) -> None:
    report = configs.check(scaling({"rope_type": written}))
    assert only(report, "PV101").severity == "error"
    assert report.patched("PV101") == scaling({"rope_type": "default"})
    assert not only(configs.check(scaling({**YARN, "rope_type": written})), "PV101").patch


@pytest.mark.parametrize("value", [0, 1, -10000.0])
@EVERY_PLACE
def test_a_base_out_of_its_domain_is_named_as_rope_theta(place: str, value: float) -> None:
    put, path = PLACES[place]
    inside = only(configs.check(put({**YARN, "rope_theta": value})), "PV114")
    assert inside.fields == (f"{path}.rope_theta",)
    assert only(configs.check({**MODEL, "rope_theta": value}), "PV114").fields == ("rope_theta",)


def test_a_null_base_goes_where_another_one_takes_its_place() -> None:
    inside = configs.check(scaling({**YARN, "rope_theta": None}))
    assert inside.patched("PV111") == scaling(YARN)
    of_class = configs.check({**MODEL, "model_type": "llama", "rope_theta": None})
    assert "rope_theta" not in of_class.patched("PV111")
    unknown = configs.check({**MODEL, "rope_theta": None})
    assert not only(unknown, "PV111").patch


@pytest.mark.parametrize("written", ["video_rope", "yarn2", 3, ["yarn"], {"a": 1}, True])
def test_a_type_that_is_no_slip_gets_no_change(written: Any) -> None:
    report = configs.check(scaling({**YARN, "rope_type": written}))
    assert report.severity == "error"
    assert all(not each.patch for each in report.of("PV101"))


def test_null_types_are_default_and_null_factors_are_named() -> None:
    report = configs.check(scaling({"rope_type": None, "rope_theta": 1e6}))
    found = only(report, "PV102")
    assert (report.severity, found.severity) == ("info", "info")
    assert report.patched("PV102")["rope_scaling"]["rope_type"] == "default"
    both = configs.check(scaling({"type": "video_rope", "factor": None}))
    assert {"PV101", "PV111"} <= {each.code for each in both.diagnoses}


def test_a_null_type_beside_an_old_one_hides_it_and_says_so() -> None:
    report = configs.check(scaling({"rope_type": None, "type": "linear", "factor": 4.0}))
    found = only(report, "PV102")
    assert found.severity == "warn"
    assert "null is not absent" in found.message
    assert mended(report.model, "PV102").model.spec().id == "linear"
    assert not report.of("PV161")


@pytest.mark.parametrize(("runtime", "severity"), [("transformers", "warn"), ("vllm", "info")])
def test_a_null_type_is_graver_where_it_stops_the_runtime(runtime: str, severity: str) -> None:
    found = only(configs.check(scaling({"rope_type": None}), runtime=runtime), "PV102")
    assert found.severity == severity
    assert set(found.runtimes) <= {runtime}


@pytest.mark.parametrize(
    ("runtime", "severity"), [(None, "warn"), ("transformers", "info"), ("vllm", "error")]
)
def test_two_types_that_differ_are_graver_for_vllm(runtime: str | None, severity: str) -> None:
    report = configs.check(scaling({**YARN, "type": "linear"}), runtime=runtime)
    assert only(report, "PV103").severity == severity
    assert report.patched("PV103") == scaling(YARN)


@pytest.mark.parametrize(
    ("new", "old"), [("longrope", "su"), ("default", "mrope"), ("yarn", "yarn")]
)
def test_two_names_of_one_type_are_no_conflict(new: str, old: str) -> None:
    rope = {**DICTS["longrope"], "rope_type": new, "type": old}
    config = scaling(rope if new == "longrope" else {**YARN, "rope_type": new, "type": old})
    assert not configs.check(config).of("PV103")


@pytest.mark.parametrize("path", ["", "text_config"])
def test_the_old_key_of_gemma_3_does_not_arrive_and_the_change_renames_it(path: str) -> None:
    own = {
        "model_type": "gemma3_text",
        "num_hidden_layers": 6,
        "rope_scaling": {"type": "linear", "factor": 8.0},
    }
    config: dict[str, Any] = {"model_type": "gemma3", path: own} if path else own
    report = configs.check(config)
    found = only(report, "PV103")
    assert found.fields == (f"{path}.rope_scaling.type".lstrip("."),)
    assert "nothing is scaled" in found.message
    assert not report.of("PV161")
    after = mended(config, "PV103")
    assert after.model.spec("full_attention").id == "linear"
    assert not after.of("PV103")


def test_both_dicts_lose_the_one_that_nothing_reads_and_keep_its_base() -> None:
    config = {
        "head_dim": 128,
        "max_position_embeddings": 4096,
        "rope_scaling": {"rope_type": "linear", "factor": 2.0},
        "rope_parameters": {"rope_type": "linear", "factor": 4.0, "rope_theta": 5e5},
    }
    report = configs.check(config)
    assert only(report, "PV105").values["lost_base"] == 5e5
    changed = report.patched("PV105")
    assert "rope_parameters" not in changed
    spec: Any = configs.read(changed).spec()
    assert (spec.scaling_factor, spec.base) == (2.0, 5e5)
    kept = configs.check({**config, "rope_theta": 1e6})
    assert "lost_base" not in only(kept, "PV105").values
    assert "rope_theta" not in kept.patched("PV105")["rope_scaling"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (False, None),
        ("", None),
        ([], None),
        (0, None),
        ("none", None),
        ('{"rope_type": "linear", "factor": 2.0}', {"rope_type": "linear", "factor": 2.0}),
        ([{"rope_type": "linear", "factor": 2.0}], {"rope_type": "linear", "factor": 2.0}),
    ],
)
@pytest.mark.parametrize("name", ["rope_scaling", "rope_parameters"])
def test_a_dict_that_is_none_becomes_null_or_what_it_holds(
    name: str, written: Any, meant: Any
) -> None:
    report = configs.check({**MODEL, "max_position_embeddings": 4096, name: written})
    assert report.severity == "error"
    assert report.patched("PV107")[name] == meant


@pytest.mark.parametrize("written", ["linear:4", [1, 2], 4.0, '{"rope_type": ', True])
def test_a_dict_that_cannot_be_guessed_gets_no_change(written: Any) -> None:
    found = only(configs.check({**MODEL, "rope_scaling": written}), "PV107")
    assert not found.patch


def test_a_base_beside_layer_types_goes_into_the_dicts_that_lack_it() -> None:
    config = per_layer(YARN)
    config["rope_parameters"]["rope_theta"] = 5e5
    config["rope_parameters"]["sliding_attention"] = {"rope_type": "default", "rope_theta": 1e4}
    report = configs.check(config)
    after = configs.read(report.patched("PV106"))
    assert after.spec("full_attention").base == 5e5  # type: ignore[attr-defined]
    assert after.spec("sliding_attention").base == 1e4  # type: ignore[attr-defined]


@EVERY_PLACE
@pytest.mark.parametrize(
    ("low", "high", "rope_type"),
    [("beta_slow", "beta_fast", "yarn"), ("low_freq_factor", "high_freq_factor", "llama3")],
)
def test_bounds_that_were_exchanged_are_put_back(
    place: str, low: str, high: str, rope_type: str
) -> None:
    put, path = PLACES[place]
    good = {**DICTS[rope_type], low: 1.0, high: 4.0}
    report = configs.check(put({**good, low: 4.0, high: 1.0}))
    found = only(report, "PV114")
    assert set(found.fields) == {f"{path}.{low}", f"{path}.{high}"}
    assert report.patched("PV114") == put(good)


@EVERY_PLACE
def test_a_missing_original_shows_both_readings(place: str) -> None:
    # Ramp: D(n) = d ln(L/(2πn))/(2 ln b), d = 128, b = 1e6. L = 32768: D(32) = 23.6, D(1) = 39.7;
    # L = 131072: D(32) = 30.1, D(1) = 46.1. Pair 40: (7 + 10/4)/17 against 1/4 = 2.235294.
    put, path = PLACES[place]
    report = configs.check(put({"rope_type": "yarn", "factor": 4.0}))
    found = only(report, "PV120")
    assert found.values["ramp_if_original_32768"] == [23, 40]
    assert found.values["ramp_if_original_131072"] == [30, 47]
    assert found.values["inv_freq_ratio_at_pair_40"] == pytest.approx(9.5 / 17 * 4, rel=1e-12)
    assert f"{path}.original_max_position_embeddings" in found.fields
    assert "23 to 40" in found.message
    assert "30 to 47" in found.message
    assert found.panel == "divisors"
    assert mended(put({"rope_type": "yarn", "factor": 4.0}), "PV120").severity != "error"


def test_a_missing_original_of_llama3_gets_numbers_but_no_change() -> None:
    # Llama 3.1: 8 × 8192 is not 131072, so the original does not follow from the two others.
    rope = {**DICTS["llama3"]}
    del rope["original_max_position_embeddings"]
    found = only(configs.check(scaling(rope)), "PV120")
    assert found.values["original_if_extended"] == 16384
    assert not found.patch


@pytest.mark.parametrize(
    ("window", "change"), [(40960, 131072), (32768, 131072), (262144, None), (131072, "absent")]
)
def test_the_window_follows_the_factor_but_is_never_shortened(window: int, change: Any) -> None:
    report = configs.check({**MODEL, "max_position_embeddings": window, "rope_scaling": YARN})
    if change == "absent":
        assert not report.of("PV121")
        return
    found = only(report, "PV121")
    assert found.fields[0] == "rope_scaling.factor"
    assert bool(found.patch) == (change is not None)
    if change is not None:
        assert report.patched("PV121")["max_position_embeddings"] == change


@pytest.mark.parametrize("runtime", [None, "transformers", "vllm", "mlx"])
@pytest.mark.parametrize("key", ["beta_fast", "beta_slow"])
@pytest.mark.parametrize("written", [0, 0.0, None])
def test_a_beta_of_nothing_is_graver_where_it_divides(
    runtime: str | None, key: str, written: Any
) -> None:
    report = configs.check(scaling({**YARN, key: written}), runtime=runtime)
    found = only(report, "PV115")
    assert found.severity == ("warn" if runtime in ("vllm", "mlx") else "info")
    assert found.fields == (f"rope_scaling.{key}",)
    assert report.patched("PV115") == scaling(YARN)


def test_a_list_of_texts_is_one_diagnosis_with_one_change() -> None:
    rope = {**DICTS["longrope"], "short_factor": ["1.0"] * 64}
    report = configs.check(scaling(rope))
    found = only(report, "PV112")
    assert "63 more entries" in found.message
    assert found.fields == ("rope_scaling.short_factor",)
    assert report.patched("PV112") == scaling(DICTS["longrope"])


def test_beside_attn_factor_goes_the_factor_that_its_readers_come_to() -> None:
    # 0.5 × (0.1 ln 4 + 1) = 0.5 × 1.138629436
    report = configs.check(scaling({**YARN, "attn_factor": 0.5}))
    changed = report.patched("PV164")["rope_scaling"]
    assert changed["attention_factor"] == pytest.approx(0.569314718, rel=1e-9)
    assert changed["attn_factor"] == 0.5


def test_truncate_of_a_layer_type_is_said_again_outside() -> None:
    config = per_layer({**YARN, "truncate": False})
    report = configs.check(config)
    changed = report.patched("PV160")
    assert changed["rope_parameters"]["truncate"] is False
    assert configs.read(changed).spec("full_attention").truncate is False  # type: ignore[attr-defined]
    assert configs.check(config, runtime="llama_cpp").of("PV160")[0].severity == "info"


def test_a_partial_factor_beside_latent_attention_goes_where_it_says_the_same() -> None:
    model = {"rope_theta": 1e4, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128}
    same = configs.check({**model, "model_type": "deepseek_v3", "partial_rotary_factor": 1 / 3})
    other = {**model, "model_type": "glm4_moe_lite", "partial_rotary_factor": 0.5}
    assert "partial_rotary_factor" not in same.patched("PV144")
    assert not only(configs.check(other), "PV144").patch


def test_a_count_that_is_no_count_is_said_once() -> None:
    for count, text in ((0, "positive integer"), (256, "larger than head_dim = 128")):
        report = configs.check({"head_dim": 128, "rope_theta": 1e4, "rotary_dim": count})
        assert [each.code for each in report.diagnoses] == ["PV141"]
        assert text in report.diagnoses[0].message


def test_one_key_too_many_that_is_a_dict_makes_no_layer_types() -> None:
    report = configs.check(scaling({**YARN, "note": {"by": "someone"}}))
    assert report.model.spec().id == "yarn"
    assert [layer.name for layer in report.model.layers] == ["full_attention"]
    assert only(report, "PV161").severity == "info"


def test_what_the_message_says_already_is_not_said_again_beside_it() -> None:
    rope = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8192}
    config = {
        "head_dim": 128,
        "rope_theta": 1e6,
        "max_position_embeddings": 131072,
        "original_max_position_embeddings": 32768,
        "rope_scaling": rope,
    }
    (found,) = configs.check(config).of("PV122")
    assert found.message.endswith("transformers takes the top-level one.")
    assert found.runtimes == {"transformers": "takes the top-level one."}
    assert found.unsaid == {}
    (other,) = configs.check({**config, "max_position_embeddings": 40960}).of("PV121")
    assert other.unsaid == other.runtimes
