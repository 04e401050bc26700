"""How long a context each encoding gives a row of logits for, and in how many heads."""

from __future__ import annotations

import functools

from posviz import measures
from posviz.catalog import parse
from posviz.encodings.base import Encoding
from posviz.parameters import ParameterError


@functools.lru_cache(maxsize=512)
def longest_of(link: str) -> int:
    """Tokens of the longest context; fewer than the encoding's own limit where a table ends.

    Raises
    ------
    ParameterError : not even one token has a row.
    """
    spec = parse(link)
    limit = measures.longest_row(spec)
    if spec.logit_row(1) is not None or _has_row(spec, limit):
        return limit
    measures.logit_row(spec, 1)
    low, high = 1, limit
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _has_row(spec, middle) else (low, middle)
    return low


def _has_row(spec: Encoding, length: int) -> bool:
    try:
        measures.logit_row(spec, length)
    except ParameterError:
        return False
    return True


@functools.lru_cache(maxsize=512)
def heads_of(link: str) -> int:
    """Heads that a row tells apart."""
    return measures.logit_row(parse(link), 1).heads
