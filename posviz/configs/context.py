"""What all layer types of a model share while it is read."""

from __future__ import annotations

from dataclasses import dataclass

from posviz.configs.model_classes import ModelClass
from posviz.configs.section import Found, Section


@dataclass(frozen=True)
class Context:
    """What all layer types of a model share."""

    section: Section
    facts: ModelClass
    window: Found | None
