"""A text with pass keys in it, and the questions about them; light, given a tokenizer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from posviz.lab.errors import LabError
from posviz.lab.extension.grids import Unit, depths
from posviz.lab.extension.plan import PasskeyPlan

NAMES = (
    "Anna",
    "Boris",
    "Clara",
    "Diego",
    "Elena",
    "Farid",
    "Greta",
    "Hugo",
    "Irene",
    "Jonas",
)
SENTENCE = "\n\n{name}{key}, {name}{key}, {name}{key}\n\n"
QUESTION = "\n\n{name}"
"""Of ten wordings, the one that SmolLM2-135M-Instruct answers best within its window (every digit
at 1,024, 2,048 and 4,096 tokens): the digits follow the name at once, so that finding them takes no
more than copying what followed it before. Asked in whole sentences, it misses first digits."""
DIGITS = 5

Encode = Callable[[str], list[int]]


@dataclass(frozen=True)
class Haystack:
    """Tokens with keys in them.

    Attributes
    ----------
    ids : (length,) what is read before any question.
    places : index of the first token of each key's sentence, ascending.
    names, keys : whose key it is, and the key, in the same order.
    """

    ids: tuple[int, ...]
    places: tuple[int, ...]
    names: tuple[str, ...]
    keys: tuple[str, ...]


def haystack(text_ids: Sequence[int], encode: Encode, plan: PasskeyPlan, unit: Unit) -> Haystack:
    """Part of a text with a key in the middle of each of equal parts; exactly the unit's length.

    Names and digits are drawn with the plan's seed; repeats begin at other places of the text.

    Raises
    ------
    LabError : a text that is shorter than the haystack, or a haystack too short for its keys.
    """
    draw = np.random.default_rng([plan.seed, unit.length, unit.repeat])
    names = tuple(str(name) for name in draw.permutation(NAMES)[: plan.depths])
    digits = draw.integers(0, 10, size=(plan.depths, DIGITS))
    keys = tuple("".join(str(digit) for digit in row) for row in digits)
    sentences = [
        encode(SENTENCE.format(name=name, key=key)) for name, key in zip(names, keys, strict=True)
    ]
    size = unit.length - sum(len(one) for one in sentences)
    body = _body(text_ids, size, plan, unit)
    ids: list[int] = []
    places: list[int] = []
    last = 0
    for depth, sentence in zip(depths(plan.depths), sentences, strict=True):
        cut = int(depth * size)
        ids += body[last:cut]
        places.append(len(ids))
        ids += sentence
        last = cut
    return Haystack(tuple(ids + list(body[last:])), tuple(places), names, keys)


def _body(text_ids: Sequence[int], size: int, plan: PasskeyPlan, unit: Unit) -> Sequence[int]:
    if size < unit.length // 4:
        raise LabError(
            f"Pass keys: lengths must be long enough for {plan.depths} keys, which take "
            f"{unit.length - size} tokens of {unit.length}; give longer ones or fewer depths."
        )
    if len(text_ids) < size:
        raise LabError(
            f"Pass keys: text must have at least {size:,} tokens for a length of "
            f"{unit.length:,}; it has {len(text_ids):,}."
        )
    start = (len(text_ids) - size) * unit.repeat // plan.repeats
    return text_ids[start : start + size]


def question(name: str, key: str, encode: Encode, decode: Callable[[Any], str]) -> tuple[Any, int]:
    """Tokens of a question with its answer, and the index of the answer's first token."""
    asked = encode(QUESTION.format(name=name))
    whole = encode(QUESTION.format(name=name) + key)
    first = next(
        (place for place, pair in enumerate(zip(asked, whole, strict=False)) if pair[0] != pair[1]),
        min(len(asked), len(whole)),
    )
    while first < len(whole) - 1 and not decode([whole[first]]).strip():
        first += 1  # a space of its own before the digits
    return whole, first
