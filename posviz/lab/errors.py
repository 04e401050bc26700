"""What the lab cannot do, said to the person who asked for it."""

from __future__ import annotations


class LabError(ValueError):
    """A run that cannot be made: who, which part, what is allowed or missing, what came."""
