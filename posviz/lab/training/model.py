"""A decoder-only transformer, as small as the tasks allow, with any encoding in it."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from posviz.encodings.base import Encoding
from posviz.lab.encoded import Encoded, fitted
from posviz.lab.training.plan import Plan
from posviz.results import Result


class Layer(nn.Module):
    """Attention and a network of two linear maps, each after a normalisation and added on."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before_attention = nn.LayerNorm(width)
        self.into_heads = nn.Linear(width, 3 * width, bias=False)
        self.out_of_heads = nn.Linear(width, width, bias=False)
        self.network = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width)
        )

    def forward(
        self, stream: Tensor, encoded: Encoded, layer: int, result: Result | None
    ) -> Tensor:
        batch, length, width = stream.shape
        inputs = self.before_attention(stream)
        parted = self.into_heads(inputs).view(batch, length, 3, self.heads, -1)
        queries, keys, values = parted.permute(2, 0, 3, 1, 4).unbind(0)
        mixed = encoded.attend(layer, result, queries, keys, values, inputs)
        joined = mixed.transpose(1, 2).reshape(batch, length, width)
        after: Tensor = stream + self.out_of_heads(joined)
        added: Tensor = self.network(after)
        return after + added


class Model(nn.Module):
    """Tokens (batch, length) to logits (batch, length, vocabulary)."""

    def __init__(self, spec: Encoding, plan: Plan) -> None:
        super().__init__()
        vocabulary = plan.about.vocabulary
        self.encoded = Encoded(spec, plan.layers, seed=plan.seed)
        self.embedding = nn.Embedding(vocabulary, plan.width)
        deviation = plan.embedding_scale * plan.width**-0.5
        nn.init.normal_(self.embedding.weight, std=deviation)
        self.layers = nn.ModuleList(Layer(plan.width, plan.heads) for _ in range(plan.layers))
        self.normed = nn.LayerNorm(plan.width)
        self.head = nn.Linear(plan.width, vocabulary, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        results = self.encoded.results(tokens.shape[1], tokens.device)
        stream = self.encoded.enter(self.embedding(tokens), results[0])
        for place, layer in enumerate(self.layers):
            stream = layer(stream, self.encoded, place, results[place])
        logits: Tensor = self.head(self.normed(stream))
        return logits


def fitted_to(spec: Encoding, plan: Plan) -> Encoding:
    """The spec with the sizes and lengths of a plan's model."""
    return fitted(
        spec,
        heads=plan.heads,
        head_dim=plan.head_dim,
        model_dim=plan.width,
        layers=plan.layers,
        length=plan.length,
        longest=plan.longest,
    )


def started(spec: Encoding, plan: Plan) -> Model:
    """A model at its start: the same for the same spec and plan."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(plan.seed)
        return Model(spec, plan)


def losses(logits: Tensor, targets: Tensor, ignored: int) -> Tensor:
    """Nats at each place, 0 where the target is ``ignored``: (batch, length)."""
    flat = functional.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), ignore_index=ignored, reduction="none"
    )
    return flat.view(targets.shape)
