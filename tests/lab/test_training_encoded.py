"""Encodings inside a torch model against formulas written out again, and torch's own attention."""

import math

import numpy as np
import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from posviz.attention import output
from posviz.catalog import catalog, parse
from posviz.lab.encoded import Encoded, fitted
from posviz.lab.errors import LabError
from posviz.lab.training.plan import Plan
from posviz.lab.training.run import asked
from posviz.lab.training.trainable import refusal, trainable_links

BATCH, HEADS, LENGTH, DIM = 3, 4, 24, 16
SIZES = {"heads": HEADS, "head_dim": DIM, "model_dim": 64, "layers": 2, "length": 16, "longest": 32}


@pytest.fixture(scope="module")
def vectors():
    drawn = torch.randn((3, BATCH, HEADS, LENGTH, DIM), generator=torch.Generator().manual_seed(5))
    inputs = torch.randn((BATCH, LENGTH, 64), generator=torch.Generator().manual_seed(6))
    return (*drawn.unbind(0), inputs)


def attended(link, vectors, **numbers):
    encoded = Encoded(fitted(parse(link), **SIZES), 2)
    for learned in encoded.learned:
        for name, value in numbers.items():
            place = learned.names.index(name)
            with torch.no_grad():
                learned.numbers[place].copy_(torch.as_tensor(value))
    results = encoded.results(LENGTH, torch.device("cpu"))
    return encoded, encoded.attend(1, results[1], *vectors)


def by_torch(vectors, bias):
    q, k, v, _ = vectors
    gaps = torch.arange(LENGTH)[:, None] - torch.arange(LENGTH)[None, :]
    mask = torch.where(gaps < 0, -math.inf, bias(gaps).to(torch.float32))
    return scaled_dot_product_attention(q, k, v, attn_mask=mask)


def test_alibi_is_attention_with_its_slopes(vectors):
    slopes = torch.tensor([1 / 4, 1 / 16, 1 / 64, 1 / 256])[:, None, None]
    _, found = attended("alibi", vectors)
    assert torch.allclose(found, by_torch(vectors, lambda gaps: -slopes * gaps), atol=1e-5)


@pytest.mark.parametrize("link", ["nope", "causal", "sinusoidal", "learned"])
def test_no_bias_is_causal_attention(link, vectors):
    _, found = attended(link, vectors)
    q, k, v, _ = vectors
    assert torch.allclose(found, scaled_dot_product_attention(q, k, v, is_causal=True), atol=1e-5)


def test_sliding_window_is_attention_with_a_band(vectors):
    _, found = attended("sliding_window?window=6", vectors)
    expected = by_torch(vectors, lambda gaps: torch.where(gaps > 5, -math.inf, 0.0))
    assert torch.allclose(found, expected, atol=1e-5)


def test_rope_is_a_product_of_complex_numbers(vectors):
    q, k, v, _ = vectors
    turn = torch.polar(
        torch.ones(LENGTH, 8),
        torch.arange(float(LENGTH))[:, None] * 10000.0 ** (-torch.arange(8) / 8),
    )
    turned = [torch.complex(one[..., :8], one[..., 8:]) * turn for one in (q, k)]
    parts = [torch.cat((one.real, one.imag), dim=-1) for one in turned]
    expected = scaled_dot_product_attention(*parts, v, is_causal=True)
    assert torch.allclose(attended("rope", vectors)[1], expected, atol=1e-4)


def test_rerope_turns_by_the_distance_up_to_its_window(vectors):
    q, k, v, _ = (one.double() for one in vectors)
    scores = torch.full((BATCH, HEADS, LENGTH, LENGTH), -math.inf, dtype=torch.float64)
    freq = 10000.0 ** (-torch.arange(8, dtype=torch.float64) / 8)
    for m in range(LENGTH):
        for n in range(m + 1):
            turn = torch.polar(torch.ones(8, dtype=torch.float64), -freq * min(m - n, 6))
            a = torch.complex(q[:, :, m, :8], q[:, :, m, 8:])
            b = torch.complex(k[:, :, n, :8], k[:, :, n, 8:])
            scores[:, :, m, n] = (a.conj() * b * turn).real.sum(-1) / 4
    expected = torch.softmax(scores, dim=-1) @ v
    link = "rerope?window=6&query_scaling=false"
    assert torch.allclose(attended(link, vectors)[1].double(), expected, atol=1e-5)


