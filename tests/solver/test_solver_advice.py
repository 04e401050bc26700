from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posviz import solver
from posviz.parameters import ParameterError

LLAMA_2: dict[str, Any] = {"original": 4096, "base": 10000.0, "rotary_dim": 128}


def unfinished(length: float, base: float, rotary_dim: int) -> int:
    """Pairs below one turn, counted one by one."""
    pairs = range(rotary_dim // 2)
    return sum(length * base ** (-2 * i / rotary_dim) / (2 * math.pi) < 1 for i in pairs)


def test_a_static_factor_that_is_too_large_for_the_need() -> None:
    advice = solver.advise(
        original=32768, target=65536, base=1e6, rotary_dim=128, typical=2000, present_factor=4
    )
    yarn = advice.rule("yarn")
    assert advice.severity == "warn"
    assert advice.factor == 2
    assert yarn.sets["factor"] == 2
    assert yarn.sets["original_max_position_embeddings"] == 32768
    assert yarn.values["score_gain"] == pytest.approx(1.143433966, rel=1e-9)
    assert advice.values["score_gain"] == pytest.approx(1.143433966, rel=1e-9)
    assert advice.values["present_score_gain"] == pytest.approx(1.296476993, rel=1e-9)
    assert advice.notes[0] == (
        "The present factor 4 reaches 131072 tokens; 65536 tokens need 2. Use the smallest factor "
        "that covers the need: YaRN's gain on the scores falls from 1.296476993 to 1.143433966."
    )
    assert advice.notes[1].startswith("A static factor applies to short inputs too: at 2000 tokens")


def test_a_present_factor_that_is_too_small_is_said() -> None:
    advice = solver.advise(**LLAMA_2, target=16384, present_factor=2)
    assert advice.severity == "warn"
    assert advice.notes[0] == (
        "The present factor 2 reaches 8192 tokens only; 16384 tokens need 4."
    )
    assert solver.advise(**LLAMA_2, target=16384, present_factor=4).severity == "info"


@pytest.mark.parametrize("target", [1, 2048, 4096])
def test_nothing_is_needed_within_the_window(target: int) -> None:
    advice = solver.advise(**LLAMA_2, target=target)
    assert (advice.severity, advice.needed, advice.factor) == ("ok", False, 1)
    assert [rule.sets for rule in advice.rules] == [{"rope_type": "default"}]
    assert advice.notes[0] == (
        f"Nothing is needed: {target} tokens are within the trained window of 4096. The factor is "
        "1."
    )
    assert solver.advise(**LLAMA_2, target=target, present_factor=4).severity == "warn"


def test_one_token_beyond_the_window_changes_next_to_nothing() -> None:
    # Every rule that answers what to do to this very model tends to the model itself.
    advice = solver.advise(original=1 << 20, target=(1 << 20) + 1, base=1e4, rotary_dim=128)
    for rule in ("linear", "yarn", "ntk_by_parts"):
        assert advice.rule(rule).sets["factor"] == pytest.approx(1, abs=1e-6)
    for rule in ("ntk_aware", "slowest_wavelength", "unfinished_pairs"):
        assert advice.rule(rule).sets["rope_theta"] == pytest.approx(1e4, rel=2e-6)
    assert advice.rule("freq_scale").sets["--rope-freq-scale"] == pytest.approx(1, abs=1e-6)


def test_each_rule_at_four_times_the_window() -> None:
    advice = solver.advise(**LLAMA_2, target=16384)
    sets = {rule.id: rule.sets for rule in advice.rules}
    assert sets["linear"] == {"rope_type": "linear", "factor": 4}
    assert sets["freq_scale"]["--rope-freq-scale"] == 0.25
    assert sets["ntk_aware"]["rope_theta"] == pytest.approx(40889.942432, rel=1e-10)
    assert sets["slowest_wavelength"]["rope_theta"] == pytest.approx(40889.942432, rel=1e-10)
    assert sets["ntk_by_parts"]["high_freq_factor"] == 32
    # transformers' factor 4 at four times the window is alpha 13; the published rule is 4.
    assert advice.rule("dynamic_ntk").values["alpha_at_target"] == 13
    published = advice.rule("dynamic_ntk_published")
    assert published.sets["factor"] == 1
    assert published.values["base_at_target"] == pytest.approx(40889.942432, rel=1e-10)
    # Su, kexue.fm 10122, for 16k: 2.3e5.
    assert sets["men_searched"]["rope_theta"] == pytest.approx(2.3e5, rel=0.03)
    assert "first fails at distance 1707" in advice.rule("men_searched").formula
    # Liu et al. for Llama 2: critical dimension 92; (16384/2π)^(128/92).
    assert advice.rule("critical_dimension").values["critical_dimension"] == 92
    by_hand = math.exp(128 / 92 * math.log(16384 / (2 * math.pi)))
    assert sets["critical_dimension"]["rope_theta"] == pytest.approx(by_hand)
    # 0.0424·16384^1.628, by logarithms: ln b = ln 0.0424 + 1.628·14·ln 2.
    by_hand = math.exp(math.log(0.0424) + 1.628 * 14 * math.log(2))
    assert sets["men_fitted"]["rope_theta"] == pytest.approx(by_hand)


def test_men_for_8192_tokens() -> None:
    advice = solver.advise(**LLAMA_2, target=8192)
    assert advice.rule("men_searched").sets["rope_theta"] == pytest.approx(8.4e4, rel=0.01)


@pytest.mark.parametrize(
    ("original", "base", "count"), [(2048, 1e4, 23), (4096, 1e4, 18), (8192, 5e5, 29)]
)
def test_the_unfinished_pairs_of_three_models_stay_as_many(
    original: int, base: float, count: int
) -> None:
    assert solver.unfinished_pairs(original, base, 128) == count
    rule = solver.advise(original=original, target=8 * original, base=base, rotary_dim=128).rule(
        "unfinished_pairs"
    )
    assert rule.values["unfinished"] == count
    assert unfinished(8 * original, float(rule.sets["rope_theta"]), 128) == count
    above, up_to = rule.values["bases_above"], rule.values["bases_up_to"]
    for inside, outside in (
        (above * (1 + 1e-9), above * (1 - 1e-9)),
        (up_to * (1 - 1e-9), up_to * (1 + 1e-9)),
    ):
        assert unfinished(8 * original, inside, 128) == count
        assert abs(unfinished(8 * original, outside, 128) - count) == 1


@given(
    original=st.integers(7, 1 << 20),
    ratio=st.floats(1.1, 64),
    base=st.floats(10, 1e7),
    pairs=st.integers(2, 128),
)
def test_the_solved_bases_keep_the_count(
    original: int, ratio: float, base: float, pairs: int
) -> None:
    target = math.ceil(original * ratio)
    count = unfinished(original, base, 2 * pairs)
    above, up_to = solver.bases_with_unfinished(count, target, 2 * pairs)
    assert above < up_to
    middle = math.sqrt(above * up_to) if math.isfinite(up_to) else above * 2
    assert unfinished(target, middle, 2 * pairs) == count


def test_a_window_within_one_turn_has_no_base_to_keep() -> None:
    advice = solver.advise(original=6, target=600, base=1e4, rotary_dim=64)
    assert advice.rule("unfinished_pairs").sets == {}
    assert "no pair finishes a turn" in advice.rule("unfinished_pairs").formula
    assert advice.rule("critical_dimension").sets == {}


def test_a_base_that_cannot_be_set_is_not_offered() -> None:
    rule = solver.advise(original=16, target=16 * 10**6, base=1e4, rotary_dim=4).rule("ntk_aware")
    assert rule.sets == {}
    assert rule.formula.endswith("above 1e+15, the largest base that can be set")


def test_a_target_too_long_to_search_is_said() -> None:
    rule = solver.advise(**LLAMA_2, target=16384, search_up_to=8192).rule("men_searched")
    assert rule.sets == {}
    assert rule.formula == "Bases are searched up to 8192 tokens; the target is 16384."


def test_betas_are_handed_through() -> None:
    advice = solver.advise(**LLAMA_2, target=16384, betas=(16, 2))
    assert advice.rule("yarn").sets["beta_fast"] == 16
    assert advice.rule("ntk_by_parts").sets["low_freq_factor"] == 2


def test_every_rule_shows_its_formula_its_source_and_its_caveat() -> None:
    advice = solver.advise(**LLAMA_2, target=32768)
    assert len({rule.id for rule in advice.rules}) == len(advice.rules) > 10
    for rule in advice.rules:
        assert rule.formula
        assert rule.source
        assert rule.caveat.endswith(".")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"original": 0}, "original must be a whole number of at least 1"),
        ({"target": -5}, "target must be a whole number of at least 1"),
        ({"target": math.nan}, "target must be a whole number of at least 1"),
        ({"target": 4096 * 10**6 + 1}, "target must be at most 1e+06 times original; got"),
        ({"base": 0}, "base must be a number above 1 and at most 1e+15; got 0."),
        ({"rotary_dim": 2}, "rotary_dim must be an even whole number of at least 4"),
        ({"typical": 0}, "typical must be a whole number of at least 1"),
        ({"present_factor": 0}, "present_factor must be a finite number above 0; got 0."),
        ({"betas": (32,)}, "betas must be beta_fast and beta_slow; got (32,)."),
    ],
)
def test_a_need_that_is_none_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        solver.advise(**{**LLAMA_2, "target": 8192, **options})
    assert str(caught.value).startswith(f"advice: {message}")


def test_an_unknown_rule_lists_the_closest() -> None:
    with pytest.raises(ParameterError, match="advice: no rule 'yarm'; closest: yarn"):
        solver.advise(**LLAMA_2, target=8192).rule("yarm")
