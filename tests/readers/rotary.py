"""Our numbers in the shapes of the libraries' rotations, position ids and attention layers.

A reader takes (case, spec, expected) and returns what the case's output holds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from posviz.attention import output, weights
from posviz.encodings.position_ids import PositionIds, vision_text_ids
from posviz.results import rotate_pairs

Case = dict[str, Any]


def places(case: Case, spec: Any) -> np.ndarray:
    """Positions of a case: given ones, coordinates in columns or rows, or a grid's."""
    params = case["params"]
    for name in ("position_ids_t_h_w", "hw"):
        if name in params:
            return np.asarray(params[name], dtype=float).T
    for name in ("position_ids_h_w", "positions"):
        if name in params:
            return np.asarray(params[name], dtype=float)
    for name in ("grid", "patches_h_w", "feat_shape"):
        if name in params:
            return spec.grid_points(*params[name])
    if "end_x" in params:
        return spec.grid_points(params["end_y"], params["end_x"])
    vectors = np.asarray(params["x" if "x" in params else "q"])
    return np.arange(float(vectors.shape[-2]))


def tables(case: Case, spec: Any) -> tuple[Any, np.ndarray, np.ndarray]:
    """The result, its cos and its sin."""
    result = spec.encode(places(case, spec))
    angles = result.angles
    if getattr(spec, "spacing", "") == "pixel":
        # Whole multiples of π: their sines are nothing but the rounding of π and of the angle to
        # float32, which the libraries compute in.
        angles = (angles * (float(np.float32(np.pi)) / np.pi)).astype(np.float32).astype(float)
    return result, np.cos(angles), np.sin(angles)


def widened(table: np.ndarray, expected: np.ndarray, layout: str) -> np.ndarray:
    """Most libraries hold every pair twice, in the order of the dimensions."""
    if expected.shape[-1] == table.shape[-1]:
        return table
    return np.tile(table, 2) if layout == "half_split" else np.repeat(table, 2, axis=-1)


