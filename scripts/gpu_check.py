"""Compare the kernels on CUDA, in under three minutes, and write what was measured.

Writes ``benchmarks/gpu/<device>.json``: device, versions, times, memory and errors. Without a GPU
it says so and ends well. The code is that of the page. Run: ``python scripts/gpu_check.py``;
``--cpu`` makes a small comparison on the CPU instead, to try the script itself.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks" / "gpu"
NO_GPU = "No CUDA GPU is at hand on this machine, so nothing was measured."
ALL_SECONDS = 160.0
"""For all comparisons together; three minutes less the start of torch and CUDA."""
CUDA_RUNS = (
    ("rope?head_dim=128", "bfloat16", 16384),
    ("alibi", "bfloat16", 16384),
    ("sliding_window?window=1024", "bfloat16", 16384),
    ("rope?head_dim=128", "float32", 4096),
    ("t5", "float16", 4096),
    ("rerope?head_dim=64", "float32", 2048),
)
CPU_RUNS = (("rope?head_dim=32", "float32", 256), ("alibi", "float32", 256))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cpu", action="store_true", help="a small comparison on the CPU")
    parser.add_argument("--output", type=Path, help="the file to write")
    given = parser.parse_args(arguments)
    import torch  # after --help, which needs none

    if not given.cpu and not torch.cuda.is_available():
        print(NO_GPU)
        return 0
    device = "cpu" if given.cpu else "cuda"
    return compare(device, given.output)


def compare(device: str, output: Path | None) -> int:
    """Run all comparisons; 1 where an error is beyond its tolerance, or a wrong encoding
    would stay within it."""
    from posviz.lab.kernels.records import write_runs
    from posviz.lab.kernels.run import measure

    plans = CUDA_RUNS if device == "cuda" else CPU_RUNS
    begun, runs = time.monotonic(), []
    for number, (link, dtype, longest) in enumerate(plans):
        left = ALL_SECONDS - (time.monotonic() - begun)
        print(f"{link}, {dtype}, up to {longest:,} tokens", flush=True)
        run = measure(
            lambda progress: None,
            link=link,
            dtype=dtype,
            device=device,
            shortest=longest if device == "cpu" else 1024,
            longest=longest,
            # What one leaves over goes to the next.
            most_seconds=max(1.0, left / (len(plans) - number)),
            most_memory=1.0 if device == "cpu" else 64.0,
            kernels="naive,naive_blocks,sdpa,sdpa_matrix" + ("" if device == "cpu" else ",flex"),
        )
        runs.append(run)
        _print(run)
    name = re.sub(r"[^a-z0-9]+", "_", runs[0].device.lower()).strip("_")
    path = output or FOLDER / f"{name}.json"
    write_runs(path, runs, "python scripts/gpu_check.py" + (" --cpu" if device == "cpu" else ""))
    points = [point for run in runs for point in run.points]
    wrong = [point for point in points if point.is_within is False]
    blind = [point for point in points if point.control is not None and point.control <= 1]
    print(
        f"{len(wrong)} points are beyond their tolerance, and at {len(blind)} an encoding left out "
        f"would not be seen; written to {path}"
    )
    return int(bool(wrong or blind))


def _print(run) -> None:
    for point in run.points:
        if point.refused:
            print(f"  {point.kernel:13} {point.length:7,}  {point.refused}")
            continue
        memory = "-" if point.peak_bytes is None else f"{point.peak_bytes / 2**20:.1f}"
        error = "-" if point.error is None else f"{point.error:.1e} of {point.tolerance:.1e}"
        error += "" if point.control is None else f", encoding left out {point.control:.0f} times"
        print(
            f"  {point.kernel:13} {point.length:7,}  {1000 * point.seconds:9.3f} ms  "
            f"{memory:>9} MiB  error {error}"
        )


if __name__ == "__main__":
    sys.exit(main())
