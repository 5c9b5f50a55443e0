"""Steppers of a `fdtd.problem.Problem`: `reference` (NumPy, float64, the oracle) and `cpu` (Numba)."""
