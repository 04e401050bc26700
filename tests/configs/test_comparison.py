"""Two configurations side by side: rows, frequencies, factors, scores, and what cannot be said."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from posviz import configs
from posviz.catalog import parse
from posviz.configs.comparison import LONGEST_COMPARISON, Comparison, compare
from posviz.configs.comparison_words import sentences

PLAIN: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "max_position_embeddings": 16384,
    "rope_theta": 1000000.0,
}
YARN = {
    **PLAIN,
    "rope_scaling": {
        "rope_type": "yarn",
        "factor": 4.0,
        "original_max_position_embeddings": 4096,
    },
}
GEMMA = {
    "model_type": "gemma3_text",
    "head_dim": 256,
    "num_hidden_layers": 6,
    "sliding_window_pattern": 6,
    "max_position_embeddings": 32768,
    "rope_theta": 1000000.0,
    "rope_local_base_freq": 10000.0,
}
PRESETS = {preset.id: preset.config for preset in configs.presets()}


def test_a_hard_coded_base_is_the_only_row_that_differs_and_all_its_effects_are_there() -> None:
    found = compare(PLAIN, {**PLAIN, "rope_theta": 10000.0})
    assert [(row.name, row.value_a, row.value_b) for row in found.differing] == [
        ("base", 1000000.0, 10000.0)
    ]
    assert found.rows[0] == found.differing[0]
    assert found.length == 16384
    layer = found.layer()
    # 2π · b^(126/128)
    assert layer.slowest_wavelength_a == pytest.approx(5063255.794, rel=1e-9)
    assert layer.slowest_wavelength_b == pytest.approx(54410.14313, rel=1e-9)
    assert layer.angles(32, 1000) == pytest.approx((1.0, 10.0), rel=1e-12)
    # The ratio of the frequencies of pair i is 100^(i/64), largest at the last pair.
    assert layer.largest_frequency_error == pytest.approx(100 ** (63 / 64) - 1, rel=1e-12)
    assert layer.largest_error_pair == 63
    # Means of cos(d·f), term by term.
    pairs = np.arange(64) / 64
    away = [abs(np.cos(d * 1e6**-pairs).mean() - np.cos(d * 1e4**-pairs).mean()) for d in range(5)]
    assert layer.first_difference == next(d for d, each in enumerate(away) if each >= 0.01)
    assert layer.first_difference_without_factors == layer.first_difference
    assert (layer.gain_a, layer.gain_b) == (1.0, 1.0)
    assert (layer.notes, found.notes) == ((), ())


def test_the_largest_error_is_relative_to_a() -> None:
    small, large = PLAIN, {**PLAIN, "rope_theta": 10000.0}
    forth = compare(small, large).layer()
    back = compare(large, small).layer()
    assert forth.largest_frequency_error == pytest.approx(100 ** (63 / 64) - 1)
    assert back.largest_frequency_error == pytest.approx(1 - 100 ** (-63 / 64))


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_a_configuration_does_not_differ_from_itself(name: str) -> None:
    found = compare(PRESETS[name], configs.read(PRESETS[name]))
    assert found.differing == ()
    assert found.notes == ()
    assert len(found.layers) == len(configs.read(PRESETS[name]).layers)
    for layer in found.layers:
        assert (layer.largest_frequency_error, layer.largest_error_pair) == (0.0, 0)
        assert layer.first_difference is None
        assert layer.first_difference_without_factors is None
        assert layer.inv_freq_a == layer.inv_freq_b
        assert layer.notes == ()


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_every_released_model_compares_with_another_both_ways(name: str) -> None:
    other = PRESETS["qwen2.5-7b-yarn"]
    forth, back = compare(PRESETS[name], other), compare(other, PRESETS[name])
    assert len(forth.layers) == len(configs.read(PRESETS[name]).layers)
    assert {(row.name, row.layer_type) for row in forth.rows} == {
        (row.name, row.layer_type) for row in back.rows
    }
    assert len(forth.differing) == len(back.differing)
    for one, two in zip(forth.layers, back.layers, strict=True):
        assert one.inv_freq_a == two.inv_freq_b
        assert one.gain_b == two.gain_a
        assert one.first_difference_without_factors == two.first_difference_without_factors
        model = configs.read(PRESETS[name])
        spec: Any = model.layer(one.layer_type).spec
        own = np.asarray(spec.frequencies(forth.length))
        assert one.slowest_wavelength_a == pytest.approx(2 * math.pi / own[own > 0].min())
        if one.largest_frequency_error is None:
            assert len(one.inv_freq_a) != len(one.inv_freq_b)
            continue
        theirs: Any = configs.read(other).spec()
        relative = np.abs(theirs.frequencies(forth.length) - own) / own
        assert one.largest_frequency_error == pytest.approx(relative.max(), rel=1e-12)
        as_large = np.flatnonzero(relative >= relative.max() * (1 - 1e-9))
        assert one.largest_error_pair == as_large[0]
    json.dumps(forth.as_dict(), allow_nan=False)


def test_yarn_s_attention_factor_makes_every_distance_differ_and_the_cosines_alone_later() -> None:
    layer = compare(PLAIN, YARN).layer()
    # m = 0.1 ln 4 + 1, squared on the logits.
    assert layer.attention_factor_b == pytest.approx(0.1 * math.log(4) + 1)
    assert layer.gain_b == pytest.approx((0.1 * math.log(4) + 1) ** 2)
    assert layer.first_difference == 0
    bare = layer.first_difference_without_factors
    assert bare is not None
    assert bare > 0
    # The same from the frequencies of both, distance by distance.
    at = np.arange(bare + 1.0)[:, None]
    one = np.cos(at * np.array(layer.inv_freq_a)).mean(axis=1)
    two = np.cos(at * np.array(layer.inv_freq_b)).mean(axis=1)
    assert np.flatnonzero(np.abs(two - one) >= 0.01)[0] == bare


def test_a_softmax_factor_counts_among_the_factors() -> None:
    latent = PRESETS["deepseek-v2-lite"]
    plain = {**latent, "rope_scaling": None}
    layer = compare(plain, latent).layer()
    assert (layer.attention_factor_a, layer.attention_factor_b) == (1.0, 1.0)
    # (0.1 · 0.707 · ln 40 + 1)²
    assert layer.softmax_factor_b == pytest.approx((0.0707 * math.log(40) + 1) ** 2)
    assert layer.gain_b == layer.softmax_factor_b
    assert layer.first_difference == 0


def test_the_length_decides_where_a_method_depends_on_it() -> None:
    long_model = PRESETS["phi-3-mini-128k"]
    plain = {**long_model, "rope_scaling": None}
    short, long = (compare(plain, long_model, length=length).layer() for length in (4096, 4097))
    scaling = long_model["rope_scaling"]
    # Lists of divisors: the frequency of pair i is divided by entry i.
    for layer, name in ((short, "short_factor"), (long, "long_factor")):
        expected = [abs(1 / factor - 1) for factor in scaling[name]]
        assert layer.largest_frequency_error == pytest.approx(max(expected))
    assert compare(plain, long_model).length == 131072


DYNAMIC = {
    **PLAIN,
    "max_position_embeddings": 4096,
    "rope_scaling": {"rope_type": "dynamic", "factor": 4.0},
}


def test_dynamic_is_compared_at_its_extended_length_too() -> None:
    # At 4096 tokens it rotates as trained. At 16384 the base is b·(4·4 - 3)^(128/126), so pair i
    # turns by 13^(-i/63) of what it did; the last one by 1/13.
    for one, two, error in (
        ({**DYNAMIC, "rope_scaling": None}, DYNAMIC, 1 - 1 / 13),
        (DYNAMIC, {**DYNAMIC, "rope_scaling": None}, 12),
    ):
        found = compare(one, two)
        layer = found.layer()
        assert (found.length, layer.length, layer.largest_frequency_error) == (4096, 4096, 0)
        (other,) = layer.others
        assert other.length == 16384
        assert other.largest_frequency_error == pytest.approx(error, rel=1e-12)
        assert other.largest_error_pair == 63
        assert other.first_difference is not None
        side = "B" if two is DYNAMIC else "A"
        assert layer.notes[0] == (
            f"The rotation of {side} follows the length (Dynamic NTK): at 4,096 tokens as trained, "
            "at 16,384 tokens extended. So the two are compared at each of these lengths."
        )
        said = sentences(layer, 4096)
        assert "At 4,096 tokens: Every pair that turns in A turns as fast in B." in said
        assert any(each.startswith("At 16,384 tokens: Largest relative") for each in said)
    again = compare(DYNAMIC, {**DYNAMIC, "rope_theta": 1e4}).as_dict()
    assert again["layers"][0]["others"][0]["length"] == 16384


def test_longrope_is_compared_with_both_lists() -> None:
    phi = PRESETS["phi-3-mini-128k"]
    scaling = phi["rope_scaling"]
    changed = {**scaling, "short_factor": [1.5 * each for each in scaling["short_factor"]]}
    found = compare(phi, {**phi, "rope_scaling": changed})
    layer = found.layer()
    assert (layer.length, layer.largest_frequency_error) == (131072, 0)
    (other,) = layer.others
    assert other.length == 4096
    assert other.largest_frequency_error == pytest.approx(1 / 3)
    assert "at 131,072 tokens by its long list, at 4,096 tokens by its short list" in layer.notes[0]
    at_short = compare(phi, {**phi, "rope_scaling": changed}, length=4096).layer()
    assert at_short.largest_frequency_error == pytest.approx(1 / 3)
    assert [each.length for each in at_short.others] == [131072]


@pytest.mark.parametrize("two", [YARN, {**PLAIN, "rope_theta": 1e4}, PLAIN])
def test_one_length_is_enough_for_methods_that_do_not_follow_it(two: dict[str, Any]) -> None:
    layer = compare(PLAIN, two).layer()
    assert layer.others == ()
    assert not any("follows the length" in note for note in layer.notes)


def test_a_model_with_one_rotation_stands_beside_every_layer_type_of_the_other() -> None:
    plain = {**GEMMA, "model_type": "llama"}
    del plain["rope_local_base_freq"]
    found = compare(plain, GEMMA)
    assert [layer.layer_type for layer in found.layers] == ["full_attention", "sliding_attention"]
    assert found.layer("full_attention").largest_frequency_error == 0.0
    assert found.layer("sliding_attention").largest_error_pair == 127
    bases = {row.layer_type: row for row in found.rows if row.name == "base"}
    assert {name: (row.value_a, row.value_b) for name, row in bases.items()} == {
        "full_attention": (1000000.0, 1000000.0),
        "sliding_attention": (1000000.0, 10000.0),
    }
    assert [name for name, row in bases.items() if row.differs] == ["sliding_attention"]


def test_one_layer_type_can_be_asked_for() -> None:
    found = compare(GEMMA, GEMMA, layer_type="sliding_attention")
    assert [layer.layer_type for layer in found.layers] == ["sliding_attention"]
    assert {row.layer_type for row in found.rows} == {"", "sliding_attention"}
    with pytest.raises(configs.ConfigError, match=r"no layer type 'sliding'.*sliding_attention"):
        compare(GEMMA, GEMMA, layer_type="sliding")


def test_a_number_that_only_one_has_differs_and_says_so_by_an_empty_origin() -> None:
    row = next(row for row in compare(PLAIN, YARN).rows if row.name == "scaling_factor")
    assert (row.value_a, row.origin_a, row.value_b, row.only_in) == (None, "", 4.0, "b")
    assert row.differs


def test_rows_come_differing_first_then_those_of_one_only_then_the_equal_ones() -> None:
    kinds = [(row.differs, bool(row.only_in)) for row in compare(PLAIN, YARN).rows]
    assert set(kinds) == {(True, False), (True, True), (False, False)}
    assert kinds == sorted(kinds, key=[(True, False), (True, True), (False, False)].index)


def test_whole_numbers_and_decimals_are_equal_and_switches_are_no_numbers() -> None:
    whole = {**YARN, "rope_theta": 1000000, "rope_scaling": {**YARN["rope_scaling"], "factor": 4}}
    assert compare(YARN, whole).differing == ()
    switch = {**YARN, "rope_scaling": {**YARN["rope_scaling"], "truncate": False}}
    assert next(row.name for row in compare(YARN, switch).differing) == "truncate"


def test_different_rotary_dimensions_give_no_relative_error_but_a_note() -> None:
    found = compare(PLAIN, {**PLAIN, "head_dim": 64})
    layer = found.layer()
    assert layer.largest_frequency_error is None
    assert layer.largest_error_pair is None
    assert layer.notes[0].startswith("A rotates 128 dimensions and B 64, so pair i of A is not")
    assert layer.first_difference == layer.first_difference_without_factors == 2


def test_a_different_layout_is_told_since_no_number_shows_it() -> None:
    layer = compare(PLAIN, {**PLAIN, "model_type": "cohere"}).layer()
    assert layer.largest_frequency_error == 0.0
    assert layer.first_difference is None
    assert "(half_split), B 2i and 2i + 1 (interleaved)" in layer.notes[0]


def test_a_smaller_rotating_share_is_told() -> None:
    # 32 of 128 dimensions against a whole head of 32: the same ladder, another share.
    model = {"model_type": "gpt_neox", "hidden_size": 256, "num_attention_heads": 2}
    model |= {"max_position_embeddings": 2048, "rotary_emb_base": 10000, "rotary_pct": 0.25}
    layer = compare(model, {**PLAIN, "head_dim": 32, "rope_theta": 10000.0}).layer()
    assert layer.largest_frequency_error == 0.0
    assert layer.notes == (
        "The scores are of the rotating part of a head: 32 of 128 dimensions in A, 32 of 32 in B.",
    )


def test_pairs_that_stand_still_in_a_have_no_finite_error() -> None:
    still = configs.read(PLAIN).with_spec(parse("p_rope?base=1000000&partial_rotary_factor=0.25"))
    found = compare(still, PLAIN)
    layer = found.layer()
    assert layer.largest_frequency_error == 0.0
    assert layer.notes[0].startswith("48 pairs, from pair 16 on, stand still in A and turn in B")
    assert compare(PLAIN, still).layer().largest_frequency_error == 1.0
    json.dumps(found.as_dict(), allow_nan=False)


ALIBI = {"model_type": "bloom", "n_head": 32, "hidden_size": 4096, "seq_length": 2048}


def test_a_model_without_rotation_leaves_rows_and_the_reason() -> None:
    found = compare(PLAIN, ALIBI)
    assert found.layers == ()
    assert any(row.name == "base" and row.origin_b == "" for row in found.differing)
    assert found.notes[0].startswith("B cannot be compared: This model does not rotate")
    with pytest.raises(configs.ConfigError, match=r"has no layer type\. B cannot be compared"):
        found.layer()


def test_a_refused_spec_leaves_rows_and_its_sentence() -> None:
    broken = {**YARN, "rope_scaling": {**YARN["rope_scaling"], "factor": None}}
    broken["max_position_embeddings"] = None
    found = compare(broken, PLAIN)
    assert found.layers == ()
    assert found.notes[0].startswith("A cannot be compared: ")
    assert any(row.name == "base" for row in found.rows)


def test_a_tuned_spec_is_compared_as_it_is() -> None:
    model = configs.read(YARN)
    tuned = model.with_spec(model.spec().with_values(scaling_factor=8.0))
    layer = compare(model, tuned).layer()
    assert layer.attention_factor_b == pytest.approx(0.1 * math.log(8) + 1)
    assert layer.largest_frequency_error == pytest.approx(0.5)  # the slow pairs: 1/8 against 1/4


def test_more_than_a_rotation_is_no_row_of_frequencies() -> None:
    model = configs.read(PLAIN)
    found = compare(model.with_spec(parse("xpos")), model)
    assert found.layers == ()
    assert "so it has no single row of frequencies" in found.notes[0]


def test_log_n_beside_the_rotation_is_named() -> None:
    found = compare(PLAIN, {**PLAIN, "use_logn_attn": True})
    assert found.notes[0].startswith("B: use_logn_attn multiplies each query")


def test_without_any_window_there_is_no_length_but_rows() -> None:
    bare = {"head_dim": 128, "rope_theta": 10000.0}
    found = compare(bare, bare)
    assert (found.length, found.layers) == (None, ())
    assert "Neither configuration names a window" in found.notes[-1]
    assert compare(bare, PLAIN).length == 16384
    assert compare(bare, bare, length=5).layer().first_difference is None


def test_a_window_beyond_the_longest_comparison_is_cut_and_told() -> None:
    large = {**PLAIN, "max_position_embeddings": 10_000_000}
    found = compare(PLAIN, large)
    assert found.length == LONGEST_COMPARISON == 4_194_304
    assert "10,000,000 tokens; both are compared at 4,194,304" in found.notes[0]


@pytest.mark.parametrize("length", [0, -1, 4_194_305, 4096.0, True, "4096"])
def test_a_length_that_is_none_is_refused(length: Any) -> None:
    with pytest.raises(configs.ConfigError, match="length must be a whole number from 1 to 4,19"):
        compare(PLAIN, PLAIN, length=length)


def test_the_one_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(configs.ConfigError, match=r"^B cannot be read: This is not JSON"):
        compare(PLAIN, "{")
    with pytest.raises(configs.ConfigError, match=r"^A cannot be read: The file .* cannot be read"):
        compare(tmp_path / "none.json", PLAIN)


def test_every_form_of_a_configuration_is_taken(tmp_path: Path) -> None:
    text = json.dumps(PLAIN)
    file = tmp_path / "config.json"
    file.write_text(text)
    for given in (text, text.encode(), file, configs.read(PLAIN)):
        found: Comparison = compare(PLAIN, given)
        assert found.differing == ()


def test_the_dictionary_is_plain_json_with_all_names() -> None:
    found = compare(PLAIN, YARN)
    again = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert again["length"] == 16384
    assert again["rows"][0]["differs"] is True
    assert again["layers"][0]["gain_b"] == found.layer().gain_b
    assert len(again["layers"][0]["inv_freq_a"]) == 64
