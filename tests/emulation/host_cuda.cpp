// What host_cuda.h declares and no kernel changes: the threads' fibers, their turns and their memory. Compiled once.
#include "host_cuda.h"

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <sys/mman.h>
#include <ucontext.h>
#include <vector>

#pragma GCC visibility push(hidden)
namespace host {

struct Copy {
    void *to;
    const void *from;
    int bytes;
};

struct Fiber : Thread {
    bool started = false, done = false;
    size_t at;  // among those of its run
    jmp_buf place;
    ucontext_t context;
    std::vector<std::vector<Copy>> copies{1};  // groups, the last one open
    std::vector<Copy> copies_out;
};

struct Wait {
    const Barrier *barrier = nullptr;  // to leave `turn`
    unsigned turn = 0;
};

Thread *now;
dim3 grid_size, block_size;
int cluster_size = 1;
long progress;

static Fiber *fiber() { return static_cast<Fiber *>(now); }
static jmp_buf scheduler;
static std::vector<std::vector<unsigned char>> shared_memory;  // one a block of the cluster
static std::vector<Barrier> block_barriers, warp_barriers;
static Barrier cluster_barrier;
static std::vector<double> exchange;  // [warp][2][32]
static std::vector<Wait> waits;  // of each fiber: by itself, since it is read at every turn
static int alive;

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

void yield() {
    if (_setjmp(fiber()->place) == 0) _longjmp(scheduler, 1);
}

static void arrive_and_wait(Barrier &barrier, int count) {
    const unsigned turn = barrier.turn;
    if (++barrier.arrived == count) {
        barrier.arrived = 0, ++barrier.turn, ++progress;
        return;
    }
    waits[fiber()->at] = {&barrier, turn};
    yield();  // until the barrier is passed: its turn is looked at where threads are chosen
}

static int threads() { return block_size.x * block_size.y * block_size.z; }
int warp_size(const Thread *f) { return std::min(32, threads() - f->thread.x / 32 * 32); }

static void (*entry)(void *);
static void *entry_data;

// Of all threads that a fiber is, one after the other: to begin one costs two calls of the system.
static void body() {
    for (;;) {
        entry(entry_data);
        fiber()->done = true, --alive, ++progress;
        yield();
    }
}

// Runs all threads of `blocks` together until they are done.
static void run(const std::vector<dim3> &blocks, int shared_bytes) {
    const int count = threads(), warps = (count + 31) / 32, total = int(blocks.size());
    const size_t stack = 256 * 1024;
    static Stacks stacks;  // one a library, and a test process loads a hundred: only what is touched takes memory
    static std::vector<Fiber> fibers;
    if (fibers.size() < size_t(count) * total) {
        stacks.reserve(stack * count * total);
        fibers = std::vector<Fiber>(size_t(count) * total);
    }
    shared_memory.assign(total, {});
    for (auto &bytes : shared_memory) bytes.assign(shared_bytes + 128, 0xff);
    block_barriers.assign(total, {}), warp_barriers.assign(size_t(total) * warps, {});
    cluster_barrier = {}, exchange.assign(size_t(total) * warps * 64, 0.0);
    alive = count * total, waits.assign(alive, {});
    std::vector<int> order(size_t(total) * warps);
    for (size_t w = 0; w < order.size(); ++w) order[w] = int(w);
    for (int b = 0; b < total; ++b)
        for (int t = 0; t < count; ++t) {
            Fiber &f = fibers[size_t(b) * count + t];
            f.thread = {t, 0, 0}, f.block = blocks[b], f.rank = b, f.warp = b * warps + t / 32, f.lane = t % 32;
            f.at = size_t(b) * count + t, f.done = false, f.shuffles = 0;
            f.copies.resize(1), f.copies[0].clear(), f.copies_out.clear();
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
                if (waits[at].barrier && waits[at].barrier->turn == waits[at].turn) continue;
                Fiber &f = fibers[at];
                if (f.done) continue;
                waits[at].barrier = nullptr, now = &f;
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

void launch(dim3 grid, int block, int shared_bytes, int cluster, void (*kernel)(void *), void *data) {
    grid_size = grid, block_size = {block, 1, 1}, cluster_size = cluster, entry = kernel, entry_data = data;
    for (int z = 0; z < grid.z; ++z)
        for (int y = 0; y < grid.y; ++y)
            for (int x = 0; x < grid.x; x += cluster) {
                std::vector<dim3> blocks;
                for (int c = 0; c < cluster; ++c) blocks.push_back({x + c, y, z});
                run(blocks, shared_bytes);
            }
}

unsigned char *aligned(std::vector<unsigned char> &bytes) {
    return reinterpret_cast<unsigned char *>((reinterpret_cast<size_t>(bytes.data()) + 127) / 128 * 128);
}

double *lanes() { return &exchange[size_t(now->warp) * 64 + now->shuffles++ % 2 * 32]; }
void wait_for_warp() { arrive_and_wait(warp_barriers[now->warp], warp_size(now)); }
void wait_for_block() { arrive_and_wait(block_barriers[now->rank], threads()); }
void wait_for_cluster() { arrive_and_wait(cluster_barrier, threads() * cluster_size); }

unsigned char *shared_of(int rank) {
    return reinterpret_cast<unsigned char *>((reinterpret_cast<size_t>(shared_memory[rank].data()) + 127) / 128 * 128);
}

void copy(void *shared, const void *global, int bytes) { fiber()->copies.back().push_back({shared, global, bytes}); }
void close_copies() { fiber()->copies.emplace_back(); }
void wait_copies(size_t open) {
    auto &groups = fiber()->copies;
    while (groups.size() > open + 1) {
        for (const auto &copy : groups.front()) std::memcpy(copy.to, copy.from, copy.bytes);
        groups.erase(groups.begin());
    }
}
void copy_out(void *global, const void *shared, int bytes) { fiber()->copies_out.push_back({global, shared, bytes}); }
void wait_copies_out() {
    for (const auto &copy : fiber()->copies_out) std::memcpy(copy.to, copy.from, copy.bytes);
    fiber()->copies_out.clear();
}
void refuse(const char *why) {
    std::fprintf(stderr, "host emulation: %s\n", why);
    std::abort();
}

}  // namespace host
#pragma GCC visibility pop
