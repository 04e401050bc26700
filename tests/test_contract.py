"""What every encoding of the catalog promises, whoever writes it."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from latex2mathml.converter import convert
from spec_strategies import all_variants, arrays_of, bad_values, specs, variants

import posviz
from posviz import ParameterError
from posviz.encodings.base import Encoding
from posviz.parameters import number_text, shortened

ENCODINGS = posviz.catalog()
FIELDS = [
    pytest.param(encoding, declaration, id=f"{encoding.id}-{declaration.name}")
    for encoding in ENCODINGS
    for declaration in encoding.declarations()
]
every_encoding = pytest.mark.parametrize("encoding", ENCODINGS, ids=lambda encoding: encoding.id)
every_field = pytest.mark.parametrize(("encoding", "declaration"), FIELDS)
drawn = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)


@every_encoding
def test_facts_are_complete(encoding: type[Encoding]) -> None:
    assert Path(inspect.getfile(encoding)).stem == encoding.id
    assert posviz.get(encoding.id) is encoding
    assert encoding.family in posviz.families()
    assert encoding.__module__.split(".")[-2] == encoding.family
    assert encoding.sources
    assert min(source.year for source in encoding.sources) == encoding.year
    for source in encoding.sources:
        assert source.place or source.code or source.arxiv, source.title
    for text in (encoding.shows, encoding.limits):
        assert text.endswith(".")
        assert len(text) > 40
    assert "__doc__" in vars(encoding)
    assert encoding.__doc__


@every_encoding
def test_formula_and_symbols_convert_to_mathml(encoding: type[Encoding]) -> None:
    symbols = [item.parameter.symbol for item in encoding.declarations() if item.parameter.symbol]
    for latex in (encoding.formula, *symbols):
        mathml = convert(latex)
        assert mathml.startswith("<math")
        # A command that the converter does not know would come through as text.
        assert "\\" not in mathml, latex


@every_encoding
def test_snippet_is_short_and_gives_the_core_s_numbers(encoding: type[Encoding]) -> None:
    for spec in variants(encoding):
        code = spec.code()
        assert len(code.splitlines()) <= 15
        assert max(map(len, code.splitlines())) <= 100
        imported = set(re.findall(r"^\s*(?:import|from) (\w+)", code, re.M))
        # Beside NumPy: the file of a released table, and posviz for the words of a sentence.
        assert imported <= {"numpy", "scipy", "importlib", "safetensors", "posviz"}
        names: dict[str, Any] = {}
        exec(compile(code, f"snippet of {encoding.id}", "exec"), names)
        attribute, _, entry = encoding.snippet_gives.partition(":")
        ours = getattr(spec.encode(names["positions"]), attribute)
        ours = ours[entry] if entry else ours
        np.testing.assert_allclose(
            names[entry or attribute], ours, rtol=1e-9, atol=1e-9, err_msg=posviz.link(spec)
        )


@every_encoding
def test_what_cannot_be_encoded_here_says_how_to_get_it(encoding: type[Encoding]) -> None:
    lacking = [spec for spec in all_variants(encoding) if spec.missing()]
    for spec in lacking:
        with pytest.raises(ParameterError) as caught:
            spec.encode(spec.example_positions(12))
        assert str(caught.value) == spec.missing()
        assert re.fullmatch(r".*`make \w+`.*\.", spec.missing())
    if lacking:
        pytest.skip(f"{posviz.link(lacking[0])} is not tested: {lacking[0].missing()}")


@every_encoding
def test_what_may_have_been_read_and_where_it_is_used_are_sentences_and_names(
    encoding: type[Encoding],
) -> None:
    for sentence in encoding.misread:
        assert sentence.startswith("You may have read")
        assert sentence.endswith((".", "…"))
    assert all(0 < len(name) < 60 for name in encoding.used_in)


@every_field
def test_declaration_is_complete(encoding: type[Encoding], declaration: Any) -> None:
    assert declaration.parameter.help.endswith(".")
    assert getattr(encoding(), declaration.name) == declaration.default
    slider = declaration.parameter.slider
    if declaration.kind in ("number", "integer"):
        assert slider is not None
        low, high = slider
        assert low < high
        assert declaration.lower is None or low >= declaration.lower
        assert declaration.upper is None or high <= declaration.upper
        assert declaration.parameter.scale == "linear" or low > 0
        for value in slider:
            text = number_text(value)
            assert declaration.parse(text, encoding.title) == value
    else:
        assert slider is None


@every_field
def test_bad_value_gives_one_sentence(encoding: type[Encoding], declaration: Any) -> None:
    start = f"{encoding.title}: {declaration.name} must be {declaration.domain}; got "
    for value in bad_values(declaration):
        with pytest.raises(ParameterError) as caught:
            encoding(**{declaration.name: value})
        message = str(caught.value)
        assert message.startswith(start), (value, message)
        assert message.endswith(".")
        assert "\n" not in message
        assert message[len(start) : -1].strip()
        if isinstance(value, str):
            assert shortened(value) in message


@every_encoding
def test_defaults_are_allowed_and_link_is_the_id(encoding: type[Encoding]) -> None:
    assert posviz.link(encoding()) == encoding.id
    assert posviz.parse(encoding.id) == encoding()


@every_encoding
def test_unknown_parameter_names_the_closest(encoding: type[Encoding]) -> None:
    name = encoding.declarations()[0].name
    with pytest.raises(ParameterError, match=f"there is no parameter '{name}x'; closest: {name}"):
        encoding(**{name + "x": 1})


@every_encoding
@drawn
@given(data=st.data())
def test_link_reads_back_to_the_same_spec(encoding: type[Encoding], data: Any) -> None:
    spec = data.draw(specs(encoding))
    text = posviz.link(spec)
    assert re.fullmatch(r"[\w.,?=&%~-]+", text)
    again = posviz.parse(text)
    assert again == spec
    assert type(again) is type(spec)
    assert posviz.link(again) == text


@every_encoding
def test_specs_are_frozen(encoding: type[Encoding]) -> None:
    spec = encoding()
    with pytest.raises(ValueError, match="frozen"):
        setattr(spec, encoding.declarations()[0].name, 1)


@every_encoding
def test_profiles_are_specs_that_set_the_same_parameters(encoding: type[Encoding]) -> None:
    names = set()
    for name, values in encoding.profiles.items():
        assert name
        encoding(**values)
        names.add(frozenset(values))
    # Else going from one profile to another would leave something behind.
    assert len(names) <= 1


def test_a_rope_type_belongs_to_one_encoding() -> None:
    claimed = Counter(
        name for encoding in ENCODINGS for name in getattr(encoding, "rope_types", ())
    )
    assert [name for name, count in claimed.items() if count > 1] == []
    assert set(claimed) >= {
        *("default", "linear", "dynamic", "yarn", "longrope", "llama3", "proportional"),
        *("mrope", "su", "ntk", "deepseek_yarn", "telechat3-yarn"),
    }


def test_ids_titles_and_families() -> None:
    assert len({encoding.id for encoding in ENCODINGS}) == len(ENCODINGS)
    assert len({encoding.title for encoding in ENCODINGS}) == len(ENCODINGS)
    assert set(posviz.families()) >= {"extension", "rotary"}


@every_encoding
def test_encoding_twice_gives_equal_read_only_arrays(encoding: type[Encoding]) -> None:
    positions = encoding().example_positions(12)
    first, second = (arrays_of(encoding().encode(positions)) for _ in range(2))
    assert set(first) == set(second)
    for name, value in first.items():
        assert isinstance(value, np.ndarray), name
        np.testing.assert_array_equal(value, second[name], err_msg=name)
        assert not value.flags.writeable, name
    assert len(first) >= 2


@every_encoding
def test_positions_given_are_not_touched(encoding: type[Encoding]) -> None:
    positions = np.array(encoding().example_positions(12))
    result = encoding().encode(positions)
    before = np.array(result.positions)
    positions[...] = 7.0
    np.testing.assert_array_equal(result.positions, before)
    assert positions.flags.writeable
