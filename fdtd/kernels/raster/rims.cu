// Edge conditions around metal rims: what fdtd/axisymmetric/rims.py and rim_windows.py do with arrays, in three
// launches.
//
// One block a wedge or an antenna, one thread a cell of the window round a rim. Rims are corrected one after the other,
// as their windows may overlap. Arrays (rims, antennas) say where each rim is; windows are WINDOW cells wide. Macros
// from rim_windows.py: WINDOW, REACH, SMALLEST_VOLTAGE.

#define SIDE (WINDOW + 1)  // corners of the cells along a window
#define WIDE (WINDOW + 2)  // cells with one more on each side
#define PI 3.141592653589793

// The field of a wedge at an angle from its first wall: f and g; see fdtd/axisymmetric/wedges.py.
struct Wedge {
    int sectors, wedges, own;
    const double *opening, *exponent, *ends, *permittivity, *f, *g;

    __device__ void angular(double angle, double& f_there, double& g_there) const {
        double start = 0.0;
        f_there = g_there = 0.0;
        for (int sector = 0; sector < sectors; ++sector) {
            const int at = sector * wedges + own;
            if (angle >= start && angle <= ends[at]) {
                const double turn = exponent[own] * (angle - start), cosine = cos(turn), sine = sin(turn);
                f_there = f[at] * cosine + g[at] / permittivity[at] * sine;
                g_there = g[at] * cosine - permittivity[at] * f[at] * sine;
            }
            start = ends[at];
        }
    }

    // Counterclockwise from the wall; places on the wall itself count as 0.
    __device__ static double from_wall(double x, double y, double wall) {
        const double tiny = 1e-9, turn = fmod(atan2(y, x) - wall + tiny, 2 * PI);
        return fmax((turn < 0 ? turn + 2 * PI : turn) - tiny, 0.0);
    }

    __device__ double potential(double x, double y, double wall) const {
        const double angle = from_wall(x, y, wall);
        double there, unused;
        if (angle > opening[own]) return 0.0;
        angular(angle, there, unused);
        return pow(hypot(x, y), exponent[own]) * there;
    }

    // In the metal that of the nearest place on a wall, where the flux ends.
    __device__ double flux(double x, double y, double wall) const {
        const double angle = from_wall(x, y, wall), most = opening[own];
        double away = hypot(x, y), there, unused;
        if (angle > most) {
            const bool on_second = angle < most / 2 + PI;
            away *= fmax(cos(on_second ? angle - most : 2 * PI - angle), 0.0);
            angular(on_second ? most : 0.0, unused, there);
        } else {
            angular(angle, unused, there);
        }
        return -(pow(away, exponent[own]) * there);
    }
};

__device__ double to_nine_digits(double length) { return rint(length * 1e9) / 1e9; }

// Flux over voltage of the edges along r and z of each wedge's window, (2, wedges, WINDOW, WINDOW).
// fields: opening, exponent (wedges each), ends, permittivity, f, g (sectors, wedges each). of: rim and antenna of each
// wedge, (2, wedges). places: x, y, wall, (3, rims, antennas). first: i0, k0, real, (3, rims, antennas). near: rims
// that may be nearer, (rims, most).
extern "C" __global__ void window_ratios(
    int wedges, int sectors, const double* fields, const int* of, int rims, int antennas, const double* places,
    const int* first, int most, const int* near, int nr, int nz, const unsigned char* conducts, double* ratios) {
    __shared__ double voltage[SIDE * SIDE], flux[SIDE * SIDE];
    const int own = blockIdx.x, cell = threadIdx.x, row = cell / SIDE, column = cell % SIDE;
    const int rim = of[own], antenna = of[wedges + own], size = rims * antennas, at = rim * antennas + antenna;
    const int i0 = first[at], k0 = first[size + at];
    const double *const sector_fields = fields + 2 * wedges, *const xs = places, *const ys = places + size;
    const size_t step = (size_t)sectors * wedges;
    const Wedge wedge{sectors, wedges, own, fields, fields + wedges, sector_fields, sector_fields + step,
                      sector_fields + 2 * step, sector_fields + 3 * step};
    const double x = to_nine_digits(i0 - xs[at]), y = to_nine_digits(k0 - ys[at]), wall = places[2 * size + at];
    const bool inside = cell < SIDE * SIDE, node = inside && row < WINDOW && column < WINDOW;
    if (inside) {
        flux[cell] = wedge.flux(x + (column - 0.5), y + (row - 0.5), wall);
        const int k = (k0 + row + nz) % nz, i = (i0 + column + nr) % nr;
        const bool open = node && !conducts[((size_t)antenna * nz + k) * nr + i];
        voltage[cell] = open ? wedge.potential(x + column, y + row, wall) : 0.0;
    }
    __syncthreads();
    if (!node) return;
    auto on_row = [&](int k) { return k >= 0 && k < nz; };
    auto on_column = [&](int i) { return i >= 1 && i < nr; };
    for (int along_z = 0; along_z < 2; ++along_z) {
        const double along = column + (along_z ? 0.0 : 0.5), across = row + (along_z ? 0.5 : 0.0);
        const double away = hypot(x + along, y + across);
        bool use = first[2 * size + at] && on_row(k0 + row) && on_column(i0 + column) && away < REACH - 1e-9;
        const bool to_next = along_z ? row + 1 < WINDOW && on_row(k0 + row + 1)
                                     : column + 1 < WINDOW && on_column(i0 + column + 1);
        use = use && to_next;
        for (int other = 0; use && other < most; ++other) {
            const int there = near[rim * most + other] * antennas + antenna;
            const double to_x = first[2 * size + there] ? xs[there] : 1e6;
            const double off_x = to_nine_digits(i0 - to_x) + along, off_y = to_nine_digits(k0 - ys[there]) + across;
            use = away <= hypot(off_x, off_y) + 1e-9;
        }
        const double drop = voltage[cell + (along_z ? SIDE : 1)] - voltage[cell];
        const double corner = flux[cell + SIDE + 1];
        const double through = along_z ? flux[cell + SIDE] - corner : corner - flux[cell + 1];
        use = use && fabs(drop) > SMALLEST_VOLTAGE;
        const size_t to = (((size_t)along_z * wedges + own) * WINDOW + row) * WINDOW + column;
        ratios[to] = use ? fmax(through / drop, 0.0) : 0.0;
    }
}

