"""Hashes that results are known by; light."""

from __future__ import annotations

import hashlib


def text_hash(text: str) -> str:
    """SHA-256 of a text in UTF-8."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
