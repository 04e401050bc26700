"""Finding encodings, and links as the text form of a spec."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest

import posviz
from posviz import ParameterError
from posviz.encodings import extension
from posviz.parameters import declarations

# The package exports the function of the same name, so the module is fetched by its address.
catalog_module = import_module("posviz.catalog")

MADE_UP = '''
"""An encoding that only this test knows."""
from __future__ import annotations
from typing import Annotated, Any, ClassVar
import numpy as np
from annotated_types import Ge, Le
from posviz.encodings.base import Source
from posviz.encodings.extension import Extension
from posviz.parameters import Parameter

class Halved(Extension):
    """Every frequency divided."""
    title: ClassVar[str] = "Halved"
    year: ClassVar[int] = 2031
    sources: ClassVar[tuple[Source, ...]] = (Source(title="t", authors="a", year=2031),)
    formula: ClassVar[str] = "f/h"
    shows: ClassVar[str] = "Nothing much."
    limits: ClassVar[str] = "Everything else."
    halving: Annotated[
        float, Ge(1), Le(9), Parameter(help="Divisor.", symbol="h", slider=(1, 9))
    ] = 2.0

    def frequencies(self, length: int, *, xp: Any = np, device: Any = None) -> Any:
        return self.trained_frequencies(xp=xp, device=device) / self.halving
'''

AddModule = Callable[[str, str], None]


@pytest.fixture
def add_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AddModule]:
    """Put a module beside the extension family's own ones, and take every trace away again."""
    monkeypatch.setattr(extension, "__path__", [*extension.__path__, str(tmp_path)])
    added = []

    def add(name: str, text: str) -> None:
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        added.append(f"posviz.encodings.extension.{name}")
        posviz.catalog.cache_clear()

    yield add
    posviz.catalog.cache_clear()
    for name in added:
        sys.modules.pop(name, None)


def test_one_new_file_is_the_way_in(add_module: AddModule) -> None:
    before = posviz.catalog()
    add_module("halved", MADE_UP)
    (new,) = set(posviz.catalog()) - set(before)
    assert new.id == "halved"
    assert new.family == "extension"
    assert posviz.get("halved") is new
    spec = posviz.parse("halved?halving=4&head_dim=8")
    assert posviz.link(spec) == "halved?head_dim=8&halving=4"
    assert spec.encode([0]).inv_freq[0] == 0.25
    assert [item.name for item in declarations(new)][-1] == "halving"
    with pytest.raises(ParameterError) as caught:
        posviz.parse("halved?halving=0")
    assert str(caught.value) == (
        "Halved: halving must be a number of at least 1 and at most 9; got 0.0."
    )


def test_a_module_that_cannot_be_imported_fails_loudly(add_module: AddModule) -> None:
    add_module("broken", "import no_such_module_anywhere\n")
    with pytest.raises(ModuleNotFoundError, match="no_such_module_anywhere"):
        posviz.catalog()


def test_a_module_without_exactly_one_encoding_fails_loudly(add_module: AddModule) -> None:
    add_module("empty", "from posviz.encodings.extension.linear import Linear\n")
    with pytest.raises(ImportError, match=r"empty must define one encoding; it defines 0\."):
        posviz.catalog()


def test_a_module_with_two_encodings_fails_loudly(add_module: AddModule) -> None:
    add_module("twice", MADE_UP + "\nclass Second(Halved):\n    pass\n")
    with pytest.raises(ImportError, match=r"twice must define one encoding; it defines 2\."):
        posviz.catalog()


def test_catalog_is_ordered_by_family_and_year() -> None:
    keys = [(encoding.family, encoding.year, encoding.id) for encoding in posviz.catalog()]
    assert keys == sorted(keys)
    assert posviz.families() == tuple(sorted({family for family, _, _ in keys}))


def test_all_encodings_of_context_extension_are_there() -> None:
    ids = {encoding.id for encoding in posviz.catalog()}
    assert ids >= {
        *("rope", "p_rope", "linear", "ntk_aware", "abf", "dynamic_ntk", "dynamic_linear"),
        *("dynamic_yarn", "ntk_by_parts", "yarn", "truncated_basis", "power_basis", "rerope"),
        *("leaky_rerope", "self_extend", "log_n", "llama3", "longrope", "resonance", "dca"),
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("yarm", "There is no encoding 'yarm'; closest: yarn."),
        ("", "There is no encoding ''; known: "),
        ("rope?bse=5", "RoPE: there is no parameter 'bse'; closest: base."),
        ("rope?base=5&base=6", "RoPE: base stands twice in the link 'rope?base=5&base=6'."),
        ("rope?base", "RoPE: base has no value in the link 'rope?base'."),
        (
            "rope?base=ten",
            "RoPE: base must be a number above 1 and at most 1000000000000000; got 'ten'.",
        ),
        (
            "rope?head_dim=8.5",
            "RoPE: head_dim must be a whole number of at least 2 and at most 8192; got '8.5'.",
        ),
        (
            "rope?base=nan",
            "RoPE: base must be a number above 1 and at most 1000000000000000; got nan.",
        ),
        (
            "rope?base=1e999",
            "RoPE: base must be a number above 1 and at most 1000000000000000; got inf.",
        ),
        ("rope?layout=x", "RoPE: layout must be one of half_split, interleaved; got 'x'."),
        ("yarn?truncate=1", "YaRN: truncate must be true or false; got '1'."),
        ("yarn?beta_fast=1&beta_slow=2", "YaRN: beta_fast must be at least beta_slow; got "),
        ("longrope?short_factor=1,x,2", "LongRoPE: short_factor must be a list of numbers of at "),
        ("longrope?short_factor=", "LongRoPE: short_factor must have one number for each of the "),
        ("yarn?scaling_factor=none", "YaRN: scaling_factor must be a number of at least 1 and "),
    ],
)
def test_links_that_cannot_be_used(text: str, message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        posviz.parse(text)
    assert str(caught.value).startswith(message)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("yarn?scaling_factor=16", "yarn"),
        (" rope?base=5e5 ", "rope?base=500000"),
        ("rope?head_dim=64.0", "rope?head_dim=64"),
        ("yarn?attention_factor=none", "yarn"),
        ("yarn?attention_factor=1.25&", "yarn?attention_factor=1.25"),
        ("yarn?mscale_rule=llama%2Ecpp", "yarn?mscale_rule=llama.cpp"),
        ("yarn?beta_slow=1e-6", "yarn?beta_slow=1e-06"),
        ("longrope?scaling_factor=2", "longrope?scaling_factor=2"),
    ],
)
def test_links_are_read_kindly_and_written_one_way(text: str, canonical: str) -> None:
    assert posviz.link(posviz.parse(text)) == canonical


def test_a_list_goes_through_a_link_exactly() -> None:
    factors = tuple(1 + pair / 7 for pair in range(4))
    spec = posviz.get("longrope")(head_dim=8, short_factor=factors, long_factor=[1, 2, 3, 1e6])
    assert spec.long_factor == (1.0, 2.0, 3.0, 1e6)
    assert "long_factor=1,2,3,1000000" in posviz.link(spec)
    assert posviz.parse(posviz.link(spec)) == spec