// Areas of the faces round all rims, and the least permittivity of e_phi that they need: `least_phi`, (rims, antennas,
// WINDOW, WINDOW). in_air: ratios (2, rims, antennas, WINDOW, WINDOW). least: the smallest coefficient; near and far:
// what the coefficients of a column may drive, with columns below AXIS_COLUMNS near the axis.
extern "C" __global__ void correct_areas(
    int rims, int antennas, const int* first, int nr, int nz, double least, double near, double far,
    const double* in_air, const double* open_length, double* open_area, double* least_phi) {
    __shared__ double driving[2][WIDE * WIDE], faces[2][WIDE * WIDE];
    const int antenna = blockIdx.x, cell = threadIdx.x, row = cell / WIDE, column = cell % WIDE, size = rims * antennas;
    const bool on = cell < WIDE * WIDE;
    const bool inner = on && row > 0 && row <= WINDOW && column > 0 && column <= WINDOW;
    for (int rim = 0; rim < rims; ++rim) {
        const int at = rim * antennas + antenna;
        const size_t window = ((size_t)at * WINDOW + row - 1) * WINDOW + column - 1;
        if (!first[2 * size + at]) {  // no rim: the same for the whole block
            if (inner) least_phi[window] = 0.0;
            continue;
        }
        const int k = first[size + at] - 1 + row, i = first[at] - 1 + column;
        const size_t plane = (size_t)nz * nr, place = (size_t)((k + nz) % nz) * nr + (i + nr) % nr;
        const bool inside = k >= 0 && k < nz && i >= 1 && i < nr;
        const double allowed = 4 * ((i + nr) % nr < AXIS_COLUMNS ? near : far);
        for (int other = 0; on && other < 2; ++other) {  // e_r and h_z, e_z and h_r
            const double whole = open_length[(3 * antenna + 2 * other) * plane + place];
            double& own = open_area[(3 * antenna + 2 - 2 * other) * plane + place];
            double edge = 1.0, area = own;
            if (inner) {
                const double ratio = in_air[(size_t)other * size * WINDOW * WINDOW + window];
                if (ratio > 0 && whole > 0) {
                    edge = fmax(ratio * whole, least), area = fmax(1.0 / ratio, least * area);
                    own = area;
                }
            }
            driving[other][cell] = whole / edge, faces[other][cell] = area;
        }
        __syncthreads();
        if (inner) {
            const double face = driving[0][cell] + driving[0][cell + WIDE] + driving[1][cell] + driving[1][cell + 1];
            const double node =
                1 / faces[1][cell] + 1 / faces[1][cell - WIDE] + 1 / faces[0][cell] + 1 / faces[0][cell - 1];
            double& own = open_area[(3 * antenna + 1) * plane + place];
            own = fmax(own, inside ? face / allowed : 0.0);
            least_phi[window] = inside ? node / allowed : 0.0;
        }
        __syncthreads();
    }
}

// Permittivity of the edges and of e_phi round all rims. ratios: with the media round the rims, (2, rims, members,
// WINDOW, WINDOW); members, antennas: of that array and of the metal, 1 or one an antenna of the batch.
extern "C" __global__ void correct_edges(
    int rims, int antennas, int members, const int* first, int nr, int nz, double least, const double* ratios,
    const double* least_phi, const double* open_length, double* permittivity) {
    const int member = blockIdx.x, cell = threadIdx.x, row = cell / WINDOW, column = cell % WINDOW;
    const int antenna = antennas == 1 ? 0 : member, of = members == 1 ? 0 : member;
    const size_t plane = (size_t)nz * nr, own = 3 * member * plane, metal = 3 * antenna * plane;
    for (int rim = 0; rim < rims; ++rim) {
        const int at = rim * antennas + antenna;
        if (cell < WINDOW * WINDOW && first[2 * rims * antennas + at]) {
            const int k = (first[rims * antennas + at] + row + nz) % nz, i = (first[at] + column + nr) % nr;
            const size_t place = (size_t)k * nr + i;
            double& phi = permittivity[own + plane + place];
            phi = fmax(phi, least_phi[((size_t)at * WINDOW + row) * WINDOW + column]);
            for (int other = 0; other < 2; ++other) {
                const size_t there = ((size_t)(other * rims + rim) * members + of) * WINDOW * WINDOW + cell;
                const double ratio = ratios[there], whole = open_length[metal + 2 * other * plane + place];
                double& eps = permittivity[own + 2 * other * plane + place];
                if (ratio > 0 && whole > 0) eps = fmax(ratio * whole, least * eps);
            }
        }
        __syncthreads();
    }
}
