"""What the numbers of a training depend on beside its plan."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np
import torch


def facts() -> dict[str, Any]:
    """Versions, and the threads at this moment: to be asked where they are set."""
    return {
        "torch": str(torch.__version__),
        "numpy": np.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "threads": torch.get_num_threads(),
    }
