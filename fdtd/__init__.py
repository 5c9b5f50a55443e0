"""Maxwell's equations on Yee grids: geometry to fields to scattering and radiation. Knows no optimiser."""
