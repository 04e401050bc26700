"""Configurations and files that are broken at random, repeatably from a seed."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

NASTY: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 3, 7, 2**31, 2**53, 2**63, -(2**63), 10**40, 0.0, -0.0, 0.5,
    1e-308, 5e-324, 1e308, -1e308, 1.5, 4.000000001, "", " ", "4", "4.0", "1e3", "yarn", "YaRN",
    "su", "mrope", "default", "null", "NaN", "\x00", "‮", "é" * 50, "x" * 5000, "../..",
    "{{}}", "%s%n", "<script>", [], [None], [1, 2], [1.0] * 64, [[]], ["full_attention"], {},
    {"a": {}}, {"factor": 4}, {"full_attention": None}, {"": ""},
)  # fmt: skip
_WORDS = json.loads((Path(__file__).parent / "words.json").read_text(encoding="utf-8"))
KEYS: list[str] = _WORDS["keys"]
MODEL_TYPES: list[str] = _WORDS["model_types"]


def mutated(config: Any, draw: random.Random) -> Any:
    """The configuration with one to six places broken."""
    result = json.loads(json.dumps(config))
    for _ in range(draw.randint(1, 6)):
        holder = _holder(result, draw)
        draw.choice((_set, _set, _remove, _rename, _nest, _retype, _copy))(holder, draw)
    return result


def _holder(value: dict[str, Any], draw: random.Random) -> dict[str, Any]:
    """One of the objects inside, the outer ones more often."""
    inside = [item for item in value.values() if isinstance(item, dict) and item]
    return _holder(draw.choice(inside), draw) if inside and draw.random() < 0.6 else value


def _set(holder: dict[str, Any], draw: random.Random) -> None:
    known = [*holder, *KEYS] if draw.random() < 0.5 else [*holder] or KEYS
    # A copy: what is broken in one input must not be broken in the next.
    holder[draw.choice(known)] = copy.deepcopy(draw.choice(NASTY))


def _remove(holder: dict[str, Any], draw: random.Random) -> None:
    if holder:
        del holder[draw.choice([*holder])]


def _rename(holder: dict[str, Any], draw: random.Random) -> None:
    if holder:
        old = draw.choice([*holder])
        holder[draw.choice((draw.choice(KEYS), old.upper(), old[:-1], f"{old} "))] = holder.pop(old)


def _nest(holder: dict[str, Any], draw: random.Random) -> None:
    inner = dict(holder)
    holder.clear()
    holder[draw.choice(("text_config", "rope_parameters", "full_attention", "rope_scaling"))] = (
        inner
    )


def _retype(holder: dict[str, Any], draw: random.Random) -> None:
    if holder:
        key = draw.choice([*holder])
        holder[key] = draw.choice((str(holder[key]), [holder[key]], {"value": holder[key]}))


def _copy(holder: dict[str, Any], draw: random.Random) -> None:
    holder["model_type"] = draw.choice(MODEL_TYPES)


def broken_bytes(data: bytes, draw: random.Random) -> bytes:
    """The file cut, flipped, repeated, or in another encoding."""
    at = draw.randrange(len(data) + 1)
    kind = draw.randrange(7)
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + bytes(draw.randrange(256) for _ in range(draw.randint(1, 9))) + data[at:]
    if kind == 2:
        return data[:at] + data[at + draw.randint(1, 20) :]
    if kind == 3:
        return data.decode().encode(draw.choice(("utf-16", "utf-32", "utf-7", "utf-8-sig")))
    if kind == 4:
        return data * draw.randint(2, 4)
    if kind == 5:
        return data.replace(b"{", b"[", draw.randint(1, 3))
    return data[:at] + data[at:].swapcase()


def hostile_files() -> dict[str, bytes]:
    """Large, deep and misleading files, by what they are."""
    head = b'{"head_dim": 128, "rope_theta": 1e4, "max_position_embeddings": 4096, '
    yarn = b'"rope_scaling": {"rope_type": "yarn", "factor": '
    return {
        "empty": b"",
        "blank": b" \n\t" * 1000,
        "a megabyte of brackets": b"[" * 999_999,
        "a megabyte of braces": b'{"a":' * 199_999,
        "a megabyte of quotes": b'"' * 999_999,
        "a megabyte of backslashes": b'"' + b"\\" * 999_998,
        "a megabyte of small lists": b"[" + b"[]," * 333_000 + b"1]",
        "a megabyte of keys": b"{" + b",".join(b'"%d":0' % n for n in range(90_000)) + b"}",
        "a number of a megabyte": head + yarn + b"9" * 900_000 + b"}}",
        "a text of a megabyte": head + b'"model_type": "' + b"a" * 900_000 + b'"}',
        "a long list of factors": head
        + b'"rope_scaling": {"type": "longrope", "short_factor": [' + b"1," * 400_000 + b"1]}}",
        "many layer types": head + b'"layer_types": [' + b'"full_attention",' * 50_000 + b'"x"]}',
        "two megabytes": b" " * 2_000_000,
        "binary": bytes(range(256)) * 1000,
        "utf-16": json.dumps({"rope_theta": 1e4}).encode("utf-16"),
        "half a character": b'{"rope_theta": "\\ud800"}',
        "null bytes": b"\x00" * 10_000,
        "a picture": b"\x89PNG\r\n\x1a\n" + bytes(1000),
        "an archive": b"PK\x03\x04" + bytes(1000),
        "a GGUF file without content": b"GGUF" + b"\x03\x00\x00\x00" + b"\xff" * 16,
        "javascript": b"module.exports = {rope_theta: 10000}",
        "comments": head + b'/* a comment */ "a": 1}',
        "trailing comma": head + b"}",
        "infinity": b'{"rope_theta": Infinity, "head_dim": 64}',
        "yaml": b"rope_theta: 10000\nhead_dim: 64\n",
    }  # fmt: skip


def inputs(seeds: Sequence[Any], draw: random.Random) -> Any:
    """One input: a broken configuration, or a broken file."""
    config = mutated(draw.choice(seeds), draw)
    if draw.random() < 0.8:
        return config
    return broken_bytes(json.dumps(config).encode(), draw)
