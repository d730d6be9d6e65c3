"""Marking on the workers of a Dask scheduler. Only `worker` and `connect` import Dask, and only when it is used."""
