"""From designs to outcomes: plan the lattice of a study, solve batches, certify and extrapolate. Knows no Dask.

Workers import this package, so it imports nothing by itself.
"""
