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
from typing import Any

from posviz import configs
from posviz.configs import ConfigError, Model
from posviz.configs.presets import preset
from posviz.parameters import ParameterError
from posviz.ui.context_extension.view import (
    NO_PROFILES,
    SLOTS,
    View,
    changed,
    checked,
    declaration_of,
    first_view,
    method_values,
    rotating_layers,
)

DEFAULT_PRESET = "yarn-llama-2-7b-64k"
LARGEST_PACKED = 12_000
"""Characters of a packed configuration; browsers and proxies cut longer addresses."""
LARGEST_UNPACKED = 1_000_000


def pack(config: Mapping[str, Any]) -> str:
    """A configuration as address text."""
    text = json.dumps(config, separators=(",", ":"), sort_keys=True)
    return base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")


def unpack(text: str) -> str:
    """The JSON text that was packed; ConfigError when the address was cut or changed."""
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
    view = _model_view(parameters, problems)
    settings = {
        name: value
        for name, value in parameters.items()
        if name not in ("model", "config", "layer")
    }
    view, errors = changed(view, settings)
    problems += [f"From the address: {error}" for error in errors]
    problems += [
        f"From the address: this page knows no setting {name!r}, so it was not used."
        for name in settings
        if name not in SLOTS and name not in NO_PROFILES and not declaration_of(name, view.values)
    ]
    try:
        checked(view)
    except ParameterError as error:
        problems.append(f"From the address: {error} The model's own settings are shown instead.")
        view = first_view(view.source, view.model, view.layer_type)
    return view, problems


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
        return first_view(source, model, layer)
    except (ConfigError, ParameterError) as error:
        problems.append(f"From the address: {error} The page opened with its first model.")
        source = source_of_preset(DEFAULT_PRESET)
        return first_view(source, model_of(source))


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
    return parameters
