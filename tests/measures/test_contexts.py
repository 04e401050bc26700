"""Attention of the last query against context length, by full softmaxes and by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import entr

import posviz
from posviz.measures import (
    Content,
    ContextCurves,
    context_curves,
    context_lengths,
    half_life,
    weight_profile,
)
from posviz.parameters import ParameterError

LENGTHS = [1, 2, 3, 50, 99, 100, 101, 102, 700, 3000]
PAIRS = 1e4 ** (-np.arange(0, 128, 2) / 128)
ZETA = (np.arange(0, 128, 2) / 128 + 0.4) / 1.4


def cosines(distances: np.ndarray, frequencies: np.ndarray = PAIRS) -> np.ndarray:
    return np.cos(distances[:, None] * frequencies).mean(axis=1)


def faded(distances: np.ndarray) -> np.ndarray:
    """xPos: the mean over pairs of ζ^(δ/512)·cos."""
    kept = ZETA ** (distances[:, None] / 512)
    return (kept * np.cos(distances[:, None] * PAIRS)).mean(axis=1)


def faded_spread(distances: np.ndarray) -> np.ndarray:
    return np.sqrt((ZETA ** (2 * distances[:, None] / 512)).mean(axis=1))


def nothing(distances: np.ndarray) -> np.ndarray:
    return np.zeros_like(distances)


def one(distances: np.ndarray) -> np.ndarray:
    return np.ones_like(distances)


def log_n(length: int) -> float:
    return max(1.0, math.log(length) / math.log(256))


def steps(length: int) -> float:
    """Llama 4's temperature of the last query, with a step every 64 tokens."""
    return 1 + 0.1 * math.log(math.floor(length / 64) + 1)


M2 = (1 + 0.1 * math.log(4)) ** 2
"""Square of YaRN's attention factor for s = 4."""

# Written out from the papers: link, score of equal content, spread of draws, bias, gain, window.
SPECS: dict[str, tuple[Any, Any, Any, Any, float]] = {
    "nope": (one, one, nothing, None, math.inf),
    "causal": (one, one, nothing, None, math.inf),
    "sliding_window?window=100": (one, one, nothing, None, 99),
    "alibi": (one, one, lambda d: -d / 2, None, math.inf),
    "alibi?slope_scale=1000": (one, one, lambda d: -500 * d, None, math.inf),
    "rope": (cosines, one, nothing, None, math.inf),
    "xpos": (faded, faded_spread, nothing, None, math.inf),
    "rope?partial_rotary_factor=0.25": (
        lambda d: 0.25 * cosines(d, 1e4 ** (-np.arange(0, 32, 2) / 32)) + 0.75,
        one,
        nothing,
        None,
        math.inf,
    ),
    "yarn?scaling_factor=4": (
        lambda d: M2 * cosines(d, posviz.parse("yarn?scaling_factor=4").frequencies(1)),
        lambda d: M2 * one(d),
        nothing,
        None,
        math.inf,
    ),
    "log_n?original_max_position_embeddings=256": (cosines, one, nothing, log_n, math.inf),
    "irope?layer=3&floor_scale=64": (one, one, nothing, steps, math.inf),
}
CONTENTS = [
    Content(),
    Content(content="gaussian"),
    Content(content="gaussian", sigma=5.0, seed=3),
    Content(content="gaussian", sigma=0.0),
    Content(content="same", match=11.0),
    Content(content="same", match=1000.0),
    Content(content="needle", needle_turns=True),
    Content(content="needle", depth=0.0),
    Content(content="needle", depth=1.0, sigma=0.0),
    Content(content="needle", match=0.0, depth=0.1, sigma=100.0, seed=1),
    Content(content="needle", match=0.0, depth=0.0, sigma=0.0),
    Content(content="needle", match=1000.0, depth=0.9, needle_turns=True),
]


def needle_place(content: Content, length: int) -> int:
    return round(content.depth * (length - 1))


