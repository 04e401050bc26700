"""What a method does to the size of all logits: factor, temperature, gain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posviz.encodings.rotary import RotaryEncoding
from posviz.measures.lengths import at_least


@dataclass(frozen=True, kw_only=True)
class Temperature:
    """Factors on the logits at one length.

    Attributes
    ----------
    m : factor on cos and sin of both q and k.
    m_squared : factor on the logit of the rotated part, since both carry m.
    temperature : 1 / m², the t of the YaRN paper.
    softmax_factor : factor on every logit, put there by the attention layer.
    query_scale : factor on the logits of the query at the last position.
    gain : m² · softmax_factor · query_scale.
    """

    m: float
    m_squared: float
    temperature: float
    softmax_factor: float
    query_scale: float
    gain: float


def temperature(spec: RotaryEncoding, *, length: int) -> Temperature:
    """Attention factor, its square, and the whole gain of the last query at this length."""
    at_least("temperature", "length", length, 1)
    m, softmax_factor, query_scale = _factors(spec, length)
    return Temperature(
        m=m,
        m_squared=m * m,
        temperature=1 / (m * m),
        softmax_factor=softmax_factor,
        query_scale=query_scale,
        gain=m * m * softmax_factor * query_scale,
    )


def logit_gain(spec: RotaryEncoding, length: int) -> float:
    """attention_factor² · softmax_factor · query_scale of the last position."""
    m, softmax_factor, query_scale = _factors(spec, length)
    return m * m * softmax_factor * query_scale


def _factors(spec: RotaryEncoding, length: int) -> tuple[float, float, float]:
    scale = spec.query_scale(np.asarray([length - 1.0]), length)
    query_scale = 1.0 if scale is None else float(scale[0])
    return float(spec.magnitude(length)), float(spec.softmax_magnitude(length)), query_scale
