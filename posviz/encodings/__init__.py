"""Encodings, one file each, in a folder per family."""
