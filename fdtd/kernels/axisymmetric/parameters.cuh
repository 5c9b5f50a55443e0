// Parameters of every kernel of the axisymmetric stencil: the batch in device memory. One copy in constant memory.
//
// The host builds the same structure from this text (fdtd/backends/cuda/text.py), so a line holds one member.
// `real` is float or double. Columns are stored at `lead` + i; everything before `lead` and after lead + nr is zero.
//
// Settings: REAL; MOVE_ONLY, ROW_PITCH and RADIAL_PITCH where a scheme sets them. Provides P and the places of an
// antenna's numbers in it.
#ifndef REAL
#error "REAL must be float or double"
#endif
typedef REAL real;

// 1 in an ablation: numbers are moved as usual, and none is changed.
#ifndef MOVE_ONLY
#define MOVE_ONLY 0
#endif

struct Parameters {
    // Fields e_r, e, e_z, h_r, h, h_z [batch, nz, 6, pitch]
    real *fields;
    // ca and cb of e_r, e, e_z [batch, nz, 6, pitch]; read only left of a row's reach
    const real *media;
    // The same as numbers of 16 bits, two in an int [batch, nz, 3, pitch / 2], of pairs of ca and cb [pairs, 2]; a
    // row's first pair [batch, nz]. Made only for schemes that read them
    const int *numbers;
    const real *pairs;
    const int *row_pairs;
    // 1 / open area of h_r, h, h_z [batch, nz, 3, pitch]; read only in rows with cut faces
    const real *faces;
    // A quarter of the r-z entry of the inverse permittivity [batch, nz, pitch]; read only in rows that have some
    const real *coupling;
    // Needs of a row beyond the plain update [batch, nz + 1]: see ROW_* below
    const int *rows;
    // Radial factors of the six updates [6, pitch]
    const real *gains;
    // Radial layer: b and c of its filters [16, radial_pitch], their memory [batch, nz, 8, radial_pitch]
    const real *filters;
    real *radial_psi;
    // Axial layers: stretched columns of each row (as stored, 0: none) and the place of its memory [2, nz]; keep, b, c
    // for E and for H [6, nz]; memory [batch, axial_rows, 4, pitch]
    const int *axial_rows;
    const real *axial;
    real *axial_psi;
    // Source: profiles of e_r and e [2, pitch] or [batch, 2, pitch], waveform [source_steps]
    const real *source;
    const real *waveform;
    // Port: weights of e_r, e, h_r, h [4, pitch] or [batch, 4, pitch]; record [batch, samples, 2]
    const double *port_weights;
    double *port_record;
    // Huygens contour record [batch, samples, contour_size]
    real *contour_record;
    // Field map: cos and -sin of w t [2, frequencies, samples]; sums [batch, frequencies, 2, 3, rows, columns]
    const real *wave;
    real *sums;
    // Whether an antenna still runs [batch]; energies at the samples: now, peak, ratio [3, batch]; steps taken [batch]
    int *active;
    double *energies;
    int *taken;
    // Antennas that ran at the last look: their number, then their places in the batch [1 + batch]
    int *running;
    // Energies of parts of the antennas at a sample [batch, LOOK_PARTS]
    double *shares;
    // Energy weights of the six components [6, pitch]
    const double *weights;
    int batch;
    int nr;
    int nz;
    int lead;
    int pitch;
    int radial_start;
    int radial_cells;
    int radial_pitch;
    int axial_count;
    int source_plane;
    int source_columns;
    int source_steps;
    int port_plane;
    int port_columns;
    int contour_column;
    int contour_bottom;
    int contour_top;
    int contour_size;
    int record_every;
    int samples;
    int map_bottom;
    int map_top;
    int map_left;
    int map_right;
    int map_frequencies;
    int settled;
    int steps;
    double decay;
    real order;
    real half_courant;
    // Of h_z in the column at the axis
    real axis_gain;
};

__constant__ Parameters P;

// Constants of the compilation where a scheme sets them, so that addresses become constants too.
#ifndef ROW_PITCH
#define ROW_PITCH P.pitch
#endif
// 1 where each antenna has its own source profiles and port weights: a load and two products where registers are full.
#ifndef OWN_FEEDS
#define OWN_FEEDS 0
#endif
#ifndef RADIAL_PITCH
#define RADIAL_PITCH P.radial_pitch
#endif

// A row's word: its reach (columns as stored, from the first to the last that does not hold air alone), these flags, and
// the columns before the first that does not, in whole ROW_UNITs.
#define ROW_UNIT 16
#define ROW_START 24  // bits before those of the columns
enum RowFlag {
    ROW_REACH = 0xffff,
    ROW_AXIAL = 1 << 16,     // inside an axial layer
    ROW_SOURCE = 1 << 17,    // the source's plane
    ROW_PLANE = 1 << 18,     // the conducting plane k = 0
    ROW_COUPLED = 1 << 19,   // nodes that couple e_r and e_z
    ROW_CUT = 1 << 20,       // faces that a conductor cuts
    ROW_RECORDED = 1 << 21,  // port, contour or field map
    ROW_RADIAL = 1 << 22,    // the reach goes into the radial layer
    ROW_LOSSY = 1 << 23,     // ca is not 1 everywhere
};

// A branch that the hot path does not take: the compiler places its code elsewhere, so that the path has no jumps.
#define RARELY(condition) (__builtin_expect(!!(condition), 0))

__device__ inline real *field(int antenna, int k, int component) {
    return P.fields + (((long long)antenna * P.nz + k) * 6 + component) * ROW_PITCH;
}

__device__ inline const real *medium(int antenna, int k, int component) {
    return P.media + (((long long)antenna * P.nz + k) * 6 + component) * ROW_PITCH;
}

__device__ inline const real *open_face(int antenna, int k, int component) {
    return P.faces + (((long long)antenna * P.nz + k) * 3 + component) * ROW_PITCH;
}

__device__ inline const real *node_coupling(int antenna, int k) {
    return P.coupling + ((long long)antenna * P.nz + k) * ROW_PITCH;
}

__device__ inline const real *source_profile(int antenna, int part) {
    return P.source + (long long)(OWN_FEEDS * antenna * 2 + part) * ROW_PITCH;
}

__device__ inline const double *port_weights(int antenna, int part) {
    return P.port_weights + (long long)(OWN_FEEDS * antenna * 4 + part) * ROW_PITCH;
}

__device__ inline real *radial_memory(int antenna, int k, int filter) {
    return P.radial_psi + (((long long)antenna * P.nz + k) * 8 + filter) * RADIAL_PITCH;
}

__device__ inline real *axial_memory(int antenna, int k, int filter) {
    return P.axial_psi + (((long long)antenna * P.axial_count + P.axial_rows[P.nz + k]) * 4 + filter) * ROW_PITCH;
}

// The same with the row's columns and place in one number, place 16 bits up.
__device__ inline int row_layer(int k) { return P.axial_rows[k] | P.axial_rows[P.nz + k] << 16; }
__device__ inline int layer_columns(int layer) { return layer & 0xffff; }
__device__ inline real *layer_memory(int antenna, int layer, int filter) {
    return P.axial_psi + (((long long)antenna * P.axial_count + (layer >> 16)) * 4 + filter) * ROW_PITCH;
}

__device__ inline const int *row_words(int antenna, int k) { return P.rows + (long long)antenna * (P.nz + 1) + k; }
__device__ inline int row_word(int antenna, int k) { return *row_words(antenna, k); }
__device__ inline int start_of(int word) { return (word >> ROW_START) * ROW_UNIT; }
