"""What YaRN has beside its numbers: where truncate stands, and the two corrections."""

from __future__ import annotations

import math
from typing import Any

from posviz.configs.context import Context
from posviz.configs.findings import Findings
from posviz.configs.rope_dicts import RopeDict
from posviz.configs.rotary_dimension import RotaryDimension


def yarn_extras(
    rope: RopeDict,
    values: dict[str, Any],
    size: RotaryDimension | None,
    context: Context,
    findings: Findings,
) -> None:
    outer = rope.outer.find("truncate")
    if rope.per_layer and outer is not None and isinstance(outer.value, bool):
        values["truncate"] = outer.value
        findings.row("truncate", outer.value, outer.key)
    latent = size is not None and (size.latent or context.facts.splits_heads)
    over_all, mscale = values.get("mscale_all_dim"), values.get("mscale")
    corrects = latent and bool(over_all)
    corrects = corrects and (context.facts.softmax_correction or not context.facts.known)
    if corrects:
        values["softmax_correction"] = True
    if corrects and over_all and over_all != 1 and values.get("scaling_factor", 1) > 1:
        _note_two_corrections(values["scaling_factor"], mscale, over_all, findings)
    elif not latent and values.get("mscale_rule") is None and (mscale or over_all):
        _note_mscale(mscale, over_all, findings)


_LARGEST_MAGNITUDE = 1e6


def _note_two_corrections(
    factor: float, mscale: float | None, over_all: float, findings: Findings
) -> None:
    on_rotation = (
        f"m(mscale {mscale:g})/m(mscale_all_dim {over_all:g})"
        if mscale
        else "m(1), as mscale is missing"
    )
    magnitude = 0.1 * over_all * math.log(factor) + 1
    if not abs(magnitude) <= _LARGEST_MAGNITUDE:
        return  # the encoding refuses such a weight, and says so
    in_softmax = magnitude**2
    findings.info(
        "PV163",
        f"There are two separate corrections: cos and sin carry {on_rotation}, and the "
        f"softmax scale is multiplied by m(mscale_all_dim)² = {in_softmax:.9g}, in the attention "
        "layer.",
        "mscale",
        "mscale_all_dim",
        softmax_scale_multiplier=in_softmax,
    )


def _note_mscale(mscale: float | None, over_all: float | None, findings: Findings) -> None:
    if mscale and over_all:
        findings.info(
            "PV162",
            f"mscale {mscale:g} and mscale_all_dim {over_all:g} outside latent attention: "
            "transformers and vLLM take the ratio of the two magnitudes, llama.cpp does not read "
            "mscale.",
            "mscale",
            "mscale_all_dim",
        )
        return
    lone, missing = ("mscale", "mscale_all_dim") if mscale else ("mscale_all_dim", "mscale")
    findings.warn(
        "PV162",
        f"{lone} without {missing} is ignored by transformers and by vLLM's yarn; vLLM's "
        "deepseek_yarn and MLX count it.",
        lone,
    )