def full_row(link: str, content: Content, length: int) -> tuple[np.ndarray, np.ndarray]:
    """The logits without and with the needle, minus infinity beyond the window."""
    score, spread, bias, gain, window = SPECS[link]
    distances = np.arange(float(length))
    factor = 1.0 if gain is None else gain(length)
    hay = bias(distances) + 0.0
    if content.content == "same":
        hay = hay + factor * content.match * score(distances)
    elif content.content != "zero":
        draws = np.random.default_rng(content.seed).standard_normal(length)
        hay = hay + factor * content.sigma * draws * spread(distances)
    # Where every key equals the query there is no needle: its number is that among equal keys.
    needle = bias(distances) + 0.0 if content.content == "same" else hay.copy()
    place = needle_place(content, length)
    turned = score(distances)[place] if content.needle_turns else score(np.zeros(1))[0]
    needle[place] = factor * content.match * turned + bias(distances)[place]
    for row in (hay, needle):
        row[distances > window] = -np.inf
    return hay, needle


def weights_of(row: np.ndarray) -> np.ndarray:
    raised = np.exp(row - row.max())
    return np.asarray(raised / raised.sum())


def by_softmax(link: str, content: Content, length: int) -> dict[str, float]:
    hay, needle = full_row(link, content, length)
    weights = weights_of(needle if content.content == "needle" else hay)
    held = np.cumsum(weights)
    return {
        "entropy": float(entr(weights).sum()),
        "reach": float(np.argmax(held >= 0.99 - 1e-12) + 1),
        "half_reach": float(np.argmax(held >= 0.5 - 1e-12) + 1),
        "first_weight": float(weights[-1]),
        "concentration": float((weights**2).sum()),
        "needle": float(weights_of(needle)[needle_place(content, length)]),
    }


@pytest.mark.parametrize("content", CONTENTS, ids=lambda content: str(content))
@pytest.mark.parametrize("link", SPECS)
def test_curves_agree_with_the_full_softmax_of_every_context(link: str, content: Content) -> None:
    found = context_curves(posviz.parse(link), LENGTHS, content=content)
    assert found.lengths.tolist() == LENGTHS
    for place, length in enumerate(LENGTHS):
        expected = by_softmax(link, content, length)
        for name, value in expected.items():
            assert getattr(found, name)[place] == pytest.approx(value, rel=1e-8, abs=1e-11), (
                name,
                length,
            )


