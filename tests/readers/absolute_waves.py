"""Our waves in the shapes that libraries give them in.

A reader takes (case, spec, expected) and returns what the case's output holds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Case = dict[str, Any]


def sinusoid_table(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    """(positions, model_dim); ``positions`` of a case are their number, or a list of them.

    Where the library multiplies the table by a factor (learned, from 1/√d on) or empties the row
    of padding, so does this reader: neither is part of the waves.
    """
    params = case["params"]
    positions = params["positions"]
    counted = np.arange(positions) if isinstance(positions, int) else np.asarray(positions)
    vectors = np.array(spec.encode(counted).vectors)
    if "scale" in params:
        assert params["scale"] == "dim^-0.5"
        vectors *= params["dim"] ** -0.5
    if "padding_row" in params:
        vectors[params["padding_row"]] = 0.0
    return vectors


def relative_rows(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    """(klen + qlen, model_dim): sinusoids of the distances klen, klen-1, …, -qlen+1."""
    params = case["params"]
    assert params["clamp_len"] == -1
    return np.asarray(spec.encode(np.arange(params["klen"], -params["qlen"], -1)).vectors)


def word_frequencies(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    """(words, complex_dim) at the initialisation."""
    return np.asarray(spec.initial_parameters()["frequency"])


def word_waves(case: Case, spec: Any, expected: np.ndarray) -> np.ndarray:
    """(positions, 2·complex_dim) for the case's amplitudes; its first position has the first word.

    Our sentence starts at position 0, so words and positions are a place apart: we ask for each
    word at its own position through a sentence that begins with the last word of the case's.
    """
    params = case["params"]
    amplitude = np.asarray(params["amplitude"])
    names = list(dict.fromkeys(spec.words()))
    spoken = [names[one] for one in params["words"]]
    assert spoken == spec.words()
    moved = spec.with_values(sentence=" ".join([spoken[-1], *spoken[:-1]]))
    order = [names.index(one) for one in dict.fromkeys(moved.words())]
    start = spec.initial_parameters()
    given = {"amplitude": amplitude, "frequency": start["frequency"], "phase": start["phase"]}
    given = {name: table[order] for name, table in given.items()}
    return np.asarray(moved.encode(params["positions"], parameters=given).vectors)
