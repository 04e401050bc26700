"""What one would write first: a slider and four charts of 2,000 points, all defaults."""

import numpy as np
import plotly.graph_objects as go
import streamlit as st

DISTANCES = np.arange(2000)

st.title("RoPE")
base = st.slider("base", 1_000, 100_000, 10_000, step=1_000)

columns = st.columns(2)
for index, head_dim in enumerate((32, 64, 128, 256)):
    inv_freq = base ** (-np.arange(0, head_dim, 2) / head_dim)
    score = np.cos(np.outer(DISTANCES, inv_freq)).mean(axis=1)
    figure = go.Figure()
    figure.add_trace(go.Scatter(x=DISTANCES, y=score, mode="lines"))
    figure.update_layout(
        title=f"head_dim {head_dim}", xaxis_title="distance", yaxis_title="score", height=350
    )
    columns[index % 2].plotly_chart(figure, key=f"chart-{head_dim}")
