"""A model's configuration in, with the origin of every number; settings for each runtime out."""

from posviz.configs.errors import ConfigError, ExportError
from posviz.configs.messages import CODES, Message, Resolved, Severity
from posviz.configs.model import Layer, Model
from posviz.configs.presets import Preset, presets
from posviz.configs.reader import read
from posviz.configs.writers import RUNTIMES, Settings, export, read_export

__all__ = [
    "CODES",
    "RUNTIMES",
    "ConfigError",
    "ExportError",
    "Layer",
    "Message",
    "Model",
    "Preset",
    "Resolved",
    "Settings",
    "Severity",
    "export",
    "presets",
    "read",
    "read_export",
]
