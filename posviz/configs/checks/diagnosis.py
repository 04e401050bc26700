"""What a check has to say, and the report that it goes into."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from posviz.configs.checks.changes import Changes, together, together_for_the_better
from posviz.configs.errors import ConfigError
from posviz.configs.model import Model
from posviz.configs.read_only import read_only
from posviz.parameters import closest, shortened

Severity = Literal["ok", "info", "warn", "error"]
SEVERITIES: tuple[Severity, ...] = ("error", "warn", "info", "ok")
"""The gravest first."""
Operation = Mapping[str, Any]
"""One operation of a JSON Patch (RFC 6902): op, path, and value where it needs one."""
_LONGEST_VALUE = 400
"""Characters; a list of divisors is longer than anybody reads."""


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """One thing that was found.

    Attributes
    ----------
    code : stable, ``PV`` and three digits; the documentation lists every one with an example.
    severity : ok (looked at, and right), info (good to know), warn (must be seen), error (do not
        use the numbers).
    message : the whole sentence, with its numbers.
    fields : the keys of the configuration that it is about, dotted.
    values : the numbers of the sentence, by name.
    runtimes : what each runtime does with it, one sentence each; empty where all do the same.
    patch : the suggested change of the configuration as a JSON Patch (RFC 6902); empty for none.
    layer_type : the layer type that it concerns; empty for the whole model.
    panel : the panel of the context-extension page that shows it; empty for none.
    pairs : first and last pair that it concerns, pair 0 being the fastest; None for all or none.
    """

    code: str
    severity: Severity
    message: str
    fields: tuple[str, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    runtimes: Mapping[str, str] = field(default_factory=dict)
    patch: tuple[Operation, ...] = ()
    layer_type: str = ""
    panel: str = ""
    pairs: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        # A key of somebody's file may hold a line break or reverse the direction of writing.
        object.__setattr__(self, "message", _printable(self.message))
        for name in ("values", "runtimes", "patch"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    @property
    def unsaid(self) -> dict[str, str]:
        """What runtimes do, without what the message says already in the same words."""
        return {
            name: text
            for name, text in self.runtimes.items()
            if text.removesuffix(".") not in self.message
        }

    def change(self, names: Mapping[str, str] | None = None) -> str:
        """The suggested change in words; ``names`` has other names for dotted keys."""
        parts = []
        for operation in self.patch:
            key = operation["path"].removeprefix("/").replace("/", ".")
            key = (names or {}).get(key, key)
            if operation["op"] == "remove":
                parts.append(f"remove {key}")
                continue
            value = json.dumps(operation["value"], ensure_ascii=False)
            shown = value if len(value) <= _LONGEST_VALUE else f"{value[:_LONGEST_VALUE]}…"
            parts.append(f"set {key} to {shown}")
        return _printable("; ".join(parts))

    def as_dict(self) -> dict[str, Any]:
        """The same as JSON can hold it; parts that are empty are left out."""
        parts = {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "fields": list(self.fields),
            "values": _plain(self.values),
            "runtimes": dict(self.runtimes),
            "patch": [dict(operation) for operation in self.patch],
            "layer_type": self.layer_type,
            "panel": self.panel,
            "pairs": None if self.pairs is None else list(self.pairs),
        }
        return {name: part for name, part in parts.items() if part not in ("", [], {}, None)}


@dataclass(frozen=True, kw_only=True)
class Report:
    """What :func:`posviz.configs.check` gives.

    Attributes
    ----------
    diagnoses : the gravest first; of one severity, in the order of their codes.
    values : the numbers that the configuration comes to, by name. Where layer types have numbers of
        their own each stands under ``<layer type>.<name>`` too.
    model : the configuration as it was read.
    runtime, target_length : what was asked for.
    """

    diagnoses: tuple[Diagnosis, ...]
    values: Mapping[str, Any]
    model: Model
    runtime: str | None = None
    target_length: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", read_only(self.values))

    @property
    def severity(self) -> Severity:
        """The gravest severity of all diagnoses; ok when there is none."""
        found = {diagnosis.severity for diagnosis in self.diagnoses}
        return next((name for name in SEVERITIES if name in found), "ok")

    def of(self, code: str) -> tuple[Diagnosis, ...]:
        """The diagnoses with this code."""
        return tuple(each for each in self.diagnoses if each.code == code)

    def changes(self, *codes: str) -> Changes:
        """The suggested changes of these codes made together, of all without any code.

        The gravest comes first. One that no longer fits after a graver one, or that would undo it,
        is left out and named; without any code also one that makes the report graver.

        Raises
        ------
        ConfigError : no diagnosis has this code, or those that have it suggest no change.
        """
        for code in codes:
            self._check_code(code)
        chosen = [each for each in self.diagnoses if not codes or each.code in codes]
        if codes:
            return together(self.model.config, chosen)
        return together_for_the_better(self.model.config, chosen, self._is_graver)

    def patched(self, *codes: str) -> dict[str, Any]:
        """The configuration with the suggested changes of these codes; of all without any code.

        Where two changes meet the graver one counts; :meth:`changes` names what was left out.

        Raises
        ------
        ConfigError : as :meth:`changes`.

        Examples
        --------
        >>> from posviz import configs
        >>> report = configs.check(
        ...     {"head_dim": 64, "rope_theta": 1e4, "max_position_embeddings": 2048,
        ...      "rope_scaling": {"rope_type": "linear", "factor": 0.5}}
        ... )
        >>> report.patched("PV113")["rope_scaling"]["factor"]
        2.0
        """
        return self.changes(*codes).config

    def _is_graver(self, config: Mapping[str, Any]) -> bool:
        """Whether a changed configuration has a graver report than the one before."""
        after = self._gravity_of(config)
        # The model may be tuned, or a GGUF file, whose report says more than the keys alone.
        return after < SEVERITIES.index(self.severity) and after < self._gravity_of(
            self.model.config
        )

    def _gravity_of(self, config: Mapping[str, Any]) -> int:
        """The place of the gravest severity, 0 for the gravest; -1 for what cannot be read."""
        from posviz.configs.checks import check  # which makes reports, and so needs this module

        try:
            report = check(config, runtime=self.runtime, target_length=self.target_length)
        except ConfigError:
            return -1
        return SEVERITIES.index(report.severity)

    def _check_code(self, code: str) -> None:
        found = self.of(code)
        if not found:
            known = sorted({each.code for each in self.diagnoses if each.patch})
            hint = closest(code, known) if known else "none suggests a change"
            raise ConfigError(f"This report has no diagnosis {shortened(code)}; {hint}.")
        if not any(each.patch for each in found):
            raise ConfigError(f"The diagnosis {code} suggests no change.")

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON can hold it."""
        return {
            "severity": self.severity,
            "runtime": self.runtime,
            "target_length": self.target_length,
            "diagnoses": [diagnosis.as_dict() for diagnosis in self.diagnoses],
            "values": _plain(self.values),
        }


_ENDLESS = re.compile(r"\S{200,}")
"""No key and no value that a person wrote."""


def _printable(text: str) -> str:
    """The text on one line, with escapes for what no screen shows and endless words cut."""
    text = _ENDLESS.sub(lambda word: f"{word.group()[:60]}…", text)
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None  # JSON has no word for it
    json.dumps(value)  # a value that JSON cannot hold is a mistake of the check that made it
    return value
