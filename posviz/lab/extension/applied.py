"""A method as the settings that the export writes for transformers; light."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from posviz import configs
from posviz.catalog import link as link_of
from posviz.catalog import parse
from posviz.configs import ConfigError, Model
from posviz.configs.completed import completed_link
from posviz.encodings.base import Encoding
from posviz.encodings.extension import Extension
from posviz.encodings.rotary import RotaryEncoding
from posviz.lab.errors import LabError

_KEYS = ("rope_parameters", "max_position_embeddings", "original_max_position_embeddings")
"""What the export changes in a model's configuration."""


@dataclass(frozen=True)
class Applied:
    """A method put into a model's configuration.

    Attributes
    ----------
    link : as it was asked for; spec : completed with the model's own numbers.
    changed : the exported keys with their values, exactly as :func:`posviz.configs.export` writes
        them.
    trained_window : tokens; of the model, or the artificial one.
    notes : the export's own, and what to know about the method in a run with cached keys.
    diagnoses : warnings and errors of the configuration's check, as "code: sentence".
    severity : the check's: ok, info, warn or error.
    is_plain : whether the model turns with its own frequencies, without any extension.
    """

    link: str
    spec: Encoding
    changed: Mapping[str, Any]
    trained_window: int
    notes: tuple[str, ...]
    diagnoses: tuple[str, ...]
    severity: str
    is_plain: bool

    @property
    def rope_parameters(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.changed["rope_parameters"]
        return found

    @property
    def text(self) -> str:
        """The completed link."""
        return link_of(self.spec)

    @property
    def label(self) -> str:
        """The method's name with its factor: YaRN ×2. One that follows the length has none."""
        spec = self.spec
        if not isinstance(spec, Extension):
            return spec.title
        near, far = (spec.factor_at(length) for length in (1, 8 * self.trained_window))
        return f"{spec.title} ×{near:g}" if near == far != 1 else spec.title


def applied(
    link: str, model: Model, *, length: int, artificial_window: int | None = None
) -> Applied:
    """The exported settings of a method for a model.

    ``rope`` is the model's own base without any scaling. Without a factor in the link, the factor
    is the smallest one that covers ``length``.

    Raises
    ------
    ParameterError : a link that is none, or a value that is not allowed.
    LabError : transformers cannot express the method (the export's own sentence), the model does
        not rotate, or it has no window to look beyond.
    """
    if model.text_path or len(model.layers) > 1:
        raise LabError(
            "Extension: the model must be a language model with one kind of rotation; this one has "
            f"{_what_it_has(model)}."
        )
    try:
        base = model if artificial_window is None else rebased(model, artificial_window)
        spec = parse(completed_link(link, base, target_length=length))
        settings = configs.export(base.with_spec(spec), "transformers", target_length=length)
        again = configs.read_export(settings)
        report = configs.check(again, runtime="transformers", target_length=length)
    except configs.ExportError as error:
        raise LabError(str(error)) from error
    except ConfigError as error:
        raise LabError(f"Extension: {error}") from None
    window = base.trained_window or base.window
    if window is None:
        raise LabError("Extension: the model's configuration gives no window to look beyond.")
    grave = [one for one in report.diagnoses if one.severity in ("warn", "error")]
    return Applied(
        link=link,
        spec=spec,
        changed={name: settings.data[name] for name in _KEYS if name in settings.data},
        trained_window=window,
        notes=(*settings.notes, *_run_notes(spec, model, artificial_window)),
        diagnoses=tuple(f"{one.code}: {one.message}" for one in grave),
        severity=report.severity,
        is_plain=_is_unextended(spec) and getattr(spec, "base", None) == _base_of(base),
    )


def _is_unextended(spec: Any) -> bool:
    """Whether it is a rotation without any extension."""
    return isinstance(spec, RotaryEncoding) and not isinstance(spec, Extension)


def _changes_with_length(spec: Any, window: int) -> bool:
    """Whether its frequencies within the window are others than far beyond it."""
    near, far = (np.asarray(spec.frequencies(length)) for length in (1, 8 * window))
    return not np.array_equal(near, far)


def _base_of(model: Model) -> float | None:
    return getattr(model.spec(), "base", None)


def _what_it_has(model: Model) -> str:
    if model.text_path:
        return f"its text model under {model.text_path}"
    return f"the layer types {', '.join(model.layer_types)}"


def rebased(model: Model, window: int) -> Model:
    """A model whose frequencies are raised until its trained arc ends at a shorter window.

    With r = L / window, the base becomes b·r^(-d/(d-2)): the fastest pair stays, the slowest is r
    times as fast and ends at ``window`` the arc that it was trained on up to L; every pair between
    is raised by r^(2i/(d-2)) and ends its arc later than the slowest. NTK-aware scaling by r is the
    exact inverse.

    Measured on SmolLM2-135M-Instruct and alice.txt with window 2048 (r = 4), mean loss of 512
    tokens: from 0.00 to 0.12 nats above the model's own up to position 4,096, where the model's own
    is between 2.8 and 3.4; then 3.8, 5.8, 6.5, 7.2 from 4,096 on, where the model's own stays near
    3.1. So the break shows at about twice this window, and later with shorter ones. With window
    512, means of 256 tokens: 0.1 to 0.3 above the model's own up to 1,536, then 4.95 and 6.78 where
    the model's own is 2.97 and 3.22; there YaRN ×4 gives 3.14 and 3.38. A run that is to show it
    reads four windows. Spacing the positions 4 apart instead, which also ends the arcs at 2,048,
    was tried and gives 7 to 8 nats everywhere.

    Raises
    ------
    LabError : a model that is extended already, or whose window is no longer than the wish.
    """
    spec: Any = model.spec()
    own = model.trained_window or model.window
    if own is None or not window < own:
        raise LabError(
            f"Extension: artificial_window must be less than the model's own window"
            f"{'' if own is None else f' of {own:,}'}; got {window:,}."
        )
    if not _is_unextended(spec) or spec.rotary_dim <= 2:
        raise LabError(
            "Extension: artificial_window needs a model with plain RoPE; this one has "
            f"{spec.title}."
        )
    dim = spec.rotary_dim
    base = spec.base * (own / window) ** (-dim / (dim - 2))
    if base <= 1:
        raise LabError(
            f"Extension: artificial_window {window:,} would need a base of {base:.3g}, and a base "
            "must be above 1."
        )
    settings = configs.export(
        model.with_spec(spec.with_values(base=base)), "transformers", window=window
    )
    return configs.read_export(settings)


_PER_CALL = (
    "transformers chooses these frequencies anew in every call, from its largest position; keys "
    "that are cached keep the rotation of their own call. So chunks beyond the window compare "
    "queries and keys of unlike frequencies, as generation with a cache does, and the curve "
    "depends on the chunk."
)


def _run_notes(spec: Encoding, model: Model, artificial_window: int | None) -> list[str]:
    own = model.trained_window or model.window or artificial_window or 1
    notes = [_PER_CALL] if _changes_with_length(spec, own) else []
    if artificial_window is None:
        return notes
    factor = own / artificial_window
    notes.append(
        f"Artificial window: the base is lowered so that the slowest pair ends its trained arc at "
        f"{artificial_window:,} tokens instead of {own:,}. The weights were trained with the "
        "model's own frequencies, so the loss is a little higher at every position, faster pairs "
        f"leave their arc later than {artificial_window:,}, and this is no model trained at "
        f"{artificial_window:,}. NTK-aware scaling by {factor:g} undoes the change exactly, which "
        "favours it: methods are ranked by runs at the model's own window."
    )
    return notes
