"""Loops of stencils in a closed box, without layers.

Written by `python -m fdtd.backends.cpu.loops`; change the formulas, not this file.
"""
# ruff: noqa
# fmt: off

from fdtd.backends.cpu.compiled import compiled
from fdtd.backends.cpu.stretching import OPTIONS


@compiled(**OPTIONS)
def yee3d_0(state, media, spacings, weights, old):
    nz, ny, nx = state.shape[1:]
    v0 = state[3]
    v1 = spacings[0]
    v2 = state[2]
    v3 = spacings[1]
    v4 = state[1]
    v5 = state[4]
    v6 = state[0]
    v7 = spacings[2]
    v8 = state[5]
    for k in range(0, nz - 1):
        for j in range(0, ny - 1):
            for i in range(0, nx - 1):
                v0[k, j, i] = v0[k, j, i] - (v1[j] * (v2[k, j + 1, i] - v2[k, j, i]) - v3[k] * (v4[k + 1, j, i] - v4[k, j, i]))
            for i in range(0, nx - 1):
                v5[k, j, i] = v5[k, j, i] - (v3[k] * (v6[k + 1, j, i] - v6[k, j, i]) - v7[i] * (v2[k, j, i + 1] - v2[k, j, i]))
            for i in range(0, nx - 1):
                v8[k, j, i] = v8[k, j, i] - (v7[i] * (v4[k, j, i + 1] - v4[k, j, i]) - v1[j] * (v6[k, j + 1, i] - v6[k, j, i]))


@compiled(**OPTIONS)
def yee3d_1(state, media, spacings, weights, old):
    nz, ny, nx = state.shape[1:]
    v0 = state[0]
    v1 = media[0]
    v2 = media[3]
    v3 = spacings[3]
    v4 = state[5]
    v5 = spacings[4]
    v6 = state[4]
    v7 = state[1]
    v8 = media[1]
    v9 = media[4]
    v10 = state[3]
    v11 = spacings[5]
    v12 = state[2]
    v13 = media[2]
    v14 = media[5]
    for k in range(0, nz - 1):
        for j in range(0, ny - 1):
            if j >= 1 and k >= 1:
                for i in range(0, nx - 1):
                    v0[k, j, i] = v1[k, j, i] * v0[k, j, i] + v2[k, j, i] * (v3[j] * (v4[k, j, i] - v4[k, j - 1, i]) - v5[k] * (v6[k, j, i] - v6[k - 1, j, i]))
            if k >= 1:
                for i in range(1, nx - 1):
                    v7[k, j, i] = v8[k, j, i] * v7[k, j, i] + v9[k, j, i] * (v5[k] * (v10[k, j, i] - v10[k - 1, j, i]) - v11[i] * (v4[k, j, i] - v4[k, j, i - 1]))
            if j >= 1:
                for i in range(1, nx - 1):
                    v12[k, j, i] = v13[k, j, i] * v12[k, j, i] + v14[k, j, i] * (v11[i] * (v6[k, j, i] - v6[k, j, i - 1]) - v3[j] * (v10[k, j, i] - v10[k, j - 1, i]))


@compiled(**OPTIONS)
def heat7_0(state, media, spacings, weights, old):
    nz, ny, nx = state.shape[1:]
    v0 = state[1 - old]
    v1 = weights[0]
    v2 = state[old]
    v3 = weights[1]
    for k in range(1, nz - 1):
        for j in range(1, ny - 1):
            for i in range(1, nx - 1):
                v0[k, j, i] = v1 * v2[k, j, i] + v3 * (v2[k - 1, j, i] + v2[k, j - 1, i] + v2[k, j, i - 1] + v2[k, j, i + 1] + v2[k, j + 1, i] + v2[k + 1, j, i])


@compiled(**OPTIONS)
def heat19_0(state, media, spacings, weights, old):
    nz, ny, nx = state.shape[1:]
    v0 = state[1 - old]
    v1 = weights[0]
    v2 = state[old]
    v3 = weights[1]
    v4 = weights[2]
    for k in range(1, nz - 1):
        for j in range(1, ny - 1):
            for i in range(1, nx - 1):
                v0[k, j, i] = v1 * v2[k, j, i] + v3 * (v2[k - 1, j, i] + v2[k, j - 1, i] + v2[k, j, i - 1] + v2[k, j, i + 1] + v2[k, j + 1, i] + v2[k + 1, j, i]) + v4 * (v2[k - 1, j - 1, i] + v2[k - 1, j, i - 1] + v2[k - 1, j, i + 1] + v2[k - 1, j + 1, i] + v2[k, j - 1, i - 1] + v2[k, j - 1, i + 1] + v2[k, j + 1, i - 1] + v2[k, j + 1, i + 1] + v2[k + 1, j - 1, i] + v2[k + 1, j, i - 1] + v2[k + 1, j, i + 1] + v2[k + 1, j + 1, i])
