"""A model and its tokenizer through transformers, kept in the worker; heavy.

Whatever is asked for is read from this machine: transformers is told to stay offline.
"""

from __future__ import annotations

import io
import os
from contextlib import redirect_stderr

os.environ["HF_HUB_OFFLINE"] = "1"  # read when transformers is imported

from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import SafetensorError

from posviz import configs
from posviz.lab.errors import LabError
from posviz.lab.installed import missing
from posviz.lab.language_model.gguf_once import parsed_once
from posviz.lab.language_model.sources import Source, find
from posviz.lab.workers import Progress, Report

Attention = Literal["eager", "sdpa"]
_UNREADABLE = (OSError, ValueError, KeyError, ImportError, RuntimeError, SafetensorError)
_Stamp = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class Loaded:
    """A model in memory, shared by all jobs of this worker: nothing in it may be changed.

    How its attention is computed is no exception: whoever loads it says so anew, and one job runs
    in a worker at a time.
    """

    source: Source
    model: Any
    tokenizer: Any
    reading: configs.Model


@dataclass(frozen=True)
class Tokens:
    """A text as the model reads it: ids (1, n), their pieces, and how many there were uncut."""

    ids: torch.Tensor
    pieces: tuple[str, ...]
    total: int


def decoder(name: str, report: Report, *, attention: Attention = "eager") -> Loaded:
    """A causal language model in float32, and its tokenizer.

    Raises
    ------
    LabError : transformers is not installed, there is no such model, it is an encoder, or
        transformers cannot read it.
    """
    return _loaded(find(name), "decoder", attention, report)


def encoder(name: str, report: Report) -> Loaded:
    """A model of the BERT family in float32, and its tokenizer. Raises as :func:`decoder`."""
    return _loaded(find(name), "encoder", "eager", report)


def tokenizer(name: str, report: Report) -> Any:
    """The tokenizer alone, which is much the smaller part. Raises as :func:`decoder`."""
    source = find(name)
    _check_installed()
    report(Progress(0, 1, f"reading the tokenizer of {source.title}"))
    return _tokenizer(source.path, source.stamp)


def tokens_of(
    loaded: Loaded, text: str, most: int, *, least: int = 8, name: str = "text"
) -> Tokens:
    """The first ``most`` tokens of a text.

    Raises
    ------
    LabError : a text of fewer than ``least`` tokens, in which nothing could be measured, or one
        that is no Unicode text.
    """
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise LabError(
            f"{loaded.source.title}: {name} must be Unicode text; got half of a surrogate pair."
        )
    found = loaded.tokenizer(text, return_tensors="pt", verbose=False)["input_ids"]
    total = int(found.shape[1])
    if total < least:
        raise LabError(
            f"{loaded.source.title}: {name} must have at least {least} tokens; got {total}."
        )
    ids = found[:, :most]
    return Tokens(ids, pieces_of(loaded, ids[0]), total)


def pieces_of(loaded: Loaded, ids: torch.Tensor) -> tuple[str, ...]:
    """Each token as text."""
    return tuple(loaded.tokenizer.decode([int(one)]) for one in ids)


def _loaded(source: Source, kind: str, attention: Attention, report: Report) -> Loaded:
    if source.kind != kind:
        other = "an encoder of the BERT family" if kind == "decoder" else "a causal language model"
        needed = "a causal language model" if kind == "decoder" else "an encoder of the BERT family"
        raise LabError(f"{source.title} is {other}; this needs {needed}.")
    _check_installed()
    with parsed_once():
        report(Progress(0, 1, f"reading the tokenizer of {source.title}"))
        pieces = _tokenizer(source.path, source.stamp)
        report(Progress(0, 1, f"reading the weights of {source.title}"))
        model = _model(source.path, source.stamp, kind)
    model.set_attn_implementation(attention)
    return Loaded(source, model, pieces, configs.read(source.config()))


def _check_installed() -> None:
    if lacking := missing("torch", "transformers", "accelerate"):
        raise LabError(lacking)


@lru_cache(maxsize=2)
def _tokenizer(path: Path, stamp: _Stamp) -> Any:
    from transformers import AutoTokenizer

    return _read(AutoTokenizer, path)


@lru_cache(maxsize=2)
def _model(path: Path, stamp: _Stamp, kind: str) -> Any:
    from transformers import AutoModel, AutoModelForCausalLM

    reader = AutoModelForCausalLM if kind == "decoder" else AutoModel
    more = {} if path.is_file() else {"use_safetensors": True}
    model, found = _read(
        reader,
        path,
        dtype=torch.float32,
        attn_implementation="eager",
        output_loading_info=True,
        **more,
    )
    # transformers would draw them at random and go on; nothing here looks at a pooler.
    if absent := sorted(name for name in found["missing_keys"] if "pooler" not in name):
        raise LabError(
            f"{path.name} lacks {len(absent)} of the model's weights, {absent[0]} among them."
        )
    return model.eval()


def _read(reader: Any, path: Path, **options: Any) -> Any:
    logging: Any = import_module("transformers.utils.logging")
    errors: Any = import_module("huggingface_hub.errors")
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    folder = path.parent if path.is_file() else path
    if path.is_file():
        options["gguf_file"] = path.name
    try:
        with redirect_stderr(
            io.StringIO()
        ):  # a progress bar of the GGUF reader, not to be turned off
            return reader.from_pretrained(
                str(folder), local_files_only=True, trust_remote_code=False, **options
            )
    except (*_UNREADABLE, errors.StrictDataclassError) as error:
        told = " ".join(str(error).split())[:300]
        if path.suffix == ".gguf" and told.startswith("cannot reshape array"):
            # The reader's words for a tensor that goes on beyond the end of the file.
            told = "the file ends within a tensor; it was not copied or downloaded whole."
        raise LabError(f"transformers cannot read {path.name}: {told}") from error
