"""What one would write first for a matrix: go.Heatmap of 512 x 512 in st.plotly_chart."""

import numpy as np
import plotly.graph_objects as go
import streamlit as st

POSITIONS = np.arange(512)

st.title("RoPE")
base = st.slider("base", 1_000, 100_000, 10_000, step=1_000)

inv_freq = base ** (-np.arange(0, 128, 2) / 128)
by_distance = np.cos(np.outer(POSITIONS, inv_freq)).mean(axis=1)
scores = by_distance[np.abs(POSITIONS[:, None] - POSITIONS[None, :])]
figure = go.Figure(go.Heatmap(z=scores.astype(np.float32), colorscale="RdBu", zmid=0))
figure.update_layout(xaxis_title="key", yaxis_title="query", height=600)
st.plotly_chart(figure, key="scores")
