"""Which encoding may stand in which slot of a page, and what the values of a slot are called."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from posviz.catalog import catalog
from posviz.encodings.base import Encoding
from posviz.parameters import ParameterError, closest, shortened

OFF = "off"
"""What stands in an empty slot."""
CUSTOM = "custom"
"""The name of an implementation that is none of the named ones."""
ENCODING = "encoding"
"""Name of the choice of the only slot of a page, whose values carry no prefix."""


def choice_key(slot: str) -> str:
    """Name of the value that says which encoding stands in a slot."""
    return slot or ENCODING


def own_key(slot: str, name: str) -> str:
    """Name of the value of a slot's own parameter."""
    return f"{slot}.{name}" if slot else name


def slot_title(slot: str, title: str) -> str:
    """What stands in a slot, as a person reads it: ``A · ALiBi``."""
    return f"{slot.upper()} · {title}" if slot else title


def _all_fit(encoding: type[Encoding]) -> str:
    return ""


@dataclass(frozen=True)
class Slots:
    """The slots of a page.

    ``misfit`` says in a sentence why an encoding cannot stand on the page; it is empty for one
    that can.
    """

    names: tuple[str, ...]
    may_be_empty: tuple[str, ...] = ()
    misfit: Callable[[type[Encoding]], str] = _all_fit

    @functools.cached_property
    def offered(self) -> tuple[type[Encoding], ...]:
        """Every encoding that can stand on the page, in the order of the catalog."""
        return tuple(encoding for encoding in catalog() if not self.misfit(encoding))

    def check(self, slot: str, chosen: Any) -> None:
        """Raises ParameterError for anything but the id of an encoding that can stand in the slot,
        or OFF where it may be empty."""
        if chosen == OFF and slot in self.may_be_empty:
            return
        if chosen == OFF and slot:
            raise ParameterError(f"Slot {slot.upper()} must hold an encoding; got {chosen!r}.")
        if not isinstance(chosen, str):
            raise ParameterError(f"An encoding's id must be text; got {shortened(chosen)}.")
        offered = [encoding.id for encoding in self.offered]
        if chosen in offered:
            return
        for encoding in catalog():
            if encoding.id == chosen:
                raise ParameterError(self.misfit(encoding))
        raise ParameterError(
            f"There is no encoding {shortened(chosen)}; {closest(chosen, offered)}."
        )
