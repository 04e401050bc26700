"""The two ways in which a configuration cannot be used."""


class ConfigError(ValueError):
    """A configuration that cannot be read, or whose numbers cannot be used: one clear sentence."""


class ExportError(ValueError):
    """What a runtime has no setting for: the reason, and what can be done instead."""
