"""Tiny random models of transformers in folders, as a user would name them."""

from __future__ import annotations

import importlib
import json
import warnings
from pathlib import Path
from typing import Any

import torch

WORDS = [f"w{number}" for number in range(60)]
TEXT = " ".join(WORDS[(7 * number * number + 3 * number) % 60] for number in range(24))


def transformers() -> Any:
    """The module, with what its import warns about itself kept out of the tests."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module("transformers")


def decoder_folder(folder: Path, name: str = "Llama", *, heads: int = 4, **more: Any) -> Path:
    """Two layers, four query heads over two key heads, head_dim 8."""
    lib = transformers()
    config = getattr(lib, f"{name}Config")(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=heads,
        num_key_value_heads=2,
        head_dim=8,
        max_position_embeddings=128,
        **more,
    )
    kind = getattr(lib, f"{name.removesuffix('Text')}ForCausalLM")
    return _saved(folder, kind, config, ends=False)


def encoder_folder(folder: Path) -> Path:
    """A BERT of two layers and four heads with 32 positions."""
    lib = transformers()
    config = lib.BertConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=32,
    )
    return _saved(folder, lib.BertModel, config, ends=True)


def _saved(folder: Path, kind: Any, config: Any, *, ends: bool) -> Path:
    torch.manual_seed(5)
    model = kind(config)
    with torch.no_grad():  # as drawn, all attention would be nearly even
        for name, weights in model.named_parameters():
            if any(part in name for part in ("q_proj", "k_proj", "query.weight", "key.weight")):
                weights.mul_(25)
            if "position_embeddings" in name:
                weights.mul_(20)
    model.save_pretrained(folder)
    _tokenizer(ends).save_pretrained(folder)
    written = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert written["model_type"] == config.model_type
    return folder


def _tokenizer(ends: bool) -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    names = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", *WORDS]
    found = Tokenizer(models.WordLevel({word: at for at, word in enumerate(names)}, "[UNK]"))
    found.pre_tokenizer = pre_tokenizers.Whitespace()
    if ends:
        found.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
        )
    return transformers().PreTrainedTokenizerFast(tokenizer_object=found, unk_token="[UNK]")
