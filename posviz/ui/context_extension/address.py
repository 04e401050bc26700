"""The state of the page as an address, and back.

Only what differs from the model's first view is written, under the names of the parameters:
``?model=llama-3.1-8b&b=yarn&b.beta_fast=16&target=65536``.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from posviz import configs
from posviz.configs import ConfigError, Model
from posviz.configs.presets import preset
from posviz.configs.writers import LONGEST_LENGTH
from posviz.parameters import ParameterError, closest, shortened
from posviz.ui.context_extension.view import (
    NO_PROFILES,
    OFF,
    SHARED,
    SLOTS,
    View,
    changed,
    checked,
    cursor_kept,
    declaration_of,
    first_view,
    method_values,
    methods_on_offer,
    rotating_layers,
)

DEFAULT_PRESET = "yarn-llama-2-7b-64k"
LARGEST_PACKED = 12_000
"""Characters of a packed configuration; browsers and proxies cut longer addresses."""
LARGEST_UNPACKED = 1_000_000
SECOND = ("b_model", "b_config")
"""Where the second configuration stands in an address."""
REPORT = ("runtime", "wanted")
"""What the report is about, in an address."""


def pack(config: Mapping[str, Any]) -> str:
    """A configuration as address text."""
    text = json.dumps(config, separators=(",", ":"), sort_keys=True)
    return base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")


def unpack(text: str) -> str:
    """The JSON text that was packed; ConfigError when the address was cut or changed."""
    if not text.isascii():
        raise ConfigError("The configuration in the address is damaged; paste it again.")
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        unpacker = zlib.decompressobj()
        plain = unpacker.decompress(raw, LARGEST_UNPACKED)
        if not unpacker.eof:
            raise ConfigError("The configuration in the address is cut short or too large.")
        return plain.decode()
    except (binascii.Error, zlib.error, UnicodeDecodeError):
        raise ConfigError("The configuration in the address is damaged; paste it again.") from None


def source_of_preset(preset_id: str) -> str:
    return f"model={preset_id}"


def source_of_config(model: Model) -> str:
    """The model's configuration as a source; ConfigError when no address can hold it.

    What does not bear on positions is left out where that changes nothing that was read.
    """
    for config in (_without_ballast(model.config), model.config):
        if len(packed := pack(config)) <= LARGEST_PACKED and _reads_alike(model, config):
            return f"config={packed}"
    raise ConfigError(
        "This configuration is too long for an address; leave out what does not concern positions "
        "(vision_config, quantization_config and the like)."
    )


def _without_ballast(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration less the sections of other parts of the model."""
    return {
        name: value
        for name, value in config.items()
        if not isinstance(value, dict) or "rope" in name or name.startswith(("text", "llm"))
    }


def _reads_alike(model: Model, config: Mapping[str, Any]) -> bool:
    again = configs.read(config)
    return again.layers == model.layers and again.resolved == model.resolved


def model_of(source: str) -> Model:
    """The model behind a source text."""
    kind, _, name = source.partition("=")
    if kind == "model":
        return configs.read(preset(name).config)
    return configs.read(unpack(name))


def read_address(parameters: Mapping[str, str]) -> tuple[View, list[str]]:
    """The view that an address stands for, and a sentence for all that was not usable in it."""
    problems: list[str] = []
    view = replace(
        _model_view(parameters, problems),
        compared=_compared(parameters, problems),
        runtime=_runtime(parameters, problems),
        wanted=_wanted(parameters, problems),
    )
    settings = {
        name: value
        for name, value in parameters.items()
        if name not in ("model", "config", "layer", *SECOND, *REPORT)
    }
    problems += [
        f"From the address: this page knows no setting {shortened(name)}, so it was not used."
        for name in settings
        if not _is_known(name, settings, view)
    ]
    known = {name: value for name, value in settings.items() if _is_known(name, settings, view)}
    try:
        return _with(view, known), problems
    except ParameterError:
        return _with_what_fits(view, known, problems), problems


def _is_known(name: str, settings: Mapping[str, str], view: View) -> bool:
    methods = {slot: settings.get(slot, view.values[slot]) for slot in SLOTS}
    offered = {slot: chosen for slot, chosen in methods.items() if chosen in methods_on_offer()}
    values = {**view.values, **dict.fromkeys(SLOTS, OFF), **offered}
    return name in SLOTS or name in NO_PROFILES or declaration_of(name, values) is not None


