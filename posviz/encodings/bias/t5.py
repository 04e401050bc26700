"""The relative position bias of T5: one learned number per bucket of distances."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Gt, Le

from posviz.encodings.base import Source
from posviz.encodings.bias import BiasEncoding, looked_up
from posviz.encodings.buckets import t5_bucket
from posviz.encodings.learned_parts import LearnedParts, NumpyParts
from posviz.parameters import Parameter, ParameterError
from posviz.results import Array, AttentionBias, Staircase, ToeplitzBias, frozen


class T5(LearnedParts, BiasEncoding):
    """A number per head and bucket: near distances have a bucket each, far ones share by the log.

    ``relative_attention_bias.weight`` is (buckets, heads), as in the released models.
    """

    title: ClassVar[str] = "T5 bias"
    year: ClassVar[int] = 2019
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="Exploring the Limits of Transfer Learning with a Unified Text-to-Text "
            "Transformer",
            authors="Raffel et al.",
            year=2019,
            arxiv="1910.10683",
            place="section 2.1",
            code="transformers 5.24.0 (T5, MPNet, WavLM); torchscale 0.3.0; x-transformers 2.31.10",
        ),
    )
    formula: ClassVar[str] = (
        r"B_h(\delta) = \beta_h[\mathrm{bucket}(-\delta)],\quad \mathrm{bucket} = |\delta| "
        r"\text{ below } e = \lfloor N_s/2 \rfloor,\text{ else } \min\!\left(N_s - 1,\; e + "
        r"\left\lfloor \frac{\ln(|\delta|/e)}{\ln(M/e)} (N_s - e) \right\rfloor\right)"
    )
    shows: ClassVar[str] = (
        "The staircase: a bucket for each near distance, then steps that widen; in an encoder they "
        "double every two buckets, and both directions have buckets of their own."
    )
    limits: ClassVar[str] = (
        "The numbers are a random start, not a trained model's, so only the steps and bands mean "
        "something here. WavLM's gate, which scales the bias by content, is left out."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that attention always divides q·k by √D before a bias is added. T5 does "
        "not divide; MPNet, WavLM, torchscale and x-transformers, which took its buckets, do.",
        "You may have read that bucket 0, the token itself, has no bias. It is learned like any "
        "other; in a decoder the masked keys after the query would share it.",
        "You may have read that 32 buckets reach 128 tokens in each direction. In an encoder each "
        "direction has 16 of them, and its last bucket starts at 91; in a decoder at 113.",
    )
    used_in: ClassVar[tuple[str, ...]] = ("T5", "mT5", "Flan-T5", "MPNet", "WavLM")
    snippet: ClassVar[str] = """
import numpy as np
positions = np.arange(16.0)
N, M, H, both = $num_buckets, $max_distance, $heads, $bidirectional
beta = np.random.default_rng($seed).normal(0, 512**-0.5, (N, H))
ahead = (positions[None, :] - positions[:, None]).astype(int)
side = N // 2 if both else N
e = side // 2
far = np.abs(ahead) if both else np.maximum(-ahead, 0)
ratio = np.log(np.maximum(far, e).astype(np.float32) / np.float32(e))
steps = (ratio / np.float32(np.log(M / e)) * np.float32(side - e)).astype(int)
bucket = np.where(far < e, far, np.minimum(e + steps, side - 1))
bucket = bucket + (side * (ahead > 0) if both else 0)
matrix = $scale * np.moveaxis(beta[bucket], -1, 0)
"""
    snippet_gives: ClassVar[str] = "matrix"

    num_buckets: Annotated[
        int,
        Ge(2),
        Le(4096),
        Parameter(
            help="Number of buckets, of both directions together.",
            symbol="N",
            slider=(4, 320),
            step=2,
        ),
    ] = 32
    max_distance: Annotated[
        int,
        Ge(2),
        Le(1 << 20),
        Parameter(
            help="All distances from here on share the last bucket, which starts a little before.",
            symbol="M",
            unit="tokens",
            slider=(16, 1024),
            step=1,
        ),
    ] = 128
    bidirectional: Annotated[
        bool,
        Parameter(
            help="Encoder: half of the buckets are for keys after the query. Decoder: all are for "
            "keys before it, and later keys are masked."
        ),
    ] = True
    scale: Annotated[
        float,
        Gt(0),
        Le(1000),
        Parameter(
            help="Factor on all numbers; x-transformers multiplies by √head_dim.",
            slider=(0.5, 16),
            scale="log",
        ),
    ] = 1.0
    divides_logits: Annotated[
        bool,
        Parameter(help="Whether q·k is divided by √head_dim before the bias is added."),
    ] = False
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        name: dict(
            zip(
                ("bidirectional", "num_buckets", "max_distance", "scale", "divides_logits"),
                values,
                strict=True,
            )
        )
        for name, values in {
            "T5 encoder": (True, 32, 128, 1.0, False),
            "T5 decoder": (False, 32, 128, 1.0, False),
            "MPNet, torchscale": (True, 32, 128, 1.0, True),
            "WavLM": (True, 320, 800, 1.0, True),
            "x-transformers decoder (head_dim 64)": (False, 32, 128, 8.0, True),
        }.items()
    }

    def suited(self, length: int, longest: int) -> dict[str, Any]:
        return {
            **super().suited(length, longest),
            "num_buckets": min(32, length // 2),
            "max_distance": length // 2,
            "bidirectional": False,
        }

    def check_rules(self) -> None:
        super().check_rules()
        if self.bidirectional and self.num_buckets < 4:
            raise ParameterError(
                f"{self.title}: num_buckets must be at least 4 while bidirectional is true; "
                f"got {self.num_buckets}."
            )
        exact = (self.num_buckets // 2 if self.bidirectional else self.num_buckets) // 2
        if self.max_distance <= exact:
            raise ParameterError(
                f"{self.title}: max_distance must be above {exact}, the distances that have a "
                f"bucket each with num_buckets {self.num_buckets}; got {self.max_distance}."
            )

    @property
    def is_causal_only(self) -> bool:
        return not self.bidirectional

    def initial(self, rng: np.random.Generator) -> NumpyParts:
        """Normal with deviation 1/√512, T5-small's width, as transformers draws it."""
        weight = rng.normal(0, 512**-0.5, (self.num_buckets, self.heads))
        return {"relative_attention_bias.weight": weight}

    def buckets(self, distance: Array) -> Array:
        """Bucket of distances query - key, of any shape."""
        return t5_bucket(
            -distance,
            bidirectional=self.bidirectional,
            num_buckets=self.num_buckets,
            max_distance=self.max_distance,
        )

    def bias(self, distance: Array, parts: Mapping[str, Array]) -> Array:
        return self.scale * looked_up(
            parts["relative_attention_bias.weight"], self.buckets(distance)
        )

    def head_bias(self, parts: Mapping[str, Array]) -> Callable[[Array, int], Array] | None:
        # The last axis of every part are the heads.
        return lambda distance, head: self.bias(
            distance, {name: part[:, head : head + 1] for name, part in parts.items()}
        )[0]

    @property
    def row_divides(self) -> bool:
        return self.divides_logits

    def facts(self, result: AttentionBias, parts: Mapping[str, Array]) -> Mapping[str, Any]:
        assert isinstance(result, ToeplitzBias)
        buckets = frozen(self.buckets(result.distances))
        return {
            "divides_logits": self.divides_logits,
            "staircase": Staircase(distances=result.distances, buckets=buckets),
        }
