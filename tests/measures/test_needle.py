from __future__ import annotations

import math

import numpy as np
import pytest

import posviz
from posviz.encodings.rotary import RotaryEncoding
from posviz.measures import needle_weight
from posviz.parameters import ParameterError


def spec_of(text: str) -> RotaryEncoding:
    spec = posviz.parse(text)
    assert isinstance(spec, RotaryEncoding)
    return spec


def test_published_weights_without_a_factor() -> None:
    # S39: margin ln 9(n-1) = 10.5147 at n = 4096, then dilution.
    found = needle_weight(spec_of("rope"), lengths=[4096, 8192, 32768, 131072], trained_length=4096)
    assert found.margin == pytest.approx(10.5147, abs=5e-5)
    expected = [0.9, 0.81816, 0.52936, 0.21947]
    np.testing.assert_allclose(found.weights, expected, rtol=0, atol=5e-6)
    assert found.lengths.tolist() == [4096, 8192, 32768, 131072]


def test_a_gain_raises_the_weight_as_a_softmax_says(tempered: RotaryEncoding) -> None:
    found = needle_weight(tempered, lengths=[11, 1001], trained_length=10, weight_at_trained=0.5)
    # Margin ln 9; gains 4.5·1.01 and 4.5·2 at positions 10 and 1000.
    for weight, length, gain in zip(found.weights, (11, 1001), (4.545, 9.0), strict=True):
        logits = np.zeros(length)
        logits[0] = gain * math.log(9)
        assert weight == pytest.approx(np.exp(logits[0]) / np.exp(logits).sum(), rel=1e-12)


def test_a_needle_alone_gets_everything_and_a_huge_gain_does_not_overflow() -> None:
    assert needle_weight(spec_of("rope"), lengths=[1], trained_length=4096).weights == [1.0]
    strong = spec_of("yarn?attention_factor=100")
    assert needle_weight(strong, lengths=[131072], trained_length=4096).weights == [1.0]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"trained_length": 1},
            "needle weight: trained_length must be a whole number of at least 2; got 1.",
        ),
        (
            {"weight_at_trained": 1.0},
            "needle weight: weight_at_trained must be a number above 0 and below 1; got 1.0.",
        ),
        (
            {"lengths": [2.5]},
            "needle weight: lengths must be a whole number of at least 1; got 2.5.",
        ),
        (
            {"lengths": [math.nan]},
            "needle weight: lengths must be a whole number of at least 1; got nan.",
        ),
    ],
)
def test_values_that_cannot_be_are_refused(changed: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {"lengths": [10], "trained_length": 4096, **changed}
    with pytest.raises(ParameterError) as caught:
        needle_weight(spec_of("rope"), **arguments)  # type: ignore[arg-type]
    assert str(caught.value) == message
