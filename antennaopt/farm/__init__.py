"""Solve batches on worker processes, here or on other machines. Dask is used in this package alone.

Workers import this package, so it imports nothing by itself.
"""
