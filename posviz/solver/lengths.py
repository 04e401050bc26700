"""The definitions of alpha that follow the length."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posviz.parameters import ParameterError, sentence
from posviz.solver.given import checked_length, listed, number_above
from posviz.solver.lookup import meanings, names


def alpha_at_lengths(
    definition: str, lengths: Sequence[int], *, original: int, factor: float = 1.0
) -> tuple[float, ...]:
    """NTK alpha at each length, under one definition of it.

    ``alpha_of_steps`` is a staircase that jumps from 1 to 3 just past the window, which must not be
    drawn as a smooth curve; ``alpha_dynamic_transformers`` is factor·ℓ/L0 - (factor - 1);
    ``alpha_dynamic_ratio`` is ℓ/L0. All are 1 within the window.

    Parameters
    ----------
    definition : the id of a quantity that follows the length.
    lengths : tokens.
    original : the window that the model was trained with; tokens.
    factor : the factor of rope type dynamic, at least 1; the other definitions do not use it.

    Returns
    -------
    tuple of float, one per length, without unit.

    Raises
    ------
    ParameterError : a definition that does not follow the length, or a number that cannot be used.

    Examples
    --------
    >>> alpha_at_lengths("alpha_of_steps", [2048, 2049, 4096, 4097, 8192, 8193], original=2048)
    (1.0, 3.0, 3.0, 7.0, 7.0, 15.0)
    >>> alpha_at_lengths("alpha_dynamic_transformers", [8192], original=4096, factor=2)
    (3.0,)
    """
    window = checked_length("alpha", "original", original)
    slope = number_above("alpha", "factor", factor)
    found = meanings(definition)
    rule = found[0].at_length if len(found) == 1 else None
    if rule is None:
        known = listed([one.id for one in names() if one.at_length])
        raise ParameterError(f"alpha: {known} follow the length; {definition} does not.")
    if not isinstance(lengths, list | tuple | range | np.ndarray) or np.ndim(lengths) != 1:
        raise ParameterError(sentence("alpha", "lengths", "a list of lengths", lengths))
    return tuple(rule(checked_length("alpha", "lengths", one), window, slope) for one in lengths)
