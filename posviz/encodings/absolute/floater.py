"""Positions as a path that a differential equation walks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Gt, Le
from array_api_compat import array_namespace

from posviz.encodings.absolute import AbsoluteEncoding, WaveBase
from posviz.encodings.base import Source
from posviz.encodings.learned_parts import LearnedParts, NumpyParts
from posviz.encodings.sinusoids import ModelDim, arranged, wave_frequencies
from posviz.parameters import Parameter, ParameterError
from posviz.results import Array, PositionTable, frozen

LONGEST = 16384
"""The path is walked token by token, so a far position takes long."""
Change = Callable[[Any, Array], Array]
"""dp/dt per token at (t, p): t a number or (rows, 1), p (rows, model_dim)."""


class Floater(LearnedParts, AbsoluteEncoding):
    """The vector of token t is where a learned flow has carried p(0) after t steps of time.

    Solved by the classical Runge-Kutta method of order 4 with a fixed number of steps a token.
    """

    title: ClassVar[str] = "FLOATER"
    year: ClassVar[int] = 2020
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="Learning to Encode Position for Transformer with Continuous Dynamical Model",
            authors="Liu, Yu, Dhillon, Hsieh",
            year=2020,
            arxiv="2003.09229",
            code="github.com/xuanqing94/FLOATER 6f9652f fairseq/modules/flow_funcs.py "
            "(flow_func_linear: its initialisation)",
        ),
    )
    formula: ClassVar[str] = r"p(t) = p(s) + \int_s^t h(\tau, p(\tau))\, \mathrm{d}\tau"
    shows: ClassVar[str] = (
        "A smooth path instead of a table: it has no last row and goes on for as long as it is "
        "walked. The linear flow turns in circles, which are the sinusoids."
    )
    limits: ClassVar[str] = (
        "The network is a random start, so the path shows what such flows can do and not what a "
        "trained one does; that the path goes on does not mean that a model can use it there."
    )
    snippet: ClassVar[str] = """
import numpy as np
positions = np.arange(16.0)
d, m, h, rng = $model_dim, $hidden, 1 / $steps, np.random.default_rng($seed)
w = $base ** (-np.arange(0, d, 2) / d)
W1, W2 = (rng.normal(0, (2 / sum(s)) ** 0.5, s) for s in ((m, d + 1), (d, m)))
def change(t, p):
    if $generator == "linear":
        return np.stack((w * p[1::2], -w * p[0::2]), axis=1).ravel()
    return $time_step * W2 @ np.tanh(W1 @ np.append(p, $time_step * t))
path = [np.where(np.arange(d) % 2, 1.0, 0.0)]
for t in np.arange(0, 15, h):
    a = change(t, path[-1])
    b = change(t + h / 2, path[-1] + h / 2 * a); c = change(t + h / 2, path[-1] + h / 2 * b)
    path.append(path[-1] + h / 6 * (a + 2 * b + 2 * c + change(t + h, path[-1] + h * c)))
