"""Broken and hostile GGUF files: one clear sentence each, at once and in little memory."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posviz import configs
from posviz.configs import ConfigError
from posviz.configs.gguf import Header, config_of, read_gguf, read_header
from tests.configs.gguf_files import llama3_divisors, sizes, write

U8, U32, F32, BOOL, STRING, ARRAY = 0, 4, 6, 7, 8, 9


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(data)) + data


def entry(key: str | bytes, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


def tensor(name: str, shape: tuple[int, ...], kind: int = 0, offset: int = 0) -> bytes:
    dims = struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
    return text(name) + dims + struct.pack("<IQ", kind, offset)


def file(*parts: bytes, keys: int, tensors: int = 0, version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, tensors, keys) + b"".join(parts)


LLAMA = entry("general.architecture", STRING, text("llama"))

BROKEN: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "it is empty"),
    "other magic": (b"PK\x03\x04" + bytes(60), "it starts with b'PK\\x03\\x04' instead of b'GGUF'"),
    "json": (b'{"model_type": "llama"}', "it starts with b'{\"mo' instead of b'GGUF'"),
    "half a magic": (b"GG", "it ends inside its header, after 2 bytes"),
    "magic only": (b"GGUF", "it ends inside its header, after 4 bytes"),
    "version 1": (
        file(LLAMA, keys=1, version=1),
        "its version is 1; versions 2 and 3 can be read",
    ),
    "version 4": (
        file(LLAMA, keys=1, version=4),
        "its version is 4; versions 2 and 3 can be read",
    ),
    "version 0": (
        file(LLAMA, keys=1, version=0),
        "its version is 0; versions 2 and 3 can be read",
    ),
    "2^60 keys": (
        file(LLAMA, keys=1 << 60),
        "it claims 1152921504606846976 metadata keys; at most 100000 are read",
    ),
    "2^60 tensors": (
        file(LLAMA, keys=1, tensors=1 << 60),
        "it claims 1152921504606846976 tensors; at most 100000 are read",
    ),
    "text longer than the file": (
        file(entry("a", STRING, struct.pack("<Q", 1 << 60)), keys=1),
        "it ends inside its header, after 45 bytes",
    ),
    "key of 4 GB": (
        file(struct.pack("<Q", 1 << 32), keys=1),
        "the name of metadata key 1 is 4294967296 bytes long; at most 65535 are allowed",
    ),
    "array longer than the file": (
        file(entry("a", ARRAY, struct.pack("<IQ", F32, 1 << 60)), keys=1),
        "it ends inside its header, after 49 bytes",
    ),
    "texts longer than the file": (
        file(entry("a", ARRAY, struct.pack("<IQ", STRING, 1 << 60)), keys=1),
        "it ends inside its header, after 49 bytes",
    ),
    "one of many texts longer than the file": (
        file(
            entry("a", ARRAY, struct.pack("<IQ", STRING, 5000)),
            struct.pack("<Q", 1 << 63) + bytes(8 * 5000),
            keys=1,
        ),
        "it ends inside its header, after 40057 bytes",
    ),
    "array of arrays": (
        file(entry("a", ARRAY, struct.pack("<IQ", ARRAY, 1)), bytes(64), keys=1),
        "'a' is an array of arrays, which GGUF does not allow",
    ),
    "unknown type": (
        file(entry("a", 99, bytes(8)), keys=1),
        "'a' has the unknown value type 99",
    ),
    "unknown type in an array": (
        file(entry("a", ARRAY, struct.pack("<IQ", 13, 1)), bytes(8), keys=1),
        "'a' has the unknown value type 13",
    ),
    "key that is no UTF-8": (
        file(entry(b"\xff\xfe", U32, bytes(4)), keys=1),
        "the name of metadata key 1 is not UTF-8",
    ),
    "tensor name that is no UTF-8": (
        file(LLAMA, struct.pack("<Q", 1), b"\xff", bytes(32), keys=1, tensors=1),
        "the name of tensor 1 is not UTF-8",
    ),
    "key twice": (
        file(LLAMA, LLAMA, keys=2),
        "the key 'general.architecture' stands in it twice",
    ),
    "tensor twice": (
        file(LLAMA, tensor("a", (1,)), tensor("a", (1,)), keys=1, tensors=2),
        "the tensor 'a' stands in it twice",
    ),
    "five dimensions": (
        file(LLAMA, tensor("a", (1, 1, 1, 1, 1)), keys=1, tensors=1),
        "the tensor 'a' has 5 dimensions; at most 4 are allowed",
    ),
    "2^31 dimensions": (
        file(LLAMA, text("a"), struct.pack("<I", 1 << 31), bytes(64), keys=1, tensors=1),
        "the tensor 'a' has 2147483648 dimensions; at most 4 are allowed",
    ),
    "divisors past the end": (
        file(LLAMA, tensor("rope_freqs.weight", (64,), offset=1 << 60), keys=1, tensors=1),
        "the tensor rope_freqs.weight would end at byte 1152921504606847360, past the end of the "
        "file at byte 118",
    ),
    "divisors cut off": (
        file(LLAMA, tensor("rope_freqs.weight", (64,)), bytes(265), keys=1, tensors=1),
        "the tensor rope_freqs.weight would end at byte 384, past the end of the file at byte 383",
    ),
    "too many divisors": (
        file(LLAMA, tensor("rope_freqs.weight", (1 << 62,)), keys=1, tensors=1),
        "the tensor rope_freqs.weight must be one list of at most 8192 numbers; its shape is "
        "[4611686018427387904]",
    ),
    "divisors in a matrix": (
        file(LLAMA, tensor("rope_freqs.weight", (8, 8)), keys=1, tensors=1),
        "the tensor rope_freqs.weight must be one list of at most 8192 numbers; its shape is "
        "[8, 8]",
    ),
    "divisors in F16": (
        file(LLAMA, tensor("rope_freqs.weight", (8,), kind=1), bytes(64), keys=1, tensors=1),
        "the tensor rope_freqs.weight must be F32; its type number is 1",
    ),
    "divisors of 0": (
        file(LLAMA, tensor("rope_freqs.weight", (8,)), bytes(96), keys=1, tensors=1),
        "the tensor rope_freqs.weight must hold finite numbers above 0",
    ),
    "odd alignment": (
        file(
            LLAMA,
            entry("general.alignment", U32, struct.pack("<I", 48)),
            tensor("rope_freqs.weight", (8,)),
            bytes(96),
            keys=2,
            tensors=1,
        ),
        "general.alignment must be a power of two; got 48",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_header_gives_one_sentence(name: str) -> None:
    content, reason = BROKEN[name]
    with pytest.raises(ConfigError) as caught:
        read_header(content)
    assert str(caught.value) == f"This file cannot be read as GGUF: {reason}."


@cache
def sample() -> bytes:
    def fill(writer: object) -> None:
        sizes(writer, width=64, heads=2, window=131072, base=500000.0, rotated=32)  # type: ignore[arg-type]

    with TemporaryDirectory() as folder:
        divisors = {"rope_freqs.weight": llama3_divisors(32, 500000.0, 8, 8192)}
        return write(Path(folder) / "a.gguf", "llama", fill, divisors).read_bytes()


def all_the_way(content: bytes) -> Header | None:
    """Read as far as it goes: header, configuration, model; None when there is no header."""
    header, sentence = None, ""
    try:
        header = read_header(content)
        configs.read(config_of(header).config)
    except ConfigError as error:
        sentence = str(error)
    if header is None:
        assert sentence.startswith("This file cannot be read as GGUF: ")
        assert sentence.endswith(".")
    return header


def test_a_file_cut_anywhere_gives_a_sentence_or_the_whole_header() -> None:
    content = sample()
    whole = read_header(content)
    cut = {size: all_the_way(content[:size]) for size in range(len(content) + 1)}
    read = [size for size, header in cut.items() if header is not None]
    assert all(cut[size] == whole for size in read)
    # The divisors come first among the tensors; the weights behind them are not needed.
    start = min(read)
    assert read == list(range(start, len(content) + 1))
    assert len(content) - start < 4 * 8 * 4 + 32


@given(st.data())
def test_changed_bytes_give_a_sentence_or_a_header(data: st.DataObject) -> None:
    content = bytearray(sample())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] = data.draw(
            st.sampled_from([0, 1, 8, 9, 127, 128, 255]) | st.integers(0, 255)
        )
    all_the_way(bytes(content))


_VALUES = st.one_of(
    st.integers(0, 255).map(lambda v: (U8, struct.pack("<B", v))),
    st.sampled_from([0, 1, 2, 3, 64, 2**31, 2**32 - 1]).map(lambda v: (U32, struct.pack("<I", v))),
    st.floats(width=32).map(lambda v: (F32, struct.pack("<f", v))),
    st.booleans().map(lambda v: (BOOL, struct.pack("<?", v))),
    st.sampled_from(["yarn", "linear", "none", "longrope", "dynamic", "", "\x00"]).map(
        lambda v: (STRING, text(v))
    ),
    st.lists(st.integers(0, 2**32 - 1), max_size=5).map(
        lambda v: (ARRAY, struct.pack(f"<IQ{len(v)}I", U32, len(v), *v))
    ),
    st.lists(st.text(max_size=3), max_size=3).map(
        lambda v: (ARRAY, struct.pack("<IQ", STRING, len(v)) + b"".join(text(i) for i in v))
    ),
    st.floats().map(lambda v: (12, struct.pack("<d", v))),
    st.integers(0, 2**64 - 1).map(lambda v: (10, struct.pack("<Q", v))),
)
_KEYS = (
    "context_length",
    "embedding_length",
    "block_count",
    "attention.head_count",
    "attention.head_count_kv",
    "attention.key_length",
    "attention.key_length_mla",
    "attention.key_length_swa",
    "attention.kv_lora_rank",
    "attention.sliding_window",
    "attention.sliding_window_pattern",
    "attention.max_alibi_bias",
    "rope.dimension_count",
    "rope.dimension_count_swa",
    "rope.dimension_sections",
    "rope.freq_base",
    "rope.freq_base_swa",
    "rope.scale_linear",
    "rope.scaling.type",
    "rope.scaling.factor",
    "rope.scaling.alpha",
    "rope.scaling.attn_factor",
    "rope.scaling.original_context_length",
    "rope.scaling.finetuned",
    "rope.scaling.yarn_log_multiplier",
    "rope.scaling.yarn_ext_factor",
    "rope.scaling.yarn_attn_factor",
    "rope.scaling.yarn_beta_fast",
    "rope.scaling.yarn_beta_slow",
)
_ARCHITECTURES = ("llama", "phi3", "gemma3", "gemma4", "deepseek2", "gpt-oss", "mistral4", "bloom")
_DIVISORS = st.lists(
    st.sampled_from([1.0, 1.0, 8.0, 3.5, 1e30, 1e-30, 3.4e38]), min_size=1, max_size=4
)


@given(
    st.sampled_from(_ARCHITECTURES),
    st.dictionaries(st.sampled_from(_KEYS), _VALUES),
    st.dictionaries(
        st.sampled_from(["rope_freqs", "rope_factors_long", "rope_factors_short"]), _DIVISORS
    ),
)
def test_any_values_under_the_keys_that_are_read_give_a_sentence_or_a_model(
    architecture: str, values: dict[str, tuple[int, bytes]], tensors: dict[str, list[float]]
) -> None:
    entries = [entry(f"{architecture}.{key}", *value) for key, value in values.items()]
    name = entry("general.architecture", STRING, text(architecture))
    infos = [
        tensor(f"{key}.weight", (len(items),), offset=32 * i)
        for i, (key, items) in enumerate(tensors.items())
    ]
    front = file(name, *entries, *infos, keys=1 + len(entries), tensors=len(infos))
    front += bytes(-len(front) % 32)
    data = b"".join(
        struct.pack(f"<{len(items)}f", *items).ljust(32, b"\0") for items in tensors.values()
    )
    header = all_the_way(front + data)
    assert header is not None
    assert len(header.metadata) == 1 + len(values)


def test_folders_and_pipes_are_refused_without_waiting(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.gguf"
    os.mkfifo(pipe)
    for path in (tmp_path, pipe, Path("/dev/zero")):
        with pytest.raises(ConfigError) as caught:
            read_header(path)
        sentence = f"The file {path} cannot be read as GGUF: it is no regular file."
        assert str(caught.value) == sentence


def test_a_name_with_a_zero_character_is_refused() -> None:
    with pytest.raises(ConfigError, match="that is no name of a file"):
        read_gguf(Path("a\0b.gguf"))


_MEASURE = """
import sys, time
from pathlib import Path
from posviz.configs import ConfigError
from posviz.configs.gguf import read_gguf
started = time.process_time()
try:
    read_gguf(Path(sys.argv[1]))
    print("read")
