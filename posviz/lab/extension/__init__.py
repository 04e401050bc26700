"""Context extension measured on a real model: loss against position, and retrieval of pass keys.

Light: ``plan``, ``records``, ``applied``, ``cache`` and ``stored``, which pages import. Heavy, for
worker processes only: ``reading``, ``run`` and ``passkey``. ``python -m posviz.lab.extension``
makes the stored results again.
"""
