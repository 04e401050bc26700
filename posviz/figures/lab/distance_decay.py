"""One head against distance: attention and logits, measured and predicted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posviz.figures import theme
from posviz.figures.spec import FigureSpec, axis, curve, figure, layout, log_axis

_LEAST = 1e-7
_WITH_FIRST = "with the first token"
_FEWEST = 16
"""Queries that a distance must have: the mean of fewer is a matter of single tokens."""


@figure(
    title="Mean attention against distance",
    formula=r"\bar{a}(\delta) = \frac{1}{n - \delta} \sum_{m \geq \delta} a_{m,\,m-\delta}",
    help="Solid: what was measured, among the tokens after the first, each query's weights summing "
    "to 1 over them. Dashed: the core's prediction where every query is the head's mean query and "
    "every key its mean key. Grey: equal logits, no positions at all, which any causal attention "
    "falls along: far keys are seen only by queries that see many keys. What a head does with "
    "distance is how far its line leaves the grey one. Dotted: an illustration of the frequencies "
    "alone, every key equal to its query. Thin: measured with the first token, whose share lies on "
    "top of whatever the distance does.",
    limits="The mean query and key are those of this head on this text, and nothing is fitted to "
    "the weights; the illustration has one strength for all heads, which is none's own. Distances "
    "that fewer than 16 queries have are left out; distance 0 stands at ½ of the logarithmic axis.",
)
def distance_decay(
    measured: np.ndarray,
    from_means: np.ndarray,
    from_equal: np.ndarray,
    flat: np.ndarray,
    with_first: np.ndarray,
    *,
    label: str,
) -> FigureSpec:
    """Five lines over the distances 0, 1, …, on two log axes.

    Parameters
    ----------
    measured, from_means, from_equal : (distances,) mean attention.
    flat : (distances,) the same where all logits are equal.
    with_first : (distances + 1,) measured over all tokens.
    """
    count = shown(len(measured))
    lines = (
        ("no positions", None, flat),
        (_WITH_FIRST, 0, with_first),
        ("illustration, equal content", 2, from_equal),
        ("predicted from mean q and k", 1, from_means),
        (f"measured, {label}", 0, measured),
    )
    traces = [
        curve(
            name,
            slot,
            np.maximum(np.arange(count), 0.5),
            np.where(np.asarray(values[:count]) > 0, values[:count], np.nan),
            hover="distance %{x:,.1~f}<br>mean attention %{y:.3g}",
        )
        for name, slot, values in lines
    ]
    thin = next(trace for trace in traces if trace["name"] == _WITH_FIRST)
    thin["line"] = {**theme.line(0), "width": 1, "dash": "dot"}
    low = _lowest([values[:count] for _, _, values in lines])
    return FigureSpec(
        traces,
        layout(
            log_axis("distance (tokens)", 0.45, max(2, count)),
            log_axis("mean attention", low / 1.5, 1.5, exponentformat="power"),
        ),
    )


@figure(
    title="Logit against distance",
    formula=r"z(\delta) = q \cdot R_\delta\, k / \sqrt{D}",
    help="Solid: the mean of the measured logits of all pairs of tokens at a distance, the first "
    "token left out, and one standard deviation around it. Dashed: the logit of the head's mean "
    "query and mean key, whose fall with distance the attention page shows of any given pair.",
    limits="The mean of logits over tokens is that of the mean query and key only as far as the "
    "two do not vary together, which near tokens do. Distances of fewer than 16 queries are "
    "left out.",
)
def logit_decay(
    distances: np.ndarray,
    measured: np.ndarray,
    spread: np.ndarray,
    given: np.ndarray,
    *,
    label: str,
) -> FigureSpec:
    """Mean, spread and the mean content's logit, (distances,) each, on a log axis of distance."""
    near = slice(0, shown(len(distances)))
    x, measured, spread, given = (
        values[near] for values in (np.maximum(distances, 0.5), measured, spread, given)
    )
    hover = "distance %{x:,.1~f}<br>logit %{y:.3f}"
    lines = [
        curve("predicted from mean q and k", 1, x, given, hover=hover),
        curve(f"measured, {label}", 0, x, measured, hover=hover),
    ]
    thin = {**theme.line(0), "width": 1, "dash": "dot"}
    for name, values in (("one σ below", measured - spread), ("one σ above", measured + spread)):
        lines.append({**curve(name, 0, x, values, hover=hover), "line": thin})
    low, high = _ends([trace["y"] for trace in lines])
    margin = 0.05 * max(high - low, 1.0)
    return FigureSpec(
        lines,
        layout(
            log_axis("distance (tokens)", 0.45, max(2, len(x))),
            axis("logit", range=[low - margin, high + margin], zeroline=True),
        ),
    )


def shown(count: int) -> int:
    """How many distances are drawn of those of ``count`` tokens; all of a short text's."""
    return count - _FEWEST + 1 if count > 2 * _FEWEST else count


def _lowest(curves: Sequence[np.ndarray]) -> float:
    joined = np.concatenate([np.ravel(one) for one in curves])
    positive = joined[joined >= _LEAST]
    return float(positive.min()) if positive.size else _LEAST


def _ends(curves: Sequence[np.ndarray]) -> tuple[float, float]:
    joined = np.concatenate(list(curves))
    finite = joined[np.isfinite(joined)]
    return (float(finite.min()), float(finite.max())) if finite.size else (-1.0, 1.0)
