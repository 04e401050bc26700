"""Attention with an encoding through torch's kernels: naive, SDPA, FlexAttention.

``shape`` says what to run and ``records`` what comes out; neither imports torch. The rest does, and
only a worker process or a script imports it.
"""

from posviz.lab.kernels.records import KernelRun, Point, read_runs
from posviz.lab.kernels.shape import KERNELS, KernelPlan

__all__ = ["KERNELS", "KernelPlan", "KernelRun", "Point", "read_runs"]
