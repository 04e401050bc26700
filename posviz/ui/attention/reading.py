"""What the page adds to its encodings: the context, the content, and what is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, Le

from posviz.measures import LONGEST_CONTEXT, Content
from posviz.parameters import AcceptsList, Declaration, Parameter

Numbers = tuple[Annotated[float, Ge(-100), Le(100)], ...]
Question = Literal["equal", "independent", "given"]
Precision = Literal["bfloat16", "float16", "float32"]


class Reading(Content):
    """The page's own parameters, the model of the content among them."""

    title: ClassVar[str] = "This page"

    length: Annotated[
        int,
        Ge(8),
        Le(LONGEST_CONTEXT),
        Parameter(
            help="Tokens of the context; the query is its last one.",
            symbol=r"\ell",
            unit="tokens",
            slider=(8, LONGEST_CONTEXT),
            scale="log",
        ),
    ] = 32768
    trained: Annotated[
        int,
        Ge(8),
        Le(LONGEST_CONTEXT),
        Parameter(
            help="The window that a model was trained with, marked in the plots; no curve depends "
            "on it.",
            symbol="L",
            unit="tokens",
            slider=(512, 131072),
            scale="log",
        ),
    ] = 4096
    question: Annotated[
        Question,
        Parameter(
            help="Of the score's fall with distance. equal: query and key are equal. independent: "
            "they are independent draws, whose mean is 0 at every distance. given: one query and "
            "one key."
        ),
    ] = "equal"
    correlation: Annotated[
        float,
        Ge(-1),
        Le(1),
        Parameter(
            help="Correlation of the drawn query and key: 1 makes them equal, 0 independent.",
            symbol=r"\rho",
            slider=(-1, 1),
            step=0.05,
        ),
    ] = 0.5
    typed_query: Annotated[
        Numbers,
        AcceptsList,
        Parameter(
            help="Numbers of the query, repeated as far as the head goes; none: it is drawn with "
            "the seed."
        ),
    ] = ()
    typed_key: Annotated[
        Numbers,
        AcceptsList,
        Parameter(
            help="Numbers of the key, repeated as far as the head goes; none: it is drawn with the "
            "correlation."
        ),
    ] = ()
    distance: Annotated[
        int,
        Ge(0),
        Le(LONGEST_CONTEXT - 1),
        Parameter(
            help="The distance under the cursor.",
            symbol=r"\delta",
            unit="tokens",
            slider=(1, LONGEST_CONTEXT - 1),
            scale="log",
        ),
    ] = 1000
    head: Annotated[
        int,
        Ge(0),
        Le(511),
        Parameter(
            help="The head of biases that is shown, from 0; an encoding with fewer shows its last.",
            slider=(0, 11),
            step=1,
        ),
    ] = 0
    lead: Annotated[
        Literal["a", "b", "c", "d", "e", "f"],
        Parameter(help="The slot that the views of one encoding show: heads, matrix, precision."),
    ] = "a"
    place: Annotated[
        int,
        Ge(0),
        Le(LONGEST_CONTEXT - 1),
        Parameter(
            help="The query in the middle of the matrix.",
            unit="tokens",
            slider=(64, LONGEST_CONTEXT - 1),
            scale="log",
        ),
    ] = 1024
    window: Annotated[
        int,
        Ge(8),
        Le(512),
        Parameter(
            help="Queries and keys of the matrix.", unit="tokens", slider=(16, 512), scale="log"
        ),
    ] = 128
    layers: Annotated[
        int,
        Ge(1),
        Le(64),
        Parameter(help="Layers that are stacked for the receptive field.", slider=(1, 64), step=1),
    ] = 32
    precision: Annotated[
        Precision,
        Parameter(help="The number format that one stage after the other is rounded to."),
    ] = "bfloat16"


READING: Mapping[str, Declaration] = {one.name: one for one in Reading.declarations()}
