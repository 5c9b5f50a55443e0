// From samples of Huygens boxes to spectra, powers and far fields, for the antennas of a batch; see
// fdtd/farfield/box.py for the equations and fdtd/backends/cuda/yee_surface.py for the tables.
//
// Each antenna has a lattice, a box and a time step of its own; tables of long long and double say where its parts of
// the arrays begin. Sums are in double precision, in an order that the antenna's own numbers decide: an antenna has the
// same bits in any batch, and in whatever portions its samples are added. Settings: REAL (float or double, of the
// samples), THREADS (of a block), CHUNK (samples or places whose factors are held at a time), DARK (smallest cosine
// behind a conductor).
typedef REAL real;
typedef long long place;

#define PI 3.14159265358979323846
#define LIGHT 299792458.0
#define AT_ONCE 4  // frequencies of which a thread has the sums

// Numbers of an antenna: in `values`, `field` and `weights` its first entry; the samples of its box and of its lossy
// edges; its first patch, and how many; its first direction, and how many; walls.
enum Head { VALUES, FIELD, WEIGHTS, BOX, LOSSY, PATCH, PATCHES, DIRECTION, DIRECTIONS, WALLS, HEADS };
// Of an antenna, double: time step; then of each wall the place, m.
enum Size { DT, WALL_AT, SIZES = WALL_AT + 3 };
// Of one take of samples: antenna, first number of its record, rows of that ring, samples of a row, first sample and
// the one after the last; its first number in `factors`.
enum Task { ANTENNA, RECORD, HELD, SIZE, FIRST, END, FACTOR, TASKS };
// Of a patch: axis of its normal and of its rows and columns; directions of J and M; rows and columns; samples of E and
// H in the box; rows and columns of the hole; its first number in `numbers`.
enum Patch { NORMAL, ALONG_ROWS, ALONG_COLUMNS, J_TO, M_TO, ROWS, COLUMNS, ELECTRIC, MAGNETIC,
             HOLE_TOP, HOLE_BOTTOM, HOLE_LEFT, HOLE_RIGHT, NUMBERS, PATCH_ITEMS };
// Of a wall: axis, side, sign of tangential J in the image, whether there is nothing behind it.
enum Wall { AXIS, SIDE, SIGN, OPAQUE, WALL_ITEMS };
// Of an antenna and frequency: flux through the box, power lost in media and in the port, the port's voltage.
enum Sum { FLUX, LOST, LOST_IN_PORT, REAL_PART, IMAGINARY_PART, SUMS };
// Before the places of its rows and columns, and the lengths of both.
enum Number { J_SIGN, M_SIGN, PLACE_J, PLACE_M, CELL, OWN_NUMBERS };

struct alignas(16) Complex {
    double x, y;
};
__device__ inline Complex times(Complex a, Complex b) { return {fma(a.x, b.x, -a.y * b.y), fma(a.x, b.y, a.y * b.x)}; }
__device__ inline void add(Complex &sum, Complex a, Complex b) {
    sum.x = fma(a.x, b.x, sum.x), sum.y = fma(a.x, b.y, sum.y);
    sum.x = fma(-a.y, b.y, sum.x), sum.y = fma(a.y, b.x, sum.y);
}
__device__ inline Complex scaled(double by, Complex a) { return {by * a.x, by * a.y}; }
// exp(j angle)
__device__ inline Complex wave(double angle) {
    Complex found;
    sincos(angle, &found.y, &found.x);
    return found;
}
// H is half a step earlier than E.
__device__ inline Complex half_a_step(const double *size, double frequency) { return wave(PI * frequency * size[DT]); }

// Adds to the spectra what samples [first, end) weigh: factors [frequencies, end - first]. Grid (blocks of samples,
// tasks).
extern "C" __global__ void add_samples(
    const real* record, const place* tasks, const Complex* factors, int frequencies, const place* heads,
    Complex* values) {
    __shared__ Complex own[AT_ONCE][CHUNK];
    const place *task = tasks + (place)blockIdx.y * TASKS;
    const int size = (int)task[SIZE], at = blockIdx.x * THREADS + threadIdx.x, count = (int)(task[END] - task[FIRST]);
    const real *rows = record + task[RECORD];
    Complex *into = values + heads[task[ANTENNA] * HEADS + VALUES];
    if ((int)(blockIdx.x * THREADS) >= size) return;
    for (int f = 0; f < frequencies; f += AT_ONCE) {
        const int some = min(AT_ONCE, frequencies - f);
        const Complex *given = factors + task[FACTOR] + (place)f * count;
        Complex sum[AT_ONCE] = {};
        if (at < size)
            for (int q = 0; q < some; ++q) sum[q] = into[(place)(f + q) * size + at];
        for (int n = 0; n < count; n += CHUNK) {
            const int these = min(CHUNK, count - n);
            __syncthreads();  // the factors of the chunk before are not read any more
            for (int q = 0; q < some; ++q)
                for (int i = threadIdx.x; i < these; i += THREADS) own[q][i] = given[(place)q * count + n + i];
            __syncthreads();  // the factors are there
            place row = (task[FIRST] + n) % task[HELD];
            if (at < size)
                for (int i = 0; i < these; ++i, row = row + 1 < task[HELD] ? row + 1 : 0) {
                    const double sample = rows[row * size + at];
                    for (int q = 0; q < some; ++q)
                        sum[q].x = fma(own[q][i].x, sample, sum[q].x), sum[q].y = fma(own[q][i].y, sample, sum[q].y);
                }
        }
        if (at < size)
            for (int q = 0; q < some; ++q) into[(place)(f + q) * size + at] = sum[q];
    }
}

