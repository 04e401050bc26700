"""The family that a model type belongs to, for lists that people search."""

from __future__ import annotations

_PREFIXES: tuple[tuple[str, str], ...] = (
    ("llama", "Llama"),
    ("mllama", "Llama"),
    ("qwen", "Qwen"),
    ("gemma", "Gemma"),
    ("recurrent_gemma", "Gemma"),
    ("t5gemma", "Gemma"),
    ("vaultgemma", "Gemma"),
    ("mistral", "Mistral"),
    ("mixtral", "Mistral"),
    ("ministral", "Mistral"),
    ("phi", "Phi"),
    ("deepseek", "DeepSeek"),
    ("gpt_oss", "GPT-OSS"),
    ("gpt_neox", "GPT-NeoX"),
    ("gptj", "GPT-J"),
    ("codegen", "CodeGen"),
    ("cohere", "Command"),
    ("falcon", "Falcon"),
    ("stablelm", "StableLM"),
    ("modernbert", "ModernBERT"),
    ("roberta", "BERT"),
    ("bert", "BERT"),
    ("glm", "GLM"),
    ("chatglm", "GLM"),
    ("smollm", "SmolLM"),
    ("olmo", "OLMo"),
    ("granite", "Granite"),
)


def family_of(model_type: str) -> str:
    """The family's usual name; the model type itself when it is not a listed one."""
    for prefix, family in _PREFIXES:
        if model_type.startswith(prefix):
            return family
    return model_type or "unknown"
