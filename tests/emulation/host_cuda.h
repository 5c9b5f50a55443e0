// Runs CUDA kernel text on the CPU: the blocks of a grid (or of a cluster) one after the other, their threads as fibers
// that switch only where the text waits. Made to be unkind: shared memory starts as NaN, asynchronous copies happen as
// late as they may, warps run in an order that changes at every turn and some sleep as long as they can, and a barrier
// that some thread never reaches ends the program with a message.
#pragma once
#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <sys/mman.h>
#include <type_traits>
#include <ucontext.h>
#include <vector>

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

namespace host {

struct Barrier {
    int arrived = 0;
    unsigned turn = 0;
};

struct Copy {
    void *to;
    const void *from;
    int bytes;
};

struct Fiber {
    dim3 thread, block;
    int warp, lane, rank;  // rank: of the block in its cluster
    bool started = false, done = false;
    jmp_buf place;
    ucontext_t context;
    std::vector<std::vector<Copy>> copies{1};  // groups, the last one open
    std::vector<Copy> copies_out;
    unsigned shuffles = 0;
};

inline Fiber *now;
inline jmp_buf scheduler;
inline dim3 grid_size, block_size;
inline int cluster_size = 1;
inline std::vector<std::vector<unsigned char>> shared_memory;  // one a block of the cluster
inline std::vector<Barrier> block_barriers, warp_barriers;
inline Barrier cluster_barrier;
inline std::vector<double> exchange;  // [warp][2][32]
inline int alive;
inline long progress;

struct Stacks {
    unsigned char *bytes = nullptr;
    size_t size = 0;
    void reserve(size_t wanted) {
        if (wanted <= size) return;
        if (bytes) munmap(bytes, size);
        void *at = mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED) std::perror("host emulation: stacks"), std::abort();
        madvise(at, wanted, MADV_NOHUGEPAGE);
        bytes = static_cast<unsigned char *>(at), size = wanted;
    }
};

inline void yield() {
    if (_setjmp(now->place) == 0) _longjmp(scheduler, 1);
}

inline void arrive_and_wait(Barrier &barrier, int count) {
    const unsigned turn = barrier.turn;
    if (++barrier.arrived == count) {
        barrier.arrived = 0, ++barrier.turn, ++progress;
        return;
    }
    while (barrier.turn == turn) yield();
}

inline int threads() { return block_size.x * block_size.y * block_size.z; }
inline int warp_size(const Fiber *f) { return std::min(32, threads() - f->thread.x / 32 * 32); }

inline void (*entry)(void *);
inline void *entry_data;

inline void body() {
    entry(entry_data);
    now->done = true, --alive, ++progress;
    _longjmp(scheduler, 1);
}

// Runs all threads of `blocks` together until they are done.
inline void run(const std::vector<dim3> &blocks, int shared_bytes) {
    const int count = threads(), warps = (count + 31) / 32, total = int(blocks.size());
    const size_t stack = 256 * 1024;
    static Stacks stacks;  // one a library, and a test process loads a hundred: only what is touched takes memory
    stacks.reserve(stack * count * total);
    std::vector<Fiber> fibers(size_t(count) * total);
    shared_memory.assign(total, {});
    for (auto &bytes : shared_memory) bytes.assign(shared_bytes + 128, 0xff);
    block_barriers.assign(total, {}), warp_barriers.assign(size_t(total) * warps, {});
    cluster_barrier = {}, exchange.assign(size_t(total) * warps * 64, 0.0);
    alive = count * total;
    std::vector<int> order(size_t(total) * warps);
    for (size_t w = 0; w < order.size(); ++w) order[w] = int(w);
    for (int b = 0; b < total; ++b)
        for (int t = 0; t < count; ++t) {
            Fiber &f = fibers[size_t(b) * count + t];
            f.thread = {t, 0, 0}, f.block = blocks[b], f.rank = b, f.warp = b * warps + t / 32, f.lane = t % 32;
        }
    unsigned random = 12345;
    int lazy_from = 0, lazy_to = 0, turns = 0;  // warps that sleep for as long as the others get on without them
    bool all = true;
    while (alive > 0) {
        const long before = progress;
        for (size_t w = order.size() - 1; w > 0; --w) {
            random = random * 1664525u + 1013904223u;
            std::swap(order[w], order[random / 65536 % (w + 1)]);
        }
        if (turns++ % 64 == 0) {
            random = random * 1664525u + 1013904223u;
            lazy_from = int(random / 65536 % order.size());
            random = random * 1664525u + 1013904223u;
            lazy_to = lazy_from + int(random / 65536 % order.size());
        }
        for (int w : order)
            for (int lane = 0; lane < 32; ++lane) {
                if (!all && w >= lazy_from && w < lazy_to) break;
                const int t = w % warps * 32 + lane;
                if (t >= count) break;
                const size_t at = size_t(w / warps) * count + t;
                Fiber &f = fibers[at];
                if (f.done) continue;
                now = &f;
                if (_setjmp(scheduler) == 0) {
                    if (f.started) _longjmp(f.place, 1);
                    f.started = true;
                    getcontext(&f.context);
                    f.context.uc_stack.ss_sp = stacks.bytes + stack * at;
                    f.context.uc_stack.ss_size = stack;
                    f.context.uc_link = nullptr;
                    makecontext(&f.context, body, 0);
                    setcontext(&f.context);
                }
            }
        const bool stuck = alive > 0 && progress == before;
        if (stuck && all) {
            std::fprintf(stderr, "host emulation: %d threads wait at a barrier that the others never reach\n", alive);
            std::abort();
        }
        all = stuck;
    }
}

