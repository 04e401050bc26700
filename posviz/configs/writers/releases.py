"""What the releases of transformers 4, and some of its classes, make of rope_scaling.

Read off, and run in, modeling_rope_utils.py of 4.43.4, 4.49.0, 4.50.3, 4.51.3, 4.53.3, 4.55.4,
4.56.2 and 4.57.1, and the configuration classes of the same releases.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from posviz.configs.writers.dialects import TRANSFORMERS_V4, refusal
from posviz.configs.writers.settings import Task
from posviz.parameters import number_text

EXACT_KEYS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(
        ("phi3", "phi4_multimodal"), frozenset({"type", "short_factor", "long_factor"})
    ),
    **dict.fromkeys(("olmo", "olmo2"), frozenset({"type", "factor"})),
}
"""Model types whose configuration class refuses a rope_scaling with any other set of entries."""
EXACT_TYPES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("phi3", "phi4_multimodal"), ("longrope",)),
    **dict.fromkeys(("olmo", "olmo2"), ("linear", "dynamic")),
}
_ENTRIES = {
    "longrope": "type, short_factor and long_factor",
    "linear": "type and factor",
}


def entries_of(model_type: str) -> str:
    """The entries that such a class allows, in words."""
    return _ENTRIES[EXACT_TYPES[model_type][0]]


def version_note(task: Task, written: Mapping[str, Any], window: Any) -> str:
    """The releases that rotate as the written dict is meant, and what others do."""
    releases, more = _releases(task, written, window)
    return (
        f"Version assumed: transformers {releases}; version 5 reads this spelling too. The keys go "
        f"into config.json.{more}"
    )


def _releases(task: Task, written: Mapping[str, Any], window: Any) -> tuple[str, str]:
    rope_type = written["rope_type"]
    name = "" if task.model is None else task.model.model_type
    if rope_type == "default":
        return "4.43 to 4.57", ""
    if rope_type == "yarn":
        original, factor = written["original_max_position_embeddings"], written["factor"]
        return "4.56 and 4.57", f" {yarn_by_release(written, factor, original, window)}"
    if rope_type == "longrope" and name != "phi3":
        more = " Other classes than Phi-3's keep one list at every length before 4.51."
        return "4.51 to 4.57", more
    plain_head = task.section.get("head_dim") is None
    if rope_type == "longrope" or (name == "llama" and plain_head):
        return "4.43 to 4.57", ""
    return "4.49 to 4.57" + (" (the llama class: 4.43)" if not name else ""), ""


def yarn_by_release(
    rope: Mapping[str, Any], factor: float, original: int, window: int | None
) -> str:
    """What releases before 4.56 make of a dict of type yarn that has an original length."""
    told = "4.51 to 4.55 take max_position_embeddings / original for the factor"
    if window is not None:
        taken = window / original
        same = math.isclose(taken, factor, rel_tol=1e-9)
        end = "the same number" if same else f"in place of {number_text(factor)}"
        comma = "," if same else ""
        told += f", {window} / {original} = {taken:.6g}{comma} {end}"
    told += "; before 4.51 no original length is read, so the ramp lies over "
    told += "max_position_embeddings" if window is None else f"{window} tokens"
    if rope.get("mscale") and rope.get("mscale_all_dim"):
        told += ", and no mscale is read"
    if rope.get("truncate", True) in (False, None):
        told += "; 4.53 and older do not read truncate"
    return f"{told}."


def dict_for_class(task: Task, written: dict[str, Any]) -> dict[str, Any]:
    """The dict as version 4 reads it; LongRoPE's original length stands beside it there.

    Raises
    ------
    ExportError : the configuration class of the model refuses such a dict.
    """
    if written["rope_type"] == "longrope":
        written = _with_magnitude(task.spec, written)
    name = "" if task.model is None else task.model.model_type
    if name not in EXACT_KEYS:
        return written
    given = dict(written)
    rope_type = given.pop("rope_type")
    given.pop("original_max_position_embeddings", None)
    if rope_type == "longrope" and "attention_factor" not in given:
        given.pop("factor", None)  # it takes the ratio of the two windows, which is the same here
    fits = rope_type in EXACT_TYPES[name] and {"type", *given} == EXACT_KEYS[name]
    if not fits or not given.get("factor", 2.0) > 1:
        raise refusal(
            task.spec,
            TRANSFORMERS_V4.title,
            f"the configuration class of {name} takes a rope_scaling of just the entries "
            f"{entries_of(name)}, with the type {' or '.join(EXACT_TYPES[name])}"
            + (" and a factor above 1" if "factor" in EXACT_KEYS[name] else ""),
        )
    if "factor" in given:
        given["factor"] = float(given["factor"])  # a whole number is refused
    return {"type": rope_type, **given}


def _with_magnitude(spec: Any, written: dict[str, Any]) -> dict[str, Any]:
    """attention_factor where version 4 would derive another one from the two windows."""
    ratio = spec.max_position_embeddings / spec.original_max_position_embeddings
    derived = 1.0
    if ratio > 1:
        derived = math.sqrt(1 + math.log(ratio) / math.log(spec.original_max_position_embeddings))
    if math.isclose(spec.magnitude(1), derived, rel_tol=1e-14):
        return {key: value for key, value in written.items() if key != "attention_factor"} | (
            {} if spec.attention_factor is None else {"attention_factor": spec.attention_factor}
        )
    return written | {"attention_factor": spec.magnitude(1)}


def original_beside(task: Task, written: Mapping[str, Any]) -> dict[str, Any]:
    """LongRoPE's original length, which no release of version 4 reads inside the dict."""
    name = "original_max_position_embeddings"
    return {name: written[name]} if written["rope_type"] == "longrope" else {}
