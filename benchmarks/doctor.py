"""The configuration doctor in one run: opening a large GGUF file, examining, mapping two costs.

Writes ``doctor.json`` and ``doctor.md`` beside this file. Each side of the GGUF comparison runs in
a process of its own, so that memory counts for it alone. Run: ``python benchmarks/doctor.py``.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import numpy as np

import posviz
from posviz import configs, measures
from posviz.docs.markdown import table

HERE = Path(__file__).parent
GIGABYTES = 40
TOKENS, MERGES = 150_000, 280_000

_TIMED = """
import json, sys, time
from pathlib import Path
{imports}
path = Path(sys.argv[1])
seconds = []
for _ in range(3):
    started = time.perf_counter()
    {call}
    seconds.append(time.perf_counter() - started)
# ru_maxrss would count the process that started this one, too.
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
print(json.dumps({{"seconds": min(seconds), "megabytes": int(peak.split()[1]) / 1024}}))
"""
SIDES = {
    "gguf.GGUFReader": ("import gguf", "gguf.GGUFReader(path)"),
    "PosViz": ("from posviz.configs.gguf import read_gguf", "read_gguf(path)"),
}


def large_file(folder: Path) -> Path:
    """Llama's metadata and a large vocabulary; the weights are a hole in the file."""
    path = folder / "large.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    for name, value in {
        "context_length": 131072,
        "embedding_length": 4096,
        "block_count": 32,
    }.items():
        writer.add_uint32(f"llama.{name}", value)
    writer.add_head_count(32)
    writer.add_rope_freq_base(500000.0)
    writer.add_token_list([f"token{index}" for index in range(TOKENS)])
    writer.add_token_merges([f"left{index} right{index}" for index in range(MERGES)])
    writer.add_tensor("rope_freqs.weight", np.ones(64, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    os.truncate(path, GIGABYTES << 30)
    return path


def opened(path: Path) -> dict[str, dict[str, float]]:
    found = {}
    for side, (imports, call) in SIDES.items():
        code = _TIMED.format(imports=imports, call=call)
        command = [sys.executable, "-c", code, str(path)]
        found[side] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return found


def milliseconds(call: Callable[[], object], times: int = 5) -> float:
    """The best of several runs, processor time."""
    best = float("inf")
    for _ in range(times):
        started = time.process_time()
        call()
        best = min(best, time.process_time() - started)
    return 1000 * best


def examined() -> dict[str, float]:
    """Every released model, with every runtime's view and with one."""
    found = {}
    for name, question in {"check": {}, "check for vLLM": {"runtime": "vllm"}}.items():
        times = [
            milliseconds(
                lambda preset=preset, question=question: configs.check(preset.config, **question), 3
            )
            for preset in configs.presets()
        ]
        found[name] = statistics.median(times)
        found[f"{name}, slowest"] = max(times)
    return found


def mapped() -> dict[str, float]:
    """The map of two costs against the existing measures, cell by cell."""
    spec = posviz.parse("yarn?scaling_factor=4&original_max_position_embeddings=32768&base=1000000")
    size = {"length": 131072, "trained_length": 32768}
    pad = measures.cost_pad(spec, ("beta_fast", "beta_slow"), **size)

    def one_by_one() -> None:
        for slow in pad.y:
            for fast in pad.x:
                if fast >= slow:
                    cell = spec.with_values(beta_fast=float(fast), beta_slow=float(slow))
                    measures.short_range_cost(cell, length=size["length"])
                    measures.spectrum(cell, **size)

    whole = milliseconds(lambda: measures.cost_pad(spec, ("beta_fast", "beta_slow"), **size))
    return {"map": whole, "cell by cell": milliseconds(one_by_one, 1)}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = opened(large_file(Path(folder)))
    checks, pad = examined(), mapped()
    stock, ours = files["gguf.GGUFReader"], files["PosViz"]
    ratios: list[dict[str, Any]] = [
        {
            "what": f"GGUF file of {GIGABYTES} GB, {TOKENS:,} tokens: gguf.GGUFReader / PosViz",
            "ratio": round(stock["seconds"] / ours["seconds"], 1),
            "asked": "–",
        },
        {"what": "seconds to open it", "ratio": round(ours["seconds"], 3), "asked": "below 1"},
        {
            "what": "MB of the whole process that opens it",
            "ratio": round(ours["megabytes"]),
            "asked": "at most 200",
        },
        {
            "what": "map of two costs over beta_fast × beta_slow: cell by cell / at once",
            "ratio": round(pad["cell by cell"] / pad["map"], 1),
            "asked": "–",
        },
    ]
    rows = [
        [f"{name}: open a GGUF file of {GIGABYTES} GB", f"{1000 * side['seconds']:.0f} ms, "
         f"{side['megabytes']:.0f} MB"]
        for name, side in files.items()
    ]  # fmt: skip
    rows += [[f"{name}, of {len(configs.presets())} released models (median unless said)",
              f"{value:.1f} ms"] for name, value in checks.items()]  # fmt: skip
    rows += [
        [f"two costs over 36 × 36 cells: {name}", f"{value:.0f} ms"] for name, value in pad.items()
    ]
    text = table(["measured", "result"], rows)
    machine = f"Machine: {platform.machine()}, {os.cpu_count()} cores; gguf {_version('gguf')}."
    (HERE / "doctor.json").write_text(json.dumps({"ratios": ratios}, indent=1) + "\n")
    (HERE / "doctor.md").write_text(f"{text}\n\n{machine}\n")
    print(text)


def _version(package: str) -> str:
    from importlib.metadata import version

    return version(package)


if __name__ == "__main__":
    main()
