"""Sweeps: links × lengths × models → a table, on the processes of one machine or a Dask cluster.

Light: everything but ``measuring`` and what it imports, which only worker processes load.
"""
