"""What measured curves and grids say, in sentences made from their numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import isnan

from posviz.lab.extension.records import Gap, LossCurve, Numbers, PasskeyGrid

_SURE = 2.0
"""Standard errors from which on a difference is told as one."""


def labels(found: Sequence[LossCurve | PasskeyGrid]) -> dict[str, str]:
    """The name of each by its link: its title, with the link where two have the same title."""
    count = Counter(one.title for one in found)
    return {
        one.link: one.title if count[one.title] == 1 else f"{one.title} ({one.link})"
        for one in found
    }


def plain_of(found: Sequence[LossCurve]) -> LossCurve | None:
    """The model without any extension, where it was measured."""
    return next((one for one in found if one.is_plain), None)


def of_losses(found: Sequence[LossCurve], gaps: Sequence[Gap]) -> list[str]:
    """The result in a few sentences; none before there is something to compare."""
    plain = plain_of(found)
    if plain is None or plain.within is None or plain.beyond is None or not gaps:
        return []
    names = labels(found)
    window = f"L = {plain.trained_window:,}"
    sentences = [
        f"The plain model loses {plain.within[0]:.3f} nats per token within {window} and "
        f"{plain.beyond[0]:.3f} beyond it{_in_the_end(plain.last)}."
    ]
    beyond = {one.link: one.beyond for one in gaps if one.beyond is not None}
    if beyond:
        best = min(beyond, key=lambda link: beyond[link][0])
        is_less = beyond[best][0] < -_SURE * beyond[best][1]
        sentences.append(
            f"Beyond it {names[best]} loses least: {_by(beyond[best])} than plain on the same "
            "tokens."
            if is_less
            else f"Beyond it no method is surely better than plain; {names[best]} comes nearest: "
            f"{_by(beyond[best])}."
        )
    level = [
        names[one.link]
        for one in found
        if not one.is_plain and one.beyond is not None and one.beyond[0] <= plain.within[0]
    ]
    sentences.append(
        f"Not above the plain model's level within L: {', '.join(level) or 'none of them'}."
    )
    sentences += [
        f"{names[one.link]} costs {_by(one.within)} within the window already."
        for one in gaps
        if one.within is not None and one.within[0] > max(0.1, _SURE * one.within[1])
    ]
    return sentences


def _in_the_end(last: Numbers | None) -> str:
    return "" if last is None else f" ({last[0]:.3f} in the last quarter of the text)"


def _by(gap: Numbers) -> str:
    return f"{abs(gap[0]):.3f} ± {gap[1]:.3f} {'less' if gap[0] < 0 else 'more'}"


def of_keys(found: Sequence[PasskeyGrid]) -> list[str]:
    """How many keys each finds within the window and beyond it, and what the control finds."""
    names = labels(found)
    return [
        f"{names[one.link]}: {', '.join(parts)}." for one in found if (parts := list(_counted(one)))
    ]


def _counted(one: PasskeyGrid) -> list[str]:
    parts = []
    for where, lengths in _sides(one).items():
        rows = [
            row for place, row in enumerate(one.exact) if place in lengths and not isnan(row[0])
        ]
        if rows:
            keys = sum(len(row) for row in rows) * one.tries
            hits = round(sum(map(sum, rows)) * one.tries)
            parts.append(f"{hits} of {keys} keys {where} L")
    absent = [value for row in one.absent_exact for value in row if not isnan(value)]
    if absent:
        parts.append(f"{sum(absent) / len(absent):.0%} when asked for absent names")
    return parts


def _sides(one: PasskeyGrid) -> Mapping[str, set[int]]:
    within = {place for place, length in enumerate(one.lengths) if length <= one.trained_window}
    return {"within": within, "beyond": set(range(len(one.lengths))) - within}
