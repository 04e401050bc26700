"""Values and specs drawn from the declarations, for any encoding that there is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from posviz import ParameterError
from posviz.encodings.base import Encoding
from posviz.parameters import Declaration
from posviz.results import Staircase


def usual_and_extreme(declaration: Declaration) -> st.SearchStrategy[float]:
    """Numbers from the slider's range, and the ends of the whole domain."""
    ends = [end for end in _inner_ends(declaration) if math.isfinite(end)]
    low, high = declaration.parameter.slider or (ends[0], ends[-1])
    if declaration.parameter.scale == "log":
        inside = st.floats(math.log(low), math.log(high)).map(math.exp)
        inside = inside.map(lambda value: min(max(value, low), high))
    else:
        inside = st.floats(low, high)
    return st.one_of(inside, inside, st.sampled_from(ends))


def _inner_ends(declaration: Declaration) -> list[float]:
    lower = -math.inf if declaration.lower is None else declaration.lower
    upper = math.inf if declaration.upper is None else declaration.upper
    if not declaration.lower_included:
        lower = float(np.nextafter(lower, math.inf))
    if not declaration.upper_included:
        upper = float(np.nextafter(upper, -math.inf))
    return [lower, upper]


def one_value(declaration: Declaration, pairs: int) -> st.SearchStrategy[Any]:
    numbers = usual_and_extreme(declaration) if declaration.kind in ("number", "integer") else None
    match declaration.kind:
        case "switch":
            values: st.SearchStrategy[Any] = st.booleans()
        case "choice":
            values = st.sampled_from(declaration.choices)
        case "text":
            shown = st.characters(blacklist_categories=("Cs", "Cc"))
            values = st.text(shown, min_size=1, max_size=min(40, declaration.longest))
        case "integer":
            assert numbers is not None
            values = numbers.map(round)
        case "number":
            assert numbers is not None
            values = numbers
        case "list":
            ends = _inner_ends(declaration)
            items = st.one_of(st.floats(max(0.5, ends[0]), 64.0), st.sampled_from(ends))
            values = st.lists(items, min_size=pairs, max_size=pairs).map(tuple)
    return st.one_of(st.none(), values) if declaration.optional else values


@st.composite
def specs(draw: st.DrawFn, encoding: type[Encoding]) -> Encoding:
    """A spec with some values away from their defaults; combinations without a value are skipped.

    A skipped combination must have named two of its parameters.
    """
    declared = encoding.declarations()
    chosen = draw(st.sets(st.sampled_from([item.name for item in declared]), max_size=6))
    values: dict[str, Any] = {}
    for item in declared:
        if item.kind != "list" and item.name in chosen:
            values[item.name] = draw(one_value(item, 0))
    _make_dimensions_even(draw, values)
    pairs = _pairs(encoding, values)
    for item in declared:
        if item.kind == "list" and (item.name in chosen or pairs != _pairs(encoding, {})):
            values[item.name] = draw(one_value(item, pairs))
    spec, problem = _built(encoding, values)
    if spec is None and "list" in {item.kind for item in declared}:
        # Numbers that must add up to something are never drawn: take those the encoding starts at.
        lists = {item.name for item in declared if item.kind == "list"}
        start = encoding.starting_values(**values)
        values |= {name: start[name] for name in lists & set(start)}
        spec, problem = _built(encoding, values)
    named = [item.name for item in declared if item.name in problem]
    assert spec or len(named) >= 2, f"{problem} names {named} only, for {values}"
    assume(spec)
    assert spec is not None
    return spec


def _built(encoding: type[Encoding], values: dict[str, Any]) -> tuple[Encoding | None, str]:
    try:
        return encoding(**values), ""
    except ParameterError as error:
        return None, str(error)


def _make_dimensions_even(draw: st.DrawFn, values: dict[str, Any]) -> None:
    """Most draws of a share of an arbitrary head would be odd; keep a few."""
    if "partial_rotary_factor" in values and draw(st.integers(0, 9)):
        values["partial_rotary_factor"] = draw(st.sampled_from([0.25, 0.5, 1.0]))
    if "head_dim" in values and draw(st.integers(0, 9)):
        values["head_dim"] = max(8, 8 * (values["head_dim"] // 8))


def _pairs(encoding: type[Encoding], values: dict[str, Any]) -> int:
    fields = {name: field.default for name, field in encoding.model_fields.items()} | values
    if "head_dim" not in fields:
        return 1
    return int(fields["head_dim"] * fields.get("partial_rotary_factor", 1.0)) // 2


def bad_values(declaration: Declaration) -> list[Any]:
    """Values that no spec may take for this field: wrong kinds, and just outside each bound."""
    if declaration.kind == "switch":
        bad: list[Any] = [1, 0, "true", 1.0, math.nan, []]
    elif declaration.kind == "choice":
        bad = ["no such choice", "", True, 1, math.nan, declaration.choices[0].upper() + " "]
    elif declaration.kind == "list":
        items = [math.nan, math.inf, True, "1", None, *_outside(declaration)]
        bad = [1.0, "1,2", True, *[(item, 1.0) for item in items]]
    elif declaration.kind == "text":
        bad = [1, 1.5, True, math.nan, [], "x" * (declaration.longest + 1)]
    else:
        bad = [math.nan, math.inf, -math.inf, True, False, "8", "", [8], 10**400, -(10**5000)]
        bad += _outside(declaration)
        if declaration.kind == "integer":
            bad += [2.5, 8.0]
    return bad if declaration.optional else [*bad, None]


def _outside(declaration: Declaration) -> list[float]:
    step = 1.0 if declaration.kind == "integer" else 0.0
    outside: list[float] = []
    for bound, included, away in (
        (declaration.lower, declaration.lower_included, -math.inf),
        (declaration.upper, declaration.upper_included, math.inf),
    ):
        if bound is None:
            continue
        if step:
            value = bound + math.copysign(step, away) if included else bound
            outside.append(int(value))
        else:
            outside.append(float(np.nextafter(bound, away)) if included else bound)
    return outside


def variants(encoding: type[Encoding]) -> list[Encoding]:
    """The default, every profile, and every choice and switch turned the other way.

    What lacks an optional package here is left out; a test of the contract says which and why.
    """
    return [spec for spec in all_variants(encoding) if not spec.missing()]


def all_variants(encoding: type[Encoding]) -> list[Encoding]:
    """The variants, those among them that cannot be encoded here too."""
    found = [encoding(), *(encoding(**values) for values in encoding.profiles.values())]
    for item in encoding.declarations():
        if item.kind == "choice":
            other = [choice for choice in item.choices if choice != item.default]
            found += [encoding(**{item.name: choice}) for choice in other]
        elif item.kind == "switch":
            found.append(encoding(**{item.name: not item.default}))
    return list(dict.fromkeys(found))


def arrays_of(result: Any) -> dict[str, Any]:
    """Every array of a result by a dotted name, those inside its mappings too."""
    found: dict[str, Any] = {}
    for name in (name for name in dir(result) if not name.startswith("_")):
        value = getattr(result, name)
        if isinstance(value, Mapping):
            found |= {f"{name}.{key}": part for key, part in value.items()}
        elif isinstance(value, Staircase):
            found |= {f"{name}.distances": value.distances, f"{name}.buckets": value.buckets}
        elif hasattr(value, "dtype"):
            found[name] = value
    return found
