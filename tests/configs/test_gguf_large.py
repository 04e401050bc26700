"""A file of 40 GB with a large vocabulary opens in under a second, in little memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import gguf

from tests.configs.gguf_files import llama3_divisors, sizes, write

_OPEN = """
import json, sys, time
from pathlib import Path
from posviz.configs.gguf import read_gguf
seconds = []
for _ in range(3):
    started = time.perf_counter()
    found = read_gguf(Path(sys.argv[1]))
    seconds.append(time.perf_counter() - started)
# ru_maxrss would count the process that started this one, too.
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
memory = int(peak.split()[1]) / 1024
print(json.dumps({"seconds": seconds, "memory": memory, "rope": found.config["rope_parameters"]}))
"""


def test_forty_gigabytes_open_in_under_a_second(tmp_path: Path) -> None:
    def fill(writer: gguf.GGUFWriter) -> None:
        sizes(writer, width=4096, heads=32, window=131072, base=500000.0, rotated=128)
        writer.add_token_list([f"token{index}" for index in range(150_000)])
        writer.add_token_scores([0.0] * 150_000)
        writer.add_token_types([1] * 150_000)
        writer.add_token_merges([f"left{index} right{index}" for index in range(280_000)])

    divisors = {"rope_freqs.weight": llama3_divisors(128, 500000.0, 8, 8192)}
    path = write(tmp_path / "large.gguf", "llama", fill, divisors)
    os.truncate(path, 40 << 30)  # a sparse file: the weights take no space on the disk
    command = [sys.executable, "-c", _OPEN, str(path)]
    output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
    measured = json.loads(output)
    assert measured["rope"]["rope_type"] == "llama3"
    assert min(measured["seconds"]) < 1
    assert measured["memory"] < 200  # MB, of the whole process
