"""Real attention, a real language model, and tiny models trained on the spot.

The only room that imports torch and transformers, and only inside modules that a worker process
imports: what a page imports from here (plans, sources, stored results, the pool of workers) needs
neither.
"""
