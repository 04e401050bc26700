"""The rotary parameters of one layer type, from metadata and tensors, as llama.cpp takes them."""

from __future__ import annotations

from posviz.configs.gguf.fields import Draft, Fields
from posviz.configs.gguf.header import rotary_tensor_names
from posviz.configs.gguf.placing import Rotation, put, put_lists
from posviz.configs.gguf.scaling import Scaling, read_scaling
from posviz.configs.gguf.tensors import divisors_of, put_divisors, put_longrope
from posviz.configs.gguf.yarn import put_yarn


def put_rotation(fields: Fields, draft: Draft, rotation: Rotation) -> None:
    """Write rope_type, rope_theta and what the type needs under ``rotation.path``."""
    draft.put((*rotation.path, "rope_type"), "default")
    draft.put((*rotation.path, "rope_theta"), rotation.base, rotation.base_name)
    if not rotation.scaled:
        return
    scaling = read_scaling(fields, draft)
    every, long, short = (divisors_of(fields, draft, rotation, n) for n in rotary_tensor_names())
    if every is not None:
        put_divisors(draft, rotation, scaling, every)
    elif long is not None or short is not None:
        put_longrope(fields, draft, rotation, scaling, long, short)
    else:
        _put_plain(fields, draft, rotation, scaling)


def _put_plain(fields: Fields, draft: Draft, rotation: Rotation, scaling: Scaling) -> None:
    if scaling.kind == "longrope":
        draft.note(
            "error",
            f"{scaling.kind_name} is longrope, but the file has neither of the tensors "
            f"{' and '.join(rotary_tensor_names()[1:])}; llama.cpp then does not divide per pair.",
        )
    if scaling.ramp_weight:
        put_yarn(fields, draft, rotation, scaling)
        return
    if scaling.attention != 1 and rotation.pairs is not None:
        # No type of transformers but longrope has a factor on cos and sin of its own.
        ones = [1.0] * rotation.pairs
        draft.note(
            "info",
            f"cos and sin are multiplied by {scaling.attention:g}; transformers has that for "
            "longrope only, so the rotation is written as longrope with equal divisors.",
        )
        put_lists(draft, rotation, scaling, ones, ones, ("", ""))
        return
    if scaling.kind not in ("none", "linear", "longrope", "yarn"):
        put(draft, rotation, "rope_type", scaling.kind, scaling.kind_name)
    elif scaling.factor != 1:
        put(draft, rotation, "rope_type", "linear", scaling.kind_name or scaling.factor_name)
        put(draft, rotation, "factor", scaling.factor, scaling.factor_name)
