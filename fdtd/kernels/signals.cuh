// One-way signals between warps of a block, or of a cluster: barriers in shared memory that complete once a step.
//
// Whoever has written what another warp waits for gives the signal; the other waits for the signal's turn 0, 1, 2, ...
// and may then read. Warps that wait for nobody run ahead.
#ifndef HOST_EMULATION
typedef unsigned long long signal_word;

__device__ inline unsigned shared_place(const void *shared) {
    return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}

// Whole warps of a block, `threads` together, wait for each other at one of 15 places; __syncthreads has place 0.
__device__ inline void meet(int place, int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(place), "r"(threads) : "memory");
}

// Before anybody uses the signal: how many give it in a turn.
__device__ inline void prepare_signal(signal_word *s, int givers) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_place(s)), "r"(givers) : "memory");
}

// Makes prepared signals known to the other blocks of the cluster, before all meet.
__device__ inline void publish_signals() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

__device__ inline void give_signal(signal_word *s) {
    asm volatile("{\n .reg .b64 turn;\n mbarrier.arrive.release.cta.shared::cta.b64 turn, [%0];\n}" ::"r"(shared_place(s))
                 : "memory");
}

// The same signal of another block of the cluster.
__device__ inline void give_signal(signal_word *s, int rank) {
    asm volatile("{\n .reg .b32 there;\n mapa.shared::cluster.u32 there, %0, %1;\n"
                 " mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];\n}" ::"r"(shared_place(s)), "r"(rank)
                 : "memory");
}

__device__ inline void await_signal(signal_word *s, int turn) {
    asm volatile("{\n .reg .pred done;\n again:\n"
                 " mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 done, [%0], %1;\n"
                 " @!done bra again;\n}" ::"r"(shared_place(s)), "r"(turn & 1)
                 : "memory");
}

// For signals that other blocks give.
__device__ inline void await_cluster_signal(signal_word *s, int turn) {
    asm volatile("{\n .reg .pred done;\n again:\n"
                 " mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
                 " @!done bra again;\n}" ::"r"(shared_place(s)), "r"(turn & 1)
                 : "memory");
}
#endif
