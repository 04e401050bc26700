"""Laws, limiting cases and printed facts of the relative encodings with vectors."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from readers import relative as readers
from spec_strategies import variants

import posviz
from posviz import ParameterError
from posviz.attention import output, weights
from posviz.encodings.buckets import log_bucket
from posviz.encodings.relative import RelativeEncoding

FAMILY = [encoding for encoding in posviz.catalog() if issubclass(encoding, RelativeEncoding)]
SPECS = [spec for encoding in FAMILY for spec in variants(encoding)]
every_spec = pytest.mark.parametrize("spec", SPECS, ids=posviz.link)
AT = np.arange(9.0)
REFERENCES = Path(__file__).parents[1] / "references"


def spec(link: str) -> Any:
    return posviz.parse(link)


def made(link: str, **values: Any) -> Any:
    """A small spec's result for given content, so that other specs can get the same."""
    return spec(link).encode(AT, **values)


def content(heads: int = 2, head_dim: int = 4) -> tuple[np.ndarray, np.ndarray]:
    queries, keys = np.random.default_rng(3).standard_normal((2, heads, len(AT), head_dim))
    return queries, keys


SMALL = "heads=2&head_dim=4"
QUERIES, KEYS = content()
GIVEN = {"queries": QUERIES, "keys": KEYS}


@every_spec
def test_logits_do_not_move_with_the_sequence_unless_positions_are_absolute(spec: Any) -> None:
    here, there = (spec.encode(AT + shift).logits for shift in (0.0, 100.0))
    if spec.id == "tupe":
        assert np.abs(here - there).max() > 1e-3
    else:
        np.testing.assert_allclose(here, there, rtol=1e-9, atol=1e-12)


@every_spec
def test_terms_without_content_are_the_same_for_other_words(spec: Any) -> None:
    names = {
        "transformer_xl": {"v · W R"},
        "xlnet": {"v · W R"},
        "tupe": {"position", "relative bias"},
    }.get(spec.id, set())
    rng = np.random.default_rng(0)
    shape = (spec.heads, len(AT), spec.head_dim)
    first, second = (
        spec.encode(AT, queries=rng.standard_normal(shape), keys=rng.standard_normal(shape)).terms
        for _ in range(2)
    )
    same = {name for name in first if np.array_equal(first[name], second[name])}
    assert same == names & set(first)


@every_spec
def test_terms_add_up_to_the_logits(spec: Any) -> None:
    result = spec.encode(AT)
    np.testing.assert_allclose(sum(result.terms.values()), result.logits, rtol=1e-12)
    np.testing.assert_allclose(weights(result).sum(-1), 1, rtol=1e-12)


# ---- Shaw ----


def test_s42_clipping_at_k_keeps_2k_plus_1_vectors() -> None:
    for k, rows in ((16, 33), (1, 3), (8, 17)):
        parts = spec(f"shaw?left={k}&right={k}").initial_parameters()
        assert {part.shape[0] for part in parts.values()} == {rows}
        far = spec(f"shaw?left={k}&right={k}").encode(np.arange(100.0)).staircase
        assert len(set(far.buckets.tolist())) == rows


def test_shaw_rows_run_from_the_farthest_key_before_the_query_to_the_farthest_after() -> None:
    stairs = spec("shaw?left=3&right=2").encode(np.arange(6.0)).staircase
    assert stairs.distances.tolist() == list(range(-5, 6))
    assert stairs.buckets.tolist() == [5, 5, 5, 5, 4, 3, 2, 1, 0, 0, 0]


