"""Planar fields, d/dz = 0, and the five-point sum: problems, bodies, and scattering by cylinders."""
