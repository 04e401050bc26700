"""What the attention of the last query amounts to, against context length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from posviz.figures import theme
from posviz.figures.spec import FigureSpec, Series, axis, curve, figure, layout, level, log_axis
from posviz.measures import ContextCurves
from posviz.measures.split_angle import Floats

Curves = Sequence[Series[ContextCurves]]


def _lines(series: Curves, name: str, hover: str) -> list[dict[str, Any]]:
    return [
        curve(
            item.label,
            item.slot,
            item.measure.lengths.astype(np.int32),
            getattr(item.measure, name),
            hover=f"context %{{x:,}}<br>{hover}",
        )
        for item in series
    ]


def _figure(
    traces: list[dict[str, Any]], y: dict[str, Any], trained: int, marks: Sequence[Any] = ()
) -> FigureSpec:
    ends = [float(trace["x"][place]) for trace in traces for place in (0, -1)]
    return FigureSpec(
        traces,
        layout(
            log_axis("context length (tokens)", min(ends) / 1.05, max(ends) * 1.05),
            y,
            levels=[level(trained, f"L = {trained:,}", across="x", log=True), *marks],
        ),
    )


def _ghost(name: str, x: Floats, y: Floats) -> dict[str, Any]:
    """A line of comparison, which belongs to no encoding."""
    trace = curve(name, None, x, y, hover=f"{name}<br>context %{{x:,}}<br>%{{y:.5g}}")
    return {**trace, "line": {**theme.line(None), "dash": "dot"}}


def _longest(series: Curves) -> Floats:
    return max((item.measure.lengths for item in series), key=lambda lengths: lengths[-1])


def _log_range(values: Sequence[Floats], least: float) -> tuple[float, float]:
    joined = np.concatenate(values)
    shown = joined[np.isfinite(joined) & (joined >= least)]
    if not shown.size:
        return least, 1.0
    return float(shown.min()) / 1.3, float(shown.max()) * 1.3


@figure(
    title="Entropy against context length",
    formula=r"H(\ell) = -\sum_\delta w \ln w = \text{⟨entropy⟩},\quad "
    r"e^H = \text{⟨tokens⟩},\quad \ell = \text{⟨length⟩}",
    help="How spread the attention of the last query is. The dotted line is ln ℓ, attention that "
    "weighs all keys alike: a head that follows it is diluted by every new token. A flat line "
    "sees as many keys in a million tokens as in a thousand. e to the entropy is the number of "
    "equal keys that it amounts to.",
    limits="Spread is not bad and focus is not good in itself. For independent draws the "
    "entropy is near ln ℓ − σ²/2, with σ their standard deviation after every factor of the "
    "method, as long as σ² is well below 2 ln ℓ.",
)
def entropy(series: Curves, *, trained: int) -> FigureSpec:
    """Nats per context length, one line per encoding, and ln ℓ."""
    lengths = _longest(series)
    traces = _lines(series, "entropy", "entropy %{y:.4f} nats")
    traces.append(_ghost("ln ℓ, all weights alike", lengths.astype(np.int32), np.log(lengths)))
    return _figure(
        traces, axis("entropy (nats)", range=[-0.3, float(np.log(lengths[-1])) * 1.06]), trained
    )


@figure(
    title="Reach against context length",
    formula=r"\min\left\{k : \sum_{\delta<k} w \geq 0.99\right\} = "
    r"\text{⟨reach⟩},\quad \ell = \text{⟨length⟩}",
    help="How many of the nearest keys hold 99 % of the weight, and as a thin dotted line how many "
    "hold half of it. Attention that weighs all alike reaches over the whole context, a straight "
    "diagonal here; a bias that falls steadily stops at a distance of its own.",
    limits="One far key with a large weight, such as a needle, counts as a far reach although "
    "nothing between is seen.",
)
def reach(series: Curves, *, trained: int) -> FigureSpec:
    """Tokens per context length on two log axes."""
    traces = _lines(series, "reach", "99 % within %{y:,.0f} tokens")
    halves = [
        {
            **trace,
            "name": f"{trace['name']}: half of the weight",
            "showlegend": False,
            "line": {**trace["line"], "width": 1, "dash": "dot"},
            "hovertemplate": "context %{x:,}<br>half within %{y:,.0f} tokens<extra></extra>",
        }
        for trace in _lines(series, "half_reach", "")
    ]
    every = [*traces, *halves]
    low, high = _log_range([trace["y"] for trace in every], 1.0)
    return _figure(every, log_axis("tokens", low, high), trained)


@figure(
    title="Weight of one needle against context length",
    formula=r"w_{\text{needle}}(\ell) = \frac{e^{z_{\text{needle}}}}{e^{z_{\text{needle}}} + "
    r"\sum_{\text{other keys}} e^{z}} = \text{⟨needle⟩},\quad \ell = \text{⟨length⟩}",
    help="One key matches the query with the logit g and lies at the chosen depth. The others are "
    "what the model of the content says; where every key equals the query they have logit 0 "
    "instead, as none would stand out. More keys dilute it, a bias pushes it down, a temperature "
    "lifts it, and a rotation turns it away if it acts on the needle. Without bias or factor and "
    "with σ = 0, g = 10.51 gives 0.9 at 4,096 tokens and 0.22 at 131,072; draws cost about σ²/2 "
    "of g.",
    limits="A thought experiment with one key and one margin; a trained head has neither.",
)
def needle_share(series: Curves, *, trained: int) -> FigureSpec:
    """Weight of the needle per context length."""
    traces = _lines(series, "needle", "weight %{y:.4f}")
    return _figure(traces, axis("weight of the needle", range=[-0.03, 1.03]), trained)


@figure(
    title="Position read off a causal mask",
    formula=r"w(\ell-1) = \text{⟨first⟩},\quad \sum w^2 = \text{⟨concentration⟩},\quad "
    r"\ell = \text{⟨length⟩}",
    help="The weight of the first token of the context: with equal keys it is 1/t at position t, "
    "so a value that only the first token carries tells a head where it stands, without any "
    "positional encoding. Thin and dotted, Σw²: what is left of the variance of independent "
    "values that are averaged, σ²/t for equal weights.",
    limits="That a position can be read does not mean that a model reads it; beyond a window, or "
    "far down a bias, nothing of the first token is left.",
)
def first_token(series: Curves, *, trained: int) -> FigureSpec:
    """Weight of the first token and Σw² per context length on two log axes."""
    traces = _lines(series, "first_weight", "first token %{y:.3g}")
    traces = [{**trace, "y": np.where(trace["y"] > 0, trace["y"], np.nan)} for trace in traces]
    spread = [
        {
            **trace,
            "name": f"{trace['name']}: Σw²",
            "showlegend": False,
            "line": {**trace["line"], "width": 1, "dash": "dot"},
            "hovertemplate": "context %{x:,}<br>Σw² %{y:.3g}<extra></extra>",
        }
        for trace in _lines(series, "concentration", "")
    ]
    every = [*traces, *spread]
    low, high = _log_range([trace["y"] for trace in every], 1e-9)
    return _figure(every, log_axis("share", low, min(high, 1.5)), trained)


@figure(
    title="Attention resolution",
    formula=r"R(\ell) = \frac{\sum_\delta e^{z(\delta)} \left(e^{z(\delta)} - e^{z(\delta+1)}"
    r"\right)}{\left(\sum_\delta e^{z(\delta)}\right)^2} = \text{⟨resolution⟩},\quad "
    r"\ell = \text{⟨length⟩}",
    help="The measure of the xPos paper: half of the sum of the squared differences between "
    "neighbouring weights, both ends against 0. It is 1 where one key has all the weight and 1/ℓ² "
    "where all have the same; it grows with concentration as well as with the steps from key to "
    "key. The notes give how alike neighbouring positions are to a rotation: the mean cosine and "
    "the mean sine of one step.",
    limits="It does not ask whether the score falls: one far key that has all the weight, or "
    "weights that jump up and down, have a large resolution too.",
)
def resolution(series: Sequence[Series[tuple[Floats, Floats]]], *, trained: int) -> FigureSpec:
    """Resolution per context length; a measure is (lengths, resolution)."""
    traces = [
        curve(
            item.label,
            item.slot,
            item.measure[0].astype(np.int32),
            item.measure[1],
            hover="context %{x:,}<br>resolution %{y:.4g}",
        )
        for item in series
    ]
    joined = np.concatenate([trace["y"] for trace in traces])
    low, high = float(np.nanmin(joined)), float(np.nanmax(joined))
    margin = 0.06 * max(high - low, 1e-3)
    return _figure(traces, axis("resolution", range=[low - margin, high + margin]), trained)
