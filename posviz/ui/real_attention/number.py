"""Numbers in sentences and tables, with the minus sign that the axes of the figures have."""

from __future__ import annotations


def number(value: float, shape: str) -> str:
    """The number in a format of Python, such as .3g; its minus signs are no hyphens."""
    return format(float(value), shape).replace("-", "\N{MINUS SIGN}")
