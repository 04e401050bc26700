"""The padding index, from which some classes count positions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from posviz.configs.checks.diagnosis import Diagnosis
from posviz.configs.checks.subject import Subject
from posviz.configs.position_tables import PositionRows, is_size

CODES: Mapping[str, str] = {
    "PV301": "The padding index is not the usual one, which moves the first position.",
    "PV302": "The padding index that positions are counted from cannot be used.",
}
_RELEASED: Mapping[str, tuple[int, ...]] = {"lilt": (1,), "markuplm": (1,)}
"""Released weights of a class whose configuration class has another default."""


def find_padding(table: PositionRows, subject: Subject) -> Iterator[Diagnosis]:
    """What is to know about the padding index."""
    found = table.padding_found
    if found is None:
        return
    name = subject.model.model_type
    if table.first is None or not _leaves_rows(table):
        what = "null" if found.value is None else f"{found.value!r:.40}"
        yield Diagnosis(
            code="PV302",
            severity="error",
            message=(
                f"{found.key} is {what}, but {name} counts positions from padding index + 1, so it "
                "must be a whole number below the table size; transformers fails in the first "
                "call. The usual padding index is "
                f"{_usual(name)}."
            ),
            fields=(found.key,),
            patch=(subject.put(found.key, _usual(name)),),
        )
    elif table.padding not in (_usual(name), *_RELEASED.get(name, ())):
        yield from _unusual_padding(table, subject)


def _leaves_rows(table: PositionRows) -> bool:
    size = table.size
    if size is None or not is_size(size.value):
        return True
    return (table.usable(int(size.value)) or 0) > 0 and (table.padding or 0) >= 0


def _unusual_padding(table: PositionRows, subject: Subject) -> Iterator[Diagnosis]:
    found, name = table.padding_found, subject.model.model_type
    if found is None or table.size is None or not is_size(table.size.value):
        return
    usable = table.usable(int(table.size.value))
    usual = int(table.size.value) - _usual(name) - 1
    yield Diagnosis(
        code="PV301",
        severity="info",
        message=(
            f"{found.key} is {table.padding}, and positions are offset by the padding index: the "
            f"first position id is {table.first}, not {_usual(name) + 1} as with the usual padding "
            f"index {_usual(name)}, and {usable} positions are usable, not {usual}. A model "
            "trained with the other index reads every position from the wrong row."
        ),
        fields=(found.key, table.size.key),
        values={
            "first_position_id": table.first,
            "usable_positions": usable,
            "usable_with_usual_padding": usual,
        },
    )


def _usual(model_type: str) -> int:
    return 0 if model_type in ("lilt", "markuplm") else 1
