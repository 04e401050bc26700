"""One formula, two kinds of array: NumPy and torch give the same results, and gradients flow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import posviz
from posviz.attention import logits, weights
from posviz.encodings.base import Encoding
from posviz.encodings.rotary import RotaryEncoding
from posviz.results import RelativeRotation, Rotation

POSITIONS = [0, 1, 2, 3, 17, 30, 100, 4095]
LENGTHS = [None, 4096, 9000]


def _variants(encoding: type[Encoding]) -> list[Encoding]:
    """The default, every profile, and every choice and switch turned the other way."""
    found = [encoding(), *(encoding(**values) for values in encoding.profiles.values())]
    for item in encoding.declarations():
        if item.kind == "choice":
            other = [choice for choice in item.choices if choice != item.default]
            found += [encoding(**{item.name: choice}) for choice in other]
        elif item.kind == "switch":
            found.append(encoding(**{item.name: not item.default}))
    return list(dict.fromkeys(found))


SPECS = [spec for encoding in posviz.catalog() for spec in _variants(encoding)]
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


def _arrays(result: Any) -> dict[str, Any]:
    names = [name for name in dir(result) if not name.startswith("_")]
    values = {name: getattr(result, name) for name in names}
    return {name: value for name, value in values.items() if hasattr(value, "dtype")}


@pytest.mark.parametrize(("torch_type", "numpy_type", "tolerance"), DTYPES)
@every_spec
def test_numpy_and_torch_agree(
    spec: Any, torch_type: torch.dtype, numpy_type: Any, tolerance: float
) -> None:
    for length in LENGTHS:
        ours = spec.encode(np.asarray(POSITIONS, dtype=numpy_type), length)
        theirs = spec.encode(torch.tensor(POSITIONS, dtype=torch_type), length)
        assert type(ours) is type(theirs)
        assert ours.attention_factor == theirs.attention_factor
        assert ours.softmax_factor == theirs.softmax_factor
        expected = _arrays(ours)
        assert {"inv_freq", "positions", "wavelengths"} <= set(expected)
        assert set(expected) == set(_arrays(theirs))
        for name, value in _arrays(theirs).items():
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
