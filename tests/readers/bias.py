"""Our numbers in the shapes of the libraries' biases, buckets and attention layers.

A reader takes (case, spec, expected) and returns what the case's output holds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from posviz.attention import logits, output, weights

Case = dict[str, Any]

OUR_NAMES = {
    "kerple_log": {"bias_p": "r1", "bias_a": "r2", "b": "r1", "a": "r2", "p": "power"},
    "kerple_power": {"bias_a": "a", "bias_p": "p"},
}


def parameters(case: Case, spec: Any) -> dict[str, np.ndarray] | None:
    """The weights of a case under our names and in our shapes; None where nothing is learned."""
    if not spec.is_learned:
        return None
    names = OUR_NAMES.get(spec.id, {})
    given = {**case["params"], **case["params"].get("weights", {})}
    wanted = spec.initial_parameters()
    renamed = {names.get(name, name): value for name, value in given.items()}
    return {
        name: np.asarray(renamed[name], dtype=float).reshape(part.shape)
        for name, part in wanted.items()
    }


def encoded(case: Case, spec: Any, count: int) -> Any:
    learned = parameters(case, spec)
    given = {} if learned is None else {"parameters": learned}
    return spec.encode(np.arange(float(count)), **given)


def slopes(case: Case, spec: Any, expected: np.ndarray) -> Any:
    return spec.encode([0, 1]).slopes


def bias_per_key(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    """One row for all queries; the key's position times the slope."""
    matrix = encoded(case, spec, case["params"]["keys"]).matrix
    assert (matrix == matrix[:, :1, :]).all()
    return matrix[:, 0, :]


def bias_from_last_key(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    """The same up to a shift: MPT counts from the last key back."""
    row = bias_per_key(case, spec, expected)
    return row - row[:, -1:]


def last_queries(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    """The bias of as many last queries as the case has."""
    matrix = encoded(case, spec, expected.shape[-1]).matrix
    return matrix[:, -expected.shape[-2] :, :].reshape(expected.shape)


def nemo_queries(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    """The last queries, as NeMo cuts them.

    With fewer queries than keys its lower triangle starts at the first key of the cut rather than
    at the query's own, so that the nearest keys get the bias of distance 0 (which is 0) too. As
    many queries as keys, the case in training, are not touched by this.
    """
    return np.tril(last_queries(case, spec, expected))


def buckets(case: Case, spec: Any, expected: np.ndarray) -> Any:
    relative = case["params"]["relative_position"]
    if isinstance(relative, str):
        last = int(relative.rpartition("...")[2])
        relative = range(-last, last + 1)
    return spec.buckets(-np.asarray(relative, dtype=float))


def biased_logits(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    """Given logits plus the bias; keys after the query are not masked by these libraries."""
    (given,) = np.asarray(case["params"]["logits"], dtype=float)
    result = encoded(case, spec, given.shape[-1])
    added = np.tril(result.matrix) if spec.id == "alibi" else result.matrix
    # Our own attention says the same wherever a key is not masked: q·k with unit keys is q.
    masked = logits(result, given, np.eye(given.shape[-1]), scale=1.0)
    seen = np.isfinite(masked)
    np.testing.assert_allclose(masked[seen], (given + added)[seen], rtol=1e-14)
    assert (seen == np.tril(np.ones(given.shape, dtype=bool))).all()
    return (given + added)[None]


def softmax_of_logits(case: Case, spec: Any, expected: np.ndarray) -> Any:
    given = np.asarray(case["params"]["logits"], dtype=float)
    result = spec.encode(np.arange(float(given.shape[-1])))
    return weights(result, given, np.eye(given.shape[-1]), scale=case["params"]["scale"])


def forgetting(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    (x,) = np.asarray(case["params"]["x"], dtype=float)
    result = spec.encode(np.arange(float(len(x))), inputs=x, parameters=parameters(case, spec))
    return result.matrix[None]


def tisa_curve(case: Case, spec: Any, expected: np.ndarray) -> Any:
    length = case["params"]["length"]
    offsets = np.arange(-length, length + 1.0)
    return spec.curve(offsets, parameters(case, spec))


def module_heads(case: Case) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Queries, keys and values of a whole layer: (heads, tokens, head_dim) each."""
    heads, found = case["params"]["heads"], case["params"]["weights"]
    (x,) = np.asarray(case["params"]["x"], dtype=float)

    def project(name: str) -> np.ndarray:
        return x @ np.asarray(found[f"{name}.weight"]).T + found.get(f"{name}.bias", 0.0)

    if "Wqkv.weight" in found:
        mixed = project("Wqkv").reshape(len(x), 3, heads, -1).transpose(1, 2, 0, 3)
    elif "query_key_value.weight" in found:
        mixed = project("query_key_value").reshape(len(x), heads, 3, -1).transpose(2, 1, 0, 3)
    else:
        apart = np.stack([project(name) for name in "qkv"])
        mixed = apart.reshape(3, len(x), heads, -1).transpose(0, 2, 1, 3)
    return mixed[0], mixed[1], mixed[2]


def module_result(case: Case, spec: Any) -> Any:
    return encoded(case, spec, np.asarray(case["params"]["x"]).shape[1])


def module_attention(case: Case, spec: Any, expected: np.ndarray) -> Any:
    queries, keys, _ = module_heads(case)
    return weights(module_result(case, spec), queries, keys)


def module_output(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    queries, keys, values = module_heads(case)
    mixed = output(module_result(case, spec), queries, keys, values)
    joined = np.moveaxis(mixed, 0, 1).reshape(mixed.shape[1], -1)
    found = case["params"]["weights"]
    (last,) = {name.partition(".")[0] for name in found} & {"o", "dense", "out_proj"}
    return joined @ np.asarray(found[f"{last}.weight"]).T + found.get(f"{last}.bias", 0.0)
