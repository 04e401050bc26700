"""Models without rotation: learned tables and biases, recognised so that nobody sees a false "
"RoPE."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from posviz.configs.findings import Findings
from posviz.configs.numbers import positive_whole
from posviz.configs.section import Section
from posviz.parameters import is_finite_number

_PADDED_TABLES = (
    "roberta",
    "xlm-roberta",
    "xlm-roberta-xl",
    "roberta-prelayernorm",
    "camembert",
    "longformer",
    "mpnet",
    "data2vec-text",
    "esm",
    "xmod",
    "ibert",
)
"""Classes that count positions from padding index + 1 (RoBERTa and its relatives)."""
_TABLES = (
    "bert",
    "gpt2",
    "gpt_neo",
    "gpt_bigcode",
    "electra",
    "distilbert",
    "albert",
    "opt",
    "bart",
    "ernie",
    "deit",
)
_BIASES: Mapping[str, str] = {
    "bloom": "ALiBi",
    "mpt": "ALiBi",
    "t5": "T5's bucketed bias",
    "mt5": "T5's bucketed bias",
    "umt5": "T5's bucketed bias",
    "longt5": "T5's bucketed bias",
}


def describe_other_positions(section: Section, model_type: str, findings: Findings) -> bool:
    """Note what gives this model its positions; False when nothing here tells."""
    bias = _bias(section, model_type)
    if bias:
        findings.info(
            "PV171",
            f"Positions come from {bias}, a bias on the logits: there is no rotation to show.",
        )
        return True
    if not _has_table(section, model_type):
        return False
    _describe_table(section, model_type, findings)
    return True


def _bias(section: Section, model_type: str) -> str:
    attention = section.data.get("attn_config")
    if section.data.get("alibi") is True:
        return "ALiBi"
    if isinstance(attention, Mapping) and attention.get("alibi") is True:
        return "ALiBi"
    if model_type in _BIASES:
        return _BIASES[model_type]
    return "T5's bucketed bias" if "relative_attention_num_buckets" in section else ""


def _has_table(section: Section, model_type: str) -> bool:
    kind = section.data.get("position_embedding_type")
    if kind in ("rotary", "rope", "rotary_embedding"):
        return False
    absolute = kind in ("absolute", "learned", "learned_absolute", "relative_key")
    return absolute or model_type in _PADDED_TABLES or model_type in _TABLES


def _describe_table(section: Section, model_type: str, findings: Findings) -> None:
    found = section.given("max_position_embeddings", "n_positions")
    size = None if found is None else positive_whole(found, findings, "PV130")
    if found is None or size is None:
        findings.info("PV170", "Positions come from a learned table; its size is not given.")
        return
    findings.row("table_size", size, found.key)
    padding: Any = section.data.get("pad_token_id")
    if model_type not in _PADDED_TABLES:
        findings.row("usable_positions", size, "one per row of the table")
        findings.info(
            "PV170",
            f"Positions come from a learned table of {size} rows: position {size} and later do not "
            "exist, and there is no rotation to show.",
            found.key,
            usable_positions=size,
            first_position_id=0,
        )
        return
    given = is_finite_number(padding)
    index = int(padding) if given else 1
    first, usable = index + 1, size - index - 1
    findings.row("first_position_id", first, "pad_token_id + 1" if given else "padding index 1 + 1")
    findings.row("usable_positions", usable, "table size - padding index - 1")
    findings.info(
        "PV170",
        f"Positions come from a learned table of {size} rows, offset by the padding index {index}: "
        f"the first position id is {first} and {usable} positions are usable. There is no rotation "
        "to show.",
        found.key,
        "pad_token_id",
        usable_positions=usable,
        first_position_id=first,
    )
