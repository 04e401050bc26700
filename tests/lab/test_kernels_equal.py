"""Every kernel gives what the core's attention gives, for every encoding that has attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.attention import flex_attention
from torch.nn.attention.flex_attention import create_block_mask
from torch.nn.functional import scaled_dot_product_attention

import posviz
from posviz.attention import logits, output
from posviz.lab.errors import LabError
from posviz.lab.kernels import flex, naive, reference, sdpa
from posviz.lab.kernels.prepare import inputs, positions_for, prepare, shaped

LENGTH = 12
CAUSAL = ["rope", "alibi?form=symmetric", "sliding_window?window=4", "shaw", "vo_rope", "learned"]
CASES = [
    *((encoding.id, False) for encoding in posviz.catalog() if encoding.family != "recipe"),
    *((link, True) for link in CAUSAL),
    ("sliding_window?window=3&symmetric=true", False),
    ("rerope?window=3&query_scaling=true&original_max_position_embeddings=4", True),
    ("log_n?original_max_position_embeddings=4&scope=sequence", True),
]


@pytest.fixture(autouse=True)
def _uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """FlexAttention step by step, without tracing: the same numbers, sooner."""
    monkeypatch.setattr(flex_attention, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)


def made(link: str, *, is_causal: bool, dtype: Any = torch.float64, length: int = LENGTH) -> Any:
    spec, heads, head_dim = shaped(posviz.parse(link), None, None)
    positions = positions_for(spec, length)
    drawn = inputs(spec, positions, (2, heads, length, head_dim), 3)
    queries, keys, values = (one.to(dtype) for one in drawn)
    given = (queries, keys, values)
    prepared = prepare(spec, positions, given, is_causal=is_causal, work=torch.float64)
    expected = reference.reference(spec, positions, given, is_causal=is_causal)
    return prepared, expected


@pytest.fixture(scope="module")
def long_rotary() -> tuple[Any, Any]:
    """RoPE in bfloat16 at 4,096 tokens, two heads; 16 queries are compared."""
    spec, positions = posviz.parse("rope?head_dim=64"), np.arange(4096.0)
    drawn = inputs(spec, positions, (1, 2, 4096, 64), 3)
    queries, keys, values = (one.to(torch.bfloat16) for one in drawn)
    given = (queries, keys, values)
    prepared = prepare(spec, positions, given, is_causal=True, work=torch.float64)
    return prepared, reference.reference(spec, positions, given, is_causal=True)


def outputs(prepared: Any) -> dict[str, torch.Tensor]:
    """What every kernel gives that can run it."""
    whole = sdpa.matrix(prepared) if sdpa.has_matrix(prepared) else None
    found = {"naive": naive.naive(prepared, whole), "naive_blocks": naive.in_blocks(prepared, 5)}
    if not sdpa.why_not_plain(prepared):
        found["sdpa"] = sdpa.plain(prepared)
    if not sdpa.why_not_matrix(prepared):
        found["sdpa_matrix"] = sdpa.with_matrix(prepared, sdpa.matrix(prepared))
    if not flex.why_not(prepared):
        found["flex"] = flex.run(prepared, flex.made(prepared))
    return found


@pytest.mark.parametrize(("link", "is_causal"), CASES)
def test_kernels_equal_the_core(link: str, is_causal: bool) -> None:
    prepared, expected = made(link, is_causal=is_causal)
    assert len(expected.rows) == LENGTH
    for name, found in outputs(prepared).items():
        assert found.shape == expected.outputs.shape
        assert expected.error(found) < 1e-10, name


@pytest.mark.parametrize(
    ("link", "kernels"),
    [
        ("rope", "naive naive_blocks sdpa flex"),
        ("alibi", "naive naive_blocks sdpa_matrix flex"),
        ("fire", "naive naive_blocks sdpa_matrix flex"),
        ("sliding_window?window=4", "naive naive_blocks sdpa_matrix flex"),
        ("causal", "naive naive_blocks sdpa sdpa_matrix flex"),
        ("nope", "naive naive_blocks sdpa sdpa_matrix flex"),
        ("sinusoidal", "naive naive_blocks sdpa flex"),
        ("rerope", "naive naive_blocks"),
        ("shaw", "naive naive_blocks"),
    ],
)
def test_a_kernel_runs_what_it_can(link: str, kernels: str) -> None:
    prepared, _ = made(link, is_causal=False)
    assert " ".join(outputs(prepared)) == kernels


def test_a_bias_is_the_slope_times_the_distance_in_torch_sdpa() -> None:
    """ALiBi written out by hand, as torch's own mask."""
    prepared, expected = made("alibi?heads=8", is_causal=True)
    slopes = torch.tensor([2.0**-power for power in range(1, 9)], dtype=torch.float64)
    distance = torch.arange(LENGTH)[:, None] - torch.arange(LENGTH)
    mask = (-slopes[:, None, None] * distance).masked_fill(distance < 0, -math.inf)
    by_hand = scaled_dot_product_attention(*prepared.given, attn_mask=mask[None])
    assert expected.error(by_hand) < 1e-12
    torch.testing.assert_close(sdpa.matrix(prepared)[0], mask, rtol=0, atol=1e-15)


