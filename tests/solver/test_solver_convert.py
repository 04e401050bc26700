from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posviz import solver
from posviz.parameters import ParameterError

LLAMA = {"base": 10000.0, "rotary_dim": 128}


def test_a_base_as_ntk_alpha_and_the_base_of_the_round_alpha() -> None:
    found = solver.convert("ntk_base", 35000, **LLAMA)
    assert found.severity == "ok"
    assert found.number("alpha_ntk") == pytest.approx(3.432155698, rel=1e-9)
    assert found.number("alpha_product") == 3.5
    back = solver.convert("alpha_ntk", 3.5, **LLAMA, to="base")
    assert back.number("ntk_base") == pytest.approx(35702.94534, rel=1e-9)
    assert found.notes[0] == (
        "35000 is 3.5 times the base: 3.5 is alpha as a product. As NTK alpha with rotary_dim 128, "
        "3.5 would give the base 35702.94534."
    )


def test_an_alpha_without_a_definition_is_read_under_each() -> None:
    found = solver.convert("alpha", 20, base=10000, rotary_dim=(128, 44))
    assert found.severity == "info"
    assert found.number("ntk_base", read_as="alpha_product") == 200000
    ntk = {dim: found.number("ntk_base", read_as="alpha_ntk", rotary_dim=dim) for dim in (128, 44)}
    assert ntk[128] == pytest.approx(209740.0009, rel=1e-9)
    assert ntk[44] == pytest.approx(230666.1171, rel=1e-9)
    assert found.notes[0].startswith("The name has 6 definitions: alpha_ntk, alpha_product,")
    reasons = {row.read_as: row.rule for row in found.rows if row.value is None}
    assert reasons["alpha_of_steps"] == (
        "alpha_of_steps must be a step of the staircase 1, 3, 7, 15, …, next to it 15 or 31; "
        "got 20."
    )
    assert "number of turns" in reasons["beta_slow"]


def test_the_product_needs_no_dimension() -> None:
    found = solver.convert("alpha", 20, base=10000)
    bases = [(row.read_as, row.value) for row in found.rows if row.quantity == "ntk_base"]
    assert bases == [("alpha_product", 200000.0)]
    assert "ntk_base needs rotary_dim as well." in found.notes


@pytest.mark.parametrize(("scale", "factor"), [(0.25, 4), (0.125, 8), (8.0, 0.125), (1.0, 1)])
def test_a_frequency_scale_is_the_reciprocal_of_the_factor(scale: float, factor: float) -> None:
    asked = ("compress_pos_emb", "--rope-scale", "factor")
    found = solver.convert("--rope-freq-scale", scale, to=asked)
    assert found.number("factor") == factor
    assert found.severity == ("warn" if scale > 1 else "ok")


def test_a_frequency_scale_above_one_is_said_to_shrink_the_context() -> None:
    assert solver.convert("rope_freq_scale", 8, to="factor").notes == (
        "Frequency scale 8 is above 1, the value that changes nothing: a frequency scale above 1 "
        "shrinks the context (factor 0.125). Where 8 was meant as the factor, the frequency scale "
        "is 0.125.",
    )


@pytest.mark.parametrize(
    ("name", "value", "side"),
    [
        ("compress_pos_emb", 0.5, "below 1"),
        ("alpha_value", 0.5, "below 1"),
        ("alpha_product", 0.5, "below 1"),
        ("rope_theta", 5000, "below 10000"),
        ("target_length", 2048, "below 4096"),
    ],
)
def test_whatever_shrinks_the_context_is_a_warning(name: str, value: float, side: str) -> None:
    found = solver.convert(name, value, **LLAMA, original=4096)
    assert found.severity == "warn"
    assert side in found.notes[0]
    assert "shrinks the context" in found.notes[0]


def test_every_step_of_a_conversion_is_written_out() -> None:
    found = solver.convert("ntk_base", 40889.942432, **LLAMA, original=4096, to="target_length")
    assert found.rows[0].rule == "s = (40889.94243/10000)^((128-2)/128) = 4; L' = 4·4096"
    assert found.number("target_length") == pytest.approx(16384)


