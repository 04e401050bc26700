"""The measures of an encoding by itself: what the core predicts, without any model."""

from __future__ import annotations

import numpy as np

from posviz.catalog import parse
from posviz.encodings.rotary import RotaryEncoding
from posviz.measures import Content, context_curves, longest_row, row_refusal, short_range_cost
from posviz.parameters import ParameterError, sentence

CONTENT = Content(content="same")
"""Every key equals the query, so that only positions tell the keys apart."""


def predicted(link: str, length: int) -> dict[str, float]:
    """Attention of the last query of ``length`` equal tokens; head 0 of a bias.

    ``entropy`` : of its weights, nats; ln(length) is that of equal weights.
    ``reach`` : how many of the nearest keys hold 99 % of the weight, tokens.
    ``needle`` : weight of one matching key half-way back, among keys of logit 0.
    ``short_range_cost`` : of a rotation only: the largest change of the score at distances of 1 to
        64 tokens against the same rotation unextended.

    Raises
    ------
    ParameterError : an encoding without a row of logits, or a length beyond what it can give.
    """
    spec = parse(link)
    if refusal := row_refusal(spec):
        raise ParameterError(refusal)
    if length > (longest := longest_row(spec)):
        allowed = f"a whole number of at most {longest} for this encoding"
        raise ParameterError(sentence(spec.title, "length", allowed, length))
    curves = context_curves(spec, [length], content=CONTENT)
    numbers = {name: float(getattr(curves, name)[0]) for name in ("entropy", "reach", "needle")}
    if isinstance(spec, RotaryEncoding) and length > 1:
        change = short_range_cost(spec, length=length).change
        numbers["short_range_cost"] = float(np.abs(change).max())
    return numbers
