"""Models without rotation: learned tables and biases, recognised so that nobody sees a false "
"RoPE."""

from __future__ import annotations

from posviz.configs.findings import Findings
from posviz.configs.model_classes import model_class
from posviz.configs.numbers import positive_whole
from posviz.configs.position_biases import (
    BucketBias,
    alibi_bias,
    bucket_bias,
    last_bucket_start,
    other_bias,
)
from posviz.configs.position_tables import ROTARY, PositionRows, is_table_class, position_rows
from posviz.configs.section import Section
from posviz.parameters import is_finite_number

NO_POSITIONS = ("nope", "none")
"""Values of position_embedding_type."""
_SWITCHED_CLASSES = ("granitemoehybrid",)
"""Classes that rotate only where position_embedding_type is rope."""
_CLASSES_WITHOUT = ("jamba", "kimi_linear", "nemotron_h")
"""Classes whose attention has no positions, whatever the file says (transformers 5.24)."""
LARGEST_DISTANCE = 1 << 40


def gives_positions_otherwise(section: Section, model_type: str, *, rotary_class: bool) -> bool:
    """Whether the positions surely come from something else than a rotation.

    A rope_theta in such a file is left over: nothing reads it.
    """
    kind = section.data.get("position_embedding_type")
    if kind in ROTARY:
        return False
    if section.data.get("alibi") is True or kind == "alibi" or lacks_positions(section, model_type):
        return True
    if rotary_class:
        return False
    if is_table_class(model_type) and section.data.get("position_biased_input") is not False:
        return True
    found = alibi_bias(section, model_type), bucket_bias(section, model_type)
    return any(each is not None for each in found) or bool(other_bias(section, model_type))


def lacks_positions(section: Section, model_type: str) -> bool:
    """Whether the configuration switches positions off altogether."""
    kind = section.data.get("position_embedding_type")
    if model_type in _CLASSES_WITHOUT:
        return True
    if model_type in _SWITCHED_CLASSES:
        return kind not in ROTARY
    return kind in NO_POSITIONS and not model_class(model_type).known


def describe_other_positions(section: Section, model_type: str, findings: Findings) -> bool:
    """Note what gives this model its positions; False when nothing here tells."""
    if lacks_positions(section, model_type):
        by_class = model_type in _CLASSES_WITHOUT
        why = (
            f"the class {model_type} has none"
            if by_class
            else "position_embedding_type is not rope"
        )
        findings.info(
            "PV175",
            f"No layer has positions: {why}, so nothing rotates, and the order of tokens is known "
            "from the causal mask or from recurrent layers alone.",
            section.key("model_type" if by_class else "position_embedding_type"),
        )
        return True
    table = position_rows(section, model_type)
    said = _describe_biases(section, model_type, findings)
    if table is not None:
        _describe_table(table, findings)
    return said or table is not None


def _describe_biases(section: Section, model_type: str, findings: Findings) -> bool:
    buckets = bucket_bias(section, model_type)
    alibi = alibi_bias(section, model_type)
    if alibi is not None:
        if alibi.heads is not None:
            findings.row("heads", alibi.heads.value, alibi.heads.key)
            findings.row("slopes", alibi.slopes, "ALiBi's rule for this number of heads")
        origin = alibi.exponent_key or "the paper's 8"
        findings.row("alibi_bias_max", alibi.exponent, origin)
        _say_bias("ALiBi", findings)
    elif buckets is not None:
        _bucket_rows(buckets, findings)
        _say_bias("T5's bucketed bias", findings)
    elif other := other_bias(section, model_type):
        _say_bias(other, findings)
    else:
        return False
    return True


def _say_bias(what: str, findings: Findings) -> None:
    findings.info(
        "PV171", f"Positions come from {what}, a bias on the logits: there is no rotation to show."
    )


def _bucket_rows(bias: BucketBias, findings: Findings) -> None:
    numbers = bucket_numbers(bias)
    if numbers is None:
        return
    buckets, distance = numbers
    findings.row("num_buckets", buckets, bias.buckets.key)
    findings.row("max_distance", distance, bias.distance.key)
    for name, two_way in (("two_way", True), ("causal", False)):
        start = last_bucket_start(buckets, distance, two_way=two_way)
        if start is not None:
            findings.row(f"last_bucket_from_{name}", start, "from num_buckets and max_distance")


def bucket_numbers(bias: BucketBias) -> tuple[int, int] | None:
    """Number of buckets and largest distance, where both are usable whole numbers."""
    pair = (bias.buckets.value, bias.distance.value)
    usable = [
        is_finite_number(value) and value == int(value) and 1 <= value <= LARGEST_DISTANCE
        for value in pair
    ]
    return (int(pair[0]), int(pair[1])) if all(usable) else None


def _describe_table(table: PositionRows, findings: Findings) -> None:
    found = table.size
    size = None if found is None else positive_whole(found, findings, "PV130")
    if found is None or size is None:
        if found is None:  # else its own message says what is wrong with it
            findings.info("PV170", "Positions come from a learned table; its size is not given.")
        return
    rows = table.rows(size)
    findings.row("table_size", rows, found.key if not table.extra else f"{found.key} + 2")
    if table.kind == "growing":
        findings.info("PV170", _told(table, rows, rows), found.key)
        return
    usable = table.usable(size)
    if usable is None or table.first is None:
        findings.info(
            "PV170",
            f"Positions come from a learned table of {rows} rows, counted from the padding index, "
            "which is no number. There is no rotation to show.",
            found.key,
            "pad_token_id",
        )
        return
    findings.row("first_position_id", table.first, _first_origin(table))
    findings.row("usable_positions", usable, _usable_origin(table))
    fields = (found.key, *(() if table.padding is None else ("pad_token_id",)))
    findings.info(
        "PV170", _told(table, rows, usable), *fields,
        usable_positions=usable, first_position_id=table.first,
    )  # fmt: skip


def _first_origin(table: PositionRows) -> str:
    if table.padding is not None:
        given = table.padding_found is not None
        return "pad_token_id + 1" if given else f"padding index {table.padding} + 1"
    return "offset of the model class" if table.extra else "the first row"


def _usable_origin(table: PositionRows) -> str:
    if table.padding is not None:
        return "table size - padding index - 1"
    return "table size - 2" if table.extra else "one per row of the table"


def _told(table: PositionRows, rows: int, usable: int) -> str:
    if table.padding is not None:
        return (
            f"Positions come from a learned table of {rows} rows, offset by the padding index "
            f"{table.padding}: the first position id is {table.first} and {usable} positions are "
            "usable. There is no rotation to show."
        )
    if table.extra:
        return (
            f"Positions come from a learned table of {rows} rows, {table.extra} more than the "
            f"configuration says: the first position id is {table.first} and {usable} positions "
            "are usable. There is no rotation to show."
        )
    if table.kind == "growing":
        return (
            f"Positions come from a sinusoidal table of {rows} rows, which is worked out again for "
            "a longer text; there is no rotation to show."
        )
    if table.relative:
        return (
            f"Positions come from a learned table of distances of less than {usable} tokens; "
            "beyond there are none, and there is no rotation to show."
        )
    kind = "fixed sinusoidal" if table.kind == "sinusoidal" else "learned"
    return (
        f"Positions come from a {kind} table of {rows} rows: position {rows} and later do not "
        "exist, and there is no rotation to show."
    )
