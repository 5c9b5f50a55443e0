"""A genetic-algorithm antenna optimiser whose fitness function is an FDTD solver."""

__version__ = "0.1.0"
