"""The home page: what PosViz is, a picture that teaches, ways in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import streamlit as st

from posviz import figures, measures
from posviz.catalog import parse
from posviz.encodings.rotary import RotaryEncoding
from posviz.figures import Series

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

TRAINED, TARGET = 4096, 65536
PAGE = "pages/context_extension.py"
WAYS_IN: tuple[tuple[str, str, str, str, dict[str, str]], ...] = (
    (
        "Teach it",
        "Why does a model trained on 4,096 tokens fail at 65,536? Start from plain RoPE, add one "
        "method at a time, and watch which pairs leave the arcs that they were trained on.",
        "Llama 2 and position interpolation",
        PAGE,
        {"model": "llama-2-7b", "a": "linear", "scaling_factor": "16"},
    ),
    (
        "Tune it",
        "Bring a config.json. See every number that it resolves to, move base, factor, beta_fast "
        "and beta_slow, and take away settings for transformers, vLLM, SGLang and llama.cpp.",
        "Qwen 2.5 with YaRN",
        PAGE,
        {"model": "qwen2.5-7b-yarn"},
    ),
    (
        "Check it",
        "Runtimes that read the same file do not always compute the same frequencies. Compare the "
        "paper's ramp with the one that code runs, pair by pair.",
        "gpt-oss and its unrounded ramp",
        PAGE,
        {"model": "gpt-oss-20b"},
    ),
    (
        "Watch it",
        "What is left of one matching key among a million? See how attention spreads, how far a "
        "head reaches, and what a temperature repairs, at any length up to four million tokens.",
        "a million tokens",
        "pages/attention.py",
        {"a": "rope", "b": "yarn", "c": "log_n", "d": "alibi", "length": "1048576"},
    ),
    (
        "Measure it",
        "Do the formulas show in a model? Look into the 270 heads of a small language model, "
        "beside what its frequencies predict, and at its loss beyond the window that it was "
        "trained with, with each method of extension.",
        "attention that was measured",
        "pages/real_attention.py",
        {},
    ),
    (
        "Train it",
        "Train tiny models on 64 tokens, each with another encoding, and see which of them still "
        "work at 512. Some seconds each, here, while you look on.",
        "train short, test long",
        "pages/train_short.py",
        {},
    ),
)
CARDS_IN_A_ROW = 3


def show() -> None:
    """Draw the page."""
    st.title("Positional encodings, computed, proved and shown")
    st.markdown(
        "A transformer learns where a token stands from its positional encoding. PosViz computes "
        "the encodings that released models use, holds their frequencies and factors against other "
        "people's code and papers, and shows what they do."
    )
    st.plotly_chart(
        _picture("dark" if st.context.theme.type == "dark" else "light"),
        key="home-picture",
        height=380,
        alt="Wavelength of each of the 64 rotary pairs of Llama 2, plain and with YaRN, against "
        "the trained window of 4,096 tokens and the target of 65,536.",
    )
    st.caption(
        "Llama 2: each of its 64 rotary pairs turns once per wavelength. Where the grey line is "
        "above L, a pair never finished a turn while the model was trained on 4,096 tokens. YaRN "
        "leaves the fast pairs alone and slows the slow ones sixteenfold, so that at 65,536 "
        "tokens none goes where it never was."
    )
    for first in range(0, len(WAYS_IN), CARDS_IN_A_ROW):
        row = WAYS_IN[first : first + CARDS_IN_A_ROW]
        for column, (title, text, label, page, address) in zip(
            st.columns(CARDS_IN_A_ROW), row, strict=True
        ):
            with column.container(border=True, height="stretch"):
                st.subheader(title)
                st.markdown(text)
                st.page_link(page, label=f"Open: {label}", query_params=address, icon="➡️")


def _picture(mode: Literal["light", "dark"]) -> Figure:
    chosen = {
        "plain RoPE": (None, "rope"),
        "YaRN, 16 times longer": (0, "yarn?scaling_factor=16"),
    }
    series = [
        Series(label, slot, measures.spectrum(spec, length=TARGET, trained_length=TRAINED))
        for label, (slot, link) in chosen.items()
        if isinstance(spec := parse(link), RotaryEncoding)
    ]
    drawn = figures.wavelengths.build(series, trained_length=TRAINED, target_length=TARGET)
    figure = drawn.figure(mode)
    return figure.update_layout(
        showlegend=True, legend={"x": 0.01, "y": 0.99, "bgcolor": "rgba(0,0,0,0)"}
    )
