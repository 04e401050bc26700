"""Which results are the same thing in another form, and which only look like it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import posviz
from posviz.measures import Relation, relation
from posviz.results import MatrixBias, PositionTable, Schedule, ToeplitzBias

POSITIONS = np.arange(40.0)
FAR = 512 * np.arange(16.0)


def found(first: str, second: str, positions: np.ndarray = POSITIONS) -> Relation:
    results = [posviz.parse(link).encode(positions) for link in (first, second)]
    forth, back = relation(*results), relation(*reversed(results))
    assert forth.kind == back.kind
    return forth


def table(vectors: np.ndarray, **more: object) -> PositionTable:
    positions = np.arange(float(len(vectors)))
    return PositionTable(positions=positions, vectors=vectors, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        # The Bloom form: m_h·n is -m_h·(m - n) plus m_h·m, one number per query and head.
        ("alibi", "alibi?form=key_only", "shift"),
        ("alibi", "alibi?form=symmetric", "equal"),
        ("alibi?heads=6", "alibi?heads=6&form=key_only", "shift"),
        ("alibi", "alibi?form=key_only&slope_scale=1.001", "different"),
        ("alibi", "alibi?largest_exponent=9", "different"),
        ("alibi", "alibi?heads=4", "not comparable"),
        ("alibi", "rope", "not comparable"),
        ("sinusoidal", "sinusoidal?layout=halves", "permutation"),
        ("sinusoidal?layout=cos_first", "sinusoidal?layout=halves", "permutation"),
        ("sinusoidal?model_dim=63", "sinusoidal?model_dim=63&layout=halves", "permutation"),
        ("sinusoidal", "sinusoidal?layout=halves&ladder=closed", "different"),
        ("sinusoidal", "sinusoidal?base=10001", "different"),
        ("sinusoidal", "sinusoidal?model_dim=64", "not comparable"),
        ("rope", "rope?layout=interleaved", "permutation"),
        ("rope", "linear?scaling_factor=1", "equal"),
        ("rope", "rope?base=10001", "different"),
        ("rope", "rope?layout=interleaved&base=10001", "different"),
        ("rope", "rope?partial_rotary_factor=0.5", "different"),
        ("rope", "rope?head_dim=64", "not comparable"),
        # The centre of xPos changes q and k and cancels in q·k.
        ("xpos?centre=floor", "xpos?centre=zero", "same logits"),
        ("xpos", "rope", "different"),
        ("vo_rope", "rope", "different"),
        ("rope", "sinusoidal", "not comparable"),
        ("causal", "sliding_window?window=64", "equal"),
        ("causal", "sliding_window?window=8", "different"),
    ],
)
def test_relations_of_known_forms(first: str, second: str, kind: str) -> None:
    assert found(first, second).kind == kind


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        ("rope", "rerope?window=10000&query_scaling=false", "equal"),
        ("rope", "rerope?query_scaling=false", "different"),
        ("rerope", "rerope?layout=interleaved", "permutation"),
        ("rerope", "leaky_rerope", "different"),
        ("rerope", "rerope?base=20000", "different"),
        ("xpos", "rerope", "not comparable"),
        ("rope", "log_n?original_max_position_embeddings=1024", "different"),
        ("rope", "log_n?original_max_position_embeddings=100000", "equal"),
    ],
)
def test_remapped_distances_and_factors_on_logits_count(first: str, second: str, kind: str) -> None:
    assert found(first, second, FAR).kind == kind


def test_the_sentences_say_how_large_the_difference_is_and_what_drops_it() -> None:
    assert found("alibi", "alibi?slope_scale=2").sentence == (
        "their biases differ by up to 19.5."  # 39 tokens at the steepest slope, 1/2
    )
    assert "the softmax drops" in found("alibi", "alibi?form=key_only").sentence
    assert found("alibi?form=symmetric", "alibi?form=key_only").sentence.endswith(
        "equal under a causal mask, which only one of them needs."
    )
    assert found("rope", "rope?layout=interleaved").sentence.endswith(
        "their logits are equal after one permutation of q and k."
    )
    assert found("rope", "rerope?query_scaling=false", FAR).sentence == (
        "the distances that they turn by differ by up to 6656 tokens, for keys up to the query."
    )  # 15 · 512 tokens seen as 1024
    assert found("causal", "sliding_window?window=8").sentence == (
        "their masks differ at 32 of 79 distances, the nearest of 8 tokens."
    )


def test_a_shift_that_differs_between_queries_is_dropped_and_one_between_keys_is_not() -> None:
    random = np.random.default_rng(0)
    values = random.standard_normal((2, 5, 5))
    per_query, per_key = random.standard_normal((2, 5, 1)), random.standard_normal((2, 1, 5))

    def bias(matrix: np.ndarray) -> MatrixBias:
        return MatrixBias(positions=np.arange(5.0), heads=2, values=matrix)

    assert relation(bias(values), bias(values + per_query)).kind == "shift"
    assert relation(bias(values), bias(values + per_key)).kind == "different"


def test_what_stands_after_the_query_counts_only_without_a_causal_mask() -> None:
    values = np.zeros((1, 4, 4))
    other = values + np.triu(np.ones((4, 4)), 1)

    def bias(matrix: np.ndarray, *, causal: bool) -> MatrixBias:
        at = np.arange(4.0)
        return MatrixBias(positions=at, heads=1, values=matrix, is_causal_only=causal)

    assert relation(bias(values, causal=True), bias(other, causal=True)).kind == "equal"
    assert relation(bias(values, causal=False), bias(other, causal=False)).kind == "different"


def test_equal_biases_on_logits_of_another_scale_are_different() -> None:
    bias = posviz.parse("t5").encode(POSITIONS)
    assert isinstance(bias, ToeplitzBias)
    other = dataclasses.replace(bias, divides_logits=not bias.divides_logits)
    assert "√head_dim" in relation(bias, other).sentence
    assert relation(bias, other).kind == "different"


def test_a_permutation_uses_every_column_once() -> None:
    random = np.random.default_rng(1)
    vectors = random.standard_normal((6, 4))
    doubled = vectors[:, [0, 0, 1, 2]]
    assert relation(table(vectors), table(vectors[:, [2, 0, 3, 1]])).kind == "permutation"
    assert relation(table(doubled), table(doubled[:, [3, 0, 2, 1]])).kind == "permutation"
    assert relation(table(doubled), table(vectors[:, [0, 1, 1, 2]])).kind == "different"


def test_tables_that_meet_the_input_differently_or_elsewhere_are_not_equal() -> None:
    vectors = np.ones((3, 2))
    assert relation(table(vectors), table(vectors, operation="multiplied")).kind == "different"
    moved = dataclasses.replace(table(vectors), positions=np.arange(1.0, 4.0))
    assert relation(table(vectors), moved).sentence == (
        "they stand at different positions, so their numbers cannot be compared."
    )


def test_rows_that_neither_table_has_are_no_difference() -> None:
    vectors = np.array([[1.0, 2.0], [np.nan, np.nan]])
    assert relation(table(vectors), table(vectors.copy())).kind == "equal"
    assert relation(table(vectors), table(np.nan_to_num(vectors))).kind == "different"


def test_terms_that_add_other_rows_to_the_values_are_different() -> None:
    shaw = posviz.parse("shaw").encode(np.arange(12.0))
    assert relation(shaw, dataclasses.replace(shaw)).kind == "equal"
    other = dataclasses.replace(shaw, value_rows=None, value_index=None)
    assert relation(shaw, other).sentence == (
        "their logits agree, but they add other rows to the values."
    )


def test_recipes_are_compared_by_their_windows() -> None:
    steps = np.arange(3.0)
    first = Schedule(positions=steps, curves={"window": np.array([128.0, 512.0, 2048.0])})
    second = Schedule(positions=steps, curves={"window": np.array([128.0, 512.0, 4096.0])})
    assert relation(first, second).sentence == "their windows differ by up to 2048 tokens."
    assert relation(first, first).kind == "equal"


@pytest.mark.parametrize("encoding", posviz.catalog(), ids=lambda encoding: encoding.id)
def test_every_encoding_equals_itself(encoding: type[posviz.encodings.base.Encoding]) -> None:
    spec = encoding()
    results = [spec.encode(spec.example_positions(12)) for _ in range(2)]
    assert relation(*results).kind == "equal"
