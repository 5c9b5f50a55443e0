// Runs CUDA kernel text on the CPU: the blocks of a grid (or of a cluster) one after the other, their threads as fibers
// that switch only where the text waits. Made to be unkind: shared memory starts as NaN, asynchronous copies happen as
// late as they may, warps run in an order that changes at every turn and some sleep as long as they can, and a barrier
// that some thread never reaches ends the program with a message.
#include <cmath>
#include <cstring>

#define HOST_EMULATION 1
#define __global__
#define __device__
#define __host__
#define __constant__
#define __shared__ static
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)

struct dim3 {
    int x, y, z;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(16) double2 {
    double x, y;
};
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline double2 make_double2(double x, double y) { return {x, y}; }
struct alignas(8) float2 {
    float x, y;
};
inline float2 make_float2(float x, float y) { return {x, y}; }
template <class T> T rounded(T a, T b) {
    volatile T product = a * b;  // never part of a fused multiply-add
    return product;
}
struct int2 {
    int x, y;
};

// host_cuda.cpp has what stands here without a body.
#pragma GCC visibility push(hidden)
namespace host {

struct Barrier {
    int arrived = 0;
    unsigned turn = 0;
};

struct Thread {
    dim3 thread, block;
    int warp, lane, rank;  // rank: of the block in its cluster
    unsigned shuffles = 0;
};

extern Thread *now;
extern dim3 grid_size, block_size;
extern int cluster_size;
extern long progress;

void yield();
double *lanes();  // of the warp of now, 32 places for what they exchange
int warp_size(const Thread *);
void wait_for_warp();
void wait_for_block();
void wait_for_cluster();
unsigned char *shared_of(int rank);
void copy(void *shared, const void *global, int bytes);
void close_copies();
void wait_copies(size_t open);
void copy_out(void *global, const void *shared, int bytes);
void wait_copies_out();
void refuse(const char *why);
void launch(dim3 grid, int block, int shared_bytes, int cluster, void (*kernel)(void *), void *data);

template <class T> T shuffle(T value, int from) {
    double *slots = lanes();
    std::memcpy(slots + now->lane, &value, sizeof value);
    wait_for_warp();
    T out;
    std::memcpy(&out, slots + (from < 0 || from >= warp_size(now) ? now->lane : from), sizeof out);
    return out;
}

}  // namespace host
#pragma GCC visibility pop

#define threadIdx (host::now->thread)
#define blockIdx (host::now->block)
#define blockDim (host::block_size)
#define gridDim (host::grid_size)
#define warpSize 32

inline void __syncthreads() { host::wait_for_block(); }
inline void __syncwarp(unsigned = ~0u) { host::wait_for_warp(); }
template <class T> T __shfl_sync(unsigned, T value, int from) { return host::shuffle(value, from); }
inline unsigned __ballot_sync(unsigned, bool value) {
    unsigned all = 0;
    for (int lane = 0; lane < 32; ++lane) all |= unsigned(host::shuffle(value ? 1 : 0, lane)) << lane;
    return all;
}
inline int __ffs(unsigned bits) { return __builtin_ffs(int(bits)); }
template <class T> T __shfl_up_sync(unsigned, T value, int by) { return host::shuffle(value, host::now->lane - by); }
template <class T> T __shfl_down_sync(unsigned, T value, int by) { return host::shuffle(value, host::now->lane + by); }
template <class T> T __shfl_xor_sync(unsigned, T value, int by) { return host::shuffle(value, host::now->lane ^ by); }
template <class T> T __ldg(const T *from) { return *from; }
template <class T> T atomicAdd(T *to, T value) {
    const T before = *to;
    *to = before + value;
    return before;
}
inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
inline int __clz(unsigned bits) { return bits ? __builtin_clz(bits) : 32; }
template <class T> const T &max(const T &a, const T &b) { return a < b ? b : a; }
template <class T> const T &min(const T &a, const T &b) { return b < a ? b : a; }

// What fdtd/kernels/intrinsics.cuh spells in PTX.
inline unsigned char *shared_base() { return host::shared_of(host::now->rank); }
inline void copy_16_bytes(void *shared, const void *global) { host::copy(shared, global, 16); }
inline void copy_4_bytes(void *shared, const void *global) { host::copy(shared, global, 4); }
inline void prefetch(const void *) {}
inline bool all_lanes(bool condition) {
    bool all = condition;
    for (int by = 1; by < 32; by *= 2) all = host::shuffle(int(all), (host::now->lane + by) % 32) && all;
    return all;
}
inline int afresh(int number) { return number; }
inline int warp_index() { return host::shuffle(int(host::now->thread.x / 32), 0); }  // all lanes must ask
inline void close_copies() { host::close_copies(); }
template <int N> void wait_copies() { host::wait_copies(N); }
inline void add_without_return(float *to, float value) { *to += value; }
inline void add_without_return(double *to, double value) { *to += value; }
inline int cluster_rank() { return host::now->rank; }
inline int cluster_blocks() { return host::cluster_size; }
inline void cluster_wait() { host::wait_for_cluster(); }
// The same place in another block's shared memory.
template <class T> T *in_block(T *own, int rank) {
    const auto offset = reinterpret_cast<unsigned char *>(own) - host::shared_of(host::now->rank);
    return reinterpret_cast<T *>(host::shared_of(rank) + offset);
}

// What fdtd/kernels/posts.cuh spells in PTX.
template <class Parcel> void post(Parcel *to, const Parcel &x) { *to = x, ++host::progress; }
template <class Parcel> Parcel look_at(const Parcel *from) { return *from; }
template <int N, int WORDS, class Parcel> void await_parcels(const Parcel *from, unsigned stamp, Parcel *x) {
    for (int p = 0; p < N; ++p) {
        if (x[p].word[3] == stamp) continue;
        while (x[p].word[3] != stamp) host::yield(), x[p] = from[32 * p];
        ++host::progress;  // lanes wake one by one
    }
    for (int w = WORDS; w < 3 * N; ++w)
        if (x[w / 3].word[w % 3] != stamp) host::refuse("a parcel's unused words have no stamp");
    __syncwarp();
}
inline long long arrive_at(long long *counter, int blocks) {
    const long long target = (*counter / blocks + 1) * blocks;
    ++*counter, ++host::progress;
    return target;
}
inline void await_count(const long long *counter, long long target) {
    while (*counter < target) host::yield();
    ++host::progress;
}

// What fdtd/kernels/signals.cuh spells in PTX.
struct signal_word {
    signed char givers, missing;
    short bytes;  // still to come
    int turns;
};
inline void prepare_signal(signal_word *s, int givers) { *s = {(signed char)givers, (signed char)givers, 0, 0}; }
inline void publish_signals() {}
inline void turn_if_complete(signal_word *s) {
    if (s->missing == 0 && s->bytes == 0) s->missing = s->givers, ++s->turns, ++host::progress;
}
inline void give_signal(signal_word *s) { --s->missing, turn_if_complete(s); }
inline void expect_bytes(signal_word *s, int bytes) { s->bytes += short(bytes), give_signal(s); }
// At once: what must not be overwritten yet, is.
inline void copy_in(void *shared, const void *global, int bytes, signal_word *s) {
    std::memcpy(shared, global, bytes), s->bytes -= short(bytes), turn_if_complete(s);
}
inline void announce_copies(signal_word *s, int bytes) { expect_bytes(s, bytes); }
// As late as may be: what is overwritten too early is seen.
inline void copy_out(void *global, const void *shared, int bytes) { host::copy_out(global, shared, bytes); }
inline void publish_to_copies() {}
inline void wait_copies_out() { host::wait_copies_out(); }
template <class T> void send(T *own, int rank, const T &value, signal_word *s) {
    *in_block(own, rank) = value, s = in_block(s, rank), s->bytes -= short(sizeof(T)), turn_if_complete(s);
}
inline bool signal_given(signal_word *s, int turn) { return ((s->turns ^ turn) & 1) != 0; }
inline void await_signal(signal_word *s, int turn) {
    while (((s->turns ^ turn) & 1) == 0) host::yield();
}
inline void copy_16_or_zeros(void *shared, const void *global, bool there) {
    static const unsigned char zeros[16] = {};
    host::copy(shared, there ? global : zeros, 16);
}
inline void copy_8_bytes(void *shared, const void *global) { host::copy(shared, global, 8); }
