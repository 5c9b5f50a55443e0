// Figures of patterns: what fdtd/farfield/__init__.py computes of the far field with arrays, and defines. A far field is
// A and B at equally spaced angles from 0 to 180 degrees; a row is an antenna at a frequency. Each row's numbers depend
// on its own far field alone. Settings: THREADS of a block of `levels`; those of fdtd/farfield by the same names.
//
// Of a row `found` has NUMBERS numbers:
#define POWER 0         // int (|A|^2 + |B|^2) sin(theta) d theta
#define CROSS 1         // cross-polarisation, dB
#define BORESIGHT 2     // directivity on boresight, dBi
#define BACKWARDS 3     // of the E plane at 180 degrees, dBi
#define LARGEST 4       // of the E plane, of the H plane, dBi
#define WIDTH 6         // half-power beamwidth of the same, degrees
#define LOBE 8          // side lobe of the same, dB; NaN where there is none
#define NUMBERS 10

#define TINY 2.2250738585072014e-308
#define UNDEFINED nan("")
#define NONE -1e300  // dB

__device__ double larger(double x, double y) { return x != x || x > y ? x : y; }  // NaN if one is

__device__ double decibels(double ratio) { return 10.0 * log10(larger(ratio, FLOOR)); }

__device__ double squared(const double* complex_number) {
    return complex_number[0] * complex_number[0] + complex_number[1] * complex_number[1];
}

__device__ double modulus(double real, double imaginary) { return sqrt(real * real + imaginary * imaginary); }

// Cross-polar amplitude at an angle of a far field; where it is a maximum and inside, of the parabola through three.
__device__ double cross_polar(const double* e, const double* h, bool inside) {
    const double centre = modulus(e[0] + h[0], e[1] + h[1]);
    if (!inside) return centre;
    const double left = modulus(e[-2] + h[-2], e[-1] + h[-1]), right = modulus(e[2] + h[2], e[3] + h[3]);
    if (!(centre >= left && centre > right)) return centre;
    return centre - (right - left) * (right - left) / (8 * (left - 2 * centre + right));
}

// A block a row. near: angles that count for cross-polarisation. cuts: directivity, dBi, (plane, angle, row).
extern "C" __global__ void levels(
    const double* a, const double* b, int rows, int angles, int near, const double* weights, double* cuts,
    double* found) {
    __shared__ double sums[THREADS], most[THREADS];
    const int row = blockIdx.x;
    const double* const own_a = &a[2 * (size_t)row * angles];
    const double* const own_b = &b[2 * (size_t)row * angles];
    double sum = 0.0, largest = 0.0;
    for (int angle = threadIdx.x; angle < angles; angle += THREADS) {
        const double* const e = &own_a[2 * angle];
        const double* const h = &own_b[2 * angle];
        sum += weights[angle] * (squared(e) + squared(h));
        if (angle < near) largest = larger(largest, cross_polar(e, h, angle > 0 && angle < near - 1));
    }
    sums[threadIdx.x] = sum;
    most[threadIdx.x] = largest;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();  // Separates writing partial sums from reading them.
        if (threadIdx.x < half) {
            sums[threadIdx.x] += sums[threadIdx.x + half];
            most[threadIdx.x] = larger(most[threadIdx.x], most[threadIdx.x + half]);
        }
    }
    __syncthreads();
    const double power = sums[0], safe = larger(power, TINY);
    for (int angle = threadIdx.x; angle < angles; angle += THREADS) {
        cuts[(size_t)angle * rows + row] = decibels(4 * squared(&own_a[2 * angle]) / safe);
        cuts[(size_t)(angles + angle) * rows + row] = decibels(4 * squared(&own_b[2 * angle]) / safe);
    }
    if (threadIdx.x == 0) {
        const double along[2] = {own_a[0] - own_b[0], own_a[1] - own_b[1]};
        found[NUMBERS * (size_t)row + POWER] = power;
        found[NUMBERS * (size_t)row + CROSS] = decibels(most[0] * most[0] / larger(squared(along), TINY));
    }
}

// One cut over boresight: levels of all rows stand side by side.
struct Cut {
    const double* levels;
    int rows;
    double boresight;

    __device__ double absolute(int angle) const { return levels[(size_t)angle * rows]; }
    __device__ double at(int angle) const { return absolute(angle) - boresight; }
    __device__ double descent(int interval) const {
        const double falls = larger(at(interval) - at(interval + 1), 0.0);
        return rint(falls * DIGITS) / DIGITS;
    }
};

// Where the cubic through samples at -1, 0, 1, 2 falls below zero between 0 and 1.
__device__ double fall(const double* samples) {
    const double before = samples[0], start = samples[1], end = samples[2];
    const double first = start - before, second = before - 2 * start + end;
    const double third = samples[3] - before + 3 * (start - end);
    double low = 0.0, width = 1.0, f_low = start, f_high = end;
    for (int one = 0; one < HALVINGS; ++one) {
        width /= 2;
        const double middle = low + width;
        const double f_middle = before + (middle + 1) * (first + middle / 2 * (second + (middle - 1) / 3 * third));
        if (f_middle >= 0.0) {
            low = middle;
            f_low = f_middle;
        } else {
            f_high = f_middle;
        }
    }
    const double drop = f_low - f_high;
    return low + width * f_low / (drop > 0.0 ? drop : 1.0);
}

