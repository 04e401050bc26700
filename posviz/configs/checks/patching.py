"""One change of a configuration, made."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jsonpatch

from posviz.configs.errors import ConfigError

if TYPE_CHECKING:
    from posviz.configs.checks.diagnosis import Operation


def applied(config: Mapping[str, Any], patch: Sequence[Operation]) -> dict[str, Any]:
    """A configuration with one patch applied; neither is changed.

    Raises
    ------
    ConfigError : no patch, or the configuration is no longer the one that it was written for.
    """
    if not isinstance(config, Mapping) or not _is_patch(patch):
        raise ConfigError("A change is a list of operations of a JSON Patch on a JSON object.")
    result: Any = copy.deepcopy(dict(config))
    for operation in patch:
        try:
            result = jsonpatch.apply_patch(result, [copy.deepcopy(dict(operation))], in_place=True)
        except _NO_PLACE:
            raise ConfigError(
                "The change does not fit this configuration: it has no place to "
                f"{operation['op']} {operation['path']:.60}."
            ) from None
    if not isinstance(result, dict):
        raise ConfigError("The change would leave no JSON object.")
    return result


_NO_PLACE = (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException, TypeError)
"""TypeError is what jsonpatch says of a place inside a text or a number."""
_OPERATIONS = ("add", "remove", "replace", "move", "copy", "test")


def _is_patch(patch: Any) -> bool:
    return isinstance(patch, list | tuple) and all(
        isinstance(each, Mapping)
        and each.get("op") in _OPERATIONS
        and isinstance(each.get("path"), str)
        for each in patch
    )
