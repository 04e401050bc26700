"""What a reader wishes to see on the page: values that stand in its address."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from annotated_types import Ge, Le, MaxLen
from pydantic import ConfigDict

from posviz.lab.extension.plan import ArtificialWindow, KeySeed, Length, MeanWindow
from posviz.parameters import Declaration, Declared, Parameter

Section = Literal["kernels", "model", "extension", "bert"]
Order = Literal["layer", "entropy", "first", "diagonal", "previous", "distance", "prediction"]
"""The model's own order, or a statistic of the observation."""
IdOrder = Literal["reversed", "shuffled", "swapped", "shifted", "equal"]
Tiles = Literal["maps", "decay"]
SECTIONS: Mapping[str, str] = {
    "kernels": "Kernels",
    "model": "A language model",
    "extension": "Extension measured",
    "bert": "Positions of BERT",
}
LONGEST_TEXT = 20_000
"""Characters of a text that a reader types."""
LONGEST_IN_ADDRESS = 2_000
"""Characters of a text that the address still carries."""
DEFAULT_METHODS = "rope linear ntk_aware yarn"
"""Each but the first with the smallest factor that covers the length."""


class Wish(Declared):
    """Section, model, text, head, methods: all that a link to the page restores."""

    model_config = ConfigDict(strict=False)

    title: ClassVar[str] = "This page"

    section: Annotated[Section, Parameter(help="The part of the page that is shown.")] = "kernels"
    model: Annotated[
        str,
        MaxLen(400),
        Parameter(help="The language model: one that is installed, or a folder or GGUF file."),
    ] = ""
    text: Annotated[
        str,
        MaxLen(LONGEST_TEXT),
        Parameter(help="What the model reads; empty for the passage that comes with PosViz."),
    ] = ""
    layer: Annotated[
        int, Ge(0), Le(511), Parameter(help="The layer that is shown, counted from 0.")
    ] = 16
    head: Annotated[
        int, Ge(0), Le(511), Parameter(help="The head of that layer, counted from 0.")
    ] = 0
    order: Annotated[Order, Parameter(help="What the heads are sorted by, the largest first.")] = (
        "layer"
    )
    tiles: Annotated[
        Tiles,
        Parameter(
            help="What the tile of each head shows: its attention map, or its measured and "
            "predicted decay."
        ),
    ] = "maps"
    query: Annotated[
        int | None,
        Ge(0),
        Le(65535),
        Parameter(
            help="The token whose q is taken to the attention page, counted from 0; empty: the "
            "mean over the tokens."
        ),
    ] = None
    key: Annotated[
        int | None,
        Ge(0),
        Le(65535),
        Parameter(help="The token whose k is taken there; empty: the mean over the tokens."),
    ] = None
    methods: Annotated[
        str,
        MaxLen(1000),
        Parameter(help="Links of the methods that are measured, with spaces between them."),
    ] = DEFAULT_METHODS
    length: Length = 2048
    artificial_window: ArtificialWindow = 512
    mean_window: MeanWindow = 128
    key_seed: KeySeed = 0
    bert_text: Annotated[
        str,
        MaxLen(LONGEST_IN_ADDRESS),
        Parameter(help="What the encoder reads; empty for the passage that comes with PosViz."),
    ] = ""
    bert_other: Annotated[
        str,
        MaxLen(LONGEST_IN_ADDRESS),
        Parameter(help="A second text, whose likeness to the first is measured; may be empty."),
    ] = ""
    bert_order: Annotated[
        IdOrder,
        Parameter(help="What is done to the position ids; the tokens stay in their places."),
    ] = "shuffled"
    bert_seed: Annotated[int, Ge(0), Le(1_000_000), Parameter(help="Seed of the shuffled ids.")] = 0
    bert_layer: Annotated[
        int, Ge(0), Le(127), Parameter(help="The layer of the encoder, counted from 0.")
    ] = 0
    bert_head: Annotated[
        int, Ge(0), Le(127), Parameter(help="The head of that layer, counted from 0.")
    ] = 2

    def with_values(self, **values: Any) -> Self:
        """The same wish with some values changed, checked like any other."""
        return type(self)(**{**self.model_dump(), **values})


DECLARED: Mapping[str, Declaration] = {one.name: one for one in Wish.declarations()}
OF_SECTION: Mapping[str, tuple[str, ...]] = {
    "kernels": (),
    "model": ("model", "text", "layer", "head", "order", "tiles", "query", "key"),
    "extension": ("model", "methods", "length", "artificial_window", "mean_window", "key_seed"),
    "bert": ("bert_text", "bert_other", "bert_order", "bert_seed", "bert_layer", "bert_head"),
}
"""Which values the address of a section holds beside the section itself."""