def test_t5_adds_its_buckets_and_does_not_divide(vectors):
    weight = torch.randn((8, HEADS), generator=torch.Generator().manual_seed(1))
    _, found = attended("t5", vectors, **{"relative_attention_bias.weight": weight})
    q, k, v, _ = vectors
    # At L = 16 a decoder has 8 buckets and M = 8: 0 to 3, 4, 5 and from floor(4·2^0.5) = 6 on,
    # where ln(d/4)/ln 2 · 4 gives 4 + 0, 1, 2, 3 for d = 4, 5, 6, 7.
    by_distance = [0, 1, 2, 3, 4, 5, 6, 7] + [7] * (LENGTH - 8)
    distance = torch.arange(LENGTH)[:, None] - torch.arange(LENGTH)[None, :]
    bias = weight[torch.tensor(by_distance)[distance.clamp(min=0)]].permute(2, 0, 1)
    scores = (q @ k.transpose(-1, -2) + bias).masked_fill(distance < 0, -math.inf)
    assert torch.allclose(found, torch.softmax(scores, dim=-1) @ v, atol=1e-5)


def test_shaw_adds_vectors_to_keys_and_values(vectors):
    rng = torch.Generator().manual_seed(2)
    encoded = Encoded(fitted(parse("shaw?left=3&right=3"), **SIZES), 2)
    tables = [torch.randn(one.shape, generator=rng) for one in encoded.learned[1].numbers]
    with torch.no_grad():
        for one, table in zip(encoded.learned[1].numbers, tables, strict=True):
            one.copy_(table)
    found = encoded.attend(1, None, *vectors)
    q, k, v, _ = vectors
    gaps = torch.arange(LENGTH)[:, None] - torch.arange(LENGTH)[None, :]
    rows = (-gaps).clamp(-3, 3) + 3  # key - query, as in the paper
    with_keys, with_values = (table[rows] for table in tables)
    scores = torch.einsum("bhmd,bhnd->bhmn", q, k) + torch.einsum("bhmd,mnd->bhmn", q, with_keys)
    weights = torch.softmax((scores / 4).masked_fill(gaps < 0, -math.inf), dim=-1)
    expected = weights @ v + torch.einsum("bhmn,mnd->bhmd", weights, with_values)
    assert torch.allclose(found, expected, atol=1e-4)


def test_forgetting_sums_the_logarithms_of_its_gates(vectors):
    q, k, v, inputs = vectors
    encoded = Encoded(fitted(parse("forgetting?initial_gate=1"), **SIZES), 2)
    weight, bias = (one.detach() for one in encoded.learned[1].numbers)
    total = torch.nn.functional.logsigmoid(inputs @ weight.T + bias).cumsum(1).transpose(1, 2)
    mask = torch.triu(torch.full((LENGTH, LENGTH), -math.inf), diagonal=1)
    added = total[:, :, :, None] - total[:, :, None, :] + mask
    expected = scaled_dot_product_attention(q, k, v, attn_mask=added)
    assert torch.allclose(encoded.attend(1, None, *vectors), expected, atol=1e-5)


@pytest.mark.parametrize("link", trainable_links())
def test_every_encoding_gives_what_its_numpy_form_gives(link, vectors):
    """One sequence of the batch, computed by NumPy in float64, sequence by sequence."""
    encoded = Encoded(fitted(parse(link), **SIZES), 2).eval()
    results = encoded.results(LENGTH, torch.device("cpu"))
    with torch.no_grad():
        found = encoded.attend(1, results[1], *vectors)
        again = encoded.attend(1, results[1], *vectors)
    assert torch.equal(found, again)
    assert torch.isfinite(found).all()
    if encoded.specs[0].family == "absolute" and encoded.specs[0].id != "nope":
        return  # a table of vectors: attention itself is plain, as tested above
    numbers = encoded.learned[1 if encoded.meets_content else 0]
    parts = [one.detach().double().numpy() for one in numbers.numbers]
    given = {"parameters": dict(zip(numbers.names, parts, strict=True))} if parts else {}
    q, k, v, x = (one[1].double().numpy() for one in vectors)
    if encoded.meets_vectors:
        given |= {"queries": q, "keys": k}
    if encoded.meets_inputs:
        given |= {"inputs": x}
    if encoded.takes_length:
        given |= {"length": LENGTH}
    layer = 1 if encoded.meets_content or not parts else 0
    result = encoded.specs[layer].encode(np.arange(float(LENGTH)), **given)
    if getattr(result, "heads", HEADS) == 1:
        q, k = (np.asarray(one)[:, None] for one in (q, k))
        v = v[:, None]
        expected = output(result, q, k, v, is_causal=True)[:, 0]
    else:
        expected = output(result, q, k, v, is_causal=True)
    assert np.allclose(found[1].numpy(), expected, atol=5e-4)


