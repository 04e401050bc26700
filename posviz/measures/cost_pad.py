"""Two costs of an extension over a map of two of its parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posviz.encodings.rotary import RotaryEncoding
from posviz.measures.lengths import at_least
from posviz.measures.logit_factors import logit_gain
from posviz.measures.pad_costs import both_costs, pareto_front
from posviz.measures.split_angle import Floats
from posviz.parameters import Declaration, ParameterError, is_finite_number, sentence
from posviz.results import frozen

_OWNER = "cost pad"

Range = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class PointCosts:
    """What one choice of the two parameters costs.

    Attributes
    ----------
    change : mean over distances 1 … 64 of |c' - c|, where c is the mean over pairs of
        cos(distance · frequency) as trained, c' the same for the spec at the target length: what
        the frequencies alone do to the score of equal q and k.
    unseen : mean over pairs of the arc that a pair reaches within the target length and never
        reached in training, in turns: max(0, min(1, r') - r) where r < 1, else 0.
    beyond : how many pairs go beyond their trained arc, the beyond_count of spectrum.
    gain : the factor on the scores (m², and what the attention layer adds). It is no part of
        ``change``, nor of any weighted cost.
    """

    change: float
    unseen: float
    beyond: int
    gain: float


@dataclass(frozen=True, kw_only=True)
class CostPad:
    """Costs of a spec with two of its parameters moved; arrays are (rows, columns), y by x.

    Attributes
    ----------
    spec : the spec; what it has for the two parameters does not matter here.
    reference : the model as trained, against which both costs count; None where that is what each
        cell's own spec was trained with.
    names : the parameters along x and along y.
    x, y : (columns,) and (rows,) their values, evenly spaced on a log axis.
    change, unseen, beyond : as in PointCosts; NaN where the two values cannot stand together.
    refusal : why the first such cell cannot be, as the spec says it; empty where all can.
    front : True where no other cell is as low in both costs, change and unseen, and lower in one.
    length, trained_length : tokens at which, and up to which, turns are counted.
    """

    spec: RotaryEncoding
    reference: RotaryEncoding | None
    names: tuple[str, str]
    x: Floats
    y: Floats
    change: Floats
    unseen: Floats
    beyond: Floats
    refusal: str
    front: NDArray[np.bool_]
    length: int
    trained_length: int

    def at(self, point: Sequence[float]) -> PointCosts:
        """The costs of any point (x, y), not of its cell; ParameterError where it cannot be."""
        spec = self.spec.with_values(**dict(zip(self.names, map(float, point), strict=True)))
        change, unseen, beyond = both_costs(
            [spec], self.length, self.trained_length, self.reference
        )
        return PointCosts(
            change=float(change[0]),
            unseen=float(unseen[0]),
            beyond=int(beyond[0]),
            gain=logit_gain(spec, self.length),
        )

    def contains(self, point: Sequence[float]) -> bool:
        """Whether a point (x, y) lies within the range of the map."""
        axes = zip(point, (self.x, self.y), strict=True)
        return all(values[0] <= value <= values[-1] for value, values in axes)

    @property
    def reach(self) -> dict[str, Range]:
        """Lowest and highest value of both costs on the map, by their names."""
        both = {"change": self.change, "unseen": self.unseen}
        return {name: (float(np.nanmin(c)), float(np.nanmax(c))) for name, c in both.items()}

    def objective(self, weight: float) -> Floats:
        """weight · change + (1 - weight) · unseen, each from 0 at its lowest on the map to 1 at
        its highest; a cost that is the same everywhere counts 0. A point between cells can lie a
        little outside."""
        weighted: Floats = frozen(self._weighted(checked_weight(weight), self.change, self.unseen))
        return weighted

    def objective_at(self, costs: PointCosts, weight: float) -> float:
        """The same for one point, on the scale of the map."""
        change, unseen = np.asarray([costs.change]), np.asarray([costs.unseen])
        return float(self._weighted(checked_weight(weight), change, unseen)[0])

    def _weighted(self, weight: float, change: Floats, unseen: Floats) -> Floats:
        reach = self.reach
        first = weight * _from_0_to_1(change, *reach["change"])
        return first + (1 - weight) * _from_0_to_1(unseen, *reach["unseen"])


def cost_pad(
    spec: RotaryEncoding,
    names: tuple[str, str],
    *,
    length: int,
    trained_length: int,
    cells: int = 36,
    ranges: Mapping[str, Range] | None = None,
    reference: RotaryEncoding | None = None,
) -> CostPad:
    """Both costs over cells × cells values of two parameters of a spec.

    Parameters
    ----------
    names : the parameters along x and y, both numbers.
    length : the target length in tokens. It stays the same in every cell.
    trained_length : the window that the model was trained with, in tokens.
    cells : values along each axis, from one end of the range to the other.
    ranges : lowest and highest value by parameter; a parameter that is not named has the range of
        its slider.
    reference : the model as trained, for a map on which the base moves: without it each cell is
        measured against a model that was trained with the cell's own base.

    Raises
    ------
    ParameterError : a name that the spec has no number for, a range outside its domain, a spec that
        remaps distances, lengths below 2 and 1, fewer than 2 cells along an axis, no cell whose
        two values can stand together.
    """
    at_least(_OWNER, "length", length, 2)
    at_least(_OWNER, "trained_length", trained_length, 1)
    at_least(_OWNER, "cells", cells, 2)
    if spec.remaps_distance:
        raise ParameterError(
            f"{_OWNER}: the method must leave distances as they are; {spec.title} remaps them."
        )
    x, y = (_values(spec, name, cells, (ranges or {}).get(name)) for name in names)
    specs, places, refusal = _specs(spec, names, x, y)
    maps = np.full((3, y.size * x.size), np.nan)
    if not specs:
        raise ParameterError(f"{_OWNER}: no cell of the map can be. {refusal}")
    maps[:, places] = both_costs(specs, length, trained_length, reference)
    change, unseen, beyond = maps.reshape(3, y.size, x.size)
    return CostPad(
        spec=spec,
        reference=reference,
        names=names,
        x=frozen(x),
        y=frozen(y),
        change=frozen(change),
        unseen=frozen(unseen),
        beyond=frozen(beyond),
        refusal=refusal,
        front=frozen(pareto_front(change, unseen)),
        length=length,
        trained_length=trained_length,
    )


def checked_weight(weight: float) -> float:
    """The weight as a float; ParameterError when it is no number from 0 to 1."""
    if not is_finite_number(weight) or not 0 <= weight <= 1:
        raise ParameterError(sentence(_OWNER, "weight", "a number from 0 to 1", weight))
    return float(weight)


def _values(spec: RotaryEncoding, name: str, cells: int, given: Range | None) -> Floats:
    declared = next((one for one in spec.declarations() if one.name == name), None)
    if declared is None or declared.kind != "number":
        raise ParameterError(f"{_OWNER}: {spec.title} has no number called {name}.")
    low, high = given or declared.parameter.slider or (math.nan, math.nan)
    if not 0 < low < high < math.inf:
        allowed = "two positive numbers, the smaller one first"
        raise ParameterError(sentence(_OWNER, f"range of {name}", allowed, (low, high)))
    values = np.geomspace(low, high, cells)
    if not all(_is_in(declared, end) for end in (low, high)):
        allowed = f"inside the domain, {declared.domain}"
        raise ParameterError(sentence(_OWNER, f"range of {name}", allowed, (low, high)))
    return values


def _is_in(declared: Declaration, value: float) -> bool:
    lower = -math.inf if declared.lower is None else declared.lower
    upper = math.inf if declared.upper is None else declared.upper
    above = lower <= value if declared.lower_included else lower < value
    return above and (value <= upper if declared.upper_included else value < upper)


def _specs(
    spec: RotaryEncoding, names: tuple[str, str], x: Floats, y: Floats
) -> tuple[list[RotaryEncoding], list[int], str]:
    """The specs of all cells that can be, their places row by row, and why the first other cannot.

    Both ranges are inside their domains, so only the rules between parameters are left to check.
    """
    specs, places, refusal = [], [], ""
    for row, up in enumerate(y.tolist()):
        for column, across in enumerate(x.tolist()):
            cell = spec.model_copy(update={names[0]: across, names[1]: up})
            try:
                cell.check_rules()
            except ParameterError as error:
                refusal = refusal or str(error)
                continue
            specs.append(cell)
            places.append(row * x.size + column)
    return specs, places, refusal


def _from_0_to_1(cost: Floats, low: float, high: float) -> Floats:
    return (cost - low) / (high - low) if high > low else cost - low
