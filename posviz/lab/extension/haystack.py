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
    "Karin",
    "Leo",
    "Marta",
    "Nils",
    "Olga",
    "Pedro",
    "Rosa",
    "Sven",
    "Tessa",
    "Viktor",
)
"""Twice as many as there are keys at most: half of them own none, for the control."""
SENTENCE = "\n\n{name}{key}, {name}{key}, {name}{key}\n\n"
QUESTION = "\n\n{name}"
"""Of ten wordings, the one that SmolLM2-135M-Instruct answers best within its window (every digit
at 1,024, 2,048 and 4,096 tokens): the digits follow the name at once, so that finding them takes no
more than copying what followed it before. Asked in whole sentences, it misses first digits."""
DIGITS = 5

Encode = Callable[[str], list[int]]
Decode = Callable[[Any], str]
Ids = Sequence[int]


@dataclass(frozen=True)
class Haystack:
    """Tokens with keys in them.

    Attributes
    ----------
    ids : what is read before any question.
    places : index of the first token of each key's sentence, ascending.
    names, keys : whose key it is, and the key, in the same order.
    absent : as many names that own no key and stand nowhere in the text.
    """

    ids: tuple[int, ...]
    places: tuple[int, ...]
    names: tuple[str, ...]
    keys: tuple[str, ...]
    absent: tuple[str, ...]


def haystack(
    text: str, encode: Encode, decode: Decode, plan: PasskeyPlan, unit: Unit, text_ids: Ids = ()
) -> Haystack:
    """Part of a text with a key in the middle of each of equal parts.

    It is so long that with the longest question and its answer it makes exactly the unit's length.
    Names and digits are drawn with the plan's seed; repeats begin at other places of the text.

    Parameters
    ----------
    text_ids : the text's tokens, where they are known already.

    Raises
    ------
    LabError : a text that is shorter than the haystack, or a haystack too short for its keys.
    """
    draw = np.random.default_rng([plan.key_seed, unit.length, unit.repeat])
    free = [name for name in NAMES if name not in text]
    drawn = tuple(str(name) for name in draw.permutation(free)[: 2 * plan.depths])
    if len(drawn) < 2 * plan.depths:
        raise LabError(
            f"Pass keys: text must leave {2 * plan.depths} names free for {plan.depths} depths; it "
            f"has all but {len(free)} of them in it."
        )
    names, absent = drawn[: plan.depths], drawn[plan.depths :]
    digits = draw.integers(0, 10, size=(plan.depths, DIGITS))
    keys = tuple("".join(str(digit) for digit in row) for row in digits)
    asked = max(
        len(question(name, key, encode, decode)[0])
        for pairs in (zip(names, keys, strict=True), zip(absent, keys, strict=True))
        for name, key in pairs
    )
    sentences = [
        encode(SENTENCE.format(name=name, key=key)) for name, key in zip(names, keys, strict=True)
    ]
    taken = asked + sum(len(one) for one in sentences)
    body = _body(text_ids or encode(text), taken, plan, unit)
    ids: list[int] = []
    places: list[int] = []
    last = 0
    for depth, sentence in zip(depths(plan.depths), sentences, strict=True):
        cut = int(depth * len(body))
        ids += body[last:cut]
        places.append(len(ids))
        ids += sentence
        last = cut
    return Haystack(tuple(ids + list(body[last:])), tuple(places), names, keys, absent)


def _body(text_ids: Ids, taken: int, plan: PasskeyPlan, unit: Unit) -> Ids:
    """The part of the text that the haystack is made of."""
    size = unit.length - taken
    if size < unit.length // 4:
        raise LabError(
            f"Pass keys: lengths must be long enough for {plan.depths} keys and a question, which "
            f"take {taken} tokens of {unit.length}; give longer ones or fewer depths."
        )
    if len(text_ids) < size:
        raise LabError(
            f"Pass keys: text must have at least {size:,} tokens for a length of "
            f"{unit.length:,}; it has {len(text_ids):,}."
        )
    start = (len(text_ids) - size) * unit.repeat // plan.repeats
    return text_ids[start : start + size]


def question(name: str, key: str, encode: Encode, decode: Decode) -> tuple[Any, int]:
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


def shares(answer: str, key: str) -> tuple[float, float]:
    """Whether an answer is the whole key, and the share of its digits that stand in their places.

    An answer is what the model wrote in the place of the key, without spaces.
    """
    hits = sum(one == other for one, other in zip(answer, key, strict=False))
    return float(answer == key), hits / len(key)
