"""No positional encoding: what a causal mask alone gives."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from annotated_types import Gt, Le
from array_api_compat import array_namespace

from posviz.encodings.absolute import AbsoluteEncoding
from posviz.encodings.base import PLAIN, Source
from posviz.parameters import Parameter, ParameterError
from posviz.results import Array, LogitRow, ToeplitzBias, distances_of, frozen


class Nope(AbsoluteEncoding):
    """Nothing is added anywhere; token t (counted from 1) still sees t keys and not more."""

    title: ClassVar[str] = "NoPE"
    year: ClassVar[int] = 2022
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="Transformer Language Models without Positional Encodings Still Learn "
            "Positional Information",
            authors="Haviv et al.",
            year=2022,
            arxiv="2203.16634",
        ),
        Source(
            title="The Impact of Positional Encoding on Length Generalization in Transformers",
            authors="Kazemnejad et al.",
            year=2023,
            arxiv="2305.19466",
            place="theorem 1",
        ),
        Source(
            title="Latent Positional Information is in the Self-Attention Variance of Transformer "
            "Language Models Without Positional Embeddings",
            authors="Chi et al.",
            year=2023,
            arxiv="2305.13571",
        ),
    )
    formula: ClassVar[str] = (
        r"a_{tn} = \frac{1}{t},\quad \mathrm{Var}\Big(\frac{1}{t}\sum_{n \leq t} v_n\Big) = "
        r"\frac{\sigma^2}{t},\quad H_t = \ln t"
    )
    shows: ClassVar[str] = (
        "A head that weighs all visible keys alike gives each 1/t: a value that stands on the "
        "first token only makes t readable, and even without one the variance of the mean falls "
        "as 1/t."
    )
    limits: ClassVar[str] = (
        "What the mask offers at equal content, not what a trained model makes of it; without a "
        "causal mask nothing at all would tell positions apart."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that a model without positional encoding cannot know the order of its "
        "tokens. That holds without a mask; under a causal mask every token sees another number "
        "of keys.",
    )
    used_in: ClassVar[tuple[str, ...]] = ("Llama 4 (every fourth layer)", "SmolLM3 (every fourth)")
    snippet: ClassVar[str] = """
import numpy as np
positions = np.arange(16.0)
matrix = np.zeros((1, 16, 16))  # nothing is added to any logit
weight_on_first, variance_of_mean = 1 / (positions + 1), $variance / (positions + 1)
"""
    snippet_gives: ClassVar[str] = "matrix"
    picture: ClassVar[str] = "curves"

    variance: Annotated[
        float,
        Gt(0),
        Le(1e6),
        Parameter(
            help="Variance of the independent values that a causal mean is taken over.",
            symbol=r"\sigma^2",
            slider=(0.1, 10),
            scale="log",
        ),
    ] = 1.0

    def encode(self, positions: Any) -> ToeplitzBias:
        """A bias of 0, and what the causal mask makes of it.

        Parameters
        ----------
        positions : (positions,) tokens counted from 0; NumPy, torch, or a list of numbers.

        Returns
        -------
        ToeplitzBias of zeros for one head, with a curve each for the weight on the first token
        (1/t), the variance of a causal mean (σ²/t) and the entropy (ln t, nats), t = position + 1.

        Raises
        ------
        ParameterError : positions that are not finite numbers in one row, or below 0.
        """
        at = self.position_row(positions)
        xp = array_namespace(at)
        if at.shape[0] and float(xp.min(at)) < 0:
            raise ParameterError(
                f"{self.title}: positions must be at least 0, since a token sees itself and those "
                f"before it; got {float(xp.min(at)):g}."
            )
        seen = at + 1
        distances = distances_of(at)
        return ToeplitzBias(
            positions=frozen(xp.asarray(at, copy=True)),
            heads=1,
            is_causal_only=True,
            distances=frozen(distances),
            by_distance=frozen(xp.zeros_like(distances)[None, :]),
            curves={
                "weight on the first token": frozen(1 / seen),
                "variance of a causal mean": frozen(self.variance / seen),
                "entropy (nats)": frozen(xp.log(seen)),
            },
        )

    def logit_row(self, length: int, *, like: Array = PLAIN) -> LogitRow:
        return LogitRow(length=length)
