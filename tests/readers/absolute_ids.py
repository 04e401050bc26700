"""Our numbers in the shapes of the codes that look up, shift or draw positions.

A reader takes (case, spec, expected) and returns what the case's output holds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Case = dict[str, Any]


def counted(case: Case) -> np.ndarray:
    """The tokens of a case: 0 … length-1."""
    return np.arange(float(case["params"]["length"]))


def rows_of_text(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    """Tokens count on from 0, padding left out; padding stands before them, at -1."""
    is_token = np.asarray(case["params"]["input_ids"]) != case["params"]["padding_idx"]
    positions = np.where(is_token, np.cumsum(is_token) - 1, -1)
    return np.asarray(spec.encode(positions).strips["row of the table"])


def embedding(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    weights = {
        name: np.asarray(value, dtype=float)
        for name, value in case["params"].get("weights", {}).items()
    }
    given = {"parameters": weights} if weights else {}
    return np.asarray(spec.encode(counted(case), **given).vectors)


def shape_sequences(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    """One table for each of the shifts that the library drew."""
    shifted = [spec.with_values(shift=shift) for shift in case["params"]["drawn_shifts"]]
    return np.stack([one.encode(counted(case)).vectors for one in shifted])


def cape_given(case: Case, spec: Any) -> Any:
    """The spec with the numbers that the library drew."""
    draws = case["params"]["draws"]
    (((shift,),), ((scale,),)) = draws["global_shift"], draws["log_scale"]
    (local,) = draws["local_shift"]
    return spec.with_values(global_shift=shift, log_scale=scale, local_shifts=tuple(local))


def cape_positions(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    return np.asarray(cape_given(case, spec).encode(counted(case)).strips["position used"])


def cape_embedding(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    return np.asarray(cape_given(case, spec).encode(counted(case)).vectors)


def drawn_set(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    """The library's draw, given to ours out of order."""
    drawn = tuple(float(one) for one in reversed(case["params"]["drawn_set"]))
    result = spec.with_values(drawn_set=drawn).encode(counted(case))
    return np.asarray(result.strips["position used"])


def pose_given(case: Case, spec: Any) -> Any:
    """The encoded example with the library's draws: first cut, end in the text, and skip."""
    params = case["params"]
    cut, end, skip = (value for _, _, value in params["draws_low_high_value"])
    given = spec.with_values(
        cuts=(float(cut),), skips=(float(skip),), text_skips=(float(end - params["chunk_length"]),)
    )
    return given.encode(np.arange(float(params["chunk_length"])))


def pose_positions(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    return np.asarray(pose_given(case, spec).strips["position used"])


def pose_words(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    """The words of the text are numbered from 100 on."""
    return np.asarray(pose_given(case, spec).strips["word of the text"]) + 100


def bipe_of_ids(case: Case, spec: Any) -> Any:
    """A text with a full stop for each separator and a word for each other token."""
    ids, separators = case["params"]["token_ids"], case["params"]["separators"]
    text = " ".join("." if one in separators else f"w{one}" for one in ids)
    return spec.with_values(text=text).encode(np.arange(float(len(ids))))


def bipe_intra(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    return np.asarray(bipe_of_ids(case, spec).strips["index inside the segment"])


def bipe_segment(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    return np.asarray(bipe_of_ids(case, spec).strips["segment"])


def bipe_slopes(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    return np.asarray(spec.slopes())


def bipe_bias(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    """The bias of each key, the same for every query, for a text with these segments."""
    segments = case["params"]["segment_of_key"]
    follows = [*segments[1:], segments[-1]]
    text = " ".join("w" if a == b else "." for a, b in zip(segments, follows, strict=True))
    result = spec.with_values(text=text).encode(np.arange(float(len(segments))))
    bias = np.asarray(result.maps["bias between segments"])
    np.testing.assert_array_equal(bias, np.broadcast_to(bias[:, :1], bias.shape))
    return bias[:, 0]
