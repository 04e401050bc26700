"""A proposal on the cost pad: a point that is low in a weighted sum of both costs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from posviz.measures.cost_pad import CostPad, PointCosts, Range
from posviz.measures.split_angle import Floats
from posviz.parameters import ParameterError

_DIGITS = 4
"""Significant digits of a proposed value; more would say more than the costs do."""


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
    inside a method makes the costs a staircase, the point stays in the cell.
    """
    from scipy.optimize import minimize  # a third of a second; only a proposal needs it

    objective = pad.objective(weight)
    row, column = np.unravel_index(int(np.nanargmin(objective)), objective.shape)
    lowest = float(objective[row, column])

    def cost(at: Floats) -> float:
        try:
            return pad.objective_at(pad.at(_rounded(at)), weight)
        except ParameterError:
            return math.inf  # the two values cannot stand together there

    start = np.log([pad.x[column], pad.y[row]])
    bounds = [(math.log(axis[0]), math.log(axis[-1])) for axis in (pad.x, pad.y)]
    simplex = _first_triangle(start, bounds, pad)
    found = minimize(
        cost,
        start,
        method="Nelder-Mead",
        bounds=bounds,
        options={"initial_simplex": simplex, "maxfev": 100, "xatol": 1e-3, "fatol": 1e-6},
    )
    cell = (float(pad.x[column]), float(pad.y[row]))
    point = next(
        (one for one in map(_rounded, (found.x, start)) if _is_as_low(pad, one, weight, lowest)),
        cell,
    )
    costs = pad.at(point)
    return Proposal(
        point=point, weight=weight, objective=pad.objective_at(costs, weight), costs=costs
    )


def _is_as_low(pad: CostPad, point: tuple[float, float], weight: float, lowest: float) -> bool:
    try:
        return pad.objective_at(pad.at(point), weight) <= lowest
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
