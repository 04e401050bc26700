"""ALiBi: the slope of each head, and who makes what of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from posviz.configs.checks.diagnosis import Diagnosis
from posviz.configs.checks.subject import Subject
from posviz.configs.checks.wording import of_runtime
from posviz.configs.position_biases import LIBRARY_EXPONENT, AlibiBias

CODES: Mapping[str, str] = {
    "PV310": "ALiBi: the slope of each head, also where their number is no power of two.",
    "PV311": "alibi_bias_max is not 8, which transformers does not read.",
    "PV312": "An MPT model that does not want ALiBi, which transformers applies all the same.",
    "PV313": "Falcon's ALiBi: in bfloat16, and divided by √head_dim.",
    "PV314": "ALiBi in an encoder: the distance counts both ways.",
    "PV315": "ALiBi without a number of heads: the slopes cannot be told.",
    "PV316": "ALiBi beyond the length that was trained: every position exists.",
}
_SHOWN = 16


def find_alibi(alibi: AlibiBias, subject: Subject) -> Iterator[Diagnosis]:
    """What is to know about the slopes."""
    yield from _slopes(alibi, subject)
    yield from _exponent(alibi, subject)
    yield from _unwanted(subject)
    yield from _of_falcon(alibi, subject)
    yield from _beyond(alibi, subject)


def _slopes(alibi: AlibiBias, subject: Subject) -> Iterator[Diagnosis]:
    if alibi.heads is None:
        yield Diagnosis(
            code="PV315",
            severity="info",
            message=(
                "ALiBi gives every head its own slope, but no whole number of heads stands in "
                "num_attention_heads, n_head or n_heads, so the slopes cannot be told."
            ),
            fields=("num_attention_heads",),
        )
        return
    heads, slopes = int(alibi.heads.value), alibi.slopes
    yield Diagnosis(
        code="PV310",
        severity="ok",
        message=_slopes_told(heads, alibi),
        fields=(alibi.heads.key,),
        values={"heads": heads, "slopes": slopes, "alibi_bias_max": alibi.exponent},
    )
    if alibi.is_symmetric:
        yield Diagnosis(
            code="PV314",
            severity="ok",
            message=(
                "This is an encoder: the bias is minus slope times the distance in both "
                "directions, symmetric and never positive above the diagonal."
            ),
            fields=(alibi.told_by,),
        )


def _slopes_told(heads: int, alibi: AlibiBias) -> str:
    shown = ", ".join(f"{slope:.6g}" for slope in alibi.slopes[:_SHOWN])
    shown += ", …" if heads > _SHOWN else ""
    lower = 1 << (heads.bit_length() - 1)
    if heads == lower:
        rule = f"2^(-{alibi.exponent:g}·h/{heads}) for h = 1 … {heads}"
    else:
        rule = (
            f"{heads} is no power of two, so the first {lower} heads take the slopes of {lower} "
            f"heads and the other {heads - lower} every second slope of {2 * lower} heads"
        )
    return f"ALiBi with {heads} heads: {rule}. The slopes are {shown}."


def _exponent(alibi: AlibiBias, subject: Subject) -> Iterator[Diagnosis]:
    if subject.gguf is not None or alibi.exponent == LIBRARY_EXPONENT:
        return
    if not subject.concerns("transformers", "transformers_v4", "llama_cpp"):
        return
    harmed = subject.concerns("transformers", "transformers_v4")
    yield Diagnosis(
        code="PV311",
        severity="warn" if harmed else "info",
        message=(
            f"{alibi.exponent_key} is {alibi.exponent:g}: the flattest slope is "
            f"2^-{alibi.exponent:g}. transformers builds the slopes with 8 whatever stands there, "
            "so its bias is another one than the model was trained with."
        ),
        fields=(alibi.exponent_key,),
        values={"alibi_bias_max": alibi.exponent, "used_by_transformers": LIBRARY_EXPONENT},
        runtimes=of_runtime(
            subject,
            {
                "transformers": "takes 8.",
                "transformers_v4": "takes 8.",
                "llama_cpp": "takes the number that conversion wrote into the file "
                "(attention.max_alibi_bias).",
            },
        ),
    )


def _unwanted(subject: Subject) -> Iterator[Diagnosis]:
    attention: Any = subject.section.data.get("attn_config")
    if subject.model.model_type != "mpt" or not isinstance(attention, Mapping):
        return
    if attention.get("alibi") is not False:
        return
    if not subject.concerns("transformers", "transformers_v4"):
        return
    yield Diagnosis(
        code="PV312",
        severity="warn",
        message=(
            "attn_config.alibi is false: this MPT model has positions from elsewhere (a learned "
            "table, or a rotation). The class in transformers does not read the switch and adds "
            "ALiBi to every layer; use the model's own code."
        ),
        fields=(subject.section.key("attn_config.alibi"),),
        runtimes=of_runtime(subject, {"transformers": "applies ALiBi all the same."}),
    )


def _of_falcon(alibi: AlibiBias, subject: Subject) -> Iterator[Diagnosis]:
    if subject.model.model_type not in ("falcon", "RefinedWeb", "RefinedWebModel"):
        return
    width: Any = subject.section.data.get("hidden_size")
    heads = None if alibi.heads is None else int(alibi.heads.value)
    whole = isinstance(width, int) and not isinstance(width, bool) and 0 < width < 1 << 40
    if heads is None or not whole or width < heads:
        return
    root = math.sqrt(width // heads)
    yield Diagnosis(
        code="PV313",
        severity="info",
        message=(
            "Falcon adds its bias before the division by √head_dim, so the effective slopes are "
            f"those of ALiBi divided by {root:.6g} (the steepest is {max(alibi.slopes) / root:.6g})"
            ", and it works slopes and bias out in bfloat16, which has 8 bits: beyond position 256 "
            "neighbouring tokens may share one bias."
        ),
        fields=(alibi.told_by,),
        values={
            "effective_slopes": tuple(slope / root for slope in alibi.slopes),
            "divisor": root,
        },
        runtimes=of_runtime(
            subject, {"transformers": "bfloat16 bias, divided; Bloom and MPT add it undivided."}
        ),
    )


def _beyond(alibi: AlibiBias, subject: Subject) -> Iterator[Diagnosis]:
    target = subject.target_length
    found = subject.section.given("max_seq_len", "seq_length", "model_max_length")
    trained = found.value if found is not None else None
    known = isinstance(trained, int) and not isinstance(trained, bool) and trained > 0
    if target is None or not known or target <= int(trained or 0) or found is None:
        return
    mpt = subject.model.model_type == "mpt"
    yield Diagnosis(
        code="PV316",
        severity="info",
        message=(
            f"{target} tokens are more than {found.key} = {trained}. ALiBi has no table: the bias "
            "goes on as a straight line and every position exists."
            + (
                f" transformers builds the bias for {trained} tokens, so set {found.key} to "
                f"{target} first."
                if mpt
                else ""
            )
        ),
        fields=(found.key,),
        values={"target_length": target, "trained_length": trained},
        patch=(subject.put(found.key, target),) if mpt else (),
    )