// The sums [antennas, frequencies, SUMS], of a block each. Grid (antennas * frequencies, 1).
extern "C" __global__ void powers(
    const Complex* values, const place* heads, const double* sizes, const place* patches, const double* numbers,
    const double* weights, const double* frequency, int frequencies, double* power) {
    __shared__ double partial[SUMS][THREADS];
    const int antenna = blockIdx.x / frequencies, f = blockIdx.x % frequencies;
    const place *head = heads + antenna * HEADS;
    const Complex *own = values + head[VALUES] + f * (head[BOX] + head[LOSSY]);
    const Complex later = half_a_step(sizes + antenna * SIZES, frequency[f]);
    double sum[SUMS] = {};
    for (int p = 0; p < head[PATCHES]; ++p) {
        const place *patch = patches + (head[PATCH] + p) * PATCH_ITEMS;
        const int rows = (int)patch[ROWS], columns = (int)patch[COLUMNS];
        const double *about = numbers + patch[NUMBERS], *lengths = about + OWN_NUMBERS + rows + columns;
        for (int i = threadIdx.x; i < rows * columns; i += THREADS) {
            const int b = i / columns, c = i % columns;
            const bool in_rows = b >= patch[HOLE_TOP] && b < patch[HOLE_BOTTOM];
            if (in_rows && c >= patch[HOLE_LEFT] && c < patch[HOLE_RIGHT]) continue;
            const Complex e = own[patch[ELECTRIC] + i], h = times(own[patch[MAGNETIC] + i], later);
            sum[FLUX] = fma(-about[J_SIGN] * lengths[b] * lengths[rows + c], fma(e.x, h.x, e.y * h.y), sum[FLUX]);
        }
    }
    for (int i = threadIdx.x; i < head[LOSSY]; i += THREADS) {
        const Complex e = own[head[BOX] + i];
        const double *weight = weights + head[WEIGHTS] + i, square = fma(e.x, e.x, e.y * e.y);
        sum[LOST] = fma(weight[0], square, sum[LOST]);
        sum[LOST_IN_PORT] = fma(weight[head[LOSSY]], square, sum[LOST_IN_PORT]);
        sum[REAL_PART] = fma(weight[2 * head[LOSSY]], e.x, sum[REAL_PART]);
        sum[IMAGINARY_PART] = fma(weight[2 * head[LOSSY]], e.y, sum[IMAGINARY_PART]);
    }
    for (int q = 0; q < SUMS; ++q) partial[q][threadIdx.x] = sum[q];
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();  // the partial sums of the level before are there
        if (threadIdx.x < half)
            for (int q = 0; q < SUMS; ++q) partial[q][threadIdx.x] += partial[q][threadIdx.x + half];
    }
    __syncthreads();  // all sums are there
    if (threadIdx.x < SUMS) power[SUMS * (place)blockIdx.x + threadIdx.x] = partial[threadIdx.x][0];
}

// One patch towards one direction: adds its currents to eta N and L. Rows are summed up one after the other; factors of
// CHUNK columns at a time lie in shared memory, a thread its own.
__device__ inline void radiate_patch(
    const Complex *own, const place *patch, const double *about, double k, const double *d, Complex later,
    Complex (*held)[THREADS], Complex *n, Complex *l) {
    const int rows = (int)patch[ROWS], columns = (int)patch[COLUMNS], t = threadIdx.x;
    const double *row_at = about + OWN_NUMBERS, *column_at = row_at + rows, *lengths = column_at + columns;
    const double along_rows = k * d[patch[ALONG_ROWS]], along_columns = k * d[patch[ALONG_COLUMNS]];
    const Complex *electric = own + patch[ELECTRIC], *magnetic = own + patch[MAGNETIC];
    Complex from_h = {}, from_e = {};
    for (int first = 0; first < columns; first += CHUNK) {
        const int end = min(first + CHUNK, columns);
        for (int c = first; c < end; ++c)
            held[c - first][t] = scaled(lengths[rows + c], wave(along_columns * column_at[c]));
        for (int b = 0; b < rows; ++b) {
            Complex row_h = {}, row_e = {};
            const bool through = b >= patch[HOLE_TOP] && b < patch[HOLE_BOTTOM];
            const int left = through ? max(first, min(end, (int)patch[HOLE_LEFT])) : end;
            const int right = through ? max(left, min(end, (int)patch[HOLE_RIGHT])) : end;
            for (int part = 0; part < 2; ++part)
                for (int c = part ? right : first; c < (part ? end : left); ++c) {
                    add(row_h, held[c - first][t], magnetic[b * columns + c]);
                    add(row_e, held[c - first][t], electric[b * columns + c]);
                }
            const Complex factor = scaled(lengths[b], wave(along_rows * row_at[b]));
            add(from_h, factor, row_h), add(from_e, factor, row_e);
        }
    }
    const double normal = k * d[patch[NORMAL]], scale = 1 / sqrt(cos(normal * about[CELL] / 2));
    add(n[patch[J_TO]], scaled(about[J_SIGN] * scale, wave(normal * about[PLACE_J])), times(later, from_h));
    add(l[patch[M_TO]], scaled(about[M_SIGN] * scale, wave(normal * about[PLACE_M])), from_e);
}

