"""From designs to outcomes: plan a run's grid, evaluate a batch, farm batches out. Dask is used in here alone.

Workers import this package, so it imports nothing by itself.
"""