inline void launch(dim3 grid, int block, int shared_bytes, int cluster, void (*kernel)(void *), void *data) {
    grid_size = grid, block_size = {block, 1, 1}, cluster_size = cluster, entry = kernel, entry_data = data;
    for (int z = 0; z < grid.z; ++z)
        for (int y = 0; y < grid.y; ++y)
            for (int x = 0; x < grid.x; x += cluster) {
                std::vector<dim3> blocks;
                for (int c = 0; c < cluster; ++c) blocks.push_back({x + c, y, z});
                run(blocks, shared_bytes);
            }
}

inline unsigned char *aligned(std::vector<unsigned char> &bytes) {
    return reinterpret_cast<unsigned char *>((reinterpret_cast<size_t>(bytes.data()) + 127) / 128 * 128);
}

template <class T> T shuffle(T value, int from) {
    double *slots = &exchange[size_t(now->warp) * 64 + now->shuffles++ % 2 * 32];
    std::memcpy(slots + now->lane, &value, sizeof value);
    Barrier &barrier = warp_barriers[now->warp];
    arrive_and_wait(barrier, warp_size(now));
    T out;
    std::memcpy(&out, slots + (from < 0 || from >= warp_size(now) ? now->lane : from), sizeof out);
    return out;
}

}  // namespace host

#define threadIdx (host::now->thread)
#define blockIdx (host::now->block)
#define blockDim (host::block_size)
#define gridDim (host::grid_size)
#define warpSize 32

inline void __syncthreads() { host::arrive_and_wait(host::block_barriers[host::now->rank], host::threads()); }
inline void __syncwarp(unsigned = ~0u) {
    host::arrive_and_wait(host::warp_barriers[host::now->warp], host::warp_size(host::now));
}
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
using std::max;
using std::min;

// What fdtd/kernels/intrinsics.cuh spells in PTX.
inline unsigned char *shared_base() { return host::aligned(host::shared_memory[host::now->rank]); }
inline void copy_16_bytes(void *shared, const void *global) { host::now->copies.back().push_back({shared, global, 16}); }
inline void prefetch(const void *) {}
inline bool all_lanes(bool condition) {
    bool all = condition;
    for (int by = 1; by < 32; by *= 2) all = host::shuffle(int(all), (host::now->lane + by) % 32) && all;
    return all;
}
inline int afresh(int number) { return number; }
inline int warp_index() { return host::shuffle(int(host::now->thread.x / 32), 0); }  // all lanes must ask
inline void close_copies() { host::now->copies.emplace_back(); }
template <int N> inline void wait_copies() {
    auto &groups = host::now->copies;
    while (groups.size() > N + 1) {
        for (const auto &copy : groups.front()) std::memcpy(copy.to, copy.from, copy.bytes);
        groups.erase(groups.begin());
    }
}
inline void add_without_return(float *to, float value) { *to += value; }
inline void add_without_return(double *to, double value) { *to += value; }
inline int cluster_rank() { return host::now->rank; }
inline int cluster_blocks() { return host::cluster_size; }
inline void cluster_wait() {
    host::arrive_and_wait(host::cluster_barrier, host::threads() * host::cluster_size);
}
// The same place in another block's shared memory.
template <class T> T *in_block(T *own, int rank) {
    const auto offset = reinterpret_cast<unsigned char *>(own) - host::aligned(host::shared_memory[host::now->rank]);
    return reinterpret_cast<T *>(host::aligned(host::shared_memory[rank]) + offset);
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
        if (x[w / 3].word[w % 3] != stamp) std::fprintf(stderr, "host emulation: a parcel's unused words have no stamp\n"), std::abort();
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
inline void copy_out(void *global, const void *shared, int bytes) {
    host::now->copies_out.push_back({global, shared, bytes});
}
inline void publish_to_copies() {}
inline void wait_copies_out() {
    for (const auto &copy : host::now->copies_out) std::memcpy(copy.to, copy.from, copy.bytes);
    host::now->copies_out.clear();
}
template <class T> void send(T *own, int rank, const T &value, signal_word *s) {
    *in_block(own, rank) = value, s = in_block(s, rank), s->bytes -= short(sizeof(T)), turn_if_complete(s);
}
inline bool signal_given(signal_word *s, int turn) { return ((s->turns ^ turn) & 1) != 0; }
inline void await_signal(signal_word *s, int turn) {
    while (((s->turns ^ turn) & 1) == 0) host::yield();
}
inline void copy_16_or_zeros(void *shared, const void *global, bool there) {
    static const unsigned char zeros[16] = {};
    host::now->copies.back().push_back({shared, there ? global : zeros, 16});
}
inline void copy_8_bytes(void *shared, const void *global) { host::now->copies.back().push_back({shared, global, 8}); }
