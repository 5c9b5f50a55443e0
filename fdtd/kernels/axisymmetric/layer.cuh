// One cell of the radial layer with the memories of its filters: the update of its columns in every scheme that has
// lanes for them.
//
// Settings: REAL. Provides the cell, its column's coefficients, and E and H of a cell over an accessor of curl.cuh that
// further has
//     LayerCell &cell
//     const LayerColumn &column
//     void stretch(real &rise_r, real &rise_phi)   stretches the differences along z in an axial layer, once a step
//     bool filled()   whether there is more than air
//     const real *media()   ca of e_r, e, e_z and cb of them, ROW_PITCH apart
//     bool conducts()   whether the cell lies in a conducting plane
// of which `layer_h` needs `stretch` alone.
#include "kernels/axisymmetric/parameters.cuh"
#include "kernels/intrinsics.cuh"
#include "kernels/axisymmetric/curl.cuh"

// Filters 0-3 belong to E, 4-7 to H.
struct LayerCell {
    real at[6], psi[8];
};

// Radial factors of the six updates, b and c of the eight filters.
struct LayerColumn {
    real gain[6], b[8], c[8];
};

// Of column `column` of the layer.
__device__ inline void read_column(LayerColumn &f, int column) {
#pragma unroll
    for (int n = 0; n < 6; ++n) f.gain[n] = P.gains[n * ROW_PITCH + P.lead + P.radial_start + column];
#pragma unroll
    for (int n = 0; n < 8; ++n) {
        f.b[n] = P.filters[2 * n * RADIAL_PITCH + column];
        f.c[n] = P.filters[(2 * n + 1) * RADIAL_PITCH + column];
    }
}

__device__ inline void clear(LayerCell &cell) {
#pragma unroll
    for (int n = 0; n < 6; ++n) cell.at[n] = 0;
#pragma unroll
    for (int n = 0; n < 8; ++n) cell.psi[n] = 0;
}

// Fields `apart`, memories of filters `psi_apart` numbers from each other.
__device__ inline void load_layer_cell(LayerCell &cell, const real *row, int apart, const real *psi, int psi_apart) {
#pragma unroll
    for (int n = 0; n < 6; ++n) cell.at[n] = row[n * apart];
#pragma unroll
    for (int n = 0; n < 8; ++n) cell.psi[n] = psi[n * psi_apart];
}
__device__ inline void store_layer_cell(const LayerCell &cell, real *row, int apart, real *psi, int psi_apart) {
#pragma unroll
    for (int n = 0; n < 6; ++n) row[n * apart] = cell.at[n];
#pragma unroll
    for (int n = 0; n < 8; ++n) psi[n * psi_apart] = cell.psi[n];
}

// The part of an accessor that all schemes share.
struct LayerHere {
    LayerCell &cell;
    const LayerColumn &column;
    real next_r, next_phi;      // h_r, h of the row below, or e_r, e of the row above
    real beside_z, beside_phi;  // h_z, h of the column before, or e_z, e of the column after
    __device__ real field(Component c, int dk = 0, int di = 0) const {
        if (dk) return c == H_R || c == E_R ? next_r : next_phi;
        if (di) return c == H_Z || c == E_Z ? beside_z : beside_phi;
        return cell.at[c];
    }
};

// Drive of a field: the curl after filter `n` of the layer.
template <class Here> __device__ inline void remember(Here &x, int n, real curl) {
    x.cell.psi[n] = remembered(x.cell.psi[n], x.column.b[n], x.column.c[n], curl);
}

template <class Here> __device__ inline void layer_e(Here x) {
    LayerCell &cell = x.cell;
    const LayerColumn &f = x.column;
    real rise_r = rise_of_h(x, H_R), rise_phi = rise_of_h(x, H_PHI);
    x.stretch(rise_r, rise_phi);
    const real curl_r = curl_h_r(x, rise_phi), curl_phi = curl_h_phi(x, rise_r), curl_z = curl_h_z(x);
    remember(x, 0, curl_r), remember(x, 1, curl_phi), remember(x, 2, curl_z), remember(x, 3, curl_z);
    const real drive_r = stretched(f.gain[E_R], curl_r, cell.psi[0]);
    const real drive_phi = stretched(f.gain[E_PHI], curl_phi, cell.psi[1]);
    const real drive_z = stretched(f.gain[E_Z], curl_z, cell.psi[2] + cell.psi[3]);
    if (x.filled()) {
        const real *media = x.media();
        drive(cell.at[E_R], media[0], media[3 * ROW_PITCH], drive_r);
        drive(cell.at[E_PHI], media[ROW_PITCH], media[4 * ROW_PITCH], drive_phi);
        drive(cell.at[E_Z], media[2 * ROW_PITCH], media[5 * ROW_PITCH], drive_z);
    } else cell.at[E_R] += drive_r, cell.at[E_PHI] += drive_phi, cell.at[E_Z] += drive_z;
    if (x.conducts()) cell.at[E_R] = cell.at[E_PHI] = 0;
}

template <class Here> __device__ inline void layer_h(Here x) {
    LayerCell &cell = x.cell;
    const LayerColumn &f = x.column;
    real rise_r = rise_of_e(x, E_R), rise_phi = rise_of_e(x, E_PHI);
    x.stretch(rise_r, rise_phi);
    const real curl_r = curl_e_r(x, rise_phi), curl_phi = curl_e_phi(x, rise_r), curl_z = curl_e_z(x);
    remember(x, 4, curl_r), remember(x, 5, curl_phi), remember(x, 6, curl_z), remember(x, 7, curl_z);
    cell.at[H_R] += stretched(f.gain[H_R], curl_r, cell.psi[4]);
    cell.at[H_PHI] += stretched(f.gain[H_PHI], curl_phi, cell.psi[5]);
    cell.at[H_Z] -= stretched(f.gain[H_Z], curl_z, cell.psi[6] + cell.psi[7]);
}