except ConfigError as error:
    print(error)
print(time.process_time() - started)
# ru_maxrss would count the process that started this one, too.
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
print(int(peak.split()[1]) / 1024)
"""


def measure(path: Path) -> tuple[str, float, float]:
    """What reading it says, processor seconds, and the largest memory of the process in MB."""
    command = [sys.executable, "-c", _MEASURE, str(path)]
    output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
    sentence, seconds, memory = output.splitlines()
    return sentence, float(seconds), float(memory)


def many(count: int, kind: str) -> bytes:
    if kind == "keys":
        return file(LLAMA, *(entry(f"k{i:06}", U8, b"\1") for i in range(count - 1)), keys=count)
    infos = (tensor(f"t{i:06}", (1, 1, 1, 1)) for i in range(count))
    return file(LLAMA, *infos, keys=1, tensors=count)


HUGE: dict[str, tuple[bytes, str]] = {
    "as many keys as allowed": (many(100_000, "keys"), "read"),
    "as many tensors as allowed": (many(100_000, "tensors"), "read"),
    "texts without end": (
        file(entry("a", ARRAY, struct.pack("<IQ", STRING, 5_000_001)), keys=1),
        "its text arrays have more than 5,000,000 entries",
    ),
    "as many texts as allowed": (
        file(LLAMA, entry("a", ARRAY, struct.pack("<IQ", STRING, 5_000_000)), keys=2),
        "read",
    ),
    "a header without end": (
        file(LLAMA, entry("a", ARRAY, struct.pack("<IQ", F32, 1 << 30)), keys=2),
        "its header would be longer than 256 MB",
    ),
    "long keys": (
        file(*(entry(f"{i}".ljust(60_000, "k"), U8, b"\1") for i in range(400)), keys=400),
        "its metadata hold more than 16 MB beside the vocabulary",
    ),
    "many lists": (
        file(
            *(
                entry(f"k{i}", ARRAY, struct.pack("<IQ", U8, 4096) + bytes(4096))
                for i in range(400)
            ),
            keys=400,
        ),
        "its metadata hold more than 16 MB beside the vocabulary",
    ),
}


@pytest.mark.parametrize("name", HUGE)
def test_a_huge_header_costs_little_time_and_memory(name: str, tmp_path: Path) -> None:
    content, reason = HUGE[name]
    path = tmp_path / "huge.gguf"
    path.write_bytes(content)
    os.truncate(path, 40 << 30)  # zeros without end, which take no space on the disk
    sentence, seconds, memory = measure(path)
    assert reason in sentence
    assert seconds < 5
    assert memory < 200
