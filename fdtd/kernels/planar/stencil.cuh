// The planar stencil that STENCIL names.
#define TMZ 1
#define TEZ 2
#define JACOBI5 3
#if STENCIL == TMZ
#include "kernels/planar/tmz.cuh"
#elif STENCIL == TEZ
#include "kernels/planar/tez.cuh"
#elif STENCIL == JACOBI5
#include "kernels/planar/jacobi5.cuh"
#else
#error "STENCIL must be TMZ, TEZ or JACOBI5"
#endif

// The phases after the first, as template arguments; the last one again where there are fewer.
enum { SECOND = Stencil::PHASES < 2 ? 0 : 1, THIRD = Stencil::PHASES - 1 };