// E_theta and E_phi [antennas: frequencies, directions, 2], V, of a thread each pair. `walls` [antennas, 3, WALL_ITEMS].
// `directions`: sine and cosine of theta, of phi. Grid (antennas * frequencies, blocks of directions).
extern "C" __global__ void radiate(
    const Complex* values, const place* heads, const double* sizes, const place* patches, const double* numbers,
    const place* walls, const double* directions, const double* frequency, int frequencies, Complex* field) {
    __shared__ Complex held[CHUNK][THREADS];
    const int antenna = blockIdx.x / frequencies, f = blockIdx.x % frequencies, at = blockIdx.y * THREADS + threadIdx.x;
    const place *head = heads + antenna * HEADS, *wall = walls + antenna * 3 * WALL_ITEMS;
    if (at >= head[DIRECTIONS]) return;
    const double *size = sizes + antenna * SIZES, *angles = directions + (head[DIRECTION] + at) * 4;
    const double sine = angles[0], cosine = angles[1], sine_phi = angles[2], cosine_phi = angles[3];
    const double d[3] = {sine * cosine_phi, sine * sine_phi, cosine}, k = 2 * PI * frequency[f] / LIGHT;
    const Complex *own = values + head[VALUES] + f * (head[BOX] + head[LOSSY]);
    const Complex later = half_a_step(size, frequency[f]);
    Complex n[3] = {}, l[3] = {};
    for (int image = 0; image < 1 << head[WALLS]; ++image) {  // a bit a wall that the currents are mirrored in
        double mirrored[3] = {d[0], d[1], d[2]}, sign_n[3] = {1, 1, 1}, sign_l[3] = {1, 1, 1}, shift = 0;
        for (int w = 0; w < head[WALLS]; ++w) {
            if (!(image >> w & 1)) continue;
            const int axis = (int)wall[w * WALL_ITEMS + AXIS], sign = (int)wall[w * WALL_ITEMS + SIGN];
            mirrored[axis] = -d[axis], shift += 2 * k * size[WALL_AT + w] * d[axis];
            for (int c = 0; c < 3; ++c) sign_n[c] *= c == axis ? -sign : sign, sign_l[c] *= c == axis ? sign : -sign;
        }
        Complex own_n[3] = {}, own_l[3] = {};
        for (int p = 0; p < head[PATCHES]; ++p) {
            const place *patch = patches + (head[PATCH] + p) * PATCH_ITEMS;
            radiate_patch(own, patch, numbers + patch[NUMBERS], k, mirrored, later, held, own_n, own_l);
        }
        const Complex shifted = wave(shift);
        for (int c = 0; c < 3; ++c)
            add(n[c], scaled(sign_n[c], shifted), own_n[c]), add(l[c], scaled(sign_l[c], shifted), own_l[c]);
    }
    bool dark = false;  // behind a conductor
    for (int w = 0; w < head[WALLS]; ++w, wall += WALL_ITEMS)
        dark = dark || (wall[OPAQUE] && d[wall[AXIS]] * (wall[SIDE] ? 1 : -1) > DARK);
    const double to_theta[3] = {cosine * cosine_phi, cosine * sine_phi, -sine}, to_phi[3] = {-sine_phi, cosine_phi, 0};
    Complex e_theta = {}, e_phi = {};
    for (int c = 0; c < 3; ++c) {
        e_theta.x -= l[c].x * to_phi[c] + n[c].x * to_theta[c], e_theta.y -= l[c].y * to_phi[c] + n[c].y * to_theta[c];
        e_phi.x += l[c].x * to_theta[c] - n[c].x * to_phi[c], e_phi.y += l[c].y * to_theta[c] - n[c].y * to_phi[c];
    }
    const Complex scale = {0, dark ? 0 : k / (4 * PI)};
    Complex *into = field + head[FIELD] + ((place)f * head[DIRECTIONS] + at) * 2;
    into[0] = times(scale, e_theta), into[1] = times(scale, e_phi);
}
