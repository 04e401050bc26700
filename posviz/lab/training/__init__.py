"""Train short, test long: a tiny language model on a task whose floor is known.

``plan``, ``tasks``, ``trained``, ``trainable`` and ``stored`` are light, for pages; ``batches``
needs NumPy alone; ``model``, ``fit``, ``measured``, ``tested``, ``extend``, ``facts`` and ``run``
import torch and belong to a worker process.
"""
