"""M-RoPE: one ladder of frequencies, its sections turning with time, row and column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Le
from array_api_compat import array_namespace

from posviz.encodings.axial import AxialEncoding, check_sections
from posviz.encodings.base import PLAIN, Source
from posviz.encodings.position_ids import VisionTextSequence
from posviz.encodings.rotary import Base
from posviz.parameters import AcceptsList, Parameter
from posviz.results import Array, LogitRow, device_of


class MRope(VisionTextSequence, AxialEncoding):
    """Pair i turns with time, row or column at the frequency b^(-2i/D) of plain RoPE.

    A text token has three equal ids, so that text alone is RoPE exactly. The parameters from
    ``text_before`` on make a small sequence, text with an image or video in it, to show ids of.
    """

    title: ClassVar[str] = "M-RoPE"
    year: ClassVar[int] = 2024
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="Qwen2-VL: Enhancing Vision-Language Model's Perception of the World at Any "
            "Resolution",
            authors="Wang et al.",
            year=2024,
            arxiv="2409.12191",
            place="section 2.1",
            code="transformers 5.24.0 Qwen2VLRotaryEmbedding, Qwen2VLModel.get_rope_index",
        ),
        Source(
            title="Qwen2.5-VL Technical Report",
            authors="Bai et al.",
            year=2025,
            arxiv="2502.13923",
            place="section 2.1.2",
            code="transformers 5.24.0 Qwen2_5_VLModel.get_rope_index",
        ),
    )
    formula: ClassVar[str] = (
        r"\varphi_i = c_i\, b^{-2i/D},\quad c_i \in \{t, y, x\} "
        r"\text{ by the section of pair } i"
    )
    shows: ClassVar[str] = (
        "Three rows of ids that run together in text and apart in an image; and the pairs by "
        "section, of which time has the fastest when they are blocked."
    )
    limits: ClassVar[str] = (
        "The ids of one small sequence; special tokens around an image count as text. Which "
        "section a model uses for what is learned."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that text after a video goes on at the largest id plus 1. The paper "
        "says so; transformers goes on behind the rows and columns, so that ids of a long video "
        "and of the text after it overlap.",
        "You may have read that sections 16, 24, 24 are dimensions. They are pairs: 64 pairs of a "
        "head of 128 dimensions.",
        "You may have read that each axis has a ladder of its own. One ladder is cut: blocked, "
        "time gets the 16 fastest pairs and the columns the 24 slowest; interleaved (Qwen3-VL), "
        "every axis gets fast and slow ones.",
        "You may have read that the position of a generated token is its index. After an image the "
        "ids are behind the index, by the constant that transformers calls mrope_position_deltas.",
    )
    used_in: ClassVar[tuple[str, ...]] = ("Qwen2-VL", "Qwen2.5-VL", "Qwen3-VL")
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "Qwen2-VL": {
            "mrope_section": (16.0, 24.0, 24.0),
            "arrangement": "blocked",
            "base": 1e6,
            "tokens_per_second": None,
        },
        "Qwen2.5-VL": {
            "mrope_section": (16.0, 24.0, 24.0),
            "arrangement": "blocked",
            "base": 1e6,
            "tokens_per_second": 2.0,
        },
        "Qwen3-VL": {
            "mrope_section": (24.0, 20.0, 20.0),
            "arrangement": "interleaved",
            "base": 5e6,
            "tokens_per_second": None,
        },
    }
    snippet: ClassVar[str] = """
import numpy as np
image = np.stack(np.meshgrid([0], [0, 1], [0, 1, 2], indexing="ij"), axis=-1).reshape(-1, 3)
text = np.repeat(np.arange(3)[:, None], 3, axis=1)
positions = np.concatenate((text, 3 + image, 3 + 3 + text)).astype(float)
D, sections = $head_dim, [int(n) for n in $mrope_section]
axis = np.repeat([0, 1, 2], sections)
if $arrangement == "interleaved":
    i = np.arange(D // 2)
    axis = np.where(i < 3 * np.array(sections)[i % 3], i % 3, 0)
cos = np.cos(positions[:, axis] * $base ** (-np.arange(0, D, 2) / D))
"""
    snippet_gives: ClassVar[str] = "cos"
    axis_names: ClassVar[tuple[str, ...]] = ("time", "row", "column")

    base: Base = 1e6
    mrope_section: Annotated[
        tuple[Annotated[float, Ge(0), Le(4096)], ...],
        AcceptsList,
        Parameter(help="Pairs of time, rows and columns, half of head_dim together.", symbol="n_c"),
    ] = (16.0, 24.0, 24.0)
    arrangement: Annotated[
        Literal["blocked", "interleaved"],
        Parameter(
            help="blocked: the sections one after the other; interleaved (Qwen3-VL): pairs 1, 4, "
            "7, … to rows and 2, 5, 8, … to columns, as many as their sections say and pairs "
            "there are, all others to time."
        ),
    ] = "blocked"

    @classmethod
    def starting_values(cls, **known: Any) -> dict[str, Any]:
        """Sections of about a quarter and twice three eighths, as 16, 24 and 24 are of 64."""
        pairs = known.get("head_dim", 128) // 2
        side = round(pairs * 3 / 8)
        return {"mrope_section": (float(pairs - 2 * side), float(side), float(side))}

    def check_rules(self) -> None:
        super().check_rules()
        check_sections(
            self.title, "mrope_section", self.mrope_section, self.axis_names, self.head_dim
        )

    @property
    def rotary_dim(self) -> int:
        return self.head_dim

    def pair_axes(self) -> np.ndarray:
        counts = np.asarray(self.mrope_section, dtype=int)
        if self.arrangement == "blocked":
            return np.repeat(np.arange(3), counts)
        pair = np.arange(self.pairs)
        return np.where(pair < 3 * counts[pair % 3], pair % 3, 0)

    def frequencies(self, *, xp: Any, device: Any) -> Array:
        return self.ladder(self.base, xp=xp, device=device)

    def logit_row(self, length: int, *, like: Array = PLAIN) -> LogitRow:
        # Text alone has three equal ids, so every pair turns by the distance.
        ladder = self.frequencies(xp=array_namespace(like), device=device_of(like))
        return self.rotated_row(length, ladder, like, note="a sequence of text alone")
