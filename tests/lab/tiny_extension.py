"""A tiny random Llama that reads characters, with a window of 128, for runs past its window."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from posviz.lab.workers import Progress
from tests.lab.tiny_models import decoder_folder, transformers

WINDOW = 128
TEXT = ("the cat sat on the mat. it ran: a dog, five eggs and 12 hens came by. " * 12)[:700]
_LETTERS = [*"abcdefghijklmnopqrstuvwxyz0123456789 \n-.:ABCDEFGHIJRT"]


def folder(path: Path, **more: Any) -> Path:
    """The model with its tokenizer: one token per character."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers

    made = decoder_folder(path, **more)
    names = {letter: place for place, letter in enumerate(["[UNK]", *_LETTERS])}
    pieces = Tokenizer(models.WordLevel(names, "[UNK]"))
    pieces.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    fast = transformers().PreTrainedTokenizerFast(tokenizer_object=pieces, unk_token="[UNK]")
    fast.save_pretrained(made)
    return made


class Told:
    """Keeps what a task reports."""

    def __init__(self) -> None:
        self.progress: list[Progress] = []

    def __call__(self, progress: Progress) -> None:
        self.progress.append(progress)


@cache
def links() -> dict[str, str]:
    """Every method that transformers can express, as a link for a head of 8 and window 128."""
    short, long = "1,1.5,2,2.5", "1,2,4,8"
    return {
        "rope": "rope",
        "linear": "linear?scaling_factor=2",
        "ntk_aware": "ntk_aware?scaling_factor=2",
        "dynamic_ntk": "dynamic_ntk?scaling_factor=2",
        "ntk_by_parts": "ntk_by_parts?scaling_factor=2",
        "yarn": "yarn?scaling_factor=2",
        "yarn without factor": "yarn",
        "yarn, own factors": "yarn?scaling_factor=4&beta_fast=16&beta_slow=2&truncate=false",
        "llama3": "llama3?scaling_factor=2&low_freq_factor=1&high_freq_factor=4"
        "&original_max_position_embeddings=128",
        "longrope": f"longrope?short_factor={short}&long_factor={long}&max_position_embeddings=256",
        "abf": "abf?new_base=500000",
    }
