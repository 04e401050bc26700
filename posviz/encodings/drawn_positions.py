"""Sinusoids of positions that training draws anew for each sequence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le
from array_api_compat import array_namespace

from posviz.encodings.absolute import SinusoidEncoding
from posviz.parameters import Parameter
from posviz.results import Array, PositionTable, device_of, frozen

DrawSeed = Annotated[
    int,
    Ge(0),
    Le((1 << 32) - 1),
    Parameter(
        help="Seed of the draw; training draws anew for each sequence.", slider=(0, 20), step=1
    ),
]
PhaseField = Annotated[
    Literal["training", "test"],
    Parameter(help="training: the positions are drawn; test: they are not."),
]
TEXT, USED = "position in the text", "position used"
"""Names of the two rows of indices: before and after the draw."""

WAVES_OF_USED = """
i = np.arange(d // 2)  # an even d
inv_freq = b ** (-i / (d / 2 if ladder == "standard" else d / 2 - 1))
angles = used[:, None] * inv_freq
waves = np.stack((np.sin(angles), np.cos(angles)), axis=1 if layout == "halves" else 2)
waves = waves[..., ::-1] if layout == "cos_first" else waves
vectors = waves.reshape(len(positions), d)
"""
"""End of the snippets: the sinusoids of the positions ``used``."""


class DrawnPositions(SinusoidEncoding):
    """Base of encodings whose tokens get other positions than their place in the text."""

    def used(self, at: Array) -> Array:
        """The positions whose sinusoids the tokens ``at`` get: (positions,)."""
        raise NotImplementedError

    def facts(self, at: Array, used: Array) -> Mapping[str, Any]:
        """More fields of the result: curves, strips beside the two that all have, …"""
        return {}

    def encode(self, positions: Any) -> PositionTable:
        """The sinusoids of the positions that the given tokens get.

        Parameters
        ----------
        positions : (positions,) places in the text; NumPy, torch, or a list of numbers.

        Returns
        -------
        PositionTable with vectors (positions, model_dim), and the strips
        "position in the text" and "position used".

        Raises
        ------
        ParameterError : positions that are not finite numbers in one row, or that the draw has no
            number for.
        """
        at = self.position_row(positions)
        used = self.used(at)
        xp = array_namespace(at)
        strips = {
            TEXT: frozen(xp.asarray(at, copy=True)),
            USED: frozen(xp.asarray(used, copy=True)),
        }
        facts = dict(self.facts(at, used))
        return self.table(at, used, strips={**strips, **facts.pop("strips", {})}, **facts)


def in_kind(values: Any, like: Array) -> Array:
    """Numbers drawn with NumPy as an array of the kind, type and device of ``like``."""
    return array_namespace(like).asarray(values, dtype=like.dtype, device=device_of(like))
