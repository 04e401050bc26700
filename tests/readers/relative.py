"""Whole attention layers with relative vectors, their weights given.

A reader takes (case, spec, expected) and returns what the case's output holds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from posviz.attention import output, weights

Case = dict[str, Any]


def _weights(case: Case) -> dict[str, np.ndarray]:
    return {name: np.asarray(one, dtype=float) for name, one in case["params"]["weights"].items()}


def _input(case: Case) -> np.ndarray:
    x = np.asarray(case["params"]["x"], dtype=float)
    return x[0] if x.ndim == 3 else x


def _split(mixed: np.ndarray, heads: int) -> np.ndarray:
    """(tokens, heads·head_dim) as (heads, tokens, head_dim)."""
    return np.moveaxis(mixed.reshape(len(mixed), heads, -1), 1, 0)


def _joined(values: np.ndarray) -> np.ndarray:
    return np.moveaxis(values, 0, 1).reshape(values.shape[1], -1)


def _linear(case: Case, name: str) -> np.ndarray:
    found = _weights(case)
    return _input(case) @ found[f"{name}.weight"].T + found.get(f"{name}.bias", 0.0)


def _heads(case: Case, name: str) -> np.ndarray:
    return _split(_linear(case, name), case["params"]["heads"])


def _normed(values: np.ndarray, found: dict[str, np.ndarray], name: str, eps: float) -> np.ndarray:
    centred = values - values.mean(axis=-1, keepdims=True)
    spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + eps)
    return centred / spread * found[f"{name}.weight"] + found[f"{name}.bias"]


def _encoded(case: Case, spec: Any, queries: Any, keys: Any, parameters: dict[str, Any]) -> Any:
    count = queries.shape[1]
    return spec.encode(np.arange(float(count)), queries=queries, keys=keys, parameters=parameters)


def _shaw(case: Case, spec: Any) -> tuple[Any, np.ndarray]:
    found = _weights(case)
    table = found.get(
        "relative_positions_embeddings.weight", found.get("distance_embedding.weight")
    )
    names = [
        next(name for name in choices if f"{name}.weight" in found)
        for choices in (
            ("linear_query", "linear_q"),
            ("linear_keys", "linear_k"),
            ("linear_values", "linear_v"),
        )
    ]
    queries, keys, values = (_heads(case, name) for name in names)
    return _encoded(case, spec, queries, keys, {"a_k": table}), values


def _shaw_weights(case: Case, result: Any) -> np.ndarray:
    """OpenNMT takes its softmax in float32 and nothing else: so does this, with the same library.

    The case's tolerance is finer than what float32 leaves of an exponential.
    """
    if "final_linear.weight" not in case["params"]["weights"]:
        return np.asarray(weights(result))
    exact = np.asarray(weights(result))
    single = torch.softmax(torch.tensor(np.asarray(result.logits), dtype=torch.float32), dim=-1)
    np.testing.assert_allclose(single.numpy(), exact, rtol=1e-6)
    return single.double().numpy()


def shaw_attention(case: Case, spec: Any, expected: np.ndarray) -> Any:
    return _shaw_weights(case, _shaw(case, spec)[0])


def shaw_output(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    result, values = _shaw(case, spec)
    found = _weights(case)
    last = "final_linear" if "final_linear.weight" in found else "linear_out"
    mixed = _joined(np.asarray(result.mix(_shaw_weights(case, result), values)))
    return mixed @ found[f"{last}.weight"].T + found[f"{last}.bias"]


def xl_output(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    """After the residual and the layer norm."""
    found, x = _weights(case), _input(case)
    mixed = x @ found["qkv_net.weight"].T
    queries, keys, values = (
        _split(part, case["params"]["heads"]) for part in np.split(mixed, 3, axis=1)
    )
    parameters = {
        "r": found["r_net.weight"],
        "u": case["params"]["u"],
        "v": case["params"]["v"],
    }
    result = _encoded(case, spec, queries, keys, parameters)
    given = _joined(output(result, None, None, values)) @ found["o_net.weight"].T
    return _normed(x + given, found, "layer_norm", 1e-5)


def _conformer(case: Case, spec: Any) -> tuple[Any, np.ndarray]:
    found = _weights(case)
    queries, keys, values = (_heads(case, f"linear_{letter}") for letter in "qkv")
    parameters = {
        "r": found["linear_pos.weight"],
        "u": found["pos_bias_u"],
        "v": found["pos_bias_v"],
    }
    return _encoded(case, spec, queries, keys, parameters), values


def conformer_attention(case: Case, spec: Any, expected: np.ndarray) -> Any:
    return weights(_conformer(case, spec)[0])


def conformer_output(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    result, values = _conformer(case, spec)
    found = _weights(case)
    mixed = _joined(output(result, None, None, values))
    return mixed @ found["linear_out.weight"].T + found["linear_out.bias"]


def _xlnet(case: Case, spec: Any) -> tuple[Any, np.ndarray]:
    """Its weights are (d_model, heads, head_dim); this layer has no segment term."""
    found, x = _weights(case), _input(case)
    queries, keys, values = (np.einsum("nd,dhe->hne", x, found[name]) for name in ("q", "k", "v"))
    size = found["r"].shape[0]
    parameters = {
        "r": found["r"].reshape(size, -1).T,
        "u": found["r_w_bias"],
        "v": found["r_r_bias"],
        "s": np.zeros_like(found["r_s_bias"]),
        "segment": np.zeros_like(found["seg_embed"]),
    }
    return _encoded(case, spec, queries, keys, parameters), values


def xlnet_attention(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    return np.moveaxis(np.asarray(weights(_xlnet(case, spec)[0])), 0, -1)


def xlnet_output(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    """After the residual and the layer norm."""
    result, values = _xlnet(case, spec)
    found, x = _weights(case), _input(case)
    mixed = np.einsum("hne,dhe->nd", output(result, None, None, values), found["o"])
    return _normed(x + mixed, found, "layer_norm", 1e-12)


def deberta_buckets(case: Case, spec: Any, expected: np.ndarray) -> Any:
    last = int(case["params"]["relative_position"].rpartition("...")[2])
    return spec.bucket(np.arange(-float(last), last + 1))


def deberta_relative(case: Case, spec: Any, expected: np.ndarray) -> Any:
    params = case["params"]
    queries, keys = np.arange(float(params["query_len"])), np.arange(float(params["key_len"]))
    return spec.bucket(queries[:, None] - keys[None, :])


def _deberta(case: Case, spec: Any) -> tuple[Any, np.ndarray]:
    found, heads = _weights(case), case["params"]["heads"]
    queries, keys, values = (_heads(case, f"{name}_proj") for name in ("query", "key", "value"))
    table = np.asarray(case["params"]["rel_embeddings"], dtype=float)

    def projected(own: str, shared: str) -> np.ndarray:
        name = shared if case["params"]["share_att_key"] else own
        if f"{name}.weight" not in found:  # a term that this layer leaves out
            return np.zeros((heads, len(table), spec.head_dim))
        mixed = table @ found[f"{name}.weight"].T + found.get(f"{name}.bias", 0.0)
        return _split(mixed, heads)

    parameters = {
        "position_keys": projected("pos_key_proj", "key_proj"),
        "position_queries": projected("pos_query_proj", "query_proj"),
    }
    return _encoded(case, spec, queries, keys, parameters), values


def deberta_attention(case: Case, spec: Any, expected: np.ndarray) -> Any:
    return weights(_deberta(case, spec)[0])


def deberta_output(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    result, values = _deberta(case, spec)
    return _joined(output(result, None, None, values))


def tupe_bias(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    """What positions add, from the table before its layer norm and projections."""
    found, params = _weights(case), case["params"]
    rows = found["pos.weight"][: params["length"] + 1]
    normed = _normed(rows, found, "pos_ln", 1e-5)
    parameters = {
        f"position_{name}": _split(
            normed @ found[f"pos_{letter}_linear.weight"].T + found[f"pos_{letter}_linear.bias"],
            params["heads"],
        )
        for name, letter in (("queries", "q"), ("keys", "k"))
    }
    if spec.relative:
        parameters["bias"] = found["relative_attention_bias.weight"]
    zeros = np.zeros((spec.heads, params["length"], spec.head_dim))
    return np.asarray(_encoded(case, spec, zeros, zeros, parameters).logits)


def _huang(case: Case, spec: Any) -> tuple[Any, np.ndarray]:
    """Its rows run with query minus key, ours with key minus query."""
    queries, keys, values = (_heads(case, name) for name in ("query", "key", "value"))
    table = _weights(case)["distance_embedding.weight"][::-1]
    return _encoded(case, spec, queries, keys, {"a": table}), values


def huang_attention(case: Case, spec: Any, expected: np.ndarray) -> Any:
    return weights(_huang(case, spec)[0])


def huang_output(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    result, values = _huang(case, spec)
    return _joined(output(result, None, None, values))
