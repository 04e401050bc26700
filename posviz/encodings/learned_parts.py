"""Encodings with trained numbers: an explicit set of parameters, or a seeded initialisation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Le
from array_api_compat import array_namespace

from posviz.encodings.base import Encoding
from posviz.parameters import Parameter, ParameterError
from posviz.results import Array, device_of

Seed = Annotated[
    int,
    Ge(0),
    Le((1 << 32) - 1),
    Parameter(
        help="Seed of the initialisation: the numbers shown are not those of a trained model.",
        slider=(0, 20),
        step=1,
    ),
]
NumpyParts = Mapping[str, np.ndarray]


class LearnedParts(Encoding):
    """Mixin: parameters by name, drawn as the paper initialises them unless they are given."""

    is_learned: ClassVar[bool] = True

    seed: Seed = 0

    def initial(self, rng: np.random.Generator) -> NumpyParts:
        """The initialisation of the paper or of its code: name to array."""
        raise NotImplementedError

    def initial_parameters(self) -> dict[str, np.ndarray]:
        """What :meth:`encode` uses when it is given no parameters."""
        return dict(self.initial(np.random.default_rng(self.seed)))

    def caution(self) -> str:
        return (
            f"These numbers are learned. What is shown is an initialisation drawn with the seed "
            f"{self.seed}, not a trained model."
        )

    def parts(self, parameters: Mapping[str, Any] | None, like: Array) -> dict[str, Array]:
        """The parameters as arrays of the kind and type of ``like``.

        Tensors that track gradients stay connected. Raises ParameterError for a name or a shape
        that the spec does not have.
        """
        xp = array_namespace(like)
        wanted = self.initial_parameters()
        given = wanted if parameters is None else parameters
        if set(given) != set(wanted):
            raise ParameterError(
                f"{self.title}: parameters must be {', '.join(wanted)}; got "
                f"{', '.join(given) or 'none'}."
            )
        found = {}
        for name, value in given.items():
            plain = value if hasattr(value, "dtype") else np.asarray(value)
            if tuple(plain.shape) != wanted[name].shape:
                raise ParameterError(
                    f"{self.title}: parameter {name} must have the shape "
                    f"{wanted[name].shape}; got {tuple(plain.shape)}."
                )
            found[name] = _in_kind(plain, like, xp)
        return found


def _in_kind(value: Array, like: Array, xp: Any) -> Array:
    """NumPy values become arrays of ``like``'s kind; its own kind is only cast."""
    if isinstance(value, np.ndarray):
        return xp.asarray(np.array(value), dtype=like.dtype, device=device_of(like))
    return xp.astype(value, like.dtype, copy=False)
