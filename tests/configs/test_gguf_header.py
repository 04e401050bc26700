"""The header reader against the gguf library's own reader and writer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import gguf
import numpy as np
import pytest

from posviz.configs import ConfigError
from posviz.configs.gguf import is_gguf, read_header
from posviz.configs.gguf.values import MAX_ITEMS, Omitted
from tests.configs.gguf_files import llama3_divisors, sizes, write

DIVISORS = llama3_divisors(128, 500000.0, 8, 8192)


def every_type(writer: gguf.GGUFWriter) -> None:
    sizes(writer, width=4096, heads=32, window=131072, base=500000.0, rotated=128)
    writer.add_uint8("t.u8", 255)
    writer.add_int8("t.i8", -128)
    writer.add_uint16("t.u16", 65535)
    writer.add_int16("t.i16", -32768)
    writer.add_int32("t.i32", -(2**31))
    writer.add_uint64("t.u64", 2**64 - 1)
    writer.add_int64("t.i64", -(2**63))
    writer.add_float64("t.f64", 0.1)
    writer.add_bool("t.bool", True)
    writer.add_string("t.text", "näive 位置")
    writer.add_array("t.ints", [1, 2, 3])
    writer.add_array("t.floats", [0.5, -2.0])
    writer.add_array("t.switches", [True, False, True])
    writer.add_array("t.texts", ["a", "", "längs"])
    writer.add_token_list([f"token {i} " + "x" * (i % 37) for i in range(MAX_ITEMS + 1)])
    writer.add_token_scores([0.25] * (MAX_ITEMS + 1))
    writer.add_string("tokenizer.chat_template", "{{ x }}" * 5000)


@pytest.mark.parametrize("byte_order", [gguf.GGUFEndian.LITTLE, gguf.GGUFEndian.BIG])
def test_every_value_is_what_the_library_reads(tmp_path: Path, byte_order: gguf.GGUFEndian) -> None:
    path = tmp_path / "all.gguf"
    write(path, "llama", every_type, {"rope_freqs.weight": DIVISORS}, endianess=byte_order)
    header, library = read_header(path), gguf.GGUFReader(path)

    assert header.byte_order == byte_order.name.lower()
    assert header.version == 3
    assert header.architecture == "llama"
    fields = {key: field for key, field in library.fields.items() if not key.startswith("GGUF.")}
    assert list(header.metadata) == list(fields)
    for key, field in fields.items():
        expected = field.contents()
        value = header.metadata[key]
        if isinstance(value, Omitted):
            assert value.length == len(expected)
        else:
            assert value == expected, key
    assert header.metadata["tokenizer.ggml.tokens"] == Omitted("array", MAX_ITEMS + 1)
    assert header.metadata["tokenizer.ggml.scores"] == Omitted("array", MAX_ITEMS + 1)
    assert header.metadata["tokenizer.chat_template"] == Omitted("text", 35000)
    shapes = {tensor.name: tuple(tensor.shape.tolist()) for tensor in library.tensors}
    assert dict(header.tensors) == shapes
    assert header.divisors["rope_freqs.weight"] == tuple(
        float(value) for value in np.array(DIVISORS, dtype=np.float32)
    )


def test_bytes_read_like_a_file(tmp_path: Path) -> None:
    path = write(tmp_path / "a.gguf", "llama", every_type, {"rope_freqs.weight": DIVISORS})
    assert read_header(path.read_bytes()) == read_header(path)


def test_an_alignment_of_its_own_moves_the_tensors(tmp_path: Path) -> None:
    def fill(writer: gguf.GGUFWriter) -> None:
        writer.add_custom_alignment(4096)

    path = write(tmp_path / "a.gguf", "llama", fill, {"rope_freqs.weight": [1.0, 2.0, 4.0]})
    assert read_header(path).divisors == {"rope_freqs.weight": (1.0, 2.0, 4.0)}


def test_only_rotary_tensors_are_read(tmp_path: Path) -> None:
    tensors = {"rope_freqs.weight": [1.0, 8.0], "blk.0.attn_norm.weight": [float("nan")] * 4}
    header = read_header(write(tmp_path / "a.gguf", "llama", None, tensors))
    assert header.divisors == {"rope_freqs.weight": (1.0, 8.0)}
    assert header.tensors["token_embd.weight"] == (8, 4)


def test_the_library_is_loaded_only_when_a_file_is_read() -> None:
    code = "import sys, posviz.configs.gguf; print('gguf' in sys.modules)"
    output = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert output.stdout.strip() == "False"


def test_gguf_is_told_by_its_first_four_bytes(tmp_path: Path) -> None:
    path = write(tmp_path / "model.bin", "llama")
    other = tmp_path / "model.gguf"
    other.write_text("{}", encoding="utf-8")
    assert is_gguf(path)
    assert is_gguf(path.read_bytes()[:4])
    assert not is_gguf(other)
    assert not is_gguf(b"GGU")
    assert not is_gguf(tmp_path)
    assert not is_gguf(tmp_path / "missing.gguf")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "missing.gguf"
    with pytest.raises(ConfigError) as caught:
        read_header(path)
    assert str(caught.value) == f"The file {path} cannot be read: No such file or directory."