__device__ double half_power_beamwidth(const Cut& cut, int angles, const double* theta) {
    const double level = cut.boresight + HALF_DB;
    for (int angle = 1; angle < angles; ++angle) {
        if (!(cut.absolute(angle) < level)) continue;
        double samples[4];
        for (int one = 0; one < 4; ++one) {  // the cut goes on evenly beyond both ends
            const int place = abs(angle + one - 2), last = angles - 1;
            samples[one] = pow(10.0, cut.at(place > last ? 2 * last - place : place) / 20) - pow(10.0, HALF_DB / 20);
        }
        return 2 * (theta[angle - 1] + fall(samples) * (theta[angle] - theta[angle - 1]));
    }
    return UNDEFINED;
}

// The sample of the first local minimum; the last one where the cut only falls.
__device__ int first_minimum(const Cut& cut, int angles) {
    double lowest = cut.at(0);
    int place = 0;
    for (int angle = 1; angle < angles; ++angle) {
        const double level = cut.at(angle);
        if (level > lowest + ROUNDING_DB) return place;
        if (level < lowest) {
            lowest = level;
            place = angle;
        }
    }
    return angles - 1;
}

// The highest local maximum beyond the first minimum, dB; NONE without one.
__device__ double highest_lobe(const Cut& cut, int angles, int minimum, double limit) {
    double highest = 0.0;
    const int last = min((int)limit + 3, angles) - 1;  // a maximum at the limit has a sample beyond it
    for (int angle = minimum + 1; angle < last; ++angle) {
        const double level[3] = {cut.at(angle - 1), cut.at(angle), cut.at(angle + 1)};
        if (!(level[1] >= level[0] - SAME_LEVEL && level[1] > level[2] - SAME_LEVEL)) continue;
        double amplitude[3];
        for (int one = 0; one < 3; ++one) amplitude[one] = pow(10.0, level[one] / 20);
        if (!(amplitude[1] >= amplitude[0] && amplitude[1] > amplitude[2])) continue;
        const double slope = (amplitude[2] - amplitude[0]) / 2;
        const double bend = amplitude[0] - 2 * amplitude[1] + amplitude[2];
        if (angle - slope / bend <= limit) highest = fmax(highest, amplitude[1] - slope * slope / (2 * bend));
    }
    return highest > 0 ? 20 * log10(highest) : NONE;
}

// Whether the descent grows again after a minimum of it, before it is lower and before the cut's first minimum.
__device__ bool is_followed(const Cut& cut, int interval, int minimum, double own, double steepest) {
    for (int later = interval + 1; later < minimum; ++later) {
        const double descent = cut.descent(later);
        if (descent < own) return false;
        if (descent > own + SAME_DESCENT * steepest) return true;
    }
    return false;
}

// The shoulder next to boresight on the way to the first minimum, dB; NONE without one.
__device__ double highest_shoulder(const Cut& cut, int angles, int minimum, double limit) {
    double steepest = 0.0, before = 0.0, here = 0.0;
    const int last = min(minimum - 1, min((int)limit + 3, angles - 2));
    if (last > 1) {
        before = cut.descent(0);
        here = cut.descent(1);
        steepest = fmax(before, here);
    }
    for (int interval = 1; interval < last; ++interval) {
        const double after = cut.descent(interval + 1);
        if (here < before && here <= after && here < SHOULDER_DESCENT * steepest &&
            is_followed(cut, interval, minimum, here, steepest)) {
            const double slope = (after - before) / 2, bend = before - 2 * here + after;
            const double place = after > here ? -slope / bend : -0.5;
            const double fallen = (here - bend / 24) * (place + 0.5) + slope / 2 * (place * place - 0.25) +
                                  bend / 6 * (place * place * place + 0.125);
            const double level = cut.at(interval) - fallen;
            if (level <= SHOULDER_BELOW_DB + 1e-6 && interval + 0.5 + place <= limit) return level;
        }
        before = here;
        here = after;
        steepest = fmax(steepest, here);
    }
    return NONE;
}

// A thread a cut. theta: degrees, equally spaced. limit: of side lobes and shoulders, samples.
extern "C" __global__ void beams(
    const double* cuts, int rows, int angles, const double* theta, double limit, double* found) {
    const int number = blockIdx.x * blockDim.x + threadIdx.x, plane = number / rows, row = number % rows;
    if (plane > 1) return;
    Cut cut = {&cuts[(size_t)plane * angles * rows + row], rows, 0.0};
    cut.boresight = cut.absolute(0);
    double* const own = &found[NUMBERS * (size_t)row];
    double largest = cut.boresight;
    for (int angle = 1; angle < angles; ++angle) largest = larger(largest, cut.absolute(angle));
    own[LARGEST + plane] = largest;
    own[WIDTH + plane] = half_power_beamwidth(cut, angles, theta);
    const int minimum = first_minimum(cut, angles);
    const double lobe = fmax(highest_lobe(cut, angles, minimum, limit), highest_shoulder(cut, angles, minimum, limit));
    own[LOBE + plane] = lobe > NONE ? lobe : UNDEFINED;
    if (plane == 0) {
        own[BORESIGHT] = cut.boresight;
        own[BACKWARDS] = cut.absolute(angles - 1);
    }
}
