"""T5's buckets of distances, and who makes what of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from posviz.configs.checks.diagnosis import Diagnosis
from posviz.configs.checks.subject import Subject
from posviz.configs.checks.wording import of_runtime
from posviz.configs.other_positions import bucket_numbers
from posviz.configs.position_biases import LIBRARY_DISTANCE, BucketBias, last_bucket_start

CODES: Mapping[str, str] = {
    "PV317": "T5: from which distance on all share the last bucket.",
    "PV318": "relative_attention_max_distance is not 128, which llama.cpp does not read.",
    "PV319": "Numbers of buckets that give no buckets.",
}
_T5_BOTH = "relative_attention_num_buckets", "relative_attention_max_distance"


def find_buckets(bias: BucketBias, subject: Subject) -> Iterator[Diagnosis]:
    """What is to know about the buckets."""
    numbers = bucket_numbers(bias)
    two_way = numbers and last_bucket_start(*numbers, two_way=True)
    causal = numbers and last_bucket_start(*numbers, two_way=False)
    if numbers is None or not (two_way and causal):
        yield _no_buckets(bias, subject)
        return
    buckets, distance = numbers
    name = subject.model.model_type
    encoder_only = name in ("mpnet", "wavlm")
    yield Diagnosis(
        code="PV317",
        severity="ok",
        message=(
            f"{buckets} buckets up to a distance of {distance}{_defaults(bias)}: the last bucket "
            "starts before "
            f"that, at {two_way} in the encoder (both directions)"
            + ("" if encoder_only else f" and at {causal} in the decoder (causal)")
            + "; all distances from there on share one number, so no length is too long for it."
        ),
        fields=tuple(subject.section.key(key) for key in bias.given),
        values={
            "num_buckets": buckets,
            "max_distance": distance,
            "last_bucket_from_two_way": two_way,
            "last_bucket_from_causal": causal,
        },
    )
    yield from _other_distance(bias, distance, subject)


def _defaults(bias: BucketBias) -> str:
    names = [found.key for found in (bias.buckets, bias.distance) if "default of" in found.key]
    return f" ({'; '.join(names)})" if names else ""


def _no_buckets(bias: BucketBias, subject: Subject) -> Diagnosis:
    buckets, distance = bias.buckets.value, bias.distance.value
    return Diagnosis(
        code="PV319",
        severity="error",
        message=(
            f"The bias has {buckets!r:.40} buckets up to a distance of {distance!r:.40}; the "
            "number of buckets must be a whole number of at least 4, and the distance a whole "
            "number above half of the buckets, where buckets of one distance each end. The usual "
            "numbers are 32 and 128."
        ),
        fields=tuple(subject.section.key(key) for key in bias.given),
        patch=tuple(
            subject.put(subject.section.key(key), value)
            for key, value in zip(_T5_BOTH, (32, 128), strict=True)
            if key in bias.given
        ),
    )


def _other_distance(bias: BucketBias, distance: int, subject: Subject) -> Iterator[Diagnosis]:
    if distance == LIBRARY_DISTANCE or _T5_BOTH[1] not in bias.given:
        return
    if not subject.concerns("llama_cpp"):
        return
    yield Diagnosis(
        code="PV318",
        severity="info" if subject.runtime is None else "warn",
        message=(
            f"{bias.distance.key} is {distance}, but llama.cpp always takes 128, so it puts "
            "distances into other buckets than the model was trained with."
        ),
        fields=(bias.distance.key,),
        values={"max_distance": distance, "used_by_llama_cpp": LIBRARY_DISTANCE},
        runtimes=of_runtime(
            subject,
            {"transformers": f"takes {distance}.", "llama_cpp": "takes 128."},
        ),
    )