def test_rotary_is_complex_multiplication_in_torch_sdpa() -> None:
    prepared, expected = made("rope?head_dim=8&layout=interleaved", is_causal=True)
    turns = torch.polar(
        torch.ones(LENGTH, 4, dtype=torch.float64),
        torch.arange(LENGTH)[:, None]
        * 10000.0 ** (-torch.arange(0, 8, 2, dtype=torch.float64) / 8),
    )

    def turned(vectors: torch.Tensor) -> torch.Tensor:
        pairs = torch.view_as_complex(vectors.reshape(*vectors.shape[:-1], 4, 2).contiguous())
        return torch.view_as_real(pairs * turns).flatten(-2)

    queries, keys, values = prepared.given
    by_hand = scaled_dot_product_attention(turned(queries), turned(keys), values, is_causal=True)
    assert expected.error(by_hand) < 1e-12


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("link", ["rope", "t5", "vo_rope", "sliding_window?window=40", "xpos"])
def test_formats_stay_within_their_tolerance_and_a_wrong_encoding_does_not(
    link: str, dtype: torch.dtype
) -> None:
    prepared, expected = made(link, is_causal=True, dtype=dtype, length=96)
    for name, found in outputs(prepared).items():
        assert found.dtype == dtype
        assert expected.compared(found).share <= 1, name
    without = scaled_dot_product_attention(*prepared.given, is_causal=True)
    control = expected.control(dtype)
    assert control > 20
    assert expected.compared(without).share == pytest.approx(control, rel=0.3)


@pytest.mark.parametrize(
    ("wrong", "least"),
    [
        ("nope", 15),
        ("rope?base=20000&head_dim=64", 15),
        ("linear?scaling_factor=4&head_dim=64", 15),
    ],
)
def test_a_wrong_encoding_is_seen_in_nearly_every_row_of_a_long_sequence(
    long_rotary: tuple[Any, Any], wrong: str, least: int
) -> None:
    """In bfloat16 at 4,096 tokens; the first query sees one key and cannot tell."""
    prepared, expected = long_rotary
    spec = posviz.parse(wrong)
    positions = np.arange(4096.0)
    other = prepare(spec, positions, prepared.given, is_causal=True, work=torch.float64)
    found = sdpa.plain(other) if not sdpa.why_not_plain(other) else naive.in_blocks(other)
    shares = expected.shares(expected.picked(found), torch.bfloat16)
    assert int((shares.max((0, 1, 3)) > 1).sum()) >= least
    assert expected.compared(found).share > 10


def test_an_error_that_grows_with_the_position_is_seen(long_rotary: tuple[Any, Any]) -> None:
    """Angles worked out in bfloat16: right at the start, off by turns at the end."""
    prepared, expected = long_rotary
    spec, positions = prepared.spec, np.arange(4096.0)
    rounded = torch.tensor(positions).to(torch.bfloat16).to(torch.float64).numpy()
    off = prepare(spec, rounded, prepared.given, is_causal=False, work=torch.float64)
    found = scaled_dot_product_attention(off.queries, off.keys, off.values, is_causal=True)
    by_row = expected.shares(expected.picked(found), torch.bfloat16).max((0, 1, 3))
    assert by_row[0] < 1
    assert (by_row[-8:] > 1).all()


def test_the_right_encoding_is_within_at_a_long_sequence(long_rotary: tuple[Any, Any]) -> None:
    prepared, expected = long_rotary
    for found in (sdpa.plain(prepared), naive.in_blocks(prepared)):
        assert expected.compared(found).share <= 1
    assert expected.control(torch.bfloat16) > 20


def test_terms_refuse_half_precision() -> None:
    with pytest.raises(LabError) as caught:
        made("cope", is_causal=True, dtype=torch.bfloat16)
    assert str(caught.value) == (
        "CoPE: dtype must be float32 or float64, since the core makes its logits from content and "
        "tables of one format; got bfloat16."
    )


def test_a_schedule_has_no_attention() -> None:
    with pytest.raises(LabError, match="a Schedule says nothing about attention"):
        made("length_curriculum", is_causal=True)


@pytest.mark.parametrize(
    ("link", "is_causal"),
    [("rope", True), ("sliding_window?window=150", False), ("alibi", False)],
)
def test_blocks_are_those_that_torch_finds(link: str, is_causal: bool) -> None:
    length = 300
    prepared, _ = made(link, is_causal=is_causal, length=length)
    ours = flex.made(prepared).blocks
    theirs = create_block_mask(ours.mask_mod, None, None, length, length, device="cpu")
    assert torch.equal(ours.to_dense(), theirs.to_dense())
    for count in ("kv_num_blocks", "full_kv_num_blocks"):
        assert torch.equal(getattr(ours, count), getattr(theirs, count)), count


@pytest.mark.parametrize("link", ["rope", "yarn", "xpos", "vo_rope", "alibi", "fire", "shaw"])
def test_rows_of_the_core_are_those_of_all_queries(link: str) -> None:
    spec: Any = posviz.parse(link)
    heads, head_dim = getattr(spec, "heads", 3), getattr(spec, "head_dim", 16)
    q, k, v = np.random.default_rng(1).standard_normal((3, heads, 9, head_dim))
    own = {"queries": q, "keys": k} if link == "shaw" else {}
    result = spec.encode(range(9), **own)
    for rows in (np.asarray([0, 4, 8]), slice(2, 5)):
        for function, given in ((logits, (q, k)), (output, (q, k, v))):
            whole = function(result, *given, is_causal=True)
            some = function(result, *given, is_causal=True, rows=rows)
            np.testing.assert_allclose(some, whole[:, rows], rtol=1e-12, atol=1e-13)
