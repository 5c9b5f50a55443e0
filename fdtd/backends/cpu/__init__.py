"""The CPU backend: Numba, float32 or float64, one antenna a core."""

from fdtd.backends.cpu.stepper import run

__all__ = ["run"]
