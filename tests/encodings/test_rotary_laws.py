"""The laws of the rotary and extension families, over every member and over drawn specs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spec_strategies import specs

import posviz
from posviz import ParameterError
from posviz.attention import logits
from posviz.encodings.extension import DynamicExtension, Extension
from posviz.encodings.rotary import RotaryEncoding
from posviz.results import RelativeRotation, Rotation

ROTARY = [encoding for encoding in posviz.catalog() if issubclass(encoding, RotaryEncoding)]
EXTENSIONS = [encoding for encoding in ROTARY if issubclass(encoding, Extension)]
DYNAMIC = [encoding for encoding in ROTARY if issubclass(encoding, DynamicExtension)]
WITH_FACTOR = [
    encoding
    for encoding in EXTENSIONS
    if encoding.identity_at_factor_one and "scaling_factor" in encoding.model_fields
]


def by_id(encodings: list[Any]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("encoding", encodings, ids=lambda encoding: encoding.id)


drawn = settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)


@by_id(ROTARY)
@drawn
@given(data=st.data())
def test_no_valid_spec_gives_a_number_that_is_none(encoding: Any, data: Any) -> None:
    spec = data.draw(specs(encoding))
    length = data.draw(st.sampled_from([None, 1, 2, 4096, 4097, 1 << 40, (1 << 53) + 1]))
    result = spec.encode([0, 1, 17, 4096, 4097, 1 << 20], length)
    assert np.isfinite(result.inv_freq).all()
    assert (result.inv_freq >= 0).all()
    assert not np.isnan(result.wavelengths).any()
    assert math.isfinite(result.attention_factor)
    assert result.attention_factor > 0
    assert math.isfinite(result.softmax_factor)
    assert result.softmax_factor > 0
    assert result.rotary_dim == 2 * len(result.inv_freq) <= spec.head_dim
    if result.query_scale is not None:
        assert np.isfinite(result.query_scale).all()
        assert (result.query_scale >= 1).all()
    if isinstance(result, RelativeRotation):
        assert np.isfinite(result.relative_distance).all()
    else:
        assert np.isfinite(result.cos).all()
        assert np.isfinite(result.sin).all()


@by_id(ROTARY)
@drawn
@given(data=st.data())
def test_no_frequency_is_raised_except_by_rounding_wavelengths(encoding: Any, data: Any) -> None:
    spec = data.draw(specs(encoding))
    trained = spec.trained_frequencies()
    assert (np.diff(trained) <= 0).all()
    if encoding.id == "resonance":
        # 2π → 6 is the largest step down of a wavelength, less than 1/2 of a token.
        plain = posviz.get("yarn")(**spec.model_dump()).frequencies(1)
        ratio = spec.frequencies(1) / plain
        assert (ratio <= (2 * math.pi) / (2 * math.pi - 0.5)).all()
    elif encoding.id not in ("abf", "longrope", "truncated_basis"):
        assert (spec.frequencies(5000) <= trained * (1 + 1e-12)).all()


@by_id([encoding for encoding in ROTARY if not encoding.remaps_distance])
@drawn
@given(data=st.data())
def test_rotation_keeps_length_and_leaves_the_tail(encoding: Any, data: Any) -> None:
    spec = data.draw(specs(encoding))
    result = spec.encode([0, 3, 1000, 70000])
    assert isinstance(result, Rotation)
    vectors = np.random.default_rng(0).standard_normal((4, spec.head_dim))
    turned = result.rotate(vectors)
    head = result.rotary_dim
    np.testing.assert_allclose(
        np.linalg.norm(turned[:, :head], axis=1),
        np.linalg.norm(vectors[:, :head], axis=1) * result.attention_factor,
        rtol=1e-12,
    )
    np.testing.assert_array_equal(turned[:, head:], vectors[:, head:])


@by_id([encoding for encoding in ROTARY if not encoding.remaps_distance])
def test_logit_depends_on_distance_only(encoding: Any) -> None:
    q, k = np.random.default_rng(1).standard_normal((2, 4, encoding().head_dim))
    near = np.asarray([0, 3, 11, 40])

    def plain_logits(shift: int) -> np.ndarray:
        result = encoding().encode(near + shift, length=9000)
        scores = logits(result, q, k)
        return scores if result.query_scale is None else scores / result.query_scale[:, None]

    np.testing.assert_allclose(plain_logits(5000), plain_logits(0), rtol=1e-9, atol=1e-9)


@by_id(WITH_FACTOR)
@drawn
@given(data=st.data())
def test_factor_one_changes_nothing(encoding: Any, data: Any) -> None:
    spec = data.draw(specs(encoding)).with_values(scaling_factor=1.0)
    window = spec.original_max_position_embeddings
    for length in (1, window, window + 1, 16 * window):
        np.testing.assert_array_equal(spec.frequencies(length), spec.trained_frequencies())
        if getattr(spec, "attention_factor", None) is None:
            assert spec.magnitude(length) == 1.0
        assert spec.softmax_magnitude(length) == 1.0
    distance = np.arange(0.0, 9000.0, 7.0)
    np.testing.assert_allclose(
        spec.relative_distance(distance, np.zeros_like(distance)), distance, rtol=1e-13
    )


@by_id(DYNAMIC)
@drawn
@given(data=st.data())
def test_dynamic_method_does_nothing_up_to_the_window(encoding: Any, data: Any) -> None:
    spec = data.draw(specs(encoding))
    window = spec.original_max_position_embeddings
    positions = np.asarray([0, window // 2, window - 1])
    spec.encode([0], length=10 * window)
    for length in {1, 2, max(1, window - 1), window} - {2 if window == 1 else 0}:
        result = spec.encode(positions, length=length)
        np.testing.assert_array_equal(
            result.inv_freq, spec.trained_frequencies(), err_msg=f"at {length}"
        )
        if getattr(spec, "attention_factor", None) is None:
            assert result.attention_factor == 1.0
        assert result.softmax_factor == 1.0
        if result.query_scale is not None:
            np.testing.assert_allclose(result.query_scale, 1.0, rtol=1e-15)


@by_id(DYNAMIC)
def test_dynamic_method_starts_one_token_beyond_the_window(encoding: Any) -> None:
    spec = encoding()
    window = spec.original_max_position_embeddings

    def at(length: int) -> list[Any]:
        result = spec.encode([length - 1], length=length)
        scale = () if result.query_scale is None else result.query_scale
        return [*result.inv_freq, result.attention_factor, result.softmax_factor, *scale]

    assert at(window + 1) != at(window)
    assert at(window) == at(window)
    assert at(window + 1) == at(window + 1)


@by_id(ROTARY)
def test_length_follows_the_last_position(encoding: Any) -> None:
    spec = encoding()
    by_position = spec.encode([9999])
    for length in (10000, np.int64(10000)):
        by_length = spec.encode([9999], length=length)
        np.testing.assert_array_equal(by_position.inv_freq, by_length.inv_freq)
        assert by_position.attention_factor == by_length.attention_factor


@by_id(ROTARY)
def test_bad_length_gives_one_sentence(encoding: Any) -> None:
    allowed = "a whole number of at least 1 and at most 2^53 + 1"
    for length in (0, -1, 1.5, True, "8", float("nan"), 1 << 60, 10**5000):
        with pytest.raises(ParameterError) as caught:
            encoding().encode([0], length=length)
        assert str(caught.value).startswith(f"{encoding.title}: length must be {allowed}; got ")


@by_id(ROTARY)
@pytest.mark.parametrize(
    ("head_dim", "share", "named"),
    [(65, 1.0, "head_dim 65"), (6, 0.5, "partial_rotary_factor 0.5"), (4, 0.2, "head_dim 4")],
)
def test_odd_or_missing_rotary_dimensions_name_both_parameters(
    encoding: Any, head_dim: int, share: float, named: str
) -> None:
    if encoding.id == "p_rope" and head_dim == 6:
        # Three of six dimensions: one pair turns, which the proportional sense allows.
        assert encoding(head_dim=6, partial_rotary_factor=0.5).rotating_pairs == 1
        return
    with pytest.raises(ParameterError) as caught:
        encoding(head_dim=head_dim, partial_rotary_factor=share)
    message = str(caught.value)
    assert message.startswith(f"{encoding.title}: head_dim and partial_rotary_factor must give")
    assert named in message


@by_id([encoding for encoding in ROTARY if encoding.id != "longrope"])
@pytest.mark.parametrize("layout", ["half_split", "interleaved"])
def test_one_pair_head_works(encoding: Any, layout: str) -> None:
    result = encoding(head_dim=2, partial_rotary_factor=1.0, layout=layout).encode([0, 1, 9000])
    assert result.inv_freq.shape == (1,)
    assert np.isfinite(result.inv_freq).all()
