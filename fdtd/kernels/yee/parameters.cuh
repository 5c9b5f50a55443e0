// Parameters of the kernels of antennas on rectilinear Yee lattices, and what an antenna's numbers are called.
//
// The host builds the same structure from this text (fdtd/backends/cuda/text.py), so a line holds one member.
// Each antenna of a batch has a lattice, a time step and a step count of its own. Its parts of the arrays follow those
// of the antenna before; `starts` has where they begin. `real` is float or double, `number` an unsigned integer.
#ifndef REAL
#error "REAL must be float or double"
#endif
#ifndef NUMBER
#error "NUMBER must be unsigned char or unsigned short"
#endif
typedef REAL real;
typedef NUMBER number;
typedef long long place;

// 1 in an ablation: numbers are moved as usual, and none is changed.
#ifndef MOVE_ONLY
#define MOVE_ONLY 0
#endif

// 1: fields and numbers of media are [k][component][j][i], in two places by turns (schemes/trapezoidal).
#ifndef PLANES_TOGETHER
#define PLANES_TOGETHER 0
#endif

struct Parameters {
    // [batch, COUNTS]
    const int *counts;
    // [batch, STARTS], in numbers of the array
    const place *starts;
    // Energy over its largest at which an antenna is done [batch]
    const double *decay;
    // [6, nz + 2, ny + 2, pitch]; entry [k, j, i] is the node and the half nodes after it. Entries beyond
    // nz, ny, nx are zero and stay so; they are read as those before the first as well
    real *fields;
    // Medium of each edge [3, nz + 2, ny + 2, pitch]: 0 is air, 1 metal and what is beyond the lattice
    const number *media;
    // ca and cb, m, of each medium [media, 2]
    const real *factors;
    // Relative permittivity of each medium, for the energy [media]
    const double *permittivity;
    // Of each of the stencil's spacings [6, 3, longest]: 1 / (kappa d), with c dt where H is formed, zero beyond the
    // lattice; b; kappa c. (1 / s) d becomes (d + psi) / kappa with psi <- b psi + kappa c d
    const real *axes;
    // Length that a node and a half node stand for, along x, y, z [3, 2, longest], m
    const double *lengths;
    // Memories of the layers in front of the faces x- and x+ [4, nz + 1, ny + 1, slots]; E first: half nodes' two,
    // nodes' two
    real *psi_x;
    // [4, nz + 1, slots, pitch]
    real *psi_y;
    // [4, slots, ny + 1, pitch]
    real *psi_z;
    // Driven edges, places in `fields` [sources], and volts a metre of a volt of the waveform [sources]
    const int *sources;
    const real *gains;
    // Values at (n + 1/2) dt [waveform]
    const real *waveform;
    // Edges of the sums, places in `fields` [probes], of any component; weights [sums, probes]; the first edge of a sum
    // and the one after its last [sums, 2]; and sums of each step [steps, sums]
    const int *probes;
    const double *weights;
    const int *spans;
    double *sums;
    // Edges of the sums at the steps whose sums are not formed yet [2, TRACE, probes]
    real *trace;
    // Places of the box in `fields` [box], and its samples: sample s of the run is in row s % held [held, box]
    const int *box;
    real *record;
    // Energy at each look, V^2 m [steps / check_every]
    double *energy;
    // Largest energy at any look, and the parts of the one that is formed [batch, LOOK_PARTS]; of a lattice that
    // several devices step, followed by what each thread has added up so far [LOOK_PARTS, LOOK_THREADS], and by what
    // lanes have of each row of a component [planes, rows, 32]
    double *peak;
    double *shares;
    // Whether an antenna runs; the steps of its last look, and the place of the fields then [batch]
    int *active;
    int *taken;
    int *turned;
    // Between blocks that are no cluster (schemes/resident/yee_edges.cuh): parcels of 16 bytes, as two numbers, and a
    // counter of arrivals in every 16th number
    place *posts;
    place *meetings;
    // Antennas that the host starts blocks for [batch]
    const int *stepped;
};

__constant__ Parameters P;

enum Count {
    NX, NY, NZ,           // cells
    PITCH, LONGEST,       // numbers of a row, of a row of `axes`
    LOW_X, HIGH_X,        // cells of the layers in front of x-, x+
    LOW_Y, HIGH_Y,
    LOW_Z, HIGH_Z,
    END_X, END_Y, END_Z,  // nodes that are stepped: cells, and one more in front of a magnetic wall
    STEPS, RECORD_EVERY, CHECK_EVERY, SETTLED,
    SOURCES, WAVEFORM, PROBES, SUMS, BOX, HELD,
    KINDS,                // of media
    COUNTS
};

enum Start {
    FIELDS, MEDIA, FACTORS, PERMITTIVITY, AXES_AT, LENGTHS, PSI_X, PSI_Y, PSI_Z,
    SOURCES_AT, GAINS, WAVEFORM_AT, PROBES_AT, WEIGHTS, SPANS, SUMS_AT, TRACE_AT, BOX_AT, RECORD, ENERGY,
    STARTS
};

__device__ inline int count(int antenna, Count which) { return __ldg(P.counts + antenna * COUNTS + which); }
__device__ inline place start(int antenna, Start which) { return __ldg(P.starts + antenna * STARTS + which); }

// Entries of the layers' memories along an axis: cells of the two layers, and one for the last node.
__device__ inline int slots(int low, int high) { return low + high > 0 ? low + high + 1 : 0; }
// The entry of an index, negative outside the layers.
__device__ inline int slot(int at, int cells, int low, int high) {
    if (at < low) return at;
    return high > 0 && at >= cells - high ? low + at - (cells - high) : -1;
}

// Its fields, in one of their places.
__device__ inline real *fields_of(int antenna, int turn) {
    const place volume = (place)(count(antenna, NZ) + 2) * (count(antenna, NY) + 2) * count(antenna, PITCH);
    return P.fields + start(antenna, FIELDS) + turn * 6 * volume;
}

// Whether an antenna takes step n.
__device__ inline bool steps(int antenna, int n) { return P.active[antenna] && n < count(antenna, STEPS); }
