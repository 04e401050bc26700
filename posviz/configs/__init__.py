"""A model's configuration in, with the origin of every number; settings for each runtime out."""

from posviz.configs.checks import CODES, Changes, Diagnosis, Report, applied, check
from posviz.configs.comparison import Comparison, compare
from posviz.configs.comparison_layers import LayerComparison
from posviz.configs.comparison_rows import ComparedNumber
from posviz.configs.errors import ConfigError, ExportError
from posviz.configs.messages import Message, Resolved, Severity
from posviz.configs.model import Layer, Model
from posviz.configs.presets import Preset, presets
from posviz.configs.reader import read
from posviz.configs.writers import RUNTIMES, Settings, export, read_export

__all__ = [
    "CODES",
    "RUNTIMES",
    "Changes",
    "ComparedNumber",
    "Comparison",
    "ConfigError",
    "Diagnosis",
    "ExportError",
    "Layer",
    "LayerComparison",
    "Message",
    "Model",
    "Preset",
    "Report",
    "Resolved",
    "Settings",
    "Severity",
    "applied",
    "check",
    "compare",
    "export",
    "presets",
    "read",
    "read_export",
]
