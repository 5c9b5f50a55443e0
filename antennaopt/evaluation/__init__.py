"""From designs to outcomes: plan a run's grid, evaluate a batch, farm batches out. Dask is used in here and nowhere else.

Workers import this package, so it imports nothing by itself.
"""
