"""How a tiny model is trained and tested: declared parameters, as an encoding has them."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from annotated_types import Ge, Gt, Le
from pydantic import model_validator

from posviz.lab.training.tasks import TASKS, Task, TaskId
from posviz.parameters import (
    Declared,
    Parameter,
    ParameterError,
)

MOST_SECONDS = 40.0
"""Longest that a page lets one encoding take: training and test together."""
TRAINING_SHARE = 0.75
"""Share of that time that the training may take; the test has what is left."""
LONGEST_TEST = 1024
"""Longest sequences of a test: tokens."""
MOST_TEST_PAIRS = 1 << 25
"""Most pairs of tokens in the sequences of the longest test: 32 sequences of 1024."""
LEAST_ANSWERS = 1000
"""Answers from which a share of right ones is computed, at least."""
EXTENDED_BY = (2.0, 4.0, 8.0)
"""Factors of an extension without fine-tuning: test lengths in lengths of training."""
EXTENSION_HEADS = 2
"""Two heads of the usual width have 16 pairs each: with fewer, hardly one lies between the ends of
the ramp."""
EXTENSION_SECONDS = 120.0
"""The same for an extension, whose one model serves all methods; its test is not limited."""
MOST_LINKS = 6
"""Encodings that one job trains."""
LEARNED_WITHIN = 0.1
"""A model has learned a task where its result at the length of training is this near the best."""
FOLLOW_TASK = ("steps", "embedding_scale")
"""Values of a plan that each task brings with it: :meth:`Plan.for_task`."""
TESTED_AT = (0.5, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0)
"""Test lengths, in lengths of training."""
OTHER_TESTS_AT = (1.0, 2.0, 4.0)
"""The same for sequences made otherwise than in training: of the sparse ones, which hardly ask
anything, a thousand answers take hundreds of sequences."""


class Plan(Declared):
    """One training: the task, the model, the steps, and how far it is tested."""

    title: ClassVar[str] = "Training"

    task: Annotated[TaskId, Parameter(help="What the model is trained on.")] = "markov"
    layers: Annotated[
        int, Ge(1), Le(3), Parameter(help="Layers of the model.", slider=(1, 3), step=1)
    ] = 2
    width: Annotated[
        int,
        Ge(8),
        Le(64),
        Parameter(
            help="Size of the vector that stands for a token.",
            symbol="d",
            unit="dimensions",
            slider=(16, 64),
            step=8,
        ),
    ] = 64
    heads: Annotated[
        int,
        Ge(1),
        Le(8),
        Parameter(help="Attention heads of each layer.", symbol="H", slider=(1, 8), step=1),
    ] = 4
    length: Annotated[
        int,
        Ge(16),
        Le(128),
        Parameter(
            help="Length of the sequences in training.",
            symbol="L",
            unit="tokens",
            slider=(16, 128),
            step=8,
        ),
    ] = 64
    steps: Annotated[
        int,
        Ge(1),
        Le(5000),
        Parameter(
            help="Steps of Adam; the table of tasks says how many each needs.",
            unit="steps",
            slider=(50, 2000),
            step=50,
        ),
    ] = 400
    sequences: Annotated[
        int,
        Ge(1),
        Le(128),
        Parameter(help="Sequences in each step.", slider=(8, 64), step=8),
    ] = 32
    learning_rate: Annotated[
        float,
        Gt(0),
        Le(0.1),
        Parameter(
            help="Largest step size of Adam; it rises over the first steps and falls to a tenth.",
            slider=(1e-4, 1e-2),
            scale="log",
        ),
    ] = 3e-3
    bias_rate: Annotated[
        float,
        Gt(0),
        Le(100),
        Parameter(
            help="Step size of the learned numbers that are added to logits, in multiples of the "
            "others' (T5, KERPLE, FIRE): in so short a training they hardly move at 1.",
            slider=(1, 30),
            scale="log",
        ),
    ] = 10.0
    embedding_scale: Annotated[
        float,
        Gt(0),
        Le(64),
        Parameter(
            help="Deviation of the token vectors at the start, in multiples of 1/√d, which makes "
            "vectors of length 1; √d times that is usual in large models. Copying from far back is "
            "learned in a fraction of the steps from 8 on.",
            symbol="e",
            slider=(0.5, 16),
            scale="log",
        ),
    ] = 1.0
    seed: Annotated[
        int,
        Ge(0),
        Le((1 << 32) - 1),
        Parameter(
            help="Seed of the model's start and of the training's sequences.",
            slider=(0, 20),
            step=1,
        ),
    ] = 0
    test_up_to: Annotated[
        int,
        Ge(1),
        Le(16),
        Parameter(
            help="Longest test, in lengths of training.", unit="lengths", slider=(2, 8), step=1
        ),
    ] = 8
    test_sequences: Annotated[
        int,
        Ge(1),
        Le(256),
        Parameter(help="Sequences of each test.", slider=(8, 64), step=8),
    ] = 32
    most_seconds: Annotated[
        float,
        Gt(0),
        Le(36000),
        Parameter(
            help="Time of one core for training and test together, after which they are cut and "
            "say so: the training after three quarters of it. A page allows 40.",
            unit="s",
            slider=(5, MOST_SECONDS),
            step=5,
        ),
    ] = MOST_SECONDS

    @property
    def training_seconds(self) -> float:
        """The longest that the training may take."""
        return TRAINING_SHARE * self.most_seconds

    @model_validator(mode="after")
    def _check_heads(self) -> Plan:
        if self.width % (2 * self.heads):
            raise ParameterError(
                f"{self.title}: width must be a multiple of twice the heads, so that each head has "
                f"an even size; got width {self.width} and heads {self.heads}."
            )
        return self

    @model_validator(mode="after")
    def _check_test(self) -> Plan:
        if self.longest > max(LONGEST_TEST, self.length):
            raise ParameterError(
                f"{self.title}: length times test_up_to, the longest test, must be at most "
                f"{LONGEST_TEST} tokens; got {self.length} times {self.test_up_to}."
            )
        if self.test_sequences * self.longest**2 > MOST_TEST_PAIRS:
            most = MOST_TEST_PAIRS // self.longest**2
            raise ParameterError(
                f"{self.title}: test_sequences must be at most {most} where the longest test has "
                f"{self.longest} tokens; got {self.test_sequences}."
            )
        return self

    @property
    def head_dim(self) -> int:
        return self.width // self.heads

    @property
    def longest(self) -> int:
        """The longest test: tokens."""
        return self.length * self.test_up_to

    @property
    def lengths(self) -> tuple[int, ...]:
        """The test lengths: tokens, ascending."""
        return tuple(
            int(self.length * times) for times in TESTED_AT if times <= max(1, self.test_up_to)
        )

    def lengths_of(self, variant: str) -> tuple[int, ...]:
        """The test lengths of one kind of sequences: all for those made as in training."""
        if variant == next(iter(self.about.variants)):
            return self.lengths
        some = {int(self.length * times) for times in OTHER_TESTS_AT}
        return tuple(length for length in self.lengths if length in some)

    @property
    def about(self) -> Task:
        return TASKS[self.task]

    def with_values(self, **values: Any) -> Plan:
        """The same plan with some values changed, checked like any other."""
        return Plan(**{**self.model_dump(), **values})

    @classmethod
    def for_task(cls, task: str, **values: Any) -> Plan:
        """The plan with what a task needs; an unknown task raises ParameterError."""
        needed = {name: getattr(TASKS[task], name) for name in FOLLOW_TASK} if task in TASKS else {}
        return cls(**{"task": task, **needed, **values})

    @property
    def beta_fast(self) -> float:
        """Turns within the training from which a pair of RoPE stays as it is: an eighth of L.

        32 turns, which suit 2048 tokens and more, would leave no pair as it is.
        """
        return min(32.0, max(1.0, self.length / 8))

    @classmethod
    def for_extension(cls, task: str = "markov", **values: Any) -> Plan:
        """The plan of a RoPE model whose frequencies are swapped."""
        return cls.for_task(task, **{"heads": EXTENSION_HEADS, **values})

    @property
    def can_be_extended(self) -> bool:
        """Whether frequencies can be swapped in a model of this task: its test is a loss."""
        return self.about.metric == "loss"
