"""A proposal on the cost pad: a point that is low in a weighted sum of both costs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from posviz.measures.cost_pad import CostPad, PointCosts, Range
from posviz.measures.logit_factors import logit_gain
from posviz.measures.split_angle import Floats
from posviz.parameters import ParameterError

_DIGITS = 4
"""Significant digits of a proposed value; more would say more than the costs do."""
_PER_GAIN = 0.01
"""What |ln G| counts in the search, G the factor on the scores. Neither cost grows much with a
factor larger than needed, so of points about as low the one that changes the scores less is taken.
Where G is the same all over the map it changes nothing."""
_MOST_STARTS, _APART = 3, 4
"""Searches where G differs, and how many cells lie between their starts: the valleys are long."""


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A point that is low in the weighted sum of both costs; nothing more than that.

    Attributes
    ----------
    point : (x, y), rounded to four significant digits.
    weight : the weight of the change at short range, 0 … 1.
    objective : the weighted sum at the point.
    costs : both costs at the point.
    """

    point: tuple[float, float]
    weight: float
    objective: float
    costs: PointCosts


def propose(pad: CostPad, *, weight: float) -> Proposal:
    """A point of the map's range with a low weighted sum.

    Nelder and Mead's search (scipy.optimize, in the logarithms of both values) from the lowest cell
    of the map: it never ends above that cell, and the same map gives the same point. Where rounding
    inside a method makes the costs a staircase, the point stays in the cell. Where the factor G on
    the scores is not the same everywhere, the size of ln G counts a hundredth in the search, and
    nothing in what is told: it decides between points that are about as low.
    """
    starts = _starts(pad, weight)
    found = [_search(pad, start, weight) for start in starts]
    point = min(found, key=lambda one: _searched(pad, pad.at(one), weight))
    costs = pad.at(point)
    return Proposal(
        point=point, weight=weight, objective=pad.objective_at(costs, weight), costs=costs
    )


def _search(pad: CostPad, cell: _Cell, weight: float) -> tuple[float, float]:
    from scipy.optimize import minimize  # a third of a second; only a proposal needs it

    def cost(at: Floats) -> float:
        try:
            return _searched(pad, pad.at(_rounded(at)), weight)
        except ParameterError:
            return math.inf  # the two values cannot stand together there

    start = np.log(cell.point)
    bounds = [(math.log(axis[0]), math.log(axis[-1])) for axis in (pad.x, pad.y)]
    found = minimize(
        cost,
        start,
        method="Nelder-Mead",
        bounds=bounds,
        options={
            "initial_simplex": _first_triangle(start, bounds, pad),
            "maxfev": 100,
            "xatol": 1e-3,
            "fatol": 1e-6,
        },
    )
    rounded = map(_rounded, (found.x, start))
    return next((one for one in rounded if _is_as_low(pad, one, weight, cell.value)), cell.point)


def _searched(pad: CostPad, costs: PointCosts, weight: float) -> float:
    """What the search makes small."""
    return pad.objective_at(costs, weight) + _per_gain(costs.gain)


def _per_gain(gain: float) -> float:
    return _PER_GAIN * abs(math.log(gain)) if gain > 0 else 0.0


@dataclass(frozen=True, order=True)
class _Cell:
    """A cell to search from."""

    value: float
    """What the search makes small, in this cell."""
    row: int
    column: int
    point: tuple[float, float]

    def is_near(self, other: _Cell) -> bool:
        return max(abs(self.row - other.row), abs(self.column - other.column)) < _APART


def _starts(pad: CostPad, weight: float) -> list[_Cell]:
    """The lowest cell; of a map on which G differs, up to three low ones that lie apart."""
    objective = pad.objective(weight)
    low = float(np.nanmin(objective)) + 2 * _PER_GAIN
    cells: list[tuple[float, _Cell]] = []
    for row, column in np.argwhere(objective <= low).tolist():
        point = float(pad.x[column]), float(pad.y[row])
        spec = pad.spec.model_copy(update=dict(zip(pad.names, point, strict=True)))
        gain = logit_gain(spec, pad.length)
        value = float(objective[row, column]) + _per_gain(gain)
        cells.append((gain, _Cell(value, row, column, point)))
    differs = len({gain for gain, _ in cells}) > 1
    starts: list[_Cell] = []
    for cell in sorted(cell for _, cell in cells):
        if not any(map(cell.is_near, starts)):
            starts.append(cell)
        if len(starts) == (_MOST_STARTS if differs else 1):
            break
    return starts


def _is_as_low(pad: CostPad, point: tuple[float, float], weight: float, lowest: float) -> bool:
    try:
        return _searched(pad, pad.at(point), weight) <= lowest
    except ParameterError:
        return False


def _rounded(at: Floats) -> tuple[float, float]:
    x, y = (float(f"{value:.{_DIGITS}g}") for value in np.exp(at))
    return x, y


def _first_triangle(start: Floats, bounds: list[Range], pad: CostPad) -> Floats:
    """The start and one step of about two cells along each axis, inside the range."""
    triangle = np.repeat(start[None, :], 3, axis=0)
    for axis, (values, (low, high)) in enumerate(zip((pad.x, pad.y), bounds, strict=True)):
        step = 2 * math.log(values[1] / values[0])
        inside = start[axis] + step <= high or start[axis] - step < low
        triangle[axis + 1, axis] = min(high, start[axis] + step) if inside else start[axis] - step
    return triangle