@pytest.mark.parametrize("link", trainable_links())
def test_gradients_reach_every_learned_part(link):
    torch.manual_seed(0)
    encoded = Encoded(fitted(parse(link), **{**SIZES, "layers": 2}), 2)
    if not encoded.is_learned:
        assert not list(encoded.parameters())
        return
    shape = (2, HEADS, 16, DIM)
    q, k, v = (torch.randn(shape, requires_grad=True) for _ in range(3))
    results = encoded.results(16, torch.device("cpu"))
    stream = encoded.enter(torch.randn((2, 16, 64)), results[0])
    total = (stream**2).sum()
    for layer in range(2):
        mixed = encoded.attend(layer, results[layer], q, k, v, stream)
        total = total + (mixed**3).sum()
    total.backward()
    unreached = [
        name
        for learned in encoded.learned
        for name, number in zip(learned.names, learned.numbers, strict=True)
        if number.grad is None or not torch.isfinite(number.grad).all() or not number.grad.any()
    ]
    assert unreached == []


def test_refusals_say_why():
    refused = {cls.id: refusal(cls()) for cls in catalog() if refusal(cls())}
    assert set(refused) == {
        "sinusoidal_2d", "sinusoidal_3d", "complex_embedding", "cnn_zero_padding", "bipe",
        "length_curriculum", "rope_2d", "rope_3d", "m_rope", "rope_2d_mixed",
    }  # fmt: skip
    assert "on a grid of rows and columns" in refused["rope_2d"]
    assert "not where a token stands" in refused["length_curriculum"]
    assert "a sentence of its own" in refused["bipe"]
    with pytest.raises(LabError, match="RoPE-2D places tokens on a grid"):
        Encoded(parse("rope_2d"), 2)


def test_sizes_and_lengths_are_fitted_unless_they_were_chosen():
    sizes = {**SIZES, "length": 64, "longest": 512}
    assert fitted(parse("t5"), **sizes).model_dump() == {
        **parse("t5").model_dump(), "heads": 4, "max_distance": 32, "bidirectional": False,
    }  # fmt: skip
    assert fitted(parse("t5?max_distance=100"), **sizes).max_distance == 100
    yarn = fitted(parse("yarn"), **sizes)
    assert (yarn.original_max_position_embeddings, yarn.scaling_factor, yarn.beta_fast) == (
        64,
        8,
        8,
    )
    assert fitted(parse("yarn?beta_fast=4"), **sizes).beta_fast == 4
    # A value that was given stays, also where it is the declared default.
    assert fitted(parse("yarn?beta_fast=32"), **sizes).beta_fast == 32
    assert fitted(parse("t5?max_distance=128"), **sizes).max_distance == 128
    assert fitted(parse("learned?offset=2"), **sizes).rows == 514
    pose = fitted(parse("pose"), **sizes)
    assert (pose.window, pose.target_length) == (64, 512)
    assert len(fitted(parse("longrope"), **sizes).long_factor) == 8


def test_link_of_a_result_says_a_given_value_that_counts_and_no_other():
    plan = Plan()
    for text, expected in (
        ("yarn", "yarn"),
        ("yarn?beta_fast=32", "yarn?beta_fast=32"),
        ("yarn?beta_fast=32&scaling_factor=4", "yarn?scaling_factor=4&beta_fast=32"),
        ("rope?base=10000", "rope"),
        ("rope?base=500", "rope?base=500"),
    ):
        assert asked(parse(text), plan) == expected


def test_positions_that_are_drawn_are_drawn_anew_while_training_only():
    encoded = Encoded(fitted(parse("shape"), **SIZES), 2)
    device = torch.device("cpu")
    tables = []
    for draw in (1, 2, 1):
        encoded.renew(draw)
        tables.append(encoded.results(8, device)[0].vectors)
    assert not torch.equal(tables[0], tables[1])
    assert torch.equal(tables[0], tables[2])
    encoded.eval()
    plain = Encoded(fitted(parse("sinusoidal"), **SIZES), 2).results(8, device)[0].vectors
    assert torch.allclose(encoded.results(8, device)[0].vectors, plain)
