"""Which relative distances a sequence of chunks with gaps between them holds."""

from __future__ import annotations

import numpy as np


def distance_coverage(starts: np.ndarray, lengths: np.ndarray, target_length: int) -> np.ndarray:
    """Share of the examples that hold each distance 0 … target_length-1.

    A chunk of length l holds the distances 0 … l-1; two chunks hold every distance from the end of
    one to the start of the other up to that from start to end.

    Parameters
    ----------
    starts : (examples, chunks) first position of each chunk, ascending and without overlap.
    lengths : (examples, chunks) positions in each chunk, at least 1.
    target_length : positions that there are.
    """
    examples, chunks = starts.shape
    ends = starts + lengths - 1
    first, second = np.triu_indices(chunks, 1)
    near = np.concatenate((np.zeros_like(starts), starts[:, second] - ends[:, first]), axis=1)
    far = np.concatenate((lengths - 1, ends[:, second] - starts[:, first]), axis=1)
    order = np.argsort(near, axis=1)
    near, far = (np.take_along_axis(one, order, axis=1) for one in (near, far))
    # Each interval adds what the ones before it, which start earlier, have not reached.
    reached = np.maximum.accumulate(far, axis=1)
    before = np.concatenate((np.full((examples, 1), -1), reached[:, :-1]), axis=1)
    opens, closes = np.maximum(near, before + 1), np.maximum(reached, before) + 1
    opens, is_new = np.minimum(opens, closes), closes > opens
    steps = np.zeros(target_length + 1)
    np.add.at(steps, opens[is_new], 1)
    np.subtract.at(steps, closes[is_new], 1)
    return np.asarray(np.cumsum(steps)[:target_length] / examples)
