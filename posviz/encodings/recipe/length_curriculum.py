"""Training with lengths that grow, or that are mixed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Le
from array_api_compat import array_namespace

from posviz.encodings.base import Source
from posviz.encodings.learned_parts import Seed
from posviz.encodings.recipe import RecipeEncoding
from posviz.parameters import AcceptsList, Parameter, ParameterError
from posviz.results import Array, Schedule, device_of, frozen


class LengthCurriculum(RecipeEncoding):
    """The length of the training sequences at each step: one stage after the other, or mixed."""

    title: ClassVar[str] = "Length curriculum"
    year: ClassVar[int] = 2020
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="Shortformer: Better Language Modeling using Shorter Inputs",
            authors="Press, Smith, Lewis",
            year=2020,
            arxiv="2012.15832",
            place="section 4 (staged training)",
        ),
        Source(
            title="The Llama 3 Herd of Models",
            authors="Grattafiori et al.",
            year=2024,
            arxiv="2407.21783",
            place="section 3.4.2 (six stages; only the first and last length are printed)",
        ),
        Source(
            title="Llama-3 8B Gradient 4194K, model card",
            authors="Gradient",
            year=2024,
            place="progressive training details",
        ),
    )
    formula: ClassVar[str] = r"w(\tau) = L_{\lfloor \tau / T \rfloor}"
    shows: ClassVar[str] = (
        "The timeline: most steps are cheap and short, and the long stages come last, when only "
        "far distances are left to learn."
    )
    limits: ClassVar[str] = (
        "A recipe, not a formula of positions: what a stage teaches depends on the data and on how "
        "the base or the scaling of RoPE is changed along with it."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read a list of Llama 3.1's stages. Its report gives their number, six, and "
        "the first and last length, 8K and 128K, but not the lengths between.",
    )
    used_in: ClassVar[tuple[str, ...]] = ("Llama 3.1", "Llama-3 8B Gradient 4194K")
    snippet: ClassVar[str] = """
import numpy as np
positions = np.arange(0, 3000, 100.0)
stages, T = np.array($stages), $steps_per_stage
step = np.floor(positions).astype(int)
if $order == "growing":
    stage = np.minimum(step // T, len(stages) - 1)
else:
    drawn = np.random.default_rng($seed).integers(len(stages), size=len(stages) * T)
    stage = drawn[step % len(drawn)]
window = stages[stage]
"""
    snippet_gives: ClassVar[str] = "window"

    stages: Annotated[
        tuple[Annotated[float, Ge(1), Le(1e9)], ...],
        AcceptsList,
        Parameter(help="Length of the training sequences in each stage.", symbol="L"),
    ] = (8192.0, 65536.0, 524288.0)
    steps_per_stage: Annotated[
        int,
        Ge(1),
        Le(1_000_000),
        Parameter(
            help="Training steps of each stage; the last stage goes on after its own.",
            symbol="T",
            unit="steps",
            slider=(100, 10_000),
            step=100,
        ),
    ] = 1000
    order: Annotated[
        Literal["growing", "mixed"],
        Parameter(
            help="growing: one stage after the other; mixed: each step draws one of the lengths, "
            "so that short ones are not forgotten."
        ),
    ] = "growing"
    seed: Seed = 0
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "8K, 64K, 512K": {"stages": (8192.0, 65536.0, 524288.0)},
        "Shortformer (WikiText-103)": {"stages": (128.0, 3072.0)},
        "Llama-3 8B Gradient 4194K": {
            "stages": (65536.0, 262144.0, 524288.0, 1048576.0, 4194304.0)
        },
    }

    def check_rules(self) -> None:
        super().check_rules()
        if not self.stages:
            raise ParameterError(
                f"{self.title}: stages must hold at least one length, of steps_per_stage steps; "
                "got none."
            )

    def example_positions(self, count: int) -> Array:
        """Evenly over all stages."""
        total = len(self.stages) * self.steps_per_stage
        return np.floor(np.arange(float(count)) * total / max(1, count))

    def encode(self, positions: Any) -> Schedule:
        """The recipe at some training steps.

        Parameters
        ----------
        positions : (positions,) training steps from 0; NumPy, torch, or a list of numbers.

        Returns
        -------
        Schedule whose curve ``window`` is the length of the sequences, in tokens.

        Raises
        ------
        ParameterError : steps that are not finite numbers in one row, or below 0.
        """
        at = self.position_row(positions)
        xp = array_namespace(at)
        if at.shape[0] and float(xp.min(at)) < 0:
            raise ParameterError(
                f"{self.title}: training steps must be at least 0; got {float(xp.min(at))}."
            )
        lengths = xp.asarray(self.stages, dtype=at.dtype, device=device_of(at))
        window = frozen(xp.take(lengths, self.stage(at), axis=0))
        steps = frozen(xp.asarray(at, copy=True))
        return Schedule(positions=steps, curves={"window": window})

    def stage(self, steps: Array) -> Array:
        """Index of the stage at each step; mixed lengths repeat after as many steps as all have."""
        xp = array_namespace(steps)
        count = len(self.stages)
        step = xp.astype(xp.floor(steps), xp.int64)
        if self.order == "growing":
            return xp.clip(step // self.steps_per_stage, 0, count - 1)
        rng = np.random.default_rng(self.seed)
        drawn = rng.integers(count, size=count * self.steps_per_stage)
        draws = xp.asarray(drawn, dtype=xp.int64, device=device_of(steps))
        return xp.take(draws, step % draws.shape[0], axis=0)
