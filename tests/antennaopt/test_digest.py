"""Digests of rasterised antennas: equal cells, equal digests; one bit anywhere, another digest."""

import math
from dataclasses import fields, replace

import numpy as np
import pytest

from antennaopt.solve import recognition as module
from antennaopt.solve.recognition import digests
from fdtd.axisymmetric.media import Media

SHAPE = (3, 3, 14, 11)


def media(seed=0, *, coupling=True):
    draw = np.random.default_rng(seed).random
    parts = {name: draw(SHAPE) for name in ("permittivity", "conductivity", "open_length", "open_area")}
    return Media(**parts, coupling=draw((SHAPE[0], *SHAPE[2:])) if coupling else None)


def changed(one, part, where, bits):
    """The media with some bits of one number the other way round."""
    cells = getattr(one, part).copy()
    cells.view(np.uint64)[where] ^= np.uint64(bits)
    return replace(one, **{part: cells})


@pytest.mark.parametrize("part", [part.name for part in fields(Media)])
@pytest.mark.parametrize("bit", [0, 31, 32, 52, 63])
def test_one_bit_of_one_cell_makes_another_antenna(part, bit):
    """1.0 and 2.0 differ in bit 52 alone, +x and -x in bit 63: the highest bits must count as the lowest do."""
    before = digests(media(), b"")
    where = (1, 4, 5) if part == "coupling" else (1, 2, 4, 5)
    after = digests(changed(media(), part, where, 1 << bit), b"")
    assert [a == b for a, b in zip(before, after, strict=True)] == [True, False, True]
    assert len({*before}) == 3


def test_an_antenna_has_its_digest_in_any_batch():
    whole = media()
    alone = [digests(whole.of([place]), b"")[0] for place in range(3)]
    assert digests(whole, b"") == alone
    assert digests(whole.of([2, 0]), b"") == [alone[2], alone[0]]


def test_groups_and_what_all_share_change_nothing(monkeypatch):
    """Metal that all antennas share is one array broadcast; a device digests a few antennas at a time."""
    one = media()
    length = np.broadcast_to(one.open_length[:1], SHAPE)
    expected = digests(replace(one, open_length=length.copy()), b"")
    assert digests(replace(one, open_length=length), b"") == expected
    monkeypatch.setattr(module, "_BYTES_AT_A_TIME", 1)
    assert digests(replace(one, open_length=length), b"") == expected


def test_two_swapped_cells_or_components_are_another_antenna():
    """Sums without weights, or with the same weights, would not see it."""
    one = media()
    cells = one.permittivity.copy()
    cells[0, 0, 0, [0, 1]] = cells[0, 0, 0, [1, 0]]
    cells[1, [0, 1]] = cells[1, [1, 0]]
    cells[2, :, [3, 4]] = cells[2, :, [4, 3]]
    assert not {*digests(one, b"")} & {*digests(replace(one, permittivity=cells), b"")}
    swapped = replace(one, permittivity=one.conductivity, conductivity=one.permittivity)
    assert not {*digests(one, b"")} & {*digests(swapped, b"")}


def test_another_context_is_another_digest():
    assert not {*digests(media(), b"a")} & {*digests(media(), b"b")}
    assert not {*digests(media(coupling=False), b"")} & {*digests(media(), b"")}


def test_the_sums_collide_no_more_often_than_derived():
    """Worst case of the derivation: two words differ by 2^31 each, so that only the lowest bits of w matter.

    Taking the sums modulo 2^k in place of 2^64 makes the bound for one set of weights 2^(31 - k): at k = 39 one pair in
    256, over 20,000 draws of weights 78 expected. A Poisson number stays below 78 + 5 sqrt(78) = 122; 74 are measured.
    """
    draws, k = 20_000, 39
    weights = np.random.default_rng(1).integers(0, 2**64, (draws, 2), dtype=np.uint64)
    sums = (weights * np.uint64(1 << 31)).sum(axis=1) & np.uint64((1 << k) - 1)
    expected = draws / 2 ** (k - 31)
    assert 0 < np.count_nonzero(sums == 0) < expected + 5 * math.sqrt(expected)
    assert module._weights(np, 4).max() > 2**60
