// Between blocks of a launch that are all on the device at the same time: parcels in device memory, and a barrier.
//
// A parcel is read and written as one number of 128 bits, so a reader has all of it or nothing: three words and the
// stamp by which it knows them. Parcels stay in the second-level cache.
struct alignas(16) Parcel {
    unsigned word[4];  // the last is the stamp
};
#ifndef HOST_EMULATION
typedef unsigned long long wide;

__device__ inline void post(Parcel *to, const Parcel &x) {
    const wide low = x.word[0] | (wide)x.word[1] << 32, high = x.word[2] | (wide)x.word[3] << 32;
    asm volatile("{\n .reg .b128 all;\n mov.b128 all, {%1, %2};\n st.relaxed.gpu.global.b128 [%0], all;\n}" ::"l"(to), "l"(low),
                 "l"(high)
                 : "memory");
}
// What stands there now, of whatever stamp.
__device__ inline Parcel look_at(const Parcel *from) {
    wide low, high;
    asm volatile("{\n .reg .b128 all;\n ld.relaxed.gpu.global.b128 all, [%2];\n mov.b128 {%0, %1}, all;\n}" : "=l"(low), "=l"(high)
                 : "l"(from)
                 : "memory");
    return {{unsigned(low), unsigned(low >> 32), unsigned(high), unsigned(high >> 32)}};
}
// A lane's N parcels, every 32nd, of one stamp: all lanes look again until each has all of its own. Words after the
// first WORDS hold the stamp as well, and must: a compiler may read parts of a number that has parts without use.
template <int N, int WORDS> __device__ inline void await_parcels(const Parcel *from, unsigned stamp, Parcel *x) {
    while (true) {
        bool there = true;
#pragma unroll
        for (int p = 0; p < N; ++p) there &= x[p].word[3] == stamp;
#pragma unroll
        for (int w = WORDS; w < 3 * N; ++w) there &= x[w / 3].word[w % 3] == stamp;
        if (__all_sync(0xffffffffu, there)) return;
#pragma unroll
        for (int p = 0; p < N; ++p) x[p] = look_at(from + 32 * p);
    }
}

// Arrivals of `blocks` blocks, one after the other of each: the counter is theirs alone and never reset. It is a
// multiple of `blocks` between their meetings. One thread of a block; returns what the counter will have when all have
// arrived.
__device__ inline long long arrive_at(long long *counter, int blocks) {
    __threadfence();
    const wide before = atomicAdd(reinterpret_cast<wide *>(counter), 1ull);
    return (before / blocks + 1) * blocks;
}
__device__ inline void await_count(const long long *counter, long long target) {
    long long now;
    do asm volatile("ld.acquire.gpu.global.s64 %0, [%1];" : "=l"(now) : "l"(counter) : "memory");
    while (now < target);
    __threadfence();
}
#endif
