"""Loops of TM_z and TE_z with absorbing layers.

Written by `python -m fdtd.backends.cpu.loops`; change the formulas, not this file.
"""
# ruff: noqa
# fmt: off

from fdtd.backends.cpu.compiled import compiled
from fdtd.backends.cpu.stretching import OPTIONS, stretch_across, stretch_along


@compiled(**OPTIONS)
def tmz_0(state, media, layers, scratch):
    ny, nx = state.shape[1:]
    v0 = scratch[3]
    v1 = layers.psi[3]
    v2 = state[0]
    v3 = scratch[1]
    v4 = layers.psi[1]
    v5 = layers.along[1]
    v6 = state[1]
    v7 = media[0]
    v8 = state[2]
    v9 = media[1]
    for j in range(0, ny - 1):
        for i in range(0, nx - 1):
            v0[i] = v2[j + 1, i] - v2[j, i]
        if j < layers.cells or j >= ny - 1 - layers.cells:
            f = layers.across[1, :, j]
            stretch_across(v0, v1[j], f[0], f[1], f[2], nx)
        for i in range(0, nx - 1):
            v3[i] = v2[j, i + 1] - v2[j, i]
        stretch_along(v3, v4[j], v5, layers.cells, nx - 1)
        for i in range(0, nx - 1):
            v6[j, i] = v6[j, i] + v7[j, i] * v0[i]
        for i in range(0, nx - 1):
            v8[j, i] = v8[j, i] + v9[j, i] * v3[i]


@compiled(**OPTIONS)
def tmz_1(state, media, layers, scratch):
    ny, nx = state.shape[1:]
    v0 = scratch[0]
    v1 = layers.psi[0]
    v2 = state[2]
    v3 = layers.along[0]
    v4 = scratch[2]
    v5 = layers.psi[2]
    v6 = state[1]
    v7 = state[0]
    v8 = media[2]
    v9 = media[3]
    for j in range(0, ny - 1):
        if j >= 1:
            for i in range(1, nx - 1):
                v0[i] = v2[j, i] - v2[j, i - 1]
            stretch_along(v0, v1[j], v3, layers.cells + 1, nx)
            for i in range(1, nx - 1):
                v4[i] = v6[j, i] - v6[j - 1, i]
            if j <= layers.cells or j >= ny - 1 - layers.cells:
                f = layers.across[0, :, j]
                stretch_across(v4, v5[j], f[0], f[1], f[2], nx)
            for i in range(1, nx - 1):
                v7[j, i] = v8[j, i] * v7[j, i] + v9[j, i] * (v0[i] - v4[i])


@compiled(**OPTIONS)
def tez_0(state, media, layers, scratch):
    ny, nx = state.shape[1:]
    v0 = scratch[1]
    v1 = layers.psi[1]
    v2 = media[2]
    v3 = state[2]
    v4 = layers.along[1]
    v5 = scratch[3]
    v6 = layers.psi[3]
    v7 = media[1]
    v8 = state[1]
    v9 = state[0]
    v10 = media[0]
    for j in range(0, ny - 1):
        for i in range(0, nx - 1):
            v0[i] = v2[j, i + 1] * v3[j, i + 1] - v2[j, i] * v3[j, i]
        stretch_along(v0, v1[j], v4, layers.cells, nx - 1)
        for i in range(0, nx - 1):
            v5[i] = v7[j + 1, i] * v8[j + 1, i] - v7[j, i] * v8[j, i]
        if j < layers.cells or j >= ny - 1 - layers.cells:
            f = layers.across[1, :, j]
            stretch_across(v5, v6[j], f[0], f[1], f[2], nx)
        for i in range(0, nx - 1):
            v9[j, i] = v9[j, i] + v10[j, i] * (v0[i] - v5[i])


@compiled(**OPTIONS)
def tez_1(state, media, layers, scratch):
    ny, nx = state.shape[1:]
    v0 = scratch[2]
    v1 = layers.psi[2]
    v2 = state[0]
    v3 = state[1]
    v4 = media[3]
    v5 = media[5]
    v6 = state[3]
    v7 = scratch[0]
    v8 = layers.psi[0]
    v9 = layers.along[0]
    v10 = state[2]
    v11 = media[4]
    v12 = media[6]
    v13 = state[4]
    for j in range(0, ny - 1):
        if j >= 1:
            for i in range(0, nx - 1):
                v0[i] = v2[j, i] - v2[j - 1, i]
            if j <= layers.cells or j >= ny - 1 - layers.cells:
                f = layers.across[0, :, j]
                stretch_across(v0, v1[j], f[0], f[1], f[2], nx)
            for i in range(0, nx - 1):
                v3[j, i] = v4[j, i] * v3[j, i] + v5[j, i] * v0[i]
                v6[j, i] = v0[i]
        for i in range(1, nx - 1):
            v7[i] = v2[j, i] - v2[j, i - 1]
        stretch_along(v7, v8[j], v9, layers.cells + 1, nx)
        for i in range(1, nx - 1):
            v10[j, i] = v11[j, i] * v10[j, i] + v12[j, i] * (-v7[i])
            v13[j, i] = -v7[i]


@compiled(**OPTIONS)
def tez_2(state, media, places):
    zero = state.dtype.type(0)
    for n in range(places.shape[1]):
        j, i = places[0, n], places[1, n]
        v0 = media[7, j, i] * ((state[4, j, i] if media[6, j, i] != 0 else zero) + (state[4, j - 1, i] if media[6, j - 1, i] != 0 else zero))
        v1 = media[7, j, i] * ((state[3, j, i] if media[5, j, i] != 0 else zero) + (state[3, j, i - 1] if media[5, j, i - 1] != 0 else zero))
        if media[5, j, i] != 0:
            state[1, j, i] += v0
        if media[5, j, i - 1] != 0:
            state[1, j, i - 1] += v0
        if media[6, j, i] != 0:
            state[2, j, i] += v1
        if media[6, j - 1, i] != 0:
            state[2, j - 1, i] += v1
