"""Inputs that nobody would write, for the configuration doctor."""
