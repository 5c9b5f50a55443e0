// Parameters of every kernel of the planar stencils: the batch in device memory. One copy in constant memory.
//
// The host builds the same structure from this text (fdtd/backends/cuda/text.py), so a line holds one member.
// `real` is float or double. All planes are [rows + 2, pitch] with one row of zeros below and above; column i is
// stored at LEAD + i, with zeros on both sides.
#ifndef REAL
#error "REAL must be float or double"
#endif
typedef REAL real;

// 1 in an ablation: numbers are moved as usual, and none is changed.
#ifndef MOVE_ONLY
#define MOVE_ONLY 0
#endif

struct Parameters {
    // Planes of the state [batch, Stencil::PLANES, rows + 2, pitch]; schemes that need it write to the second one
    real *state;
    real *other;
    // Memory of the stretched derivatives [batch, 4, rows + 2, pitch], and a second one
    real *psi;
    real *other_psi;
    // [batch, Stencil::COEFFICIENTS, rows + 2, pitch]
    const real *coefficients;
    // Stretching 1/s: 1/kappa, b, c at nodes and at half nodes [2, 3, columns], [2, 3, rows]
    const real *filters_x;
    const real *filters_y;
    // First row, first column, rows and columns of each tile's core [tiles, 4]
    const int *tiles;
    // Phase, plane, row and column of each source [sources, 4]; the number subtracted from its field [batch, sources,
    // steps]
    const int *sources;
    const real *samples;
    // Plane, row and column of each point that is sampled [probes, 3]; samples [batch, steps, probes]
    const int *probes;
    real *record;
    int batch;
    int rows;
    int columns;
    int pitch;
    int source_count;
    int probe_count;
    int steps;
    // Absorbing layers, cells; outside them nothing is stretched
    int layer;
    real weight;
};

__constant__ Parameters P;

// Zero columns before the first: in memory a row's first cell starts a cache line, so that a warp's 32 take one; on
// chip 16 bytes are enough.
#define LEAD 32
#define ROW_LEAD 4

enum { WARP = 32 };

// The derivatives that have a memory, in the order of `psi`.
enum Derivative { NODE_X, HALF_X, NODE_Y, HALF_Y };

__device__ inline long long plane_size() { return (long long)(P.rows + 2) * P.pitch; }

// Where column 0 of row j stands in a plane.
__device__ inline long long row_at(int j) { return (long long)(j + 1) * P.pitch + LEAD; }

// Whether a row or column of `count` is clear of the layers.
__device__ inline bool plain(int at, int count) { return at > P.layer && at < count - 2 - P.layer; }

// Whether a row and the columns of a warp, first to first + 31, are.
__device__ inline bool all_plain(int j, int first) {
    return plain(j, P.rows) && plain(first, P.columns) && plain(first + WARP - 1, P.columns);
}

// Results of a phase for one cell, before they are stored.
struct Values {
    real at[4];
};

// Place of the coefficients: device memory, constant while a kernel runs.
enum Home { ON_CHIP, IN_MEMORY };

// One cell and its neighbours: plane 0 of its row, of the row below (j - 1) and above, all at its own column.
template <bool STRETCHED, Home MEDIA = ON_CHIP> struct Cell {
    real *below, *here, *above;
    long long stride;                 // from plane to plane
    const real *low, *middle, *high;  // coefficients, likewise
    long long step;
    real *psi;  // memories of this cell
    long long psi_stride;
    int j, i;
    int parity;  // of the time step: which of two planes is the old one

    __device__ real &field(int plane, int dj = 0, int di = 0) const {
        return (dj < 0 ? below : dj > 0 ? above : here)[plane * stride + di];
    }
    __device__ real coefficient(int which, int dj = 0, int di = 0) const {
        const real *place = (dj < 0 ? low : dj > 0 ? high : middle) + which * step + di;
        return MEDIA == IN_MEMORY ? __ldg(place) : *place;
    }
    // A difference as the layers stretch it; advances its memory, so once a step.
    __device__ real stretched(Derivative which, real difference) const {
        if (!STRETCHED) return difference;
        const bool x = which == NODE_X || which == HALF_X;
        const int n = x ? P.columns : P.rows, half = which == HALF_X || which == HALF_Y ? 3 * n : 0;
        if (plain(x ? i : j, n)) return difference;
        const real *filter = (x ? P.filters_x + i : P.filters_y + j) + half;
        const real gain = __ldg(filter), decay = __ldg(filter + n), drive = __ldg(filter + 2 * n);
        if (drive == real(0)) return gain * difference;
        real &memory = psi[which * psi_stride];
        const real next = decay * memory + drive * difference;
        memory = next;
        return gain * difference + next;
    }
    // Neither on the rim of the lattice nor outside.
    __device__ bool inner() const { return j > 0 && i > 0 && j < P.rows - 1 && i < P.columns - 1; }
};

// Whether any of `count` entries of `size` numbers, row and column last, is where `inside(row, column)` says.
template <class Inside> __device__ inline bool any_place(const int *places, int count, int size, Inside inside) {
    bool found = false;
    for (int n = 0; n < count; ++n) found = found || inside(places[n * size + size - 2], places[n * size + size - 1]);
    return found;
}

// Takes the sources of one phase and step off their fields. `own(row, column)` gives plane 0 of a cell that this thread
// itself updates, or null, so that no thread waits; `stride` goes from plane to plane.
template <class Own> __device__ inline void impress(int problem, int step, int phase, long long stride, Own own) {
#pragma unroll 1
    for (int s = 0; s < P.source_count; ++s) {
        const int *source = P.sources + 4 * s;
        if (source[0] != phase) continue;
        real *cell = own(source[2], source[3]);
        if (cell) cell[source[1] * stride] -= P.samples[((long long)problem * P.source_count + s) * P.steps + step];
    }
}

// Samples the fields after a step, where `at(plane, row, column)` gives a place to read, or null.
template <class At> __device__ inline void sample(int problem, int step, int thread, int threads, At at) {
#pragma unroll 1
    for (int p = thread; p < P.probe_count; p += threads) {
        const int *probe = P.probes + 3 * p;
        const real *field = at(probe[0], probe[1], probe[2]);
        if (field) P.record[((long long)problem * P.steps + step) * P.probe_count + p] = *field;
    }
}
