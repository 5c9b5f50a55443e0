// The planes at the ends of a block: H goes to the block above, E to the one below. Included by yee.cu alone.
//
// In a cluster they arrive in shared memory, and a signal counts their bytes. In a chain of other blocks they arrive in
// device memory, in parcels of three numbers of 32 bits and a stamp, the turn: a reader that sees the stamp has the
// numbers, so there is no flag to wait for in addition. Each lane reads what the same lane of the other block has sent;
// the first parcels of the next row are asked for while a row is formed.
#if SPREAD
#define NUMBERS (2 * COLUMNS * int(sizeof(real) / 4))
#define PARCELS ((NUMBERS + 2) / 3)
#define ROW_PARCELS (32 * PARCELS)
#define PLANE_PARCELS (WARPS * ROWS * ROW_PARCELS)
struct Arrival {
    Parcel part[PARCELS];
};
union Words {
    Two both;
    unsigned word[3 * PARCELS];
    __device__ Words() {}
};
__device__ inline Parcel *parcels_of(int warp, int lane) {
    Parcel *all = reinterpret_cast<Parcel *>(P.posts) + (place)(chain_here() * CLUSTER + rank_here()) * 2 * PLANE_PARCELS;
    return all + warp * ROWS * ROW_PARCELS + lane;
}
// H and E of a turn have stamps of their own.
__device__ inline unsigned stamp_of(const Warp &g, int kind, int turn) { return 2u * unsigned(g.epoch + turn) + kind; }
__device__ inline void expect_plane(const Warp &, Signal, bool) {}
template <int KIND> __device__ inline void look_for(const Warp &g, int y, Arrival &coming) {
#pragma unroll
    for (int p = 0; p < PARCELS; ++p) coming.part[p] = look_at(g.post + (KIND * PLANE_PARCELS + y * ROW_PARCELS + p * 32));
}
template <int KIND> __device__ inline Two arrived(const Warp &g, int y, int turn, bool, Arrival &coming) {
    const Parcel *from = g.post + (KIND * PLANE_PARCELS + y * ROW_PARCELS);
    await_parcels<PARCELS, NUMBERS>(from, stamp_of(g, KIND, turn), coming.part);
    Words words;
#pragma unroll
    for (int w = 0; w < 3 * PARCELS; ++w) words.word[w] = coming.part[w / 3].word[w % 3];
    return words.both;
}
template <int KIND> __device__ inline void send_row(const Warp &g, int y, const Two &x, int turn) {
    constexpr int BLOCK = KIND == H_BELOW ? 2 * PLANE_PARCELS : -2 * PLANE_PARCELS;
    const unsigned stamp = stamp_of(g, KIND, turn);
    Words words;
    words.both = x;
#pragma unroll
    for (int p = 0; p < PARCELS; ++p) {
        Parcel parcel;
#pragma unroll
        for (int w = 0; w < 3; ++w) parcel.word[w] = 3 * p + w < NUMBERS ? words.word[3 * p + w] : stamp;
        parcel.word[3] = stamp;
        post(g.post + (BLOCK + KIND * PLANE_PARCELS + y * ROW_PARCELS + p * 32), parcel);
    }
}
#else
struct Arrival {};
__device__ inline void expect_plane(const Warp &g, Signal which, bool any) {
    if (any && g.lane == 0) expect_bytes(&shared().signals[g.warp][which], ROWS * 32 * sizeof(Two));
}
template <int KIND> __device__ inline void look_for(const Warp &, int, Arrival &) {}
template <int KIND> __device__ inline Two arrived(const Warp &g, int y, int turn, bool first, Arrival &) {
    Shared &s = shared();
    if (first) await_signal(&s.signals[g.warp][KIND], turn);
    return KIND == H_BELOW ? s.h_below[g.warp][y][g.lane] : s.e_above[g.warp][y][g.lane];
}
template <int KIND> __device__ inline void send_row(const Warp &g, int y, const Two &x, int) {
    static_assert(COLUMNS == 2, "clusters send two columns at a time");
    Shared &s = shared();
    Two *own = KIND == H_BELOW ? &s.h_below[g.warp][y][g.lane] : &s.e_above[g.warp][y][g.lane];
    const int rank = g.rank + (KIND == H_BELOW ? 1 : -1);
    signal_word *signal = &s.signals[g.warp][KIND];
    const real *a = x.a.at, *b = x.b.at;
    if (sizeof(real) == 4) send(reinterpret_cast<float4 *>(own), rank, make_float4(a[0], a[1], b[0], b[1]), signal);
    else send(reinterpret_cast<pair *>(&own->a), rank, {a[0], a[1]}, signal), send(reinterpret_cast<pair *>(&own->b), rank, {b[0], b[1]}, signal);
}
#endif
