"""Writes small GGUF files with the gguf library's own writer, as the conversion scripts do."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path

import gguf
import numpy as np

Setter = Callable[[gguf.GGUFWriter], None]


def write(
    path: Path,
    architecture: str,
    fill: Setter | None = None,
    tensors: Mapping[str, list[float]] | None = None,
    **options: object,
) -> Path:
    """A GGUF file with what ``fill`` adds and F32 tensors, beside one weight of the model."""
    writer = gguf.GGUFWriter(path, architecture, **options)  # type: ignore[arg-type]
    if fill is not None:
        fill(writer)
    for name, values in (tensors or {}).items():
        writer.add_tensor(name, np.array(values, dtype=np.float32))
    writer.add_tensor("token_embd.weight", np.zeros((4, 8), dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def sizes(
    writer: gguf.GGUFWriter,
    *,
    width: int,
    heads: int,
    window: int,
    base: float | None,
    rotated: int | None = None,
    head: int | None = None,
    layers: int = 4,
) -> None:
    """What every conversion writes."""
    writer.add_block_count(layers)
    writer.add_context_length(window)
    writer.add_embedding_length(width)
    writer.add_head_count(heads)
    if base is not None:
        writer.add_rope_freq_base(base)
    if rotated is not None:
        writer.add_rope_dimension_count(rotated)
    if head is not None:
        writer.add_key_length(head)


def llama3_divisors(
    dim: int, base: float, factor: float, original: int, low: float = 1, high: float = 4
) -> list[float]:
    """Llama 3.1's bands as written in Meta's code: by wavelength, 1 / L/high / L/low / factor."""
    result = []
    for pair in range(dim // 2):
        wavelength = 2 * math.pi * base ** (2 * pair / dim)
        if wavelength < original / high:
            result.append(1.0)
        elif wavelength > original / low:
            result.append(float(factor))
        else:
            smooth = (original / wavelength - low) / (high - low)
            result.append(1 / ((1 - smooth) / factor + smooth))
    return result