def _with(view: View, settings: Mapping[str, str]) -> View:
    """The view with all settings; ParameterError when they cannot be used together."""
    view, errors = changed(view, settings)
    if errors:
        raise errors[0]
    return checked(view if "pair" in settings else cursor_kept(view))


def _with_what_fits(view: View, settings: Mapping[str, str], problems: list[str]) -> View:
    """One setting after the other, shared ones and methods first; what does not fit is reported."""
    order = {name: place for place, name in enumerate((*SHARED, *SLOTS))}
    taken: dict[str, str] = {}
    best = view
    for name in sorted(settings, key=lambda each: order.get(each, len(order))):
        try:
            best = _with(view, {**taken, name: settings[name]})
            taken[name] = settings[name]
        except ParameterError as error:
            problems.append(f"From the address: {error} It was not used.")
    return best


def _model_view(parameters: Mapping[str, str], problems: list[str]) -> View:
    source = source_of_preset(parameters.get("model", DEFAULT_PRESET))
    if "config" in parameters:
        source = f"config={parameters['config']}"
    layer = parameters.get("layer")
    try:
        model = model_of(source)
        if layer is not None and layer not in rotating_layers(model):
            problems.append(
                f"From the address: there is no layer type {layer!r}; "
                f"known: {', '.join(rotating_layers(model))}."
            )
            layer = None
        return checked(first_view(source, model, layer))
    except (ConfigError, ParameterError) as error:
        problems.append(f"From the address: {error} The page opened with its first model.")
        source = source_of_preset(DEFAULT_PRESET)
        return first_view(source, model_of(source))


def _compared(parameters: Mapping[str, str], problems: list[str]) -> str:
    """The source of the second configuration; empty where there is none that can be read."""
    name = next((name for name in reversed(SECOND) if name in parameters), "")
    if not name:
        return ""
    source = f"{name.removeprefix('b_')}={parameters[name]}"
    try:
        model_of(source)
    except ConfigError as error:
        problems.append(f"From the address: {error} There is no second configuration now.")
        return ""
    return source


def _runtime(parameters: Mapping[str, str], problems: list[str]) -> str:
    """The runtime that the report is about; empty for all of them."""
    name = parameters.get("runtime", "")
    if name and name not in configs.RUNTIMES:
        problems.append(
            f"From the address: there is no runtime {shortened(name)}; "
            f"{closest(name, configs.RUNTIMES)}. It was not used."
        )
        return ""
    return name


def _wanted(parameters: Mapping[str, str], problems: list[str]) -> int | None:
    """The context length that the report is about."""
    text = parameters.get("wanted")
    if text is None:
        return None
    if text.isascii() and text.isdecimal() and 1 <= int(text[:12]) <= LONGEST_LENGTH:
        return int(text)
    problems.append(
        f"From the address: wanted must be a whole number from 1 to {LONGEST_LENGTH:,}; "
        f"got {shortened(text)}. It was not used."
    )
    return None


def has_room(view: View) -> bool:
    """Whether an address can hold the second configuration beside the first."""
    packed = [one for one in (view.source, view.compared) if one.startswith("config=")]
    return sum(map(len, packed)) <= LARGEST_PACKED + len("config=")


def write_address(view: View) -> dict[str, str]:
    """The parameters that restore a view exactly."""
    kind, _, name = view.source.partition("=")
    first = first_view(view.source, view.model)
    parameters = {} if view.source == source_of_preset(DEFAULT_PRESET) else {kind: name}
    if view.layer_type != first.layer_type:
        parameters["layer"] = view.layer_type
        first = first_view(view.source, view.model, view.layer_type)
    for slot in SLOTS:
        if view.values[slot] != first.values[slot]:
            parameters[slot] = view.values[slot]
    starts = {
        slot: method_values(slot, chosen, view.values)
        for slot, chosen in view.methods.items()
        if chosen != first.values[slot]
    }
    for name, value in view.values.items():
        if name in SLOTS or name in NO_PROFILES:
            continue
        found = declaration_of(name, view.values)
        if found is None:
            continue
        slot = name.partition(".")[0] if "." in name else ""
        if value == starts.get(slot, first.values)[name]:
            continue
        parameters[name] = found[0].format(value)
    for name in NO_PROFILES:
        if view.values[name]:
            parameters[name] = view.values[name]
    if view.compared and has_room(view):
        kind, _, name = view.compared.partition("=")
        parameters[f"b_{kind}"] = name
    if view.runtime:
        parameters["runtime"] = view.runtime
    if view.wanted is not None:
        parameters["wanted"] = str(view.wanted)
    return parameters
