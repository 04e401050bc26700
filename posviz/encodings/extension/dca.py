"""Dual chunk attention: positions count from the start of a chunk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Le
from array_api_compat import array_namespace

from posviz.encodings.base import Source
from posviz.encodings.remapping import REMAP_SNIPPET, Remapping
from posviz.parameters import Parameter, ParameterError
from posviz.results import Array


class Dca(Remapping):
    """Keys stand at n mod s; a query stands at one of three places, by how far its key's chunk is.

    Same chunk: m mod s. Next chunk: s + (m mod s) for the first w tokens of a chunk, c - 1 for the
    rest. Any farther chunk: c - 1, with c the trained window. No distance exceeds c - 1.

    The authors' code counts differently: its chunks are s - w tokens long, and no query of another
    chunk stands beyond s.
    """

    title: ClassVar[str] = "Dual chunk attention"
    year: ClassVar[int] = 2024
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="Training-Free Long-Context Scaling of Large Language Models",
            authors="An et al.",
            year=2024,
            arxiv="2402.17463",
            place="section 3",
            code="github.com/HKUNLP/ChunkLlama 15c5787 chunkllama_attn_replace.py",
        ),
    )
    formula: ClassVar[str] = (
        r"\delta' = p_m - (n \bmod s),\quad p_m = m \bmod s,\; "
        r"s + (m \bmod s) \text{ or } c - 1,\; c - 1"
    )
    shows: ClassVar[str] = (
        "A saw-tooth over far chunks: every chunk looks equally far, and only the place inside it "
        "is told apart."
    )
    limits: ClassVar[str] = (
        "Chunks beyond the neighbour cannot be ordered by position; that is left to the content."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that far keys stand at L - 1 less their place in the chunk. So the "
        "paper has it; its code has chunks of s - w tokens and no query of another chunk "
        "beyond s.",
    )
    used_in: ClassVar[tuple[str, ...]] = ("Qwen2.5-1M",)
    snippet: ClassVar[str] = (
        REMAP_SNIPPET
        + """s, w, is_code = $chunk_size, $local_window, $rule == "code"
size = s - w if is_code else s
far = min(2 * size - 1, s) if is_code else $original_max_position_embeddings - 1
inside, chunks = m % size, m // size - n // size
near = np.minimum(size + inside, s) if is_code else np.where(inside < w, size + inside, far)
beyond = np.where(chunks == 1, near, far) - n % size
relative_distance = np.where(chunks > 0, beyond, m - n)
"""
    )
    snippet_gives: ClassVar[str] = "relative_distance"

    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"rule": "paper"},
        "ChunkLlama code": {"rule": "code"},
    }

    chunk_size: Annotated[
        int,
        Ge(1),
        Le(1 << 40),
        Parameter(
            help="Tokens after which positions start anew; smaller than the trained window.",
            symbol="s",
            unit="tokens",
            slider=(64, 65536),
            scale="log",
        ),
    ] = 3072
    local_window: Annotated[
        int,
        Ge(0),
        Le(1 << 40),
        Parameter(
            help="First tokens of a chunk that see the chunk before it at its exact distance.",
            symbol="w",
            unit="tokens",
            slider=(0, 8192),
            step=1,
        ),
    ] = 512
    rule: Annotated[
        Literal["paper", "code"],
        Parameter(
            help="paper: chunks of s tokens, far queries at L - 1; code: chunks of s - w tokens, "
            "far queries at s."
        ),
    ] = "paper"

    def suited(self, length: int, longest: int) -> dict[str, Any]:
        return {
            **super().suited(length, longest),
            "chunk_size": length * 3 // 4,
            "local_window": length // 8,
        }

    @classmethod
    def starting_values(cls, **known: Any) -> dict[str, Any]:
        """Chunks of 3L/4 and a window of L/8, as ChunkLlama's code sets them."""
        trained = known.get("original_max_position_embeddings")
        if trained is None or trained < 8:
            return {}
        return {"chunk_size": trained * 3 // 4, "local_window": trained // 8}

    def check_rules(self) -> None:
        super().check_rules()
        room = self.original_max_position_embeddings - self.chunk_size
        if room < 1 or self.local_window > room:
            raise ParameterError(
                f"{self.title}: chunk_size + local_window must be at most "
                "original_max_position_embeddings, and chunk_size below it; got "
                f"chunk_size {self.chunk_size}, local_window {self.local_window} and "
                f"original_max_position_embeddings {self.original_max_position_embeddings}."
            )

        if self.rule == "code" and self.local_window >= self.chunk_size:
            raise ParameterError(
                f"{self.title}: local_window must be below chunk_size where rule is code; got "
                f"local_window {self.local_window} and chunk_size {self.chunk_size}."
            )

    @property
    def chunk_length(self) -> int:
        """Tokens after which positions start anew."""
        return self.chunk_size - (self.local_window if self.rule == "code" else 0)

    @property
    def farthest(self) -> int:
        """Where a query stands for keys of far chunks."""
        if self.rule == "code":
            return min(2 * self.chunk_length - 1, self.chunk_size)
        return self.original_max_position_embeddings - 1

    def relative_distance(self, query: Array, key: Array) -> Array:
        size = self.chunk_length
        distance = query - key
        xp = array_namespace(distance)
        chunks_between = xp.floor(query / size) - xp.floor(key / size)
        inside = query - size * xp.floor(query / size)
        key_inside = key - size * xp.floor(key / size)
        far = xp.full_like(inside, self.farthest)
        if self.rule == "code":
            successive = xp.clip(size + inside, None, self.chunk_size)
        else:
            successive = xp.where(inside < self.local_window, size + inside, far)
        beyond = xp.where(chunks_between == 1, successive, far) - key_inside
        # Inside one chunk, and for later keys, the plain distance is left.
        return xp.where(chunks_between > 0, beyond, distance)
