"""Sentences about a converted number: what it does to the context, and what its name may mean."""

from __future__ import annotations

import math
from collections.abc import Sequence

from posviz.encodings.extension import ntk_base
from posviz.parameters import ParameterError
from posviz.solver.given import written
from posviz.solver.quantity import Known, Quantity, worked_out

_ROUNDING = 1e-12


def notes_on(
    readings: tuple[Quantity, ...], value: float, known: Known, dims: Sequence[int | None]
) -> tuple[list[str], bool]:
    """The sentences, and whether the number shrinks the context under some reading."""
    beside = known if dims[0] is None else {**known, "d": float(dims[0])}
    shrinking = [note for note in (_shrinks(one, value, beside) for one in readings) if note]
    notes = shrinking[:1]
    if len(readings) > 1:
        notes += _definitions(readings, known)
    elif readings[0].id == "ntk_base":
        notes += _two_alphas(value, known, dims)
    elif readings[0].id == "factor":
        notes.append(
            "For rope type dynamic, factor is another quantity: factor_dynamic_transformers."
        )
    return notes, bool(shrinking)


def _shrinks(reading: Quantity, value: float, known: Known) -> str | None:
    if reading.to_factor is None or reading.from_factor is None or reading.refuse(value):
        return None
    try:
        factor = worked_out(reading.to_factor, value, known, "s")
        neutral = worked_out(reading.from_factor, 1.0, known, reading.id)
    except ParameterError:
        # Without base or window nobody can say; the rows name what is missing.
        return None
    if factor >= 1 - _ROUNDING:
        return None
    side = "above" if value > neutral else "below"
    note = (
        f"{reading.title} {written(value)} is {side} {written(neutral)}, the value that changes "
        f"nothing: a {reading.title.lower()} {side} {written(neutral)} shrinks the context "
        f"(factor {written(factor)})."
    )
    if reading.id in ("factor", "rope_freq_scale") and math.isfinite(1 / value):
        other = "frequency scale" if reading.id == "factor" else "factor"
        note += f" Where {written(value)} was meant as the {other}, the {reading.title.lower()} is "
        note += f"{written(1 / value)}."
    return note


def _definitions(readings: tuple[Quantity, ...], known: Known) -> list[str]:
    notes = [
        f"The name has {len(readings)} definitions: {', '.join(one.id for one in readings)}. None "
        "is chosen here; which one a tool means decides the number."
    ]
    notes += [f"{one.id}: {one.meaning}" for one in readings]
    if "L" in known and "L0" in known:
        at = int(known["L"]), int(known["L0"])
        given = [
            f"{one.id} {written(one.at_length(*at, 1.0))}"
            for one in readings
            if one.at_length and one.id != "alpha_dynamic_transformers"
        ]
        notes.append(
            f"At {at[0]} tokens of a window of {at[1]} the length alone gives "
            f"{' and '.join(given)}."
        )
    return notes


def _two_alphas(value: float, known: Known, dims: Sequence[int | None]) -> list[str]:
    """A ratio of bases is an alpha under one definition and not under the other."""
    if "b" not in known or dims[0] is None:
        return []
    ratio = value / known["b"]
    return [
        f"{written(value)} is {written(ratio)} times the base: {written(ratio)} is alpha as a "
        f"product. As NTK alpha with rotary_dim {dim}, {written(ratio)} would give the base "
        f"{written(ntk_base(known['b'], ratio, dim))}."
        for dim in dims
        if dim is not None
    ]
