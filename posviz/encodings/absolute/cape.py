"""CAPE (2021): positions that are shifted, jittered and stretched at random in training."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from annotated_types import Ge, Gt, Le
from array_api_compat import array_namespace

from posviz.encodings.base import Source
from posviz.encodings.drawn_positions import (
    WAVES_OF_USED,
    DrawnPositions,
    DrawSeed,
    PhaseField,
    in_kind,
)
from posviz.parameters import AcceptsList, Parameter, ParameterError
from posviz.results import Array, frozen


class Cape(DrawnPositions):
    """Token t of a training sequence gets the sinusoid of λ(t + Δ + ε_t).

    Δ and λ are drawn once for a sequence, ε once for each token. With a local shift of at most 1/2
    the order of the tokens is kept.
    """

    title: ClassVar[str] = "CAPE (Likhomanenko, 2021)"
    year: ClassVar[int] = 2021
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="CAPE: Encoding Relative Positions with Continuous Augmented Positional "
            "Embeddings",
            authors="Likhomanenko et al.",
            year=2021,
            arxiv="2106.03143",
            place="section 3.2",
            code="github.com/gcambara/cape at d456950, CAPE1d",
        ),
    )
    formula: ClassVar[str] = (
        r"t \mapsto \lambda\,(t + \Delta + \varepsilon_t),\quad \Delta \sim U(\pm\Delta_{\max}),\;"
        r"\varepsilon_t \sim U(\pm\varepsilon_{\max}),\; \ln\lambda \sim U(\pm\ln\lambda_{\max})"
    )
    shows: ClassVar[str] = (
        "The line of positions is moved, tilted and made uneven, anew for each sequence. Steps "
        "between neighbours vary, but none goes backwards while the local shift is at most 1/2."
    )
    limits: ClassVar[str] = (
        "One draw of one sequence. The rows at test time are plain sinusoids; what the noise "
        "teaches the model does not stand in them."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read of CAPE as an encoding that adapts to the context. That is another one "
        "with the same letters: Context-Adaptive Positional Encoding (Zheng et al., 2024, later "
        "DAPE) passes attention logits and a bias through a small network. This one is Continuous "
        "Augmented Positional Embeddings, which draws positions and learns nothing.",
    )
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "text": {"normalized": False, "freq_scale": 1.0},
        "normalised (mean 0, faster waves)": {"normalized": True, "freq_scale": 30.0},
    }
    snippet: ClassVar[str] = (
        """
import numpy as np
positions = np.arange(16.0)
d, b, layout, ladder, rng = $model_dim, $base, $layout, $ladder, np.random.default_rng($seed)
drawn = rng.uniform(-1, 1, 2) * ($max_global_shift, np.log($max_global_scaling))  # Δ and ln λ
shift, log = (x if y is None else y for x, y in zip(drawn, ($global_shift, $log_scale)))
jitter = $max_local_shift * rng.uniform(-1, 1, len(positions))  # ε
jitter = np.resize($local_shifts, len(positions)) if $local_shifts else jitter
used = positions - positions.mean() * $normalized
used = $freq_scale * ((used + shift + jitter) * np.exp(log) if $phase == "training" else used)
""".rstrip()
        + WAVES_OF_USED
    )
    snippet_gives: ClassVar[str] = "vectors"

    max_global_shift: Annotated[
        float,
        Ge(0),
        Le(1e6),
        Parameter(
            help="Largest shift of a whole sequence, in either direction.",
            symbol=r"\Delta_{\max}",
            unit="tokens",
            slider=(0, 50),
        ),
    ] = 5.0
    max_local_shift: Annotated[
        float,
        Ge(0),
        Le(1e6),
        Parameter(
            help="Largest shift of a single token, in either direction; above 1/2 neighbours may "
            "change places. The paper's recipe for text, ε = 1, spans twice this.",
            symbol=r"\varepsilon_{\max}",
            unit="tokens",
            slider=(0, 2),
        ),
    ] = 0.5
    max_global_scaling: Annotated[
        float,
        Ge(1),
        Le(1e3),
        Parameter(
            help="Largest stretch of a whole sequence, and one over its smallest.",
            symbol=r"\lambda_{\max}",
            slider=(1, 2),
        ),
    ] = 1.03
    normalized: Annotated[
        bool, Parameter(help="Whether the mean of the positions is taken off first.")
    ] = False
    freq_scale: Annotated[
        float,
        Gt(0),
        Le(1e4),
        Parameter(help="Factor on all frequencies.", slider=(0.5, 50), scale="log"),
    ] = 1.0
    phase: PhaseField = "training"
    seed: DrawSeed = 0
    global_shift: Annotated[
        float | None,
        Ge(-1e6),
        Le(1e6),
        Parameter(
            help="The shift of this sequence; left out, it is drawn with the seed.",
            symbol=r"\Delta",
            unit="tokens",
            slider=(-50, 50),
        ),
    ] = None
    local_shifts: Annotated[
        tuple[Annotated[float, Ge(-1e6), Le(1e6)], ...],
        AcceptsList,
        Parameter(
            help="The shifts of the tokens, repeated as far as the positions go; empty, they are "
            "drawn with the seed.",
            symbol=r"\varepsilon_t",
            unit="tokens",
        ),
    ] = ()
    log_scale: Annotated[
        float | None,
        Ge(-7),
        Le(7),
        Parameter(
            help="The logarithm of the stretch of this sequence; left out, it is drawn with the "
            "seed.",
            symbol=r"\ln\lambda",
            slider=(-0.7, 0.7),
        ),
    ] = None

    def at_test(self) -> Self:
        return self.with_values(phase="test")

    def check_rules(self) -> None:
        super().check_rules()
        of_all = [value for value in (self.global_shift,) if value is not None]
        of_scale = [value for value in (self.log_scale,) if value is not None]
        scaling = math.log(self.max_global_scaling)
        for name, given, limit, words in (
            ("global_shift", of_all, self.max_global_shift, "max_global_shift"),
            ("local_shifts", self.local_shifts, self.max_local_shift, "max_local_shift"),
            ("log_scale", of_scale, scaling, "the logarithm of max_global_scaling"),
        ):
            beyond = [value for value in given if abs(value) > limit]
            if beyond:
                raise ParameterError(
                    f"{self.title}: {name} must be at most {words} in either direction, which is "
                    f"{limit:.6g}; got {beyond[0]}."
                )

    def inv_freq(self, like: Array) -> Array:
        return super().inv_freq(like) * self.freq_scale

    def used(self, at: Array) -> Array:
        xp = array_namespace(at)
        if self.normalized and at.shape[0]:
            at = at - xp.mean(at)
        if self.phase == "test":
            return at
        rng, count = np.random.default_rng(self.seed), at.shape[0]
        # All three are drawn, so that giving one of them leaves the others as they were.
        shift, stretch = rng.uniform(-1, 1, 2) * (
            self.max_global_shift,
            math.log(self.max_global_scaling),
        )
        jitter = self.max_local_shift * rng.uniform(-1, 1, count)
        shift = shift if self.global_shift is None else self.global_shift
        stretch = stretch if self.log_scale is None else self.log_scale
        jitter = np.resize(self.local_shifts, count) if self.local_shifts else jitter
        return (at + float(shift) + in_kind(jitter, at)) * math.exp(stretch)

    def facts(self, at: Array, used: Array) -> Mapping[str, Any]:
        return {"curves": {"position used - position in the text": frozen(used - at)}}
