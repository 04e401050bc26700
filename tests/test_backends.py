"""One formula, two kinds of array: NumPy and torch give the same results, and gradients flow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from spec_strategies import arrays_of, variants

import posviz
from posviz.attention import logits, weights
from posviz.encodings.learned_parts import LearnedParts
from posviz.encodings.rotary import RotaryEncoding
from posviz.results import RelativeRotation, Rotation

POSITIONS = [0, 1, 2, 3, 17, 30, 100, 4095]
LENGTHS = [None, 4096, 9000]


SPECS = [spec for encoding in posviz.catalog() for spec in variants(encoding)]
ROTARY_SPECS = [spec for spec in SPECS if isinstance(spec, RotaryEncoding)]
SMALL = [
    encoding(head_dim=8, partial_rotary_factor=0.5, **lists)
    for encoding in posviz.catalog()
    if issubclass(encoding, RotaryEncoding)
    for lists in [
        {item.name: (1.0, 3.0) for item in encoding.declarations() if item.kind == "list"}
    ]
]
every_spec = pytest.mark.parametrize("spec", SPECS, ids=posviz.link)
every_small_spec = pytest.mark.parametrize("spec", SMALL, ids=lambda spec: spec.id)
DTYPES = [
    pytest.param(torch.float64, np.float64, 1e-12, id="float64"),
    pytest.param(torch.float32, np.float32, 1e-6, id="float32"),
]


@pytest.mark.parametrize(("torch_type", "numpy_type", "tolerance"), DTYPES)
@every_spec
def test_numpy_and_torch_agree(
    spec: Any, torch_type: torch.dtype, numpy_type: Any, tolerance: float
) -> None:
    positions = spec.example_positions(12)
    ours = spec.encode(np.asarray(positions, dtype=numpy_type))
    theirs = spec.encode(torch.tensor(np.asarray(positions), dtype=torch_type))
    assert type(ours) is type(theirs)
    expected = arrays_of(ours)
    found = arrays_of(theirs)
    assert set(expected) == set(found)
    for name, value in found.items():
        assert isinstance(value, torch.Tensor), name
        assert value.device == torch.device("cpu"), name
        if value.is_floating_point():
            assert value.dtype == torch_type, name
            assert expected[name].dtype == numpy_type, name
        size = max(1.0, float(np.abs(expected[name][np.isfinite(expected[name])]).max(initial=0)))
        np.testing.assert_allclose(
            value.numpy(), expected[name], rtol=tolerance, atol=tolerance * size, err_msg=name
        )


LEARNED = [encoding for encoding in posviz.catalog() if issubclass(encoding, LearnedParts)]


@pytest.mark.parametrize("encoding", LEARNED, ids=lambda encoding: encoding.id)
def test_gradients_of_learned_parameters_are_finite_and_right(encoding: Any) -> None:
    """Each parameter along one random direction, against a central difference: tables are large."""
    spec = encoding()
    positions = torch.tensor(np.asarray(spec.example_positions(5)), dtype=torch.float64)
    rng = np.random.default_rng(7)
    start = {
        # Off the initialisation, which is often zero and so a place without a slope.
        name: torch.tensor(value + 0.1 * rng.uniform(0.5, 1, value.shape), requires_grad=True)
        for name, value in spec.initial_parameters().items()
    }

    def summed(parameters: dict[str, torch.Tensor]) -> torch.Tensor:
        result = spec.encode(positions, parameters=parameters)
        main = [getattr(result, name, None) for name in ("matrix", "logits", "vectors", "angles")]
        return torch.stack([torch.sin(one).sum() for one in main if one is not None]).sum()

    gradients = torch.autograd.grad(summed(start), list(start.values()), allow_unused=True)
    step = 1e-6
    for (name, value), gradient in zip(start.items(), gradients, strict=True):
        direction = torch.tensor(rng.standard_normal(tuple(value.shape)))
        ends = [
            float(summed({**start, name: (value + sign * step * direction).detach()}).detach())
            for sign in (1, -1)
        ]
        difference = (ends[0] - ends[1]) / (2 * step)
        if gradient is None:  # value rows, say, have no part in the logits
            assert difference == 0, name
            continue
        assert torch.isfinite(gradient).all(), name
        slope = float((gradient * direction).sum())
        assert slope == pytest.approx(difference, rel=1e-4, abs=1e-5), name


@pytest.mark.parametrize(("torch_type", "numpy_type", "tolerance"), DTYPES)
@pytest.mark.parametrize("spec", ROTARY_SPECS, ids=posviz.link)
def test_rotary_numpy_and_torch_agree_at_every_length(
    spec: Any, torch_type: torch.dtype, numpy_type: Any, tolerance: float
) -> None:
    for length in LENGTHS:
        ours = spec.encode(np.asarray(POSITIONS, dtype=numpy_type), length)
        theirs = spec.encode(torch.tensor(POSITIONS, dtype=torch_type), length)
        assert type(ours) is type(theirs)
        assert ours.attention_factor == theirs.attention_factor
        assert ours.softmax_factor == theirs.softmax_factor
        expected = arrays_of(ours)
        assert {"inv_freq", "positions", "wavelengths"} <= set(expected)
        assert set(expected) == set(arrays_of(theirs))
        for name, value in arrays_of(theirs).items():
            assert isinstance(value, torch.Tensor), name
            assert value.dtype == torch_type, name
            assert value.device == torch.device("cpu"), name
            assert expected[name].dtype == numpy_type, name
            np.testing.assert_allclose(
                value.numpy(), expected[name], rtol=tolerance, atol=tolerance, err_msg=name
            )


@every_small_spec
def test_whole_numbers_give_float64(spec: Any) -> None:
    ours = spec.encode(np.asarray(POSITIONS))
    theirs = spec.encode(torch.tensor(POSITIONS))
    assert ours.inv_freq.dtype == np.float64
    assert theirs.inv_freq.dtype == torch.float64
    np.testing.assert_allclose(theirs.inv_freq.numpy(), ours.inv_freq, rtol=1e-12)


@pytest.mark.parametrize("layout", ["half_split", "interleaved"])
@every_small_spec
def test_logits_and_weights_agree_on_both(spec: Any, layout: str) -> None:
    spec = spec.with_values(layout=layout)
    positions = np.asarray([0.0, 1.0, 5.0, 4000.0, 9000.0])
    q, k = np.random.default_rng(0).standard_normal((2, 3, 5, 8))
    ours, theirs = spec.encode(positions), spec.encode(torch.tensor(positions))
    for function in (logits, weights):
        expected = function(ours, q, k, is_causal=True)
        found = function(theirs, torch.tensor(q), torch.tensor(k), is_causal=True)
        assert found.dtype == torch.float64
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("layout", ["half_split", "interleaved"])
@every_small_spec
def test_gradients_flow_through_the_rotation(spec: Any, layout: str) -> None:
    spec = spec.with_values(layout=layout)
    result = spec.encode(torch.tensor([0.0, 3.0, 4000.0, 9000.0], dtype=torch.float64))
    generator = torch.Generator().manual_seed(0)
    q, k = torch.randn(2, 4, 8, dtype=torch.float64, generator=generator).requires_grad_().unbind()
    if isinstance(result, Rotation):
        assert torch.autograd.gradcheck(result.rotate, (q.detach().requires_grad_(),))
    assert isinstance(result, Rotation | RelativeRotation)
    inputs = (q.detach().requires_grad_(), k.detach().requires_grad_())
    assert torch.autograd.gradcheck(lambda a, b: logits(result, a, b), inputs)
