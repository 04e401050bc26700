"""A window of the attention matrix against whole matrices, written out from the papers."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import entr, logsumexp

import posviz
from posviz.measures import Content, weight_window
from posviz.parameters import ParameterError

Matrix = np.ndarray
PAIRS = 1e4 ** (-np.arange(0, 128, 2) / 128)


def cosines(distances: Matrix) -> Matrix:
    """Score of equal content in RoPE: the mean over pairs of cos(δ·f)."""
    return np.mean([np.cos(distances * frequency) for frequency in PAIRS], axis=0)


def gaps(count: int) -> Matrix:
    return np.subtract.outer(np.arange(float(count)), np.arange(float(count)))


def rope(count: int) -> tuple[Matrix, Matrix]:
    return cosines(gaps(count)), np.zeros((count, count))


def alibi(count: int, head: int = 0, heads: int = 8) -> tuple[Matrix, Matrix]:
    return np.ones((count, count)), -(2.0 ** (-8 * (head + 1) / heads)) * gaps(count)


def self_extend(count: int) -> tuple[Matrix, Matrix]:
    """Algorithm 1 with w = 32 and G = 8: ⌊m/G⌋ + w - w/G - ⌊n/G⌋ from the window on."""
    m, n = np.meshgrid(np.arange(float(count)), np.arange(float(count)), indexing="ij")
    grouped = np.floor(m / 8) + 32 - 32 / 8 - np.floor(n / 8)
    return cosines(np.where(m - n < 32, m - n, grouped)), np.zeros((count, count))


def sliding(count: int) -> tuple[Matrix, Matrix]:
    return np.ones((count, count)), np.where(gaps(count) < 50, 0.0, -np.inf)


def log_n(count: int) -> tuple[Matrix, Matrix]:
    """Query m sees m + 1 keys: all logits times max(1, ln(m + 1)/ln 64)."""
    seen = np.arange(1.0, count + 1)[:, None]
    return cosines(gaps(count)) * np.maximum(1, np.log(seen) / math.log(64)), 0 * gaps(count)


SPECS: dict[str, Callable[[int], tuple[Matrix, Matrix]]] = {
    "rope": rope,
    "alibi": alibi,
    "self_extend?window=32&group_size=8": self_extend,
    "sliding_window?window=50": sliding,
    "log_n?original_max_position_embeddings=64": log_n,
}
CONTENTS = {
    "equal": (Content(), 0.0),
    "same": (Content(content="same", match=7.0), 7.0),
    "draws are left out": (Content(content="gaussian", sigma=5.0), 0.0),
    "so is the needle": (Content(content="needle", match=20.0), 0.0),
}


def softmax(logits: Matrix) -> Matrix:
    """Rows over the keys up to each query; the future gets nothing."""
    seen = np.where(np.tril(np.ones(logits.shape, dtype=bool)), logits, -np.inf)
    return np.asarray(np.exp(seen - logsumexp(seen, axis=1, keepdims=True)))


def whole(link: str, count: int, match: float) -> Matrix:
    score, bias = SPECS[link](count)
    return softmax((match * score if match else 0.0) + bias)


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("link", SPECS)
@pytest.mark.parametrize(("place", "window"), [(0, 40), (30, 64), (200, 40), (200, 41), (63, 1)])
def test_every_cell_is_that_of_the_whole_matrix(
    link: str, content: str, place: int, window: int
) -> None:
    model, match = CONTENTS[content]
    found = weight_window(posviz.parse(link), place, window=window, content=model)
    first, last = int(found.keys[0]), int(found.keys[-1])
    assert (last - first + 1, found.step) == (window, 1)
    assert first == max(0, place + (window + 1) // 2 - window)
    np.testing.assert_array_equal(found.queries, found.keys)
    expected = whole(link, last + 1, match)
    part = expected[first:, first:]
    lower = np.tril(np.ones_like(part, dtype=bool))
    np.testing.assert_allclose(found.weights[lower], part[lower], rtol=1e-9, atol=1e-13)
    assert np.isnan(found.weights[~lower]).all()
    np.testing.assert_allclose(
        found.entropy, entr(expected[first:]).sum(axis=1), rtol=1e-9, atol=1e-11
    )


@pytest.mark.parametrize("head", [0, 3, 7, 100])
def test_the_slope_is_that_of_the_head_and_beyond_the_last_that_of_the_last(head: int) -> None:
    found = weight_window(posviz.parse("alibi"), 90, window=20, head=head)
    logits = alibi(100, min(head, 7))[1]
    expected = softmax(logits)[80:, 80:]
    lower = np.tril(np.ones_like(expected, dtype=bool))
    np.testing.assert_allclose(found.weights[lower], expected[lower], rtol=1e-9)


def test_the_mean_weight_of_a_key_counts_only_the_queries_that_see_it() -> None:
    found = weight_window(posviz.parse("alibi"), 60, window=30)
    expected = whole("alibi", 75, 0.0)
    means = [np.mean(expected[key:, key]) for key in range(45, 75)]
    np.testing.assert_allclose(found.key_share, means, rtol=1e-9)


def test_a_window_at_the_start_begins_with_the_first_token_which_sees_itself_alone() -> None:
    found = weight_window(posviz.parse("rope"), 3, window=16)
    assert (found.keys[0], found.keys[-1]) == (0, 15)
    assert found.weights[0, 0] == pytest.approx(1.0, abs=1e-15)
    assert found.entropy[0] == pytest.approx(0.0, abs=1e-15)
    np.testing.assert_allclose(found.entropy, np.log(np.arange(1.0, 17)), rtol=1e-13, atol=1e-15)


def test_keys_beyond_a_sliding_window_get_nothing_and_those_in_it_share_alike() -> None:
    found = weight_window(posviz.parse("sliding_window?window=5"), 1000, window=12)
    np.testing.assert_allclose(found.weights[-1], [0.0] * 7 + [0.2] * 5, rtol=1e-14)
    np.testing.assert_allclose(found.entropy, math.log(5), rtol=1e-13)


def test_rows_of_their_own_are_shown_for_fewer_queries_and_each_is_exact() -> None:
    # Each query has its own row: of 512 queries around 60,000, about 2^20 / 60,000 are shown.
    link = "self_extend?window=32&group_size=8"
    found = weight_window(
        posviz.parse(link), 60_000, window=512, content=Content(content="same", match=9.0)
    )
    assert found.step > 1
    assert found.queries[-1] == found.keys[-1] == 60_255
    np.testing.assert_array_equal(np.diff(found.queries), found.step)
    assert 8 <= len(found.queries) <= 32
    m = found.queries[1]
    n = np.arange(m + 1)
    seen = np.where(m - n < 32, m - n, np.floor(m / 8) + 28 - np.floor(n / 8))
    logits = 9.0 * cosines(seen)
    weights = np.exp(logits - logsumexp(logits))
    shown = np.isfinite(found.weights[1])
    assert shown.sum() == m - found.keys[0] + 1
    np.testing.assert_allclose(found.weights[1, shown], weights[int(found.keys[0]) :], rtol=1e-8)
    assert found.entropy[1] == pytest.approx(float(entr(weights).sum()), rel=1e-9)


def test_one_pass_serves_a_window_of_a_million_tokens() -> None:
    place = (1 << 20) - 1
    found = weight_window(posviz.parse("alibi"), place, window=64, head=7)
    # Far from the start the geometric series is complete: w = (1 - r)·r^δ with r = e^(-1/256).
    ratio = math.exp(-1 / 256)
    expected = (1 - ratio) * ratio ** np.arange(63.0, -1, -1)
    np.testing.assert_allclose(found.weights[-1], expected, rtol=1e-9)
    entropy = -math.log(1 - ratio) + ratio / (1 - ratio) / 256
    np.testing.assert_allclose(found.entropy, entropy, rtol=1e-9)


def test_rows_read_off_all_pairs_stop_where_the_encoding_does() -> None:
    found = weight_window(posviz.parse("shaw"), 250, window=512)
    assert (found.keys[0], found.keys[-1]) == (0, 255)
    assert found.step == 4
    full = np.where(np.isnan(found.weights), 0.0, found.weights)
    np.testing.assert_allclose(full.sum(axis=1), 1.0, rtol=1e-12)


def test_arrays_of_a_window_cannot_be_written_to() -> None:
    found = weight_window(posviz.parse("rope"), 10, window=8)
    with pytest.raises(ValueError, match="read-only"):
        found.weights[0, 0] = 1.0


@pytest.mark.parametrize(
    ("link", "place", "window", "sentence"),
    [
        ("rope", 5, 0, "weight window: window must be a whole number of at least 1; got 0."),
        (
            "rope",
            -1,
            8,
            "weight window: place must be a whole number of at least 0 and at most 4194303; "
            "got -1.",
        ),
        (
            "shaw",
            2.5,
            8,
            "weight window: place must be a whole number of at least 0 and at most 255; got 2.5.",
        ),
        (
            "shaw",
            512,
            8,
            "weight window: place must be a whole number of at least 0 and at most 255; got 512.",
        ),
        (
            "length_curriculum",
            5,
            8,
            "Length curriculum: it says nothing about the logits of queries and keys.",
        ),
    ],
)
def test_windows_that_cannot_be_are_refused(
    link: str, place: int, window: int, sentence: str
) -> None:
    with pytest.raises(ParameterError) as error:
        weight_window(posviz.parse(link), place, window=window)
    assert str(error.value) == sentence


@pytest.mark.parametrize("window", [1, 2, 3, 8])
def test_the_place_stands_in_the_window(window: int) -> None:
    found = weight_window(posviz.parse("alibi"), 5, window=window)
    assert 5 in found.queries
    assert len(found.queries) == window
