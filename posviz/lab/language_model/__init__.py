"""A real language model, offline: where it is, what its attention does, what its positions break.

Light: ``sources`` and ``records``, which pages import. Heavy, for worker processes only: the rest.
"""
