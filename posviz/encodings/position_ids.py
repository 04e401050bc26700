"""Position ids of text, images and videos in one sequence, as Qwen2-VL and Qwen2.5-VL have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Gt, Le

from posviz.encodings.base import Encoding
from posviz.parameters import Parameter, ParameterError
from posviz.results import Array

AfterVision = Literal["code", "paper"]
"""Where text goes on after an image or video: behind its rows and columns, or behind all ids."""


@dataclass(frozen=True)
class PositionIds:
    """Ids of a sequence.

    Attributes
    ----------
    ids : (positions, 3) whole numbers: time, row, column. Padding has 0.
    next_text_delta : what a generated token adds to its index, padding left out, for its id.
    """

    ids: np.ndarray
    next_text_delta: int


def vision_text_ids(
    segments: Sequence[tuple[str, Any]],
    *,
    spatial_merge_size: int = 2,
    second_per_grid: float = 1.0,
    tokens_per_second: float | None = None,
    left_padding: int = 0,
    after_vision: AfterVision = "code",
) -> PositionIds:
    """Ids of segments in their order: (positions, 3).

    A text counts on with equal ids. In an image or video the ids of a token are the start plus its
    frame, row and column. Text goes on at the start plus the larger of the merged rows and columns
    (transformers 5.24.0), or at the largest id plus 1 (the paper, arXiv:2409.12191, section 2.1).
    The two differ when a video's time runs farther than its rows and columns.

    Parameters
    ----------
    segments : ("text", tokens), ("image", (1, rows, columns)) or ("video", (frames, rows,
        columns)), rows and columns in patches before they are merged.
    spatial_merge_size : patches along a side that become one token.
    second_per_grid, tokens_per_second : a video's frame t stands at
        ⌊t · second_per_grid · tokens_per_second⌋ (Qwen2.5-VL); without tokens_per_second at t.
    left_padding : tokens before the first segment.

    Raises
    ------
    ParameterError : a segment of another kind or size.
    """
    interval = 1.0 if tokens_per_second is None else second_per_grid * tokens_per_second
    parts, start = [np.zeros((0, 3), dtype=np.int64)], 0
    for kind, size in segments:
        if kind == "text":
            parts.append(np.repeat(start + np.arange(size)[:, None], 3, axis=1))
            start += size
            continue
        frames, rows, columns = _grid(kind, size, spatial_merge_size)
        times = np.arange(frames) * (interval if kind == "video" else 1.0)
        axes = (np.trunc(times).astype(np.int64), np.arange(rows), np.arange(columns))
        mesh = np.meshgrid(*axes, indexing="ij")
        parts.append(start + np.stack(mesh, axis=-1).reshape(-1, 3))
        start = int(parts[-1].max()) + 1 if after_vision == "paper" else start + max(rows, columns)
    ids = np.concatenate(parts)
    delta = int(ids.max(initial=-1)) + 1 - len(ids)
    return PositionIds(np.concatenate((np.zeros((left_padding, 3), dtype=np.int64), ids)), delta)


def _grid(kind: str, size: Sequence[int], merged: int) -> tuple[int, int, int]:
    """Frames, and rows and columns of tokens."""
    if kind not in ("image", "video"):
        raise ParameterError(f"position ids: a segment must be text, image or video; got {kind!r}.")
    frames, rows, columns = size
    if min(size) < 1 or rows % merged or columns % merged:
        raise ParameterError(
            f"position ids: rows and columns of patches must be multiples of the "
            f"spatial_merge_size {merged}; got {kind} {tuple(size)}."
        )
    return frames, rows // merged, columns // merged


class VisionTextSequence(Encoding):
    """Mixin: a small sequence, text with an image or video in it, to show ids of."""

    text_before: Annotated[
        int,
        Ge(0),
        Le(4096),
        Parameter(help="Text tokens before the image or video.", slider=(0, 32), step=1),
    ] = 4
    frames: Annotated[
        int,
        Ge(0),
        Le(256),
        Parameter(
            help="Frames of the video, each a grid of tokens; 0 for an image.",
            slider=(0, 16),
            step=1,
        ),
    ] = 0
    rows: Annotated[
        int,
        Ge(1),
        Le(256),
        Parameter(help="Rows of tokens, after merging patches.", slider=(1, 16), step=1),
    ] = 4
    columns: Annotated[
        int,
        Ge(1),
        Le(256),
        Parameter(help="Columns of tokens, after merging patches.", slider=(1, 16), step=1),
    ] = 6
    tokens_per_second: Annotated[
        float | None,
        Gt(0),
        Le(1000),
        Parameter(
            help="Ids per second of video (Qwen2.5-VL: 2); left out, a frame is one id (Qwen2-VL).",
            slider=(1, 30),
            step=1,
        ),
    ] = None
    second_per_grid: Annotated[
        float,
        Gt(0),
        Le(1000),
        Parameter(
            help="Seconds from frame to frame, where tokens_per_second is given.",
            unit="seconds",
            slider=(0.1, 4),
            step=0.1,
        ),
    ] = 1.0
    after_vision: Annotated[
        AfterVision,
        Parameter(
            help="Where text goes on: behind the rows and columns (transformers), or behind the "
            "largest id (the paper)."
        ),
    ] = "code"

    def check_rules(self) -> None:
        super().check_rules()
        if self._vision_tokens > self.most_positions:
            raise ParameterError(
                f"{self.title}: frames times rows times columns must be at most "
                f"{self.most_positions} tokens; got frames {self.frames}, rows {self.rows} and "
                f"columns {self.columns}."
            )

    @property
    def _vision_tokens(self) -> int:
        return max(1, self.frames) * self.rows * self.columns

    def example_positions(self, count: int) -> Array:
        """Ids of the small sequence: (positions, 3), its last text as long as ``count`` asks."""
        after = max(2, count - self.text_before - self._vision_tokens)
        kind, frames = ("video", self.frames) if self.frames else ("image", 1)
        found = vision_text_ids(
            [
                ("text", self.text_before),
                (kind, (frames, self.rows, self.columns)),
                ("text", after),
            ],
            spatial_merge_size=1,
            second_per_grid=self.second_per_grid,
            tokens_per_second=self.tokens_per_second,
            after_vision=self.after_vision,
        )
        return found.ids.astype(float)
