"""Positions, precision, layouts and biases of practice, by the calls that a person would make."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from posviz import attention, configs, measures
from posviz.catalog import catalog
from posviz.parameters import ParameterError
from tests.cases.practice import check_says, expected, given, near, sentences, severity

ENCODINGS: dict[str, Any] = {encoding.id: encoding for encoding in catalog()}
SEEN: dict[str, str] = {"fatal": "warn", "harmful": "warn", "benign": "info"}
"""How loud the verdict of the precision lens is."""


def helps(name: str) -> str:
    """What an encoding says about its parameters."""
    return " ".join(each.parameter.help for each in ENCODINGS[name].declarations())


def ladder(base: float, dim: int) -> Any:
    return base ** (-np.arange(0, dim, 2) / dim)


def test_a_learned_table_ends() -> None:
    spec = ENCODINGS["learned"](rows=given("B30")["table_size"])
    last = expected("B30")["last_valid_position"]
    assert spec.encode([last]).vectors.shape[0] == 1
    with pytest.raises(ParameterError) as refused:
        spec.encode(given("B30")["positions"])
    told = str(refused.value)
    assert f"from 0 to {last}" in told
    assert "got 8192" in told
    table = {"model_type": "bert", "max_position_embeddings": given("B30")["table_size"]}
    report = configs.check(table, target_length=1 + max(given("B30")["positions"]))
    assert report.severity == severity("B30")
    check_says("B30", sentences(report), (r"position 8192 does not exist in a learned table",))
    assert f"last valid position is {last}" in sentences(report)


def test_bfloat16_merges_positions() -> None:
    asked, numbers = given("B66"), expected("B66")
    assert measures.rounded(asked["positions"], asked["dtype"]).tolist() == numbers["cast"]
    found = measures.distinct_positions(4096, asked["dtype"])
    assert found.kept == numbers["distinct_in_0_to_4095"]
    lens = measures.precision_lens(
        ladder(1e4, 128), length=4096, stage="positions", dtype="bfloat16"
    )
    assert SEEN[lens.verdict] == severity("B66")
    assert "position 257 gets the number of 256" in lens.reason
    config = {"model_type": "llama", "head_dim": 128, "max_position_embeddings": 4096}
    report = configs.check({**config, "rope_theta": 1e4, "rope_dtype": "bfloat16"})
    assert report.severity == severity("B66")
    check_says("B66", sentences(report), (r"collapse beyond 256",))


def test_float16_angles_lose_whole_radians() -> None:
    asked, numbers, dtype = given("B69"), expected("B69"), given("B69")["dtype"]
    positions = np.arange(float(asked["positions"]))
    frequencies = ladder(asked["base"], asked["dim"])
    exact = positions[:, None] * frequencies
    cast = measures.rounded(
        measures.rounded(positions, dtype)[:, None] * measures.rounded(frequencies, dtype), dtype
    )
    assert exact[1857, 1] == near(numbers["exact_angle"])
    assert cast[1857, 1] == numbers["cast_angle"]
    worst = float(np.abs(np.cos(cast) - np.cos(exact)).max())
    assert worst == pytest.approx(numbers["max_abs_cos_error"], abs=0.001)
    lens = measures.precision_lens(
        frequencies, length=asked["positions"], stage="angles", dtype=dtype
    )
    assert SEEN[lens.verdict] == severity("B69")
    config = {"model_type": "llama", "head_dim": 32, "max_position_embeddings": 2048}
    report = configs.check({**config, "rope_theta": 1e4, "rotary_dtype": "float16"})
    check_says("B69", sentences(report), (r"angles in float32 or better",))


def test_tables_in_bfloat16_cost_the_same_everywhere() -> None:
    asked, bound = given("B71"), expected("B71")["max_abs_error_bound"]
    frequencies = ladder(asked["base"], asked["dim"])
    lens = measures.precision_lens(
        frequencies, length=asked["positions"], stage="tables", dtype=asked["dtype"]
    )
    assert lens.largest_cos_error <= bound
    assert lens.largest_cos_error == pytest.approx(bound, rel=1e-2)
    assert bound == 2.0**-9
    assert SEEN[lens.verdict] == severity("B71")
    assert "collapse" not in lens.reason
    assert lens.distinct is None
    config = {"model_type": "llama", "head_dim": 128, "max_position_embeddings": 8192}
    report = configs.check({**config, "rope_theta": 1e4, "torch_dtype": "bfloat16"})
    assert report.severity in ("ok", "info")
    check_says("B71", sentences(report), (r"does not grow with the position",))
    (diagnosis,) = report.of("PV320")
    assert diagnosis.values["max_abs_error_of_tables"] == bound


def test_both_layouts_turn_the_same_vector_at_other_places() -> None:
    asked, numbers = given("B73"), expected("B73")
    query, distance = asked["score_query"]["vector"], asked["score_query"]["distance"]
    for name, layout in (("half", "half_split"), ("interleaved", "interleaved")):
        spec = ENCODINGS["rope"](base=asked["base"], head_dim=asked["dim"], layout=layout)
        turned = spec.encode([asked["position"]]).rotate(np.array([asked["vector"]], float))
        assert turned[0] == near(numbers[name])
        pair = spec.encode([0.0, float(distance)])
        rows = np.array([query, query], float)
        scores = attention.logits(pair, rows, rows, scale=1.0)
        assert scores[1, 0] == near(numbers[f"score_{name}"])
    check_says("B73", helps("rope"), (r"convention of the trained weights",))
    first, second = (
        ENCODINGS["rope"](head_dim=4, layout=layout).encode([0.0, 1.0, 2.0])
        for layout in ("half_split", "interleaved")
    )
    relation = measures.relation(first, second)
    assert relation.kind == "permutation"
    assert not any(word in relation.sentence for word in ("wrong", "error"))


def test_alibi_slopes_of_any_number_of_heads() -> None:
    numbers = expected("B75")
    for heads in given("B75")["num_heads"]:
        config = {"model_type": "mpt", "d_model": 64 * heads, "n_heads": heads}
        slopes = configs.check(config).values["slopes"]
        if str(heads) in numbers:
            assert list(slopes) == near(numbers[str(heads)])
        assert list(slopes) == near(ENCODINGS["alibi"](heads=heads).encode([0.0]).slopes.tolist())
    assert slopes[0] == near(numbers["40[0]"])
    assert slopes[32] == near(numbers["40[32]"])
    told = sentences(configs.check({"model_type": "mpt", "d_model": 768, "n_heads": 12}))
    check_says("B75", told, (r"no power of two, so the first 8 heads",))


def alibi_rows(form: str) -> Any:
    """The spec whose eighth of eight heads has the slope of the case, 2^-8."""
    return ENCODINGS["alibi"](heads=8, form=form).encode(np.arange(float(given("B78")["length"])))


def test_a_bias_by_key_gives_the_same_weights() -> None:
    numbers, results = expected("B78"), {}
    for form in ("causal", "key_only"):
        result = alibi_rows(form)
        assert result.slopes[7] == given("B78")["slope"]
        nothing = np.zeros((8, given("B78")["length"], 4))
        results[form] = attention.weights(result, nothing, nothing, is_causal=True)[7]
        row = result.matrix[7, 3]
        wanted = {"causal": "row3_relative", "key_only": "row3_key_only"}[form]
        assert list(row) == near(numbers[wanted])
    difference = np.abs(results["causal"] - results["key_only"]).max()
    assert difference <= 1e-12
    relation = measures.relation(alibi_rows("causal"), alibi_rows("key_only"))
    check_says("B78", relation.sentence, (r"one number per query, which the softmax drops",))
    assert relation.kind == "shift"


def test_alibi_of_an_encoder_is_symmetric() -> None:
    asked = given("B80")
    spec = ENCODINGS["alibi"](heads=8, form="symmetric")
    matrix = spec.encode(np.arange(float(asked["length"]))).matrix[0]
    assert spec.encode([0.0]).slopes[0] == asked["slope"]
    assert matrix == near(np.array(expected("B80")["matrix"]))
    assert (matrix <= 0).all()
    encoder = {"model_type": "jina_bert", "position_embedding_type": "alibi", "n_head": 12}
    told = sentences(configs.check({**encoder, "max_position_embeddings": 8192}))
    check_says("B80", told, (r"distance in both directions, symmetric",))


def test_t5_buckets() -> None:
    asked, buckets = given("B83"), {}
    for name, both in (("bidirectional", True), ("causal", False)):
        spec = ENCODINGS["t5"](
            num_buckets=asked["num_buckets"],
            max_distance=asked["max_distance"],
            bidirectional=both,
        )
        buckets[name] = spec.buckets(np.array(asked[name], float) * -1).tolist()
        assert buckets[name] == expected("B83")[name]
    told = sentences(configs.check({"model_type": "t5", "d_model": 512, "num_heads": 8}))
    ideas = (r"the last bucket starts before that, at 91 .* and at 113",)
    check_says("B83", told, ideas)


def test_an_odd_sinusoid_has_one_sine_more() -> None:
    spec = ENCODINGS["sinusoidal"](model_dim=given("B99")["d_model"])
    table = spec.encode(np.arange(float(given("B99")["positions"])))
    assert table.vectors.shape == (4, 29)
    sines = int(np.count_nonzero(table.vectors[0] == 0.0))
    cosines = int(np.count_nonzero(table.vectors[0] == 1.0))
    assert (sines, cosines) == (expected("B99")["sine_columns"], expected("B99")["cosine_columns"])
    check_says("B99", spec.caution(), (r"odd",))
    assert "15" in spec.caution()
    assert "14" in spec.caution()
    assert not ENCODINGS["sinusoidal"](model_dim=30).caution()


def test_the_slowest_sinusoid_is_not_two_pi_times_the_base() -> None:
    spec = ENCODINGS["sinusoidal"](model_dim=given("B102")["d_model"])
    lengths = spec.encode([0.0]).wavelengths
    assert lengths[0] == near(expected("B102")["first"])
    assert lengths[-1] == near(expected("B102")["last"])
    assert lengths[-1] != pytest.approx(2 * math.pi * 1e4, rel=1e-3)
    check_says("B102", spec.shows, (r"by a fixed angle", r"point on a circle"))


def test_xpos_fades_backwards_and_grows_forwards() -> None:
    zeta = given("B104")["zeta"]
    spec = ENCODINGS["xpos"](head_dim=2, gamma=zeta / (1 - zeta), scale_base=1.0, centre="zero")
    result = spec.encode([0.0, 10.0])
    factors = result.query_gain @ result.key_gain.T  # (queries, keys), one pair
    by_distance = {0: factors[0, 0], 10: factors[1, 0], -10: factors[0, 1]}
    found = [by_distance[distance] for distance in given("B104")["distances"]]
    assert found == near(expected("B104")["factor"])
    check_says("B104", spec.limits, (r"only for causal attention",))
    assert result.is_causal_only
    rows = np.ones((2, 2))
    assert attention.logits(result, rows, rows, is_causal=given("B104")["causal"])[0, 1] == -np.inf


def test_log_n_never_falls_below_one() -> None:
    asked = given("B107")
    spec = ENCODINGS["log_n"](original_max_position_embeddings=asked["seq_length"])
    tokens = np.array(asked["positions"], float)
    assert spec.encode(tokens - 1).query_scale == near(expected("B107")["multiplier"])
    config = {"model_type": "qwen", "head_dim": 128, "rotary_emb_base": 1e4, "use_logn_attn": True}
    report = configs.check({**config, "seq_length": asked["seq_length"]})
    (diagnosis,) = report.of("PV330")
    assert diagnosis.values["multiplier"] == near(expected("B107")["multiplier"])
    assert diagnosis.values["positions"] == asked["positions"]
    check_says("B107", sentences(report), (r"per position, not per sequence",))
    assert diagnosis.severity == severity("B107")
