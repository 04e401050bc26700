"""Finds every encoding, and reads and writes links, the text form of a spec.

A new file in ``posviz/encodings/<family>/`` is all it takes to be found. A module that cannot be
imported, or that does not define exactly one encoding, fails loudly.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
from typing import Any
from urllib.parse import quote, unquote

import posviz.encodings
from posviz.encodings.base import Encoding
from posviz.parameters import ParameterError, closest, shortened


@functools.cache
def catalog() -> tuple[type[Encoding], ...]:
    """Every encoding class, ordered by family and then by year."""
    found = [
        _encoding_in(f"{family.name}.{module.name}")
        for family in pkgutil.iter_modules(posviz.encodings.__path__, "posviz.encodings.")
        if family.ispkg
        for module in pkgutil.iter_modules(importlib.import_module(family.name).__path__)
    ]
    return tuple(sorted(found, key=lambda encoding: (encoding.family, encoding.year, encoding.id)))


def _encoding_in(module_name: str) -> type[Encoding]:
    module = importlib.import_module(module_name)
    classes = [
        value
        for value in vars(module).values()
        if inspect.isclass(value)
        and issubclass(value, Encoding)
        and value.__module__ == module_name
    ]
    if len(classes) != 1:
        raise ImportError(f"{module_name} must define one encoding; it defines {len(classes)}.")
    return classes[0]


def families() -> tuple[str, ...]:
    """Names of the families that have at least one encoding."""
    return tuple(dict.fromkeys(encoding.family for encoding in catalog()))


def get(encoding_id: str) -> type[Encoding]:
    """The encoding class with this id; ParameterError lists the closest ids when there is none."""
    by_id = {encoding.id: encoding for encoding in catalog()}
    if not isinstance(encoding_id, str):
        raise ParameterError(f"An encoding's id must be text; got {shortened(encoding_id)}.")
    if encoding_id not in by_id:
        raise ParameterError(
            f"There is no encoding {shortened(encoding_id)}; {closest(encoding_id, list(by_id))}."
        )
    return by_id[encoding_id]


def link(spec: Encoding) -> str:
    """The text form of a spec, defaults left out: ``yarn?scaling_factor=8``.

    >>> from posviz import get, link
    >>> link(get("yarn")(scaling_factor=8))
    'yarn?scaling_factor=8'
    """
    parts = []
    for declaration in spec.declarations():
        value = getattr(spec, declaration.name)
        if value != declaration.default:
            parts.append(f"{declaration.name}={quote(declaration.format(value), safe=',.-')}")
    return spec.id + ("?" + "&".join(parts) if parts else "")


def parse(text: str) -> Encoding:
    """The spec that a link stands for; ``parse(link(spec)) == spec``.

    Raises
    ------
    ParameterError : an unknown id or parameter, a parameter given twice, a value that is not
        allowed.
    """
    encoding_id, _, query = text.strip().partition("?")
    encoding = get(encoding_id)
    known = {declaration.name: declaration for declaration in encoding.declarations()}
    values: dict[str, Any] = {}
    for part in filter(None, query.split("&")):
        name, equals, raw = part.partition("=")
        if name not in known:
            raise ParameterError(
                f"{encoding.title}: there is no parameter {shortened(name)}; "
                f"{closest(name, list(known))}."
            )
        if name in values or not equals:
            problem = "stands twice" if name in values else "has no value"
            raise ParameterError(f"{encoding.title}: {name} {problem} in the link {text!r}.")
        values[name] = known[name].parse(unquote(raw), encoding.title)
    return encoding(**values)
