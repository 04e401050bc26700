"""What each runtime reads of the dict that transformers, vLLM, SGLang and MLX share."""

from __future__ import annotations

from dataclasses import dataclass, replace

from posviz.configs.errors import ExportError, RefusalKind
from posviz.encodings.base import Encoding


@dataclass(frozen=True)
class Dialect:
    """What one runtime reads of the shared dict."""

    title: str
    ntk_missing: str = "the variant vllm exists as a rope type in vLLM only"
    """Why vLLM's own type ntk cannot be written; empty where it can."""
    dynamic_missing: str = ""
    """Why dynamic does not follow the length of the call, as transformers means it."""
    proportional_missing: str = ""
    proportional_has_factor: bool = False
    has_deepseek_yarn: bool = False
    attention_key: str = "attention_factor"
    """attention_factor replaces the derived factor; attn_factor (SGLang, older vLLM) multiplies it;
    MLX reads neither, but a lone mscale gives any factor there."""
    reads_mscale: bool = True
    """Whether every release's plain yarn reads mscale and mscale_all_dim where both stand."""
    has_extrapolation_factor: bool = False
    truncate_missing: str = ""
    """Why truncate false cannot be written; empty where it can."""
    longrope_mscales: bool = False
    """vLLM and SGLang read short_mscale and long_mscale, transformers attention_factor."""
    longrope_switch: str = "length"
    differs_by_release: tuple[str, ...] = ()
    """Of the above, what some releases have and others lack."""

    def kind_without(self, what: str) -> RefusalKind:
        """Of a refusal for lack of something: by release, or in all of them."""
        return "unknown" if what in self.differs_by_release else "different"


_ONCE = (
    "{} works its dynamic type out once, not for the length of each call; static NTK-aware "
    "scaling can be exported"
)

TRANSFORMERS = Dialect("transformers", proportional_has_factor=True)
TRANSFORMERS_V4 = Dialect(
    "transformers 4", proportional_missing="the rope type proportional came with version 5"
)
VLLM = Dialect(
    "vLLM",
    ntk_missing="",
    has_deepseek_yarn=True,
    dynamic_missing=_ONCE.format("vLLM"),
    longrope_mscales=True,
    longrope_switch="capacity",
)
VLLM_OLD = Dialect(
    "vLLM 0.11.0 and older",
    ntk_missing="not every release with --rope-scaling has the rope type ntk",
    dynamic_missing=_ONCE.format("vLLM"),
    proportional_missing="no release with --rope-scaling has the rope type proportional",
    attention_key="attn_factor",
    reads_mscale=False,
    has_extrapolation_factor=True,
    truncate_missing="not every release with --rope-scaling reads truncate",
    longrope_mscales=True,
    longrope_switch="capacity",
    differs_by_release=("ntk", "truncate"),
)
SGLANG = Dialect(
    "SGLang",
    dynamic_missing=_ONCE.format("SGLang"),
    attention_key="attn_factor",
    has_extrapolation_factor=True,
    longrope_mscales=True,
)
SGLANG_WITH_SECTIONS = replace(SGLANG, reads_mscale=False)
"""Its yarn for M-RoPE sections has no mscale."""
MLX = Dialect(
    "MLX",
    proportional_has_factor=True,
    attention_key="mscale",
    truncate_missing="it always rounds the bounds of the ramp (truncate true)",
)


def refusal(
    spec: Encoding, runtime: str, reason: str, kind: RefusalKind = "different"
) -> ExportError:
    """The one form of a refused export."""
    message = f"{spec.title} cannot be written for {runtime}: {reason.rstrip('.')}."
    return ExportError(message, kind=kind)
