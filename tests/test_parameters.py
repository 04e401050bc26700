"""Declarations read back from classes, and the one form of every message."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel

from posviz.parameters import (
    Declaration,
    Parameter,
    ParameterError,
    closest,
    declarations,
    is_finite_number,
    number_text,
    sentence,
)

P = Parameter(help="Help.", slider=(1, 2))


class Sample(BaseModel):
    above: Annotated[float, Gt(0), Lt(10), P] = 1.0
    count: Annotated[int, Ge(2), P] = 2
    flag: Annotated[bool, P] = False
    kind: Annotated[Literal["a", "b"], P] = "a"
    maybe: Annotated[float | None, Ge(0.5), P] = None
    free: Annotated[float, P] = 0.0
    numbers: Annotated[tuple[Annotated[float, Ge(1), Le(2)], ...], P] = ()


DECLARED = {item.name: item for item in declarations(Sample)}


@pytest.mark.parametrize(
    ("name", "domain"),
    [
        ("above", "a number above 0 and below 10"),
        ("count", "a whole number of at least 2"),
        ("flag", "true or false"),
        ("kind", "one of a, b"),
        ("maybe", "a number of at least 0.5, or left out"),
        ("free", "a number"),
        ("numbers", "a list of numbers of at least 1 and at most 2"),
    ],
)
def test_domain_follows_must_be(name: str, domain: str) -> None:
    assert DECLARED[name].domain == domain


def test_bounds_say_whether_they_are_included() -> None:
    above = DECLARED["above"]
    assert (above.lower, above.lower_included) == (0, False)
    assert (above.upper, above.upper_included) == (10, False)
    numbers = DECLARED["numbers"]
    assert (numbers.lower, numbers.lower_included) == (1, True)
    assert (numbers.upper, numbers.upper_included) == (2, True)
    assert DECLARED["free"].lower is DECLARED["free"].upper is None
    assert DECLARED["maybe"].optional
    assert not DECLARED["above"].optional


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("above", 8.0, "8"),
        ("above", 0.1, "0.1"),
        ("above", 1e-7, "1e-07"),
        ("count", 2**60, str(2**60)),
        ("flag", True, "true"),
        ("kind", "b", "b"),
        ("maybe", None, "none"),
        ("numbers", (1.0, 1.5), "1,1.5"),
        ("numbers", (), ""),
    ],
)
def test_values_are_written_and_read_back(name: str, value: Any, text: str) -> None:
    declaration: Declaration = DECLARED[name]
    assert declaration.format(value) == text
    assert declaration.parse(text, "Sample") == value


def test_integers_keep_digits_that_a_float_would_lose() -> None:
    assert DECLARED["count"].parse(str(2**60 + 2), "Sample") == 2**60 + 2


@pytest.mark.parametrize(
    ("name", "text"),
    [("above", "x"), ("above", ""), ("count", "2.5"), ("count", "inf"), ("numbers", "1,,2")],
)
def test_text_that_is_no_value_is_named(name: str, text: str) -> None:
    with pytest.raises(ParameterError) as caught:
        DECLARED[name].parse(text, "Sample")
    assert str(caught.value) == f"Sample: {name} must be {DECLARED[name].domain}; got {text!r}."


def test_long_values_are_cut_and_huge_integers_described() -> None:
    assert sentence("S", "p", "small", "x" * 100) == f"S: p must be small; got '{'x' * 59}…."
    assert sentence("S", "p", "small", 10**5000) == (
        "S: p must be small; got a whole number of about 5001 digits."
    )
    assert sentence("S", "p", "small", True) == "S: p must be small; got True."


@pytest.mark.parametrize(
    ("value", "text"),
    [(8.0, "8"), (8, "8"), (0.1, "0.1"), (1e16, "1e+16"), (-3.0, "-3"), (1 / 3, repr(1 / 3))],
)
def test_number_text_is_short_and_exact(value: float, text: str) -> None:
    assert number_text(value) == text
    assert float(text) == value


def test_closest_lists_near_names_or_all() -> None:
    assert closest("bas", ["base", "layout"]) == "closest: base"
    assert closest("qqq", ["base", "layout"]) == "known: base, layout"


def test_closest_lists_eight_of_many_names_that_are_not_near() -> None:
    assert closest("qqq", list("abcdefgh")) == "known: a, b, c, d, e, f, g, h"
    assert closest("qqq", list("abcdefghijk")) == "known: a, b, c, d, e, f, g, h, … and 3 more"
    assert closest("q" * 10_000, list("abcdefghi")).endswith(" h, … and 1 more")


def test_a_field_without_a_declaration_or_control_is_a_programming_error() -> None:
    class Undeclared(BaseModel):
        value: float = 1.0

    class NoControl(BaseModel):
        value: Annotated[dict[str, int], P]

    with pytest.raises(TypeError, match="field value is declared without a Parameter"):
        declarations(Undeclared)
    with pytest.raises(TypeError, match="a type that no control can set"):
        declarations(NoControl)


@pytest.mark.parametrize(
    ("value", "finite"),
    [
        (1, True),
        (1.5, True),
        (True, False),
        (float("nan"), False),
        ("1", False),
        (None, False),
        pytest.param(10**400, False, id="beyond float"),
    ],
)
def test_is_finite_number(value: Any, finite: bool) -> None:
    assert is_finite_number(value) is finite
