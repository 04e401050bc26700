"""The attention of four encodings as one would write it first: NumPy, sliders, six charts.

Everything is vectorised and worked out again on every change, which is what a Streamlit script does
by default; the curves against distance are drawn with every k-th point, 2,000 of them.
"""

import math

import numpy as np
import plotly.graph_objects as go
import streamlit as st

TRAINED, FACTOR, HEADS = 4096, 16.0, 8
BLOCK = 4096

st.title("Attention at a long context")
controls = st.columns(3)
match = controls[0].slider("match g", 0.0, 32.0, 10.5, step=0.1)
length = controls[1].slider("context length", 1024, 131_072, 131_072, step=1024)
depth = controls[2].slider("depth of the needle", 0.0, 1.0, 0.5, step=0.01)

pair = np.arange(64)
rope = 10_000.0 ** (-pair / 64)


def yarn_frequencies():
    def pair_of(turns):
        return 64 * math.log(TRAINED / (turns * 2 * math.pi)) / math.log(10_000)

    low, high = math.floor(pair_of(32)), math.ceil(pair_of(1))
    ramp = np.clip((pair - low) / (high - low), 0, 1)
    return rope * (1 - ramp) + rope / FACTOR * ramp


def mean_cosine(frequencies, log_kept=None):
    """The score of equal content at every distance, block by block, so that it fits the memory."""
    score = np.empty(length)
    for first in range(0, length, BLOCK):
        distances = np.arange(first, min(first + BLOCK, length))
        waves = np.cos(np.outer(distances, frequencies))
        if log_kept is not None:
            waves *= np.exp(np.outer(distances, log_kept))
        score[first : first + BLOCK] = waves.mean(axis=1)
    return score


yarn_gain = (0.1 * math.log(FACTOR) + 1) ** 2
zeta = (2 * pair / 128 + 0.4) / 1.4
alibi = -(2.0 ** (-8 / HEADS)) * np.arange(length)
# Name: the logits of keys that equal the query, and what the position adds to any key.
rows = {
    "RoPE": (match * mean_cosine(rope), 0),
    "YaRN": (match * yarn_gain * mean_cosine(yarn_frequencies()), 0),
    "ALiBi": (match + alibi, alibi),
    "xPos": (match * mean_cosine(rope, np.log(zeta) / 512), 0),
}
needle_logits = {"RoPE": match, "YaRN": match * yarn_gain, "ALiBi": match, "xPos": match}


def softmax(logits):
    raised = np.exp(logits - logits.max())
    return raised / raised.sum()


lengths = np.unique(np.geomspace(8, length, 40).round().astype(int))
distances = np.arange(length)
shown = slice(1, None, max(1, length // 2000))
titles = {
    "score": "Score against distance",
    "weight": "Weight against distance",
    "entropy": "Entropy against context length",
    "reach": "Reach (99 %) against context length",
    "needle": "Weight of the needle against context length",
    "first": "Weight of the first token against context length",
}
figures = {name: go.Figure() for name in titles}


def add(name, x, y, encoding):
    figures[name].add_trace(go.Scatter(x=x, y=y, mode="lines", name=encoding))


for encoding, (logits, bias) in rows.items():
    add("score", distances[shown], logits[shown], encoding)
    add("weight", distances[shown], softmax(logits)[shown], encoding)
    entropy, reach, first, needle = [], [], [], []
    for each in lengths:
        weights = softmax(logits[:each])
        entropy.append(-np.sum(weights * np.log(np.maximum(weights, 1e-300))))
        reach.append(np.searchsorted(np.cumsum(weights), 0.99) + 1)
        first.append(weights[-1])
        place = round(depth * (each - 1))
        hay = np.zeros(each) + (bias if np.isscalar(bias) else bias[:each])
        hay[place] += needle_logits[encoding]
        needle.append(softmax(hay)[place])
    add("entropy", lengths, entropy, encoding)
    add("reach", lengths, reach, encoding)
    add("first", lengths, first, encoding)
    add("needle", lengths, needle, encoding)

# ALiBi's line goes down to -65,000 and would flatten the other curves.
figures["score"].update_yaxes(range=[-20, 60])
columns = st.columns(2)
for index, (name, title) in enumerate(titles.items()):
    against = "distance" if "distance" in title else "context length"
    figures[name].update_layout(title=title, xaxis_title=against, height=350)
    figures[name].update_xaxes(type="log")
    if name in ("weight", "needle", "first", "reach"):
        figures[name].update_yaxes(type="log")
    columns[index % 2].plotly_chart(figures[name], key=f"chart-{name}")
