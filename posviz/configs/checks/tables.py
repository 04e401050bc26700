"""Learned tables and other positions that are no rotation: how many there are, where they start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from posviz.configs.checks import padding
from posviz.configs.checks.diagnosis import Diagnosis
from posviz.configs.checks.subject import Subject
from posviz.configs.checks.wording import of_runtime
from posviz.configs.position_biases import other_bias
from posviz.configs.position_tables import PositionRows, is_size, is_table_class, position_rows

CODES: Mapping[str, str] = {
    **padding.CODES,
    "PV300": "The wanted length goes beyond a table of positions, which no flag makes longer.",
    "PV303": "A scaling of rotary positions in a model that does not rotate: nothing reads it.",
    "PV304": "Sinusoidal positions that are worked out as far as asked, beyond what was trained.",
    "PV305": "position_embedding_type relative_key, which transformers 5 no longer reads.",
    "PV306": "Terms of the distance instead of a table: no last position, but a last distance.",
    "PV307": "The size of the table is not in the file; the model class has one.",
    "PV308": "A round table size of a class that loses rows to the padding index.",
    "PV309": "A size that seems to count the two extra rows of the table already.",
}
_ROPE_KEYS = ("rope_scaling", "rope_parameters")


def find(subject: Subject) -> Iterator[Diagnosis]:
    """What is to know about the table, if the model has one."""
    if subject.model.layers:
        return
    yield from _unread_scaling(subject)
    model_type = subject.model.model_type
    table = position_rows(subject.section, model_type)
    if table is None:
        yield from _distances(subject)
        return
    yield from padding.find_padding(table, subject)
    yield from _relative_key(table, subject)
    size = table.size
    if size is None or not is_size(size.value):
        return
    yield from _size(table, int(size.value), subject)
    yield from _target(table, int(size.value), subject)


def _unread_scaling(subject: Subject) -> Iterator[Diagnosis]:
    for key in _ROPE_KEYS:
        value = subject.section.data.get(key)
        if not isinstance(value, Mapping) or not value:
            continue
        kind = value.get("rope_type", value.get("type"))
        if kind in (None, "default") and "factor" not in value:
            continue
        yield Diagnosis(
            code="PV303",
            severity="warn",
            message=(
                f"{subject.section.key(key)} asks for a scaling of rotary positions, but this "
                "model does not rotate queries and keys: nothing reads it, and it does not make "
                "the context longer. Take it out."
            ),
            fields=(subject.section.key(key),),
            patch=subject.drop(subject.section.key(key)),
        )


def _relative_key(table: PositionRows, subject: Subject) -> Iterator[Diagnosis]:
    if not table.relative or not subject.concerns("transformers", "transformers_v4"):
        return
    kind = subject.section.data.get("position_embedding_type")
    old = subject.runtime == "transformers_v4"
    yield Diagnosis(
        code="PV305",
        severity="info" if old else "warn",
        message=(
            f"position_embedding_type is {kind}: positions are learned rows for distances inside "
            "each attention layer. transformers 5 no longer reads that key and adds rows of an "
            "absolute table instead, which such a model does not have trained; use a release "
            "before 5."
        ),
        fields=(subject.section.key("position_embedding_type"),),
        runtimes=of_runtime(
            subject,
            {
                "transformers": "takes the model for one with an absolute table.",
                "transformers_v4": "has a row for every distance in each attention layer.",
            },
        ),
    )


def _size(table: PositionRows, size: int, subject: Subject) -> Iterator[Diagnosis]:
    found = table.size
    assert found is not None
    key = found.key.partition(",")[0]
    if "default of" in found.key:
        yield Diagnosis(
            code="PV307",
            severity="info",
            message=(
                f"The size of the table is not in the file; {size} is the default of the model "
                f"class, so {table.usable(size)} positions are usable if the weights have that "
                "table."
            ),
            fields=(key,),
            values={"table_size": table.rows(size)},
        )
    elif table.padding is not None and size >= 64 and _is_round(size):
        yield Diagnosis(
            code="PV308",
            severity="info",
            message=(
                f"{key} is {size}, but the rows up to the padding index {table.padding} are no "
                f"positions: only {table.usable(size)} are usable. {size} usable positions take a "
                f"table of {size + table.padding + 1} rows, as the released models of this class "
                "have it. A tokenizer that cuts at "
                f"{size} runs past the table."
            ),
            fields=(key,),
            values={"usable_positions": table.usable(size)},
        )
    elif table.extra and size > 64 and _is_round(size - table.extra):
        yield Diagnosis(
            code="PV309",
            severity="info",
            message=(
                f"{key} is {size}, which looks like {size - table.extra} and the {table.extra} "
                "extra rows of the table; the class adds those by itself and makes "
                f"{size + table.extra} rows."
            ),
            fields=(key,),
            values={"table_size": table.rows(size)},
        )


def _is_round(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0


def _target(table: PositionRows, size: int, subject: Subject) -> Iterator[Diagnosis]:
    target, usable = subject.target_length, table.usable(size)
    if target is None or usable is None or target <= usable:
        return
    assert table.size is not None
    key = table.size.key.partition(",")[0]
    if table.kind == "growing":
        yield Diagnosis(
            code="PV304",
            severity="info",
            message=(
                f"{target} tokens are more than the {size} of {key}: transformers works further "
                "sinusoidal positions out, but the model has not been trained with them."
            ),
            fields=(key,),
            values={"target_length": target, "table_size": size},
        )
        return
    what = {"sinusoidal": "fixed sinusoidal table"}.get(table.kind, "learned table")
    yield Diagnosis(
        code="PV300",
        severity="error",
        message=(
            f"Position {usable} does not exist in a {what} of {table.rows(size)} rows: the last "
            f"valid position is {usable - 1}, and {target} tokens are wanted. Raising a limit flag "
            f"or {key} does not create positions; cut the text, or train a larger table."
        ),
        fields=(key,),
        values={
            "last_valid_position": usable - 1,
            "usable_positions": usable,
            "target_length": target,
        },
    )


def _distances(subject: Subject) -> Iterator[Diagnosis]:
    what = other_bias(subject.section, subject.model.model_type)
    if not what:
        return
    section = subject.section
    span = next((each for each in _spans(subject) if is_size(each)), None)
    beyond = "" if span is None else f"; all distances from {span} on share the last row"
    table = is_table_class(subject.model.model_type)
    yield Diagnosis(
        code="PV306",
        severity="ok",
        message=(
            f"Positions come from {what}, so there is no last position{beyond}."
            + (" position_biased_input is false: no table is added to the tokens." if table else "")
        ),
        fields=tuple(
            section.key(name)
            for name in ("relative_attention", "position_buckets", "max_relative_positions")
            if name in section
        ),
        values={} if span is None else {"last_distance": span},
    )


def _spans(subject: Subject) -> tuple[Any, ...]:
    """DeBERTa's span: buckets, else the longest distance, else the size of the table."""
    names = ("position_buckets", "max_relative_positions", "max_position_embeddings")
    if subject.section.data.get("relative_attention") is not True:
        return ()
    return tuple(subject.section.data.get(name) for name in names)
