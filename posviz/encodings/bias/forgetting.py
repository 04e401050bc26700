"""Forgetting attention: ALiBi whose slope each token decides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Le
from array_api_compat import array_namespace

from posviz.encodings.base import PLAIN, Source
from posviz.encodings.bias import BiasEncoding
from posviz.encodings.fire_rule import linear_start
from posviz.encodings.learned_parts import LearnedParts, NumpyParts
from posviz.parameters import Parameter, ParameterError
from posviz.results import Array, AttentionBias, LogitRow, MatrixBias, device_of, frozen


class Forgetting(LearnedParts, BiasEncoding):
    """The sum of the logarithms of forget gates between key and query; a gate is σ(w·x + b).

    It reads the layer's input x rather than queries and keys, so :meth:`encode` takes ``inputs``.
    """

    title: ClassVar[str] = "Forgetting attention (data-dependent ALiBi)"
    year: ClassVar[int] = 2025
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="Forgetting Transformer: Softmax Attention with a Forget Gate",
            authors="Lin, Nikishin, He, Courville",
            year=2025,
            arxiv="2503.02130",
            place="section 3",
            code="x-transformers 2.31.10, DataDependentAlibi",
        ),
    )
    formula: ClassVar[str] = (
        r"B_h(m, n) = \sum_{t=n+1}^{m} \ln f_{h,t},\quad f_{h,t} = \sigma(w_h \cdot x_t + b_h)"
    )
    shows: ClassVar[str] = (
        "Steps in the matrix where a token closes its gate: everything before it is pushed away "
        "for all later queries. With all gates alike it is ALiBi with the slope -ln f."
    )
    limits: ClassVar[str] = (
        "The inputs are drawn and the gates are a start that hardly forgets; which tokens a "
        "trained model forgets at is not to be seen here."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that such a model has no positional encoding. The gates are one: each "
        "factor below 1 tells how many tokens lie between, as ALiBi does.",
    )
    most_positions: ClassVar[int] = 1024
    snippet: ClassVar[str] = """
import numpy as np
positions = np.arange(16.0)
H, d = $heads, $model_dim
x = np.random.default_rng([$seed, 1]).standard_normal((len(positions), d))
weight = np.random.default_rng($seed).uniform(-(d**-0.5), d**-0.5, (H, d))
log_gates = -np.log1p(np.exp(-(x @ weight.T + $initial_gate)))
total = np.cumsum(log_gates, axis=0).T
matrix = total[:, :, None] - total[:, None, :]
"""
    snippet_gives: ClassVar[str] = "matrix"

    model_dim: Annotated[
        int,
        Ge(1),
        Le(8192),
        Parameter(
            help="Size of the layer's input.",
            symbol="d",
            unit="dimensions",
            slider=(8, 512),
            step=8,
        ),
    ] = 64
    initial_gate: Annotated[
        float,
        Ge(-50),
        Le(50),
        Parameter(
            help="Start of the gates' b: a gate of σ(5) keeps 99.3 % per token.",
            symbol="b",
            slider=(-5, 10),
        ),
    ] = 5.0

    @property
    def is_toeplitz(self) -> bool:
        return False

    @property
    def is_causal_only(self) -> bool:
        return True

    def initial(self, rng: np.random.Generator) -> NumpyParts:
        started = linear_start(rng, "to_forget_gates.0", self.model_dim, self.heads)
        return started | {"to_forget_gates.0.bias": np.full(self.heads, self.initial_gate)}

    def encode(
        self,
        positions: Any,
        *,
        inputs: Any = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> MatrixBias:
        """The bias between all tokens of a sequence, whose order is that of the positions.

        Parameters
        ----------
        positions : (positions,) tokens; NumPy, torch, or a list of numbers.
        inputs : (positions, model_dim), the layer's input; by default drawn with ``seed``.
        parameters : weight and bias of the gates; by default the initialisation.

        Raises
        ------
        ParameterError : positions that are not finite numbers in one row; inputs or parameters of
            other shapes than the spec has.
        """
        at = self.position_row(positions)
        xp = array_namespace(at)
        if inputs is None:
            drawn = np.random.default_rng([self.seed, 1])
            made = drawn.standard_normal((at.shape[0], self.model_dim))
            inputs = xp.asarray(made, dtype=at.dtype, device=device_of(at))
        if tuple(inputs.shape) != (at.shape[0], self.model_dim):
            raise ParameterError(
                f"{self.title}: inputs must have the axes ({at.shape[0]} positions, "
                f"{self.model_dim} model dimensions); got {tuple(inputs.shape)}."
            )
        result = self.built(at, {**self.parts(parameters, at), "inputs": inputs})
        assert isinstance(result, MatrixBias)
        return result

    def log_gates(self, parts: Mapping[str, Array]) -> Array:
        """ln σ(w·x + b), written so that no exponential overflows: (heads, positions)."""
        xp = array_namespace(parts["inputs"])
        weight = xp.matrix_transpose(parts["to_forget_gates.0.weight"])
        opened = xp.matmul(parts["inputs"], weight) + parts["to_forget_gates.0.bias"]
        closing = xp.where(opened < 0, opened, xp.zeros_like(opened))
        return xp.matrix_transpose(closing - xp.log1p(xp.exp(-xp.abs(opened))))

    def matrix(self, query: Array, key: Array, parts: Mapping[str, Array]) -> Array:
        total = array_namespace(query).cumulative_sum(self.log_gates(parts), axis=1)
        return total[:, :, None] - total[:, None, :]

    def facts(self, result: AttentionBias, parts: Mapping[str, Array]) -> Mapping[str, Any]:
        gates = array_namespace(result.positions).exp(self.log_gates(parts))
        named = {f"gate of head {h + 1}": frozen(gates[h, :]) for h in range(self.heads)}
        return {"curves": named}

    def logit_row(self, length: int, *, like: Array = PLAIN) -> LogitRow | None:
        # Its numbers are those of the tokens between, which a distance alone does not name.
        return None
