from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import posviz
from posviz.encodings.rotary import RotaryEncoding
from posviz.measures import first_difference, temperature
from posviz.parameters import ParameterError

LINKS = [
    "rope?base=1000000",
    "rope?base=10000",
    "rope?base=9999",
    "rope?base=10000&partial_rotary_factor=0.25",
    "linear?scaling_factor=4",
    "yarn?scaling_factor=16",
    "yarn?scaling_factor=16&truncate=false",
    "dynamic_ntk?original_max_position_embeddings=512",
    "rerope?window=300",
    "self_extend",
    "log_n?original_max_position_embeddings=100",
    "p_rope?partial_rotary_factor=0.5",
]


def spec_of(link: str) -> RotaryEncoding:
    spec = posviz.parse(link)
    assert isinstance(spec, RotaryEncoding)
    return spec


def by_double_loop(a: RotaryEncoding, b: RotaryEncoding, length: int, share: float) -> int | None:
    """Every distance and every pair, one cosine at a time, as the definition reads."""
    query = np.array([length - 1.0])

    def score(spec: RotaryEncoding, distance: int) -> float:
        seen = float(spec.relative_distance(query, query - distance)[0])
        frequencies = spec.frequencies(length)
        mean = sum(float(np.cos(seen * each)) for each in frequencies) / len(frequencies)
        return temperature(spec, length=length).gain * mean

    start = abs(score(a, 0))
    for distance in range(length):
        if abs(score(b, distance) - score(a, distance)) >= share * start:
            return distance
    return None


@pytest.mark.parametrize("first", LINKS)
@pytest.mark.parametrize("second", LINKS[:2] + LINKS[-4:])
@pytest.mark.parametrize("share", [0.01, 0.2])
def test_it_is_what_a_double_loop_finds(first: str, second: str, share: float) -> None:
    a, b = spec_of(first), spec_of(second)
    found = first_difference(a, b, length=700, share=share)
    assert found == by_double_loop(a, b, 700, share)


LONG = 131072


@pytest.mark.parametrize(
    ("first", "second", "share"),
    [
        ("rope?base=10000", "rope?base=9999", 0.01),
        ("rope?base=500000", "rope?base=500001", 0.01),
        ("yarn?scaling_factor=16", "yarn?scaling_factor=16&truncate=false", 0.01),
        ("yarn?scaling_factor=16", "yarn?scaling_factor=16&truncate=false", 0.1),
        ("rope?base=10000000000", "rope?base=10000000001", 0.01),
        ("rope", "rope?base=10000.5", 0.3),
    ],
)
def test_at_long_lengths_it_is_what_the_whole_curves_give(
    first: str, second: str, share: float
) -> None:
    a, b = spec_of(first), spec_of(second)
    away = np.empty(LONG)
    for start in range(0, LONG, 8192):
        at = np.arange(start, start + 8192.0)[:, None]
        one, two = (
            temperature(spec, length=LONG).gain * np.cos(at * spec.frequencies(LONG)).mean(axis=1)
            for spec in (a, b)
        )
        away[start : start + 8192] = np.abs(two - one)
    differs = away >= share * temperature(a, length=LONG).gain
    expected = int(np.argmax(differs)) if differs.any() else None
    assert first_difference(a, b, length=LONG, share=share) == expected


def test_a_distance_at_the_limit_itself_counts() -> None:
    """One pair each, of 1 and ½ radian per token: the largest difference of three is at 2."""
    a, b = spec_of("rope?head_dim=2"), spec_of("linear?head_dim=2&scaling_factor=2")
    away = abs(float(np.cos(1.0)) - float(np.cos(2.0)))
    assert away > abs(float(np.cos(0.5)) - float(np.cos(1.0)))
    assert first_difference(a, b, length=3, share=away) == 2
    assert first_difference(a, b, length=3, share=float(np.nextafter(away, 2))) is None


def test_the_gain_alone_makes_distance_0_differ_and_can_be_left_out() -> None:
    plain, yarn = spec_of("rope"), spec_of("yarn?scaling_factor=16")
    assert first_difference(plain, yarn, length=4096) == 0
    bare = first_difference(plain, yarn, length=4096, with_gain=False)
    as_bare = spec_of("yarn?scaling_factor=16&attention_factor=1")
    assert bare is not None
    assert bare > 0
    assert bare == first_difference(plain, as_bare, length=4096)


def test_the_limit_is_a_share_of_the_first_one_s_score_at_distance_0() -> None:
    """Gains 1 and 1.0098: 0.98 % of the first one's, 0.97 % of the second one's."""
    a, b = (
        spec_of("yarn?scaling_factor=4&attention_factor=1"),
        spec_of("yarn?scaling_factor=4&attention_factor=1.0049"),
    )
    gain = 1.0049**2
    for share in (gain - 1 - 1e-9, gain - 1 + 1e-9):
        same = first_difference(a, b, length=1, share=share)
        assert same == (0 if share < gain - 1 else None)
    share = (gain - 1) / gain + 1e-9
    assert first_difference(b, a, length=1, share=share) is None
    assert first_difference(a, b, length=1, share=share) == 0


def test_equal_encodings_never_differ() -> None:
    assert (
        first_difference(spec_of("rope"), spec_of("linear?scaling_factor=1"), length=1 << 22)
        is None
    )
    assert first_difference(spec_of("rerope"), spec_of("rerope"), length=1 << 22) is None


def test_the_last_distance_of_the_length_still_counts() -> None:
    a, b = spec_of("rope?base=10000"), spec_of("rope?base=9999")
    found = first_difference(a, b, length=LONG)
    assert found is not None
    assert first_difference(a, b, length=found + 1) == found
    assert first_difference(a, b, length=found) is None


@pytest.mark.parametrize("share", [0, -0.01, float("nan"), float("inf")])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(ParameterError, match="share must be a finite number above 0"):
        first_difference(spec_of("rope"), spec_of("rope"), length=2, share=share)


@pytest.mark.parametrize(("head_dim", "length"), [(128, 1 << 22), (8192, 1 << 16)])
def test_the_search_stays_within_its_memory(head_dim: int, length: int) -> None:
    a, b = (spec_of(f"rope?head_dim={head_dim}&base={base}") for base in ("1e6", "1000000.00001"))
    tracemalloc.start()
    assert first_difference(a, b, length=length) is None
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 60e6