def cos(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    return widened(tables(case, spec)[1], expected, spec.layout)


def sin(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    return widened(tables(case, spec)[2], expected, spec.layout)


def complex_table(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    return np.stack(tables(case, spec)[1:])


def angles(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    found = spec.encode(places(case, spec)).angles
    flat = expected.reshape(-1, expected.shape[-1])
    return widened(found, flat, spec.layout).reshape(expected.shape)


def turned(case: Case, spec: Any, vectors: Any) -> np.ndarray:
    """Vectors of a case, rotated where they stand."""
    result, cosine, sine = tables(case, spec)
    values = np.asarray(vectors, dtype=float)
    if "grid" in case["params"] and "append_cls_token" not in case["params"]:
        flat = values.reshape(-1, values.shape[-1])
        return rotate_pairs(flat, cosine, sine, result.rotary_dim, spec.layout).reshape(
            values.shape
        )
    # [token, head, dim], [batch, token, head, dim] in torchtune, else tokens next to dim.
    is_before_heads = "layout" in case["params"] or "append_cls_token" in case["params"]
    moved = np.swapaxes(values, -2, -3) if is_before_heads else values
    found = rotate_pairs(moved, cosine, sine, result.rotary_dim, spec.layout)
    return np.swapaxes(found, -2, -3) if is_before_heads else found


def q(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    return turned(case, spec, case["params"]["q"])


def k(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    return turned(case, spec, case["params"]["k"])


def x(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    return turned(case, spec, case["params"]["x"])


def mixed_start(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    return spec.initial_parameters()["frequencies"]


def scaled_q(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    vectors = np.asarray(case["params"]["q"])
    return spec.encode(places(case, spec)).rotate_queries(vectors)


def scaled_k(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    vectors = np.asarray(case["params"]["k"])
    return spec.encode(places(case, spec)).rotate_keys(vectors)


def scaled_products(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    """All products, those of keys after their query too."""
    return scaled_q(case, spec, expected) @ np.swapaxes(scaled_k(case, spec, expected), -1, -2)


def gain(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    table = spec.encode(places(case, spec)).query_gain
    return np.repeat(table, 2, axis=-1).reshape(expected.shape)


def _ids(case: Case, spec: Any) -> PositionIds:
    params = case["params"]
    return vision_text_ids(
        params["segments"],
        spatial_merge_size=params["spatial_merge_size"],
        second_per_grid=params.get("second_per_grid", 1.0),
        tokens_per_second=params.get("tokens_per_second"),
        left_padding=params.get("left_padding", 0),
        after_vision=spec.after_vision,
    )


def ids(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    return _ids(case, spec).ids.T


def next_text_delta(case: Case, spec: Any, expected: np.ndarray) -> int:
    return _ids(case, spec).next_text_delta


def uses_rope(case: Case, spec: Any, expected: np.ndarray) -> list[bool]:
    return [kind == "RoPE" for kind in spec.encode([0]).layers]


NAMES = {
    "q": ("q_proj", "linear_q", "query.linear"),
    "k": ("k_proj", "linear_k", "key.linear"),
    "v": ("v_proj", "linear_v", "value.linear"),
    "out": ("o_proj", "linear_out", "dense", "output"),
}


def linear(case: Case, role: str, values: np.ndarray) -> np.ndarray:
    """Values through the layer of this role, under whatever name the library has for it."""
    given = case["params"]["weights"]
    (name,) = (name for name in NAMES[role] if f"{name}.weight" in given)
    bias = np.asarray(given.get(f"{name}.bias", 0.0))
    return values @ np.asarray(given[f"{name}.weight"]).T + bias


def by_head(values: np.ndarray, head_dim: int) -> np.ndarray:
    """(tokens, heads · head_dim) to (heads, tokens, head_dim)."""
    return np.moveaxis(values.reshape(len(values), -1, head_dim), 1, 0)


def projected(case: Case, spec: Any) -> list[np.ndarray]:
    """Queries, keys and values: (heads, tokens, head_dim) each."""
    (given,) = np.asarray(case["params"]["x"], dtype=float)
    fused = case["params"]["weights"].get("query_key_value.weight")
    if fused is not None:
        bias = np.asarray(case["params"]["weights"]["query_key_value.bias"])
        per_head = by_head(given @ np.asarray(fused).T + bias, 3 * spec.head_dim)
        return np.split(per_head, 3, axis=-1)
    found = [by_head(linear(case, role, given), spec.head_dim) for role in "qkv"]
    heads = len(found[0])
    return [np.repeat(one, heads // len(one), axis=0) for one in found]


def attention(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    queries, keys, _ = projected(case, spec)
    return weights(spec.encode(places(case, spec)), queries, keys, is_causal=True)


def attention_output(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    mixed = output(spec.encode(places(case, spec)), *projected(case, spec), is_causal=True)
    return linear(case, "out", np.moveaxis(mixed, 0, 1).reshape(expected.shape[0], -1))


def _conformer(case: Case, spec: Any) -> tuple[Any, list[np.ndarray]]:
    """Hidden states are rotated before the projections of queries and keys, values' are not."""
    (given,) = np.asarray(case["params"]["x"], dtype=float)
    positions = np.arange(float(len(given)))
    rotation = spec.encode(positions)
    theirs = np.asarray(case["params"]["position_embeddings"]).reshape(2, len(given), -1)
    for ours, table in zip((rotation.cos, rotation.sin), theirs, strict=True):
        np.testing.assert_allclose(widened(ours, table, spec.layout), table, atol=1e-6)
    rotated = np.moveaxis(rotation.rotate(by_head(given, spec.head_dim)), 0, 1).reshape(given.shape)
    inputs = {"q": rotated, "k": rotated, "v": given}
    vectors = [by_head(linear(case, role, one), spec.head_dim) for role, one in inputs.items()]
    # Queries and keys are not rotated once more: at position 0 nothing turns.
    return spec.encode(np.zeros_like(positions)), vectors


def conformer_attention(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    result, (queries, keys, _) = _conformer(case, spec)
    return weights(result, queries, keys)


def conformer_output(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    result, vectors = _conformer(case, spec)
    mixed = output(result, *vectors)
    return linear(case, "out", np.moveaxis(mixed, 0, 1).reshape(expected.shape[0], -1))


def angles_batched(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    return angles(case, spec, expected[0])[None]


def wavelengths_printed(case: Case, spec: Any, expected: np.ndarray) -> list[float]:
    """The first, second and last wavelength, the second cut and the others rounded."""
    first, second, last = spec.encode(case["params"]["positions"]).wavelengths[[0, 1, -1]]
    return [round(first, 1), np.floor(10 * second) / 10, round(last)]