@pytest.mark.parametrize(("factor", "base"), [(2, 20221.26), (4, 40889.942432), (8, 82684.62)])
def test_the_published_bases_of_three_factors(factor: float, base: float) -> None:
    # YaRN, definition 1, for base 10000 and 128 dimensions.
    found = solver.convert("factor", factor, **LLAMA)
    assert found.number("ntk_base") == pytest.approx(base, abs=0.005)


def test_the_factor_of_dynamic_ntk_depends_on_the_length() -> None:
    # Base 10000 of a 2048 window at 4096 with factor 2: alpha 3, 30527.73675.
    given_two = {**LLAMA, "length": 4096, "original": 2048}
    found = solver.convert("factor_dynamic_transformers", 2, **given_two, to=("factor", "ntk_base"))
    assert found.number("factor") == 3
    assert found.number("ntk_base") == pytest.approx(30527.73675, rel=1e-9)
    within = {**given_two, "length": 1024}
    assert solver.convert("factor_dynamic_transformers", 2, **within).number("factor") == 1
    short = solver.convert("factor_dynamic_transformers", 2, **{**given_two, "length": 2380})
    assert short.number("ntk_base") == pytest.approx(13301.34634, rel=1e-9)


INVERTIBLE = [
    one.id
    for one in solver.names()
    if one.to_factor and one.from_factor and one.id != "alpha_of_steps"
]


def test_every_definition_but_the_ramp_bound_can_be_converted() -> None:
    assert {one.id for one in solver.names()} - set(INVERTIBLE) == {"alpha_of_steps", "beta_slow"}


@settings(max_examples=25, deadline=None)
@given(
    factor=st.floats(1.001, 1000),
    base=st.floats(100, 1e6),
    pairs=st.integers(8, 256),
    original=st.integers(16, 1 << 20),
    length_ratio=st.integers(2, 64),
)
def test_every_conversion_leads_back(
    factor: float, base: float, pairs: int, original: int, length_ratio: int
) -> None:
    model = {
        "base": base,
        "rotary_dim": 2 * pairs,
        "original": original,
        "length": original * length_ratio,
    }
    values = solver.convert("factor", factor, **model, to=INVERTIBLE)
    for one, other in itertools.permutations(INVERTIBLE, 2):
        value = values.number(one)
        there = solver.convert(one, value, **model, to=other).number(other)
        back = solver.convert(other, there, **model, to=one).number(one)
        assert back == pytest.approx(value, rel=1e-9)
        assert there == pytest.approx(values.number(other), rel=1e-9)


def test_a_quantity_converted_to_itself_stays_exactly() -> None:
    assert solver.convert("ntk_base", 1 / 3 + 2, to="ntk_base").number("ntk_base") == 1 / 3 + 2