vectors = np.array(path[::$steps])
"""
    snippet_gives: ClassVar[str] = "vectors"
    most_positions: ClassVar[int] = 1024
    longest_read_off: ClassVar[int] = 256

    generator: Annotated[
        Literal["network", "linear"],
        Parameter(
            help="What h is. network: a net with one hidden layer of tanh that sees p and the "
            "time; linear: each pair of columns turns at the frequency of the sinusoid, so that "
            "the path is the sinusoid."
        ),
    ] = "network"
    model_dim: ModelDim = 64
    hidden: Annotated[
        int,
        Ge(1),
        Le(8192),
        Parameter(
            help="Width of the hidden layer (network only); the authors' code has model_dim.",
            symbol="m",
            slider=(4, 256),
            step=4,
        ),
    ] = 64
    time_step: Annotated[
        float,
        Gt(0),
        Le(100),
        Parameter(
            help="Time between two tokens (network only): token t has p(t·Δt).",
            symbol=r"\Delta t",
            slider=(0.01, 1),
            scale="log",
        ),
    ] = 0.1
    steps: Annotated[
        int,
        Ge(1),
        Le(1024),
        Parameter(
            help="Steps of the solver from one token to the next.",
            unit="steps",
            slider=(1, 64),
            step=1,
        ),
    ] = 8
    base: WaveBase = 10000.0

    def check_rules(self) -> None:
        super().check_rules()
        if self.generator == "linear" and self.model_dim % 2:
            raise ParameterError(
                f"{self.title}: model_dim must be even while generator is linear, since columns "
                f"turn in pairs; got {self.model_dim}."
            )

    def initial(self, rng: np.random.Generator) -> NumpyParts:
        """Weights as Glorot and Bengio draw them (normal), biases 0; p(0) is the sinusoid's."""
        d, m = self.model_dim, self.hidden
        start = np.where(np.arange(d) % 2, 1.0, 0.0)
        if self.generator == "linear":
            return {"start": start, "inv_freq": wave_frequencies(d, self.base)}
        first, second = (
            rng.normal(0, (2 / sum(shape)) ** 0.5, shape) for shape in ((m, d + 1), (d, m))
        )
        return {
            "start": start,
            "first.weight": first,
            "first.bias": np.zeros(m),
            "second.weight": second,
            "second.bias": np.zeros(d),
        }

    def change(self, parts: Mapping[str, Array], xp: Any) -> Change:
        """h per token, for given learned parts."""
        if self.generator == "linear":
            turn = parts["inv_freq"]

            def turning(time: Any, path: Array) -> Array:
                sine, cosine = path[:, 0::2], path[:, 1::2]
                return arranged(turn * cosine, -turn * sine, self.model_dim, "alternating")

            return turning
        # The last column of the first layer meets the time.
        weight, into_time = parts["first.weight"][:, :-1], parts["first.weight"][:, -1]

        def flowing(time: Any, path: Array) -> Array:
            inner = path @ weight.T + into_time * (self.time_step * time) + parts["first.bias"]
            outer = xp.tanh(inner) @ parts["second.weight"].T + parts["second.bias"]
            return self.time_step * outer

        return flowing

    def encode(
        self, positions: Any, *, parameters: Mapping[str, Any] | None = None
    ) -> PositionTable:
        """The points of the path at the given positions.

        Parameters
        ----------
        positions : (positions,) tokens from 0 to 16384, whole or not.
        parameters : learned numbers by name: ``start`` (model_dim,) and either ``inv_freq``
            (model_dim/2,), radians per token, or ``first.weight`` (hidden, model_dim + 1),
            ``first.bias``, ``second.weight`` (model_dim, hidden), ``second.bias``; by default the
            initialisation drawn with ``seed``.

        Returns
        -------
        PositionTable with vectors (positions, model_dim).

        Raises
        ------
        ParameterError : positions that are not finite numbers in one row, below 0 or above 16384,
            or a parameter of another name or shape.
        """
        at = self.position_row(positions)
        xp = array_namespace(at)
        if at.shape[0] and bool(xp.any((at < 0) | (at > LONGEST))):
            outside = float(at[(at < 0) | (at > LONGEST)][0])
            raise ParameterError(
                f"{self.title}: positions must be from 0 to {LONGEST}, since the path is walked "
                f"from 0 on, token by token; got {outside:g}."
            )
        # In float64 throughout: a sum of thousands of small steps loses digits in float32.
        exact = xp.astype(at, xp.float64)
        path = self._path(exact, self.parts(parameters, exact), xp)
        return PositionTable(
            positions=frozen(xp.asarray(at, copy=True)),
            vectors=frozen(xp.astype(path, at.dtype)),
        )

    def _path(self, at: Array, parts: Mapping[str, Array], xp: Any) -> Array:
        """Whole tokens one after the other, then the remaining fractions all at once.

        So no row depends on which other positions are asked for.
        """
        if not at.shape[0]:
            return at[:, None] * parts["start"]
        change = self.change(parts, xp)
        whole = xp.floor(at)
        tokens = [int(one) for one in whole]
        needed = set(tokens)
        here = parts["start"][None, :]
        kept = {0: here} if 0 in needed else {}
        for token in range(max(tokens)):
            here = self._walked(change, float(token), here, 1.0)
            if token + 1 in needed:
                kept[token + 1] = here
        points = xp.concat([kept[token] for token in tokens], axis=0)
        rest = (at - whole)[:, None]
        return (
            self._walked(change, whole[:, None], points, rest)
            if bool(xp.any(rest > 0))
            else (points)
        )

    def _walked(self, change: Change, time: Any, point: Array, span: Any) -> Array:
        """From a time over a span, a part of a token or one, by Runge-Kutta of order 4."""
        step = span / self.steps
        for number in range(self.steps):
            now, middle = time + number * step, time + (number + 0.5) * step
            first = change(now, point)
            second = change(middle, point + step / 2 * first)
            third = change(middle, point + step / 2 * second)
            fourth = change(now + step, point + step * third)
            point = point + step / 6 * (first + 2 * second + 2 * third + fourth)
        return point
