"""Reads the data files beside these tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

QWEN_YARN: dict[str, Any] = {
    "model_type": "qwen2",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "max_position_embeddings": 131072,
    "rope_theta": 1000000.0,
    "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768},
}
LLAMA_4096: dict[str, Any] = {
    "model_type": "llama",
    "head_dim": 128,
    "max_position_embeddings": 4096,
}
DATA = Path(__file__).parent / "data"


def cases(name: str) -> list[dict[str, Any]]:
    """The cases of a data file; a file's own tolerance is given to each case without one."""
    content = json.loads((DATA / name).read_text(encoding="utf-8"))
    shared = content.get("tol")
    return [{"tol": shared, **case} for case in content["cases"]]


def by_id(name: str) -> dict[str, dict[str, Any]]:
    return {case["id"]: case for case in cases(name)}