@settings(max_examples=20, deadline=None, derandomize=True, database=None)
@given(left=st.integers(0, 10), right=st.integers(0, 10), shared=st.booleans())
def test_shaw_is_equations_3_and_4_pair_by_pair(left: int, right: int, shared: bool) -> None:
    shaw = spec(f"shaw?{SMALL}&left={left}&right={right}&shared_table={str(shared).lower()}")
    parts = shaw.initial_parameters()
    a_k, a_v = parts["a_k"], parts["a_k" if shared else "a_v"]
    values = np.random.default_rng(9).standard_normal(QUERIES.shape)
    result = shaw.encode(AT, **GIVEN)
    alpha = weights(result)
    expected, mixed = np.zeros_like(alpha), np.zeros_like(values)
    for h, m, n in np.ndindex(*alpha.shape):
        c = min(max(n - m, -left), right) + left
        expected[h, m, n] = QUERIES[h, m] @ (KEYS[h, n] + a_k[c]) / 2
        mixed[h, m] += alpha[h, m, n] * (values[h, n] + a_v[c])
    np.testing.assert_allclose(result.logits, expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(output(result, None, None, values), mixed, rtol=1e-12, atol=1e-14)


def test_shaw_with_one_row_shifts_each_query_and_changes_no_weight() -> None:
    one_row = made(f"shaw?{SMALL}&left=0&right=0", **GIVEN)
    plain = made(f"shaw?{SMALL}&keys=false", **GIVEN)
    assert np.abs(one_row.logits - plain.logits).max() > 0.01
    np.testing.assert_allclose(weights(one_row), weights(plain), rtol=1e-12)


def test_shaw_on_keys_only_gives_out_plain_values() -> None:
    values = np.random.default_rng(9).standard_normal(QUERIES.shape)
    result = made(f"shaw?{SMALL}&values=false", **GIVEN)
    np.testing.assert_array_equal(
        output(result, None, None, values), np.matmul(weights(result), values)
    )


def test_shaw_needs_keys_or_values() -> None:
    with pytest.raises(ParameterError) as caught:
        spec("shaw?keys=false&values=false")
    assert str(caught.value) == "Shaw: keys or values must be true; got neither."


# ---- Transformer-XL and XLNet ----


def test_transformer_xl_is_two_products_with_u_and_v_added_to_the_query() -> None:
    xl = spec(f"transformer_xl?{SMALL}&base=50")
    parts = {name: 10 * part for name, part in xl.initial_parameters().items()}
    found = xl.encode(AT, parameters=parts, **GIVEN).logits
    for h, m, n in np.ndindex(*found.shape):
        angles = (m - n) * 50.0 ** (-np.arange(0, 8, 2) / 8)
        wave = np.concatenate((np.sin(angles), np.cos(angles)))
        distance = (parts["r"] @ wave).reshape(2, 4)[h]
        q, k, u, v = QUERIES[h, m], KEYS[h, n], parts["u"][h], parts["v"][h]
        assert found[h, m, n] == pytest.approx(((q + u) @ k + (q + v) @ distance) / 2, rel=1e-10)


TERMS = {
    "content_content": "q · k",
    "content_position": "q · W R",
    "u_content": "u · k",
    "v_position": "v · W R",
}


@pytest.mark.parametrize("encoding", ["transformer_xl", "xlnet"])
@pytest.mark.parametrize("switch", TERMS)
def test_a_term_switched_off_is_missing_and_the_others_stay(encoding: str, switch: str) -> None:
    whole = made(f"{encoding}?{SMALL}", **GIVEN)
    part = made(f"{encoding}?{SMALL}&{switch}=false", **GIVEN)
    assert set(whole.terms) - set(part.terms) == {TERMS[switch]}
    for name, values in part.terms.items():
        np.testing.assert_array_equal(values, whole.terms[name])


def test_of_the_four_terms_u_k_is_stripes_and_v_r_is_diagonals() -> None:
    terms = made(f"transformer_xl?{SMALL}", **GIVEN).terms
    stripes, diagonals = terms["u · k"], terms["v · W R"]
    np.testing.assert_array_equal(stripes, np.broadcast_to(stripes[:, :1], stripes.shape))
    np.testing.assert_allclose(diagonals[:, 1:, 1:], diagonals[:, :-1, :-1], rtol=1e-12)


def test_transformer_xl_is_causal_and_the_conformer_and_xlnet_are_not() -> None:
    later = np.triu(np.ones((len(AT), len(AT)), dtype=bool), 1)
    for link, is_causal in (
        (f"transformer_xl?{SMALL}", True),
        (f"transformer_xl?{SMALL}&causal=false&layout=alternating", False),
        (f"xlnet?{SMALL}", False),
    ):
        assert (weights(made(link, **GIVEN))[:, later] == 0).all() == is_causal, link


def test_xlnet_segment_term_tells_only_same_from_other() -> None:
    result = made(f"xlnet?{SMALL}&segments=3,4,1", **GIVEN)
    own = np.array([0, 0, 0, 1, 1, 1, 1, 2, 2])
    np.testing.assert_array_equal(result.strips["segment"], own)
    same = own[:, None] == own[None, :]
    term = result.terms["segment"]
    for h, m in np.ndindex(2, len(AT)):
        assert len(set(term[h, m, same[m]])) == 1
        assert len(set(term[h, m, ~same[m]])) == 1
        assert term[h, m, same[m]][0] != term[h, m, ~same[m]][0]


def test_xlnet_in_one_segment_has_the_weights_of_transformer_xl_both_ways() -> None:
    one = made(f"xlnet?{SMALL}&segments=50", **GIVEN)
    four = made(f"transformer_xl?{SMALL}&causal=false", **GIVEN)
    np.testing.assert_allclose(weights(one), weights(four), rtol=1e-10)


def test_four_terms_cannot_all_be_left_out() -> None:
    off = "&".join(f"{switch}=false" for switch in TERMS)
    with pytest.raises(ParameterError, match=r"^Transformer-XL: one of content_content, .*none\.$"):
        spec(f"transformer_xl?{off}")


# ---- Huang ----


def huang(method: str, table: np.ndarray) -> np.ndarray:
    found = spec(f"huang?{SMALL}&method={method}&clip=3")
    return np.asarray(found.encode(AT, parameters={"a": table}, **GIVEN).logits)


def test_huang_m4_is_the_whole_product_without_a_times_a() -> None:
    a = np.random.default_rng(1).standard_normal((7, 4))
    found = huang("M4", a)
    for h, m, n in np.ndindex(*found.shape):
        row = a[min(max(n - m, -3), 3) + 3]
        q, k = QUERIES[h, m], KEYS[h, n]
        whole = (q + row) @ (k + row) - row @ row
        assert found[h, m, n] == pytest.approx(whole / 2, rel=1e-10, abs=1e-12)


def test_huang_methods_become_each_other_in_the_limit() -> None:
    by_size = np.random.default_rng(1).uniform(0.5, 2, (4, 1))
    both_ways = np.concatenate((by_size[:0:-1], by_size))
    first = huang("M1", by_size)
    np.testing.assert_allclose(huang("M2", both_ways), first, rtol=1e-12)
    np.testing.assert_allclose(huang("M3", np.tile(both_ways, (1, 4))), first, rtol=1e-12)
    assert np.abs(huang("M2", both_ways[::-1] + np.arange(7.0)[:, None]) - first).max() > 0.1


def test_huang_m4_without_the_key_s_part_is_shaw_on_keys() -> None:
    table = np.random.default_rng(1).standard_normal((7, 4))
    m4 = spec(f"huang?{SMALL}&clip=3").encode(AT, parameters={"a": table}, **GIVEN)
    shaw = spec(f"shaw?{SMALL}&left=3&right=3&values=false")
    shaw_terms = shaw.encode(AT, parameters={"a_k": table}, **GIVEN).terms
    np.testing.assert_array_equal(m4.terms["q · a"], shaw_terms["query · relative key"])


def test_huang_multiplying_methods_start_near_plain_attention() -> None:
    plain = made(f"shaw?{SMALL}&keys=false", **GIVEN).logits
    for method in ("M1", "M2", "M3"):
        found = made(f"huang?{SMALL}&method={method}", **GIVEN).logits
        assert 0 < np.abs(found - plain).max() < 0.3


# ---- TUPE ----


def test_tupe_gives_cls_one_number_each_way_and_other_tokens_their_own() -> None:
    position = made(f"tupe?{SMALL}", **GIVEN).terms["position"]
    for head in position:
        assert len(set(head[0])) == 1
        assert len(set(head[1:, 0])) == 1
        assert head[0, 0] != head[1, 0]
        assert len(set(head[1:, 1:].flatten())) == (len(AT) - 1) ** 2


def test_tupe_position_term_is_not_toeplitz_and_not_symmetric() -> None:
    position = made(f"tupe?{SMALL}", **GIVEN).terms["position"][:, 1:, 1:]
    assert np.abs(position[:, 1:, 1:] - position[:, :-1, :-1]).max() > 0.1
    assert np.abs(position - np.swapaxes(position, 1, 2)).max() > 0.1


def test_tupe_divides_both_terms_by_the_root_of_2d() -> None:
    plain = made(f"shaw?{SMALL}&keys=false", **GIVEN).terms["content"]
    found = made(f"tupe?{SMALL}", **GIVEN).terms["content"]
    np.testing.assert_allclose(found * math.sqrt(2), plain, rtol=1e-12)


def test_tupe_r_gives_pairs_with_cls_bins_that_no_distance_has() -> None:
    tupe = spec(f"tupe?{SMALL}&relative=true")
    parts = tupe.initial_parameters()
    term = tupe.encode(AT, **GIVEN).terms["relative bias"]
    bias = parts["bias"]
    np.testing.assert_array_equal(term[:, 0, :], np.tile(bias[16][:, None], (1, len(AT))))
    np.testing.assert_array_equal(term[:, 1:, 0], np.tile(bias[32][:, None], (1, len(AT) - 1)))
    buckets = set(tupe.bucket(np.arange(-1000.0, 1001)).tolist())
    assert buckets == set(range(32)) - {16}


def test_tupe_has_no_row_past_its_table() -> None:
    with pytest.raises(ParameterError) as caught:
        spec("tupe?rows=16").encode(np.arange(16.0))
    assert str(caught.value).startswith("TUPE: positions must be whole numbers from 0 to 14")


# ---- DeBERTa ----


def test_s46_deberta_log_buckets() -> None:
    found = log_bucket(np.array([128.0, 131, 132, 133, 200, 511]), 256, 512)
    assert found.tolist() == [128, 131, 131, 132, 169, 255]
    every = np.arange(-512.0, 513)
    np.testing.assert_array_equal(log_bucket(-every, 256, 512), -log_bucket(every, 256, 512))


def test_deberta_v1_has_a_row_for_each_distance_within_the_span() -> None:
    rows = spec("deberta?span=8").row_of(np.arange(-12.0, 13))
    assert rows.tolist() == [0] * 4 + list(range(16)) + [15] * 5


@pytest.mark.parametrize(
    ("switches", "terms"),
    [
        ({}, 3),
        ({"content_to_position": False}, 2),
        ({"position_to_content": False}, 2),
        ({"content_to_position": False, "position_to_content": False}, 1),
        ({"content_to_content": False}, 3),
    ],
)
def test_deberta_divides_by_the_root_of_terms_times_d(switches: Any, terms: int) -> None:
    deberta = spec(f"deberta?{SMALL}&span=8").with_values(**switches)
    plain = np.matmul(QUERIES, np.swapaxes(KEYS, 1, 2))
    found = deberta.encode(AT, **GIVEN)
    parts = deberta.initial_parameters()
    rows = deberta.row_of(AT[:, None] - AT[None, :])
    expected = plain * deberta.content_to_content
    for h, m, n in np.ndindex(*plain.shape):
        met = QUERIES[h, m] @ parts["position_keys"][h, rows[m, n]]
        expected[h, m, n] += deberta.content_to_position * met
        met = KEYS[h, n] @ parts["position_queries"][h, rows[m, n]]
        expected[h, m, n] += deberta.position_to_content * met
    np.testing.assert_allclose(found.logits, expected / math.sqrt(4 * terms), rtol=1e-10)


def test_deberta_paper_and_code_read_mirrored_rows_for_the_key() -> None:
    code = made(f"deberta?{SMALL}&span=16", **GIVEN)
    paper = made(f"deberta?{SMALL}&span=16&p2c_row=paper", **GIVEN)
    np.testing.assert_array_equal(
        code.terms["content to position"], paper.terms["content to position"]
    )
    parts = spec(f"deberta?{SMALL}&span=16").initial_parameters()
    # Row 16 is distance 0, so mirroring the rows around it turns the one into the other.
    mirrored = np.concatenate(
        (parts["position_queries"][:, :1], parts["position_queries"][:, :0:-1]), axis=1
    )
    turned = spec(f"deberta?{SMALL}&span=16&p2c_row=paper").encode(
        AT, parameters={**parts, "position_queries": mirrored}, **GIVEN
    )
    np.testing.assert_array_equal(turned.logits, code.logits)
    assert np.abs(paper.logits - code.logits).max() > 1e-6


def test_the_released_deberta_code_does_not_read_the_paper_s_row() -> None:
    cases = json.loads((REFERENCES / "deberta.json").read_text())["cases"]
    (case,) = (case for case in cases if case["id"] == "deberta-p2c-b4")
    expected = np.asarray(case["outputs"]["attention"])
    paper = spec(f"{case['spec']}&p2c_row=paper")
    off = readers.deberta_attention(case, paper, expected) - expected
    assert np.abs(off).max() > 0.01


def test_deberta_needs_a_term_and_a_reach_beyond_its_exact_buckets() -> None:
    off = "content_to_content=false&content_to_position=false&position_to_content=false"
    with pytest.raises(ParameterError, match=r"^DeBERTa: one of content_to_content, .*got none\.$"):
        spec(f"deberta?{off}")
    with pytest.raises(ParameterError, match=r"^DeBERTa: max_distance must be above half of span"):
        spec("deberta?spans=v2&span=256&max_distance=129")
