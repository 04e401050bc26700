"""Slots: what pages share whose boards hold encodings, each with its own parameters."""
