"""What the page adds to its encodings: a plan of training, and where the curves are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from annotated_types import Ge, Le

from posviz.lab.training.plan import Plan
from posviz.parameters import Declaration, Declared, Parameter

LONGEST_TEST = 2048
"""Tokens: the longest training times the most lengths of a test."""


class Cursors(Declared):
    """Where the curves are read."""

    title: ClassVar[str] = "This page"

    test_length: Annotated[
        int,
        Ge(8),
        Le(LONGEST_TEST),
        Parameter(
            help="The length of the test under the cursor.",
            symbol=r"\ell",
            unit="tokens",
            slider=(32, 512),
            scale="log",
        ),
    ] = 128
    step: Annotated[
        int,
        Ge(0),
        Le(5000),
        Parameter(help="The step of training under the cursor.", unit="steps", slider=(0, 400)),
    ] = 200


PLANNED: Mapping[str, Declaration] = {
    one.name: one for one in Plan.declarations() if one.name != "most_seconds"
}
"""What of a plan a person sets. How long a training may take, no page changes."""
POINTED: Mapping[str, Declaration] = {one.name: one for one in Cursors.declarations()}
READING: Mapping[str, Declaration] = {**PLANNED, **POINTED}