def test_numbers_of_numpy_are_numbers() -> None:
    found = solver.convert("factor", np.float32(4), base=np.int64(10000), rotary_dim=np.int32(128))
    assert found.number("ntk_base") == pytest.approx(40889.942432)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("factor", 0), "factor must be a finite number above 0; got 0."),
        (("factor", -4.0), "factor must be a finite number above 0; got -4.0."),
        (("factor", math.nan), "factor must be a finite number above 0; got nan."),
        (("factor", math.inf), "factor must be a finite number above 0; got inf."),
        (("factor", True), "factor must be a finite number above 0; got True."),
        (("factor", np.True_), "factor must be a finite number above 0; got True."),
        (("factor", np.array([4])), "factor must be a finite number above 0; got [4]."),
        (
            ("factor", 10**400),
            "factor must be a finite number above 0; got a whole number of about",
        ),
        (("factor", "4"), "factor must be a finite number above 0; got '4'."),
        (("ntk_base", 0.5), "ntk_base must be above 1 and at most 1e+15; got 0.5."),
        (
            ("alpha_of_steps", 4),
            "alpha_of_steps must be a step of the staircase 1, 3, 7, 15, …, next to it 3 or 7; "
            "got 4.",
        ),
        (("yarn_attention_factor", 0.9), "yarn_attention_factor must be at least 1; got 0.9."),
        (
            ("beta_slow", 1),
            "Lower bound of the ramp (YaRN's alpha): It is a number of turns that says which pairs "
            "are divided, not by how much: it cannot be converted to a factor, an alpha of NTK or "
            "a base.",
        ),
        (("alhpa", 1), "there is no quantity 'alhpa'; closest: alpha, ntk_alpha, alpha_ntk."),
        ((None, 1), "there is no quantity None;"),
    ],
)
def test_a_value_that_cannot_be_used_is_one_sentence(
    arguments: tuple[str, float], message: str
) -> None:
    with pytest.raises(ParameterError) as caught:
        solver.convert(*arguments)
    assert str(caught.value).startswith(f"converter: {message}")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"to": "ntk_base"}, "ntk_base needs base and rotary_dim."),
        ({"to": "ntk_base", "base": 1e4}, "ntk_base needs rotary_dim."),
        ({"to": "target_length"}, "target_length needs original."),
        ({"to": "beta_slow"}, "Lower bound of the ramp (YaRN's alpha): It is a number of turns"),
        (
            {"to": "alpha_of_steps"},
            "alpha_of_steps must be a step of the staircase 1, 3, 7, 15, …, next to it 3 or 7; "
            "factor 4 gives 4.",
        ),
        ({"base": 1}, "base must be a number above 1 and at most 1e+15; got 1."),
        ({"base": math.nan}, "base must be a number above 1 and at most 1e+15; got nan."),
        ({"rotary_dim": 127}, "rotary_dim must be an even whole number of at least 4"),
        ({"rotary_dim": 2}, "rotary_dim must be an even whole number of at least 4"),
        ({"rotary_dim": 64.5}, "rotary_dim must be an even whole number of at least 4"),
        ({"rotary_dim": ()}, "rotary_dim must be at least one number; got none."),
        ({"length": 0}, "length must be a whole number of at least 1"),
        ({"original": 4096.5}, "original must be a whole number of at least 1"),
    ],
)
def test_an_argument_that_is_missing_or_wrong_is_named(
    options: dict[str, object], message: str
) -> None:
    with pytest.raises(ParameterError) as caught:
        solver.convert("factor", 4, **options)  # type: ignore[arg-type]
    assert str(caught.value).startswith(f"converter: {message}")


def test_a_result_that_no_float_holds_is_refused_in_words() -> None:
    with pytest.raises(ParameterError) as caught:
        solver.convert("factor", 1e300, base=1e4, rotary_dim=4, to="ntk_base")
    assert str(caught.value) == (
        "converter: ntk_base = 10000·1e+300^(4/(4-2)) is no finite number above 0."
    )


def test_a_value_that_several_definitions_give_is_not_picked() -> None:
    found = solver.convert("alpha", 20, base=10000, rotary_dim=(128, 44))
    with pytest.raises(ParameterError) as caught:
        found.number("ntk_base")
    assert str(caught.value) == "conversion of alpha: ntk_base has 3 values."


def test_an_alpha_is_placed_at_the_length() -> None:
    found = solver.convert("alpha", 3, base=1e4, rotary_dim=128, length=8192, original=2048)
    assert found.notes[-1] == (
        "At 8192 tokens of a window of 2048 the length alone gives alpha_of_steps 7 and "
        "alpha_dynamic_ratio 4."
    )


@pytest.mark.parametrize(
    ("name", "quantity"),
    [
        ("--rope-scale", "factor"),
        ("rope.scaling.factor", "factor"),
        ("Compress_Pos_Emb", "factor"),
        ("--rope-freq-base", "ntk_base"),
        ("rope_theta", "ntk_base"),
        ("alpha_value", "alpha_ntk"),
        ("rope_ntk_alpha", "beta_slow"),
        ("low_freq_factor", "beta_slow"),
        ("attention_factor", "yarn_attention_factor"),
    ],
)
def test_names_of_tools_are_understood(name: str, quantity: str) -> None:
    assert [one.id for one in solver.meanings(name)] == [quantity]


def test_every_quantity_says_what_it_is_and_where_from() -> None:
    ids = [one.id for one in solver.names()]
    assert len(set(ids)) == len(ids)
    for one in solver.names():
        assert one.meaning.endswith(".")
        assert one.source
        assert bool(one.refusal) == (one.to_factor is None)
        assert one.rule or one.refusal
