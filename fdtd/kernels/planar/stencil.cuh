// The planar stencil, written from its formula (fdtd/backends/cuda/formula_text.py).
#include "stencil.cuh"

// The phases after the first, as template arguments; the last one again where there are fewer.
enum { SECOND = Stencil::PHASES < 2 ? 0 : 1, THIRD = Stencil::PHASES - 1 };
