"""LaTeX to MathML, which browsers draw by themselves."""

from __future__ import annotations

import functools
import re

_NUMBER = re.compile("⟨([a-z_]+)⟩")


@functools.lru_cache(maxsize=256)
def mathml(latex: str) -> str:
    """A formula as MathML; ``⟨name⟩`` becomes ``@{name}``, which the board fills at the cursor."""
    from latex2mathml.converter import convert  # only pages with formulas pay for it

    return _NUMBER.sub(r"@{\1}", str(convert(latex, display="block")))
