// One-way signals between warps of a block, or of a cluster: barriers in shared memory that complete once a step.
//
// A warp gives the signal after a write for another warp. The other warp waits for the signal's turn 0, 1, 2, ... and
// may then read. Warps without a wait run ahead.
#ifndef HOST_EMULATION
typedef unsigned long long signal_word;

__device__ inline unsigned shared_place(const void *shared) {
    return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}

// Before the first use of the signal: the number of threads that give it in a turn.
__device__ inline void prepare_signal(signal_word *s, int givers) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_place(s)), "r"(givers) : "memory");
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
// Gives the signal once `bytes` sent with `send` have arrived as well.
__device__ inline void expect_bytes(signal_word *s, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(shared_place(s)), "r"(bytes)
                 : "memory");
}

// Writes to the same place in another block of the cluster and counts the bytes there, without waiting for either.
#define SEND(TYPE, KIND, VALUES, ...)                                                                                  \
    __device__ inline void send(TYPE *own, int rank, const TYPE &x, signal_word *s) {                                  \
        asm volatile("{\n .reg .b32 there, bar;\n mapa.shared::cluster.u32 there, %0, %1;\n"                           \
                     " mapa.shared::cluster.u32 bar, %2, %1;\n"                                                        \
                     " st.async.weak.shared::cluster.mbarrier::complete_tx::bytes" KIND " [there], " VALUES            \
                     ", [bar];\n}" ::"r"(shared_place(own)), "r"(rank), "r"(shared_place(s)), __VA_ARGS__ : "memory"); \
    }
SEND(float, ".f32", "%3", "f"(x))
SEND(float2, ".v2.f32", "{%3, %4}", "f"(x.x), "f"(x.y))
SEND(float4, ".v4.f32", "{%3, %4, %5, %6}", "f"(x.x), "f"(x.y), "f"(x.z), "f"(x.w))
SEND(double, ".f64", "%3", "d"(x))
SEND(double2, ".v2.f64", "{%3, %4}", "d"(x.x), "d"(x.y))
#undef SEND

// Asynchronous copy of `bytes` from device to shared memory (addresses and size: whole 16 bytes); the signal counts
// them.
__device__ inline void copy_in(void *shared, const void *global, int bytes, signal_word *s) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_place(shared)), "l"(global), "r"(bytes), "r"(shared_place(s)) : "memory");
}
// One lane, when all have started their copies: the signal is given once `bytes` in all have arrived.
__device__ inline void announce_copies(signal_word *s, int bytes) { expect_bytes(s, bytes); }

// The other way; this thread's copies since the last wait.
__device__ inline void copy_out(void *global, const void *shared, int bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(global), "r"(shared_place(shared)), "r"(bytes)
                 : "memory");
}
// Makes the threads' writes to shared memory visible to copies that are started afterwards.
__device__ inline void publish_to_copies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
// Waits until this thread's copies out have read shared memory.
__device__ inline void wait_copies_out() {
    asm volatile("cp.async.bulk.commit_group;\n cp.async.bulk.wait_group.read 0;" ::: "memory");
}

// Makes prepared signals visible to the other blocks of the cluster, before their barrier.
__device__ inline void publish_signals() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

__device__ inline void give_signal(signal_word *s) {
    asm volatile("{\n .reg .b64 turn;\n mbarrier.arrive.release.cta.shared::cta.b64 turn, [%0];\n}" ::"r"(shared_place(s))
                 : "memory");
}

// Whether a signal's turn has completed, without waiting; if so, its data may be read.
__device__ inline bool signal_given(signal_word *s, int turn) {
    int given;
    asm volatile("{\n .reg .pred done;\n mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 done, [%1], %2;\n"
                 " selp.s32 %0, 1, 0, done;\n}" : "=r"(given) : "r"(shared_place(s)), "r"(turn & 1)
                 : "memory");
    return given;
}

// Also for data from other blocks: it completes in this block's shared memory. An acquire at the cluster's scope would
// empty the first-level cache every time.
__device__ inline void await_signal(signal_word *s, int turn) {
    asm volatile("{\n .reg .pred done;\n again:\n"
                 " mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 done, [%0], %1;\n"
                 " @!done bra again;\n}" ::"r"(shared_place(s)), "r"(turn & 1)
                 : "memory");
}
#else  // no clusters, no copies of many bytes, and a wait without the hardware's help
__device__ inline void copy_16s(void *to, const void *from, int bytes) {
    for (int n = 0; n < bytes / 16; ++n) static_cast<int4 *>(to)[n] = static_cast<const int4 *>(from)[n];
}
__device__ inline void give_signal(signal_word *s);
__device__ inline void copy_in(void *shared, const void *global, int bytes, signal_word *) { copy_16s(shared, global, bytes); }
__device__ inline void announce_copies(signal_word *s, int) { give_signal(s); }
__device__ inline void copy_out(void *global, const void *shared, int bytes) { copy_16s(global, shared, bytes); }
__device__ inline void publish_to_copies() {}
__device__ inline void wait_copies_out() {}

__device__ inline void give_signal(signal_word *s) {
    asm volatile("{\n .reg .b64 turn;\n mbarrier.arrive.shared.b64 turn, [%0];\n}" ::"r"(shared_place(s)) : "memory");
}

__device__ inline bool signal_given(signal_word *s, int turn) {
    int given;
    asm volatile("{\n .reg .pred done;\n mbarrier.test_wait.parity.shared.b64 done, [%1], %2;\n"
                 " selp.s32 %0, 1, 0, done;\n}" : "=r"(given) : "r"(shared_place(s)), "r"(turn & 1)
                 : "memory");
    return given;
}

__device__ inline void await_signal(signal_word *s, int turn) {
    while (!signal_given(s, turn)) {}
}
#endif

// Asynchronous copy of 16 aligned bytes from device to shared memory, or of zeros.
__device__ inline void copy_16_or_zeros(void *shared, const void *global, bool there) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_place(shared)), "l"(global), "r"(there ? 16 : 0)
                 : "memory");
}

// Asynchronous copy of 8 aligned bytes from device to shared memory; of a group as in kernels/intrinsics.cuh.
__device__ inline void copy_8_bytes(void *shared, const void *global) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(shared_place(shared)), "l"(global) : "memory");
}
#endif
