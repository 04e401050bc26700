"""What to see on the page, what it does not show, and what is often said."""

from __future__ import annotations

from posviz.lab.training.plan import EXTENSION_SECONDS, MOST_SECONDS, TRAINING_SHARE

SEEDS = (0, 1, 2)
"""Seeds of which stored trainings may be at hand."""

SEE = """
- **Order-2 source.** The floor is known: no model can fall below it, and one that fails far out
  fails because of its positions alone. Sinusoidal and learned positions break right after L: the
  vectors that stand there never met training. RoPE holds to 1.5 L and is lost at 4 L. ALiBi, KERPLE
  and T5 stay near the floor to 8 L; FIRE bends near 3 L. NoPE is poor already at L: two layers
  hardly find "two tokens back" without positions.
- **Where the break is.** The curve against length says that a model fails; the curve against
  position in the longest test says where.
- **Extension without fine-tuning.** The trained RoPE model stays as it is, only its frequencies are
  others. On the source YaRN and by parts lead, whichever tokens are counted. PI is worse than
  nothing over all tokens, since it blurs also the first L, where plain RoPE is as trained; over the
  last L alone, where plain RoPE fails as well, it is better than nothing. On retrieval YaRN and
  by parts lead at 8 L and PI is third; the first two have the same frequencies, so that what lies
  between them is the temperature's doing.
- **Flip-flop memory.** ALiBi, RoPE and sinusoids learn it as trained; NoPE does not. Sinusoids and
  RoPE forget as the test gets longer, ALiBi does not, as long as writes come as often as in
  training. Where writes get rare all fail beyond L: ALiBi's bias has taught it to look near.
- **Faint lines** are stored trainings beside yours; where one was made with other settings its name
  says so. Another seed moves the digits.
"""

LIMITS = f"""
- Models of at most three layers and 64 dimensions, trained for seconds. Rankings that are published
  for large models come out here on tasks that were chosen for it; the digits mean nothing
  elsewhere.
- A task whose answers are near (order-2 source) cannot show that a method *uses* a long context. A
  flat curve says that distance does no harm, not that it helps.
- One training per line: the spread between seeds is not drawn. Try two or three.
- Encodings are fitted to the tiny model: windows, tables and distances in proportion to L, sizes
  those of the model. The column "trained as" has the link of what was really trained, and a note
  names each value that is not the one set.
- PI, NTK-aware and YaRN among the encodings are trained with their scaled frequencies from the
  first step; as extensions of a trained model they are tested in the last section.
- Counting asks for what stands near even in a long test, since resets keep coming; "guessing" is
  guessing with all answers alike, and always saying the most frequent one does a little better.
- Training and test of one encoding have {MOST_SECONDS:.0f} s of one core. A training that is not
  done after {TRAINING_SHARE * MOST_SECONDS:.0f} s (that for the extension:
  {TRAINING_SHARE * EXTENSION_SECONDS:.0f} s) is cut and says so: its line is named so, and a
  whole stored one stays beside it. A test that is not done at the end of the time says what is
  missing.
"""

READ = """
- *"RoPE extrapolates, since only differences of positions count."* They do; but differences beyond
  L turn the slow pairs by angles that were never trained.
- *"NoPE generalises best in length"* (Kazemnejad et al., 2023: mean reciprocal rank 0.69, against
  0.55 for T5 and 0.33 for RoPE). That was ten tasks of reasoning, 12 layers and 107 million
  parameters. Two layers of width 64 are no evidence for or against it.
- *"ALiBi extrapolates"* (Press et al., 2022). Its loss stays flat, since far tokens are out of its
  sight; the sparse flip-flop test shows the price.
- *"PI needs fine-tuning."* Here is why: every frequency is divided, the fast ones too.
"""

SOURCES = (
    "Press et al. 2022, arXiv:2108.12409, figure 1 (length curve) · Liu et al. 2023, "
    "arXiv:2306.00946 (flip-flop memory) · Kazemnejad et al. 2023, arXiv:2305.19466 · Peng et al. "
    "2023, arXiv:2309.00071 (YaRN) · Su, kexue.fm 9675 and 9708 (extension without fine-tuning)"
)