@pytest.mark.parametrize("content", CONTENTS, ids=lambda content: str(content))
@pytest.mark.parametrize("link", SPECS)
def test_profile_is_the_full_softmax(link: str, content: Content) -> None:
    for length in (1, 2, 102, 700):
        found = weight_profile(posviz.parse(link), length, content=content)
        hay, needle = full_row(link, content, length)
        row = needle if content.content == "needle" else hay
        np.testing.assert_allclose(found.weights, weights_of(row), rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(found.logits, row, rtol=1e-10, atol=1e-9)
        assert found.weights.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_a_needle_in_place_of_the_key_that_held_everything(seed: int) -> None:
    # Draws so wide that one key holds nearly all of the weight, and the needle, without a match,
    # lies right on it.
    length = 1001
    draws = np.random.default_rng(seed).standard_normal(length)
    content = Content(
        content="needle",
        sigma=100.0,
        match=0.0,
        seed=seed,
        depth=int(draws.argmax()) / (length - 1),
    )
    found = context_curves(posviz.parse("nope"), [length], content=content)
    expected = by_softmax("nope", content, length)
    for name, value in expected.items():
        assert getattr(found, name)[0] == pytest.approx(value, rel=1e-9, abs=1e-13), name


@pytest.mark.parametrize("head", range(8))
def test_every_head_of_a_bias_has_its_own_curve(head: int) -> None:
    spec = posviz.parse("alibi")
    found = context_curves(spec, [2048], head=head)
    weights = weights_of(-np.arange(2048.0) * 2.0 ** -(head + 1))
    assert found.concentration[0] == pytest.approx(float((weights**2).sum()), rel=1e-12)
    assert found.entropy[0] == pytest.approx(float(entr(weights).sum()), rel=1e-9)
    profile = weight_profile(spec, 2048, head=head)
    np.testing.assert_allclose(profile.weights, weights, rtol=1e-12)
    # The logit falls by ln 2 in ln 2 / slope tokens.
    assert profile.half_life == pytest.approx(math.log(2) * 2 ** (head + 1), rel=1e-12)


def test_encodings_with_one_row_take_any_head() -> None:
    spec = posviz.parse("rope")
    first, last = (context_curves(spec, [64], head=head) for head in (0, 7))
    np.testing.assert_array_equal(first.entropy, last.entropy)
    biased = posviz.parse("alibi")
    first, last = (context_curves(biased, [64], head=head) for head in (7, 8))
    np.testing.assert_array_equal(first.entropy, last.entropy)


def test_equal_keys_share_the_weight_and_the_first_token_tells_the_length() -> None:
    lengths = np.arange(1, 3000)
    found = context_curves(posviz.parse("causal"), lengths)
    np.testing.assert_allclose(found.entropy, np.log(lengths), rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(found.first_weight, 1 / lengths, rtol=1e-13)
    np.testing.assert_array_equal(found.half_reach, np.ceil(lengths / 2))
    np.testing.assert_array_equal(found.reach, np.ceil(99 * lengths / 100))


def test_a_window_stops_every_curve_at_its_width() -> None:
    found = context_curves(
        posviz.parse("sliding_window?window=64"),
        [63, 64, 65, 10_000],
        content=Content(content="needle", depth=1.0, sigma=0.0, match=5.0, needle_turns=False),
    )
    # The needle at the start of the context is seen up to 64 tokens, and no longer.
    gone = [0.0, 0.0]
    shown = [1 / (1 + (n - 1) * math.exp(-5)) for n in (63, 64)]
    np.testing.assert_allclose(found.needle, shown + gone, rtol=1e-12)
    np.testing.assert_allclose(found.first_weight, shown + gone, rtol=1e-12)
    np.testing.assert_allclose(found.entropy[2:], math.log(64), rtol=1e-14)


def test_long_contexts_are_those_of_the_same_draws() -> None:
    # A longer context adds keys and changes none: each length alone gives the same numbers.
    content = Content(content="gaussian", sigma=2.0, seed=11)
    lengths = [5, 16_383, 16_384, 16_385, 40_000]
    spec = posviz.parse("alibi?slope_scale=0.01")
    together = context_curves(spec, lengths, content=content)
    for place, length in enumerate(lengths):
        alone = context_curves(spec, [length], content=content)
        for name in ContextCurves.__dataclass_fields__:
            assert getattr(alone, name)[0] == pytest.approx(
                getattr(together, name)[place], rel=1e-11
            )


def test_llama_4_sharpens_in_steps_of_8192_tokens() -> None:
    # q·(1 + 0.1·ln(⌊(m+1)/8192⌋ + 1)) in the layers that do not rotate.
    content = Content(content="needle", sigma=0.0, needle_turns=False, match=10.0)
    lengths = np.array([8190, 8191, 8192, 8193, 16_383, 16_384, 24_575, 24_576, 131_072])
    found = context_curves(posviz.parse("irope?layer=3"), lengths, content=content)
    margin = np.log(found.needle / (1 - found.needle)) + np.log(lengths - 1)
    factors = [1, 1, 1.069315, 1.069315, 1.069315, 1.109861, 1.109861, 1.138629, 1.283321]
    np.testing.assert_allclose(margin / 10, factors, rtol=0, atol=5e-7)
    # A layer that rotates has no such temperature.
    rotating = context_curves(posviz.parse("irope?layer=0"), lengths, content=content)
    margin = np.log(rotating.needle / (1 - rotating.needle)) + np.log(lengths - 1)
    np.testing.assert_allclose(margin, 10, rtol=1e-10)


@pytest.mark.parametrize("factor", [4, 16, 32])
def test_yarn_sharpens_the_needle_by_the_square_of_its_factor(factor: int) -> None:
    content = Content(content="needle", sigma=0.0, needle_turns=False, match=6.0)
    lengths = np.array([64, 4096, 131_072])
    for link, sharper in (("rope", 1.0), (f"yarn?scaling_factor={factor}", None)):
        found = context_curves(posviz.parse(link), lengths, content=content)
        margin = np.log(found.needle / (1 - found.needle)) + np.log(lengths - 1)
        expected = sharper or (1 + 0.1 * math.log(factor)) ** 2
        np.testing.assert_allclose(margin, 6 * expected, rtol=1e-10)


def test_a_needle_that_turns_follows_the_score_of_equal_content() -> None:
    content = Content(content="needle", sigma=0.0, depth=1.0, match=10.0, needle_turns=True)
    lengths = np.array([2, 3, 10, 1000])
    found = context_curves(posviz.parse("rope"), lengths, content=content)
    margin = np.log(found.needle / (1 - found.needle)) + np.log(lengths - 1)
    np.testing.assert_allclose(margin, 10 * cosines(lengths - 1.0), rtol=1e-10)


def test_half_life_is_found_between_tokens() -> None:
    assert half_life(-0.4 * np.arange(9.0)) == pytest.approx(math.log(2) / 0.4, rel=1e-12)
    # Falling by more than ln 2 at once: a straight line to that key.
    assert half_life(np.array([0.0, -2.0])) == pytest.approx(math.log(2) / 2)
    # Not before it first falls so far, and the window's edge counts as its own distance.
    assert half_life(np.array([0.0, 1.0, -0.5, -0.7])) == pytest.approx(
        2 + (math.log(2) - 0.5) / 0.2
    )
    assert half_life(np.array([0.0, 0.0, -np.inf])) == 2.0
    assert half_life(np.zeros(5)) == math.inf
    assert half_life(np.zeros(1)) == math.inf


def test_lengths_of_a_curve_are_evenly_spaced_on_a_log_axis() -> None:
    lengths = context_lengths(1 << 20, 48)
    assert (lengths[0], lengths[-1], len(lengths)) == (8, 1 << 20, 48)
    ratios = lengths[20:] / lengths[19:-1]
    np.testing.assert_allclose(ratios, 2 ** (17 / 47), rtol=1e-2)
    assert context_lengths(3).tolist() == [3]
    assert context_lengths(10).tolist() == [8, 9, 10]


def test_lengths_beyond_the_encoding_are_left_out() -> None:
    found = context_curves(posviz.parse("shaw"), [8, 256, 257, 100_000])
    assert found.lengths.tolist() == [8, 256]
    assert found.entropy.shape == (2,)


@pytest.mark.parametrize(
    ("lengths", "sentence"),
    [
        ([0], "context curves: lengths must be a whole number of at least 1; got 0."),
        ([2.5], "context curves: lengths must be a whole number of at least 1; got 2.5."),
        (
            [4, 2],
            "context curves: lengths must be whole numbers in ascending order; got [4, 2].",
        ),
        ([4, 4], "context curves: lengths must be whole numbers in ascending order; got [4, 4]."),
    ],
)
def test_lengths_that_make_no_curve_are_refused(lengths: list[float], sentence: str) -> None:
    with pytest.raises(ParameterError) as error:
        context_curves(posviz.parse("rope"), lengths)
    assert str(error.value) == sentence


def test_encodings_without_a_row_are_refused() -> None:
    with pytest.raises(ParameterError) as error:
        context_curves(posviz.parse("rope_2d"), [8])
    assert str(error.value) == (
        "RoPE-2D: its positions stand on a grid, so that no single distance names a key."
    )


@pytest.mark.parametrize("link", ["t5", "yarn", "rerope", "alibi", "nope", "vo_rope"])
def test_a_length_of_numpy_is_a_length(link: str) -> None:
    spec = posviz.parse(link)
    plain, numpy = (weight_profile(spec, one) for one in (300, np.int64(300)))  # type: ignore[arg-type]
    np.testing.assert_array_equal(plain.logits, numpy.logits)


@pytest.mark.parametrize("head", [-1, 1.0, None])
def test_what_is_no_head_is_refused(head: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        context_curves(posviz.parse("alibi"), [8], head=head)
    words = f"attention: head must be a whole number of at least 0; got {head}."
    assert str(caught.value) == words
