"""Biases on the logits instead of a rotation: ALiBi and T5's buckets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from posviz.configs.checks import alibi, t5_buckets
from posviz.configs.checks.diagnosis import Diagnosis
from posviz.configs.checks.subject import Subject
from posviz.configs.position_biases import alibi_bias, bucket_bias

CODES: Mapping[str, str] = {**alibi.CODES, **t5_buckets.CODES}


def find(subject: Subject) -> Iterator[Diagnosis]:
    """What is to know about the bias, if the model has one."""
    if subject.model.layers:
        return
    model_type = subject.model.model_type
    slopes = alibi_bias(subject.section, model_type)
    if slopes is not None:
        yield from alibi.find_alibi(slopes, subject)
        return
    buckets = bucket_bias(subject.section, model_type)
    if buckets is not None:
        yield from t5_buckets.find_buckets(buckets, subject)
