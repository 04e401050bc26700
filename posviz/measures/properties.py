"""Properties of an encoding, each found by trying it on the encoding's own result.

What can be computed is computed: nothing here knows which encoding it looks at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from posviz.encodings.base import Encoding
from posviz.encodings.given_content import ContentEncoding
from posviz.measures.position_part import (
    CLOSE,
    change_when_moved,
    constant_by_distance,
    last_rows,
    nearly_equal,
    position_matrix,
)
from posviz.measures.shift import shift_error
from posviz.parameters import ParameterError
from posviz.results import (
    AttentionBias,
    AttentionMask,
    AttentionTerms,
    PositionTable,
    RelativeRotation,
    Result,
    RotaryResult,
    Rotation,
    Schedule,
)

_COUNT = 24
_SHIFT = 7
_FAR = 16000
_LAST = 1 << 20
_NARROW = 32
"""Dimensions of a table whose shift is tried."""
_MAPPED = 1e-6
"""What rounding leaves of the least squares over waves much longer than the table."""


@dataclass(frozen=True)
class Property:
    """One property: its name, what it is here, and how that was found."""

    name: str
    value: str
    how: str


def properties(spec: Encoding) -> tuple[Property, ...]:
    """Everything that can be said of a spec by trying it.

    Raises
    ------
    ParameterError : the spec cannot be encoded at its own example positions.
    """
    result = spec.encode(spec.example_positions(_COUNT))
    found = [_gives(result), _learned(spec)]
    for look in _LOOKS:
        one = look(spec, result)
        if one is not None:
            found.append(one)
    return tuple(found)


def kind_of(result: Result) -> tuple[str, str]:
    """What a result is, and where a model puts it."""
    if isinstance(result, PositionTable):
        verb = "added to" if result.operation == "added" else "multiplied with"
        return "a vector per position", f"{verb} the input, before the first layer"
    if isinstance(result, RotaryResult):
        return "an angle per position and pair", "rotates queries and keys in every layer"
    if isinstance(result, AttentionBias):
        return "a number per head, query and key", "added to the logits in every layer"
    if isinstance(result, AttentionTerms):
        return "terms of the logit", "meets queries and keys in every layer"
    if isinstance(result, AttentionMask):
        return "a mask", "hides keys from the softmax"
    return "a recipe", "changes how a model is trained, not what it computes"


def _gives(result: Result) -> Property:
    kind, place = kind_of(result)
    return Property("gives", kind, place)


def _learned(spec: Encoding) -> Property:
    if spec.is_learned:
        return Property("numbers", "learned", "a model trains them; they start from the seed here")
    return Property("numbers", "designed", "they follow from the parameters alone")


def _relative(spec: Encoding, result: Result) -> Property | None:
    """Tried on neighbours and on positions far apart, since windows and groups show only there."""
    if position_matrix(result) is None:
        return None
    name = "depends on the distance only"
    near = spec.example_positions(_COUNT)
    tried = [near, np.linspace(0, _FAR, _COUNT).round()] if near.ndim == 1 else [near]
    refused = ""
    passed = []
    for positions in tried:
        try:
            gap = change_when_moved(spec, positions, _SHIFT)
        except ParameterError as refusal:
            refused = refused or str(refusal)
            continue
        if gap > CLOSE:
            how = f"all positions moved by {_SHIFT} change it by up to {gap:.2g} of its size"
            return Property(name, "no", how)
        if positions.ndim == 1 and not constant_by_distance(spec, positions):
            how = f"all positions moved by {_SHIFT} give the same, but equal distances do not"
            return Property(name, "no", f"{how}: the tokens at or between them count too")
        passed.append(f"{int(positions.max()):,}")
    if not passed:
        return Property(name, "cannot be tried", f"moved by {_SHIFT} positions: {refused}")
    held = "with queries and keys held, " if isinstance(spec, ContentEncoding) else ""
    how = f"{held}all positions moved by {_SHIFT} give the same, up to positions "
    how += " and ".join(passed)
    return Property(name, "yes", how)


def _symmetric(spec: Encoding, result: Result) -> Property | None:
    matrix = position_matrix(result)
    if matrix is None or isinstance(result, RelativeRotation):
        return None
    if isinstance(result, AttentionBias | AttentionTerms) and result.is_causal_only:
        how = "keys after the query are masked"
        return Property("the same in both directions", "cannot be tried", how)
    alike = nearly_equal(matrix, np.swapaxes(matrix, -1, -2))
    value = "yes" if alike else "no"
    return Property("the same in both directions", value, "the matrix against its transpose")


def _falls(spec: Encoding, result: Result) -> Property | None:
    """Whether more distance never gives more, looked at from the last query."""
    if isinstance(result, AttentionTerms | AttentionMask | Schedule | RelativeRotation):
        return None
    if len(result.grid) > 1:
        return None
    try:
        longer = spec.encode(spec.example_positions(256))
    except ParameterError:
        longer = result
    rows = last_rows(longer)
    if rows is None or rows.shape[1] < 3:
        return None
    steps = np.diff(rows[:, ::-1], axis=1)
    name = "falls with every step of distance"
    size = max(1e-300, float(np.abs(rows).max()))
    count = rows.shape[1] - 1
    if float(np.abs(steps).max()) <= CLOSE * size:
        return Property(name, "flat", f"the same at all distances up to {count}")
    if bool((steps <= CLOSE * size).all()):
        return Property(name, "yes", f"no step up at distances 1 to {count}, in any head")
    first = int(np.argmax((steps > CLOSE * size).any(axis=0))) + 1
    return Property(name, "no", f"it rises from distance {first - 1} to {first}")


def _keeps_length(spec: Encoding, result: Result) -> Property | None:
    if not isinstance(result, Rotation):
        return None
    vectors = np.random.default_rng(0).standard_normal((len(result.positions), result.head_dim))
    turned = (result.rotate_queries(vectors), result.rotate_keys(vectors))
    ratios = [np.linalg.norm(one, axis=1) / np.linalg.norm(vectors, axis=1) for one in turned]
    spread = max(float(np.abs(ratio - 1).max()) for ratio in ratios)
    if spread <= CLOSE:
        return Property("keeps the length of q and k", "yes", "tried on seeded random vectors")
    how = f"seeded random vectors change by up to {spread:.3g} of their length"
    return Property("keeps the length of q and k", "no", how)


def _moved_by_one_map(spec: Encoding, result: Result) -> Property | None:
    """Tried on a narrow table where its width is a parameter: a wide one takes long."""
    if not isinstance(result, PositionTable) or len(result.grid) > 1:
        return None
    name = "moved by one linear map"
    width = int(result.vectors.shape[1])
    try:
        if width > _NARROW and "model_dim" in type(spec).model_fields:
            spec, width = spec.with_values(model_dim=_NARROW), _NARROW
        rows = spec.encode(spec.example_positions(2 * width + _SHIFT))
        error = shift_error(np.asarray(cast(PositionTable, rows).vectors), _SHIFT)
    except ParameterError as refusal:
        return Property(name, "cannot be tried", str(refusal))
    how = f"the best map from t to t + {_SHIFT} leaves {error:.2g} of the length, width {width}"
    return Property(name, "yes" if error <= _MAPPED else "no", how)


def _causal_only(spec: Encoding, result: Result) -> Property | None:
    if not isinstance(result, AttentionBias | AttentionTerms):
        return None
    needs = result.is_causal_only
    how = "its numbers for keys after the query mean nothing" if needs else "defined both ways"
    return Property("needs a causal mask", "yes" if needs else "no", how)


def _beyond(spec: Encoding, result: Result) -> Property:
    name = "defined at any position"
    end = getattr(result, "undefined_from", None)
    far = spec.example_positions(_COUNT) + _LAST
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            found = position_matrix(spec.encode(far))
    except ParameterError as refusal:
        return Property(name, "no", f"at position {_LAST:,}: {refusal}")
    if end is not None:
        return Property(name, "no", f"there is no row from position {end} on")
    if found is not None and np.isnan(found).any():
        return Property(name, "no", f"its numbers overflow at position {_LAST:,}")
    return Property(name, "yes", f"tried at position {_LAST:,}")


_LOOKS = (
    _relative,
    _symmetric,
    _falls,
    _moved_by_one_map,
    _keeps_length,
    _causal_only,
    _beyond,
)
