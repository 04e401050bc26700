"""From the names that people type to quantities."""

from __future__ import annotations

from posviz.parameters import ParameterError, closest, shortened
from posviz.solver.quantities import QUANTITIES
from posviz.solver.quantity import Quantity


def names() -> tuple[Quantity, ...]:
    """Every quantity that can be converted or is named as not convertible.

    Examples
    --------
    >>> [quantity.id for quantity in names()][:4]
    ['factor', 'rope_freq_scale', 'target_length', 'ntk_base']
    >>> names()[3].rule, names()[3].needs
    ('b·s^(d/(d-2))', ('base', 'rotary_dim'))
    """
    return QUANTITIES


def meanings(name: str) -> tuple[Quantity, ...]:
    """The quantities that a name stands for: one, or several where tools disagree.

    An id stands for its own quantity. Any other name stands for all quantities that some tool calls
    so; capitals, dashes before a flag, and ``-`` or ``.`` for ``_`` make no difference.

    Raises
    ------
    ParameterError : no quantity has the name; the closest names are listed.

    Examples
    --------
    >>> [quantity.id for quantity in meanings("--rope-scale")]
    ['factor']
    >>> [quantity.id for quantity in meanings("alpha")]  # doctest: +NORMALIZE_WHITESPACE
    ['alpha_ntk', 'alpha_product', 'alpha_of_steps', 'alpha_dynamic_transformers',
     'alpha_dynamic_ratio', 'beta_slow']
    """
    wanted = _plain(name) if isinstance(name, str) else None
    for quantity in QUANTITIES:
        if quantity.id == wanted:
            return (quantity,)
    found = tuple(
        quantity
        for quantity in QUANTITIES
        if wanted in {_plain(called) for _, called in quantity.called}
    )
    if not found:
        raise ParameterError(
            f"converter: there is no quantity {shortened(name)}; {closest(str(name), _known())}."
        )
    return found


def _known() -> list[str]:
    called = [_plain(name) for quantity in QUANTITIES for _, name in quantity.called]
    return list(dict.fromkeys([quantity.id for quantity in QUANTITIES] + called))


def _plain(name: str) -> str:
    return name.strip().lower().lstrip("-").replace("-", "_").replace(".", "_")
