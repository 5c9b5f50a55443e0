"""Convert records to solutions: spectra, S11, far field and powers of a batch.

Records of a device stay there until they are reduced to a few numbers an antenna, which come back in one copy;
records of the CPU are transformed one antenna at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.constants import epsilon_0, mu_0

from fdtd import backends
from fdtd.arrays import kept, library, modulus_squared, on_host, product, quotient
from fdtd.axisymmetric.layout import Layout
from fdtd.axisymmetric.modes import PORT_PLANE, Guides, PlaneWaves, plane_waves
from fdtd.axisymmetric.monitors import FieldMap, HuygensContour
from fdtd.axisymmetric.near_fields import near_field
from fdtd.axisymmetric.ports import GuideMode, Port
from fdtd.axisymmetric.problem import Problem, Records
from fdtd.axisymmetric.solution import Solution, Solutions
from fdtd.farfield import radiated_power
from fdtd.farfield.axisymmetric import contour_power, flux_pairs, transform

_TOGETHER = 32  # antennas of a device that products of matrices take at a time: always 32, for the same bits
_IMPEDANCE = np.sqrt(mu_0 / epsilon_0)


@lru_cache(maxsize=32)
def _waves(xp: Any, times: bytes, frequencies: bytes) -> Any:
    """cos(wt), then -sin(wt), (2 F, samples); on a device, which keeps them, pairs of both, (samples, F, 2)."""
    phase = 2 * np.pi * np.frombuffer(frequencies)[:, None] * np.frombuffer(times)
    if xp is np:
        return np.concatenate([np.cos(phase), -np.sin(phase)])
    return kept(xp, np.ascontiguousarray(np.stack([np.cos(phase).T, -np.sin(phase).T], axis=-1)))


@lru_cache(maxsize=32)
def _turns(xp: Any, contour: HuygensContour, seconds: float, frequencies: bytes) -> Any:
    """exp(-jwt) of one time where a sample has H, 1 where it has E, (F, numbers); a device keeps them."""
    turns = np.ones((len(frequencies) // 8, contour.size), dtype=complex)
    for (_, component), where in contour.sections().items():
        if component.startswith("h"):
            turns[:, where] = np.exp(-2j * np.pi * np.frombuffer(frequencies)[:, None] * np.array([seconds]))
    return kept(xp, turns)


@lru_cache(maxsize=32)
def _pairs(xp: Any, contour: HuygensContour) -> Any:
    """`flux_pairs` of a contour in an array library."""
    return kept(xp, flux_pairs(contour))


def _spectrum(
    samples: Any, counts: Any, times: np.ndarray, frequencies: np.ndarray, weights: np.ndarray | None
) -> np.ndarray:
    """sum_n x_n exp(-jwt_n) of (batch, samples, numbers) records, (batch, F, numbers), in the records' library."""
    xp = library(samples)
    waves = _waves(xp, times.tobytes(), frequencies.tobytes())
    if xp is not np:
        weights = None if weights is None else xp.asarray(weights)
        return backends.spectra(xp.ascontiguousarray(samples), counts, waves, weights)
    # One antenna at a time and not by BLAS: it rounds differently with other shapes, layouts and threads.
    given = samples if weights is None else samples * weights[:, None]
    sums = np.stack([np.einsum("fs,sn->fn", waves, np.ascontiguousarray(one, dtype=float)) for one in given])
    return sums[:, : len(frequencies)] + 1j * sums[:, len(frequencies) :]


@dataclass(frozen=True, kw_only=True)
class _FeedPorts:
    """The ports of a batch, and the way from there to z = 0, at some frequencies: factors (1 or batch, F)."""

    waves: Port
    forth: np.ndarray
    back_and_forth: np.ndarray

    @classmethod
    def of(cls, layout: Layout, feeds: Sequence[GuideMode], frequencies: np.ndarray) -> _FeedPorts:
        """Compute the factors of each feed once; of one that all antennas have there is one row."""
        each: dict[int, tuple[Port, np.ndarray, np.ndarray]] = {}
        for mode in feeds:
            if id(mode) not in each:
                travel = mode.phase_per_cell(layout.grid, frequencies) * (layout.origin - layout.port_plane)
                waves = Port.of(layout.grid, mode, frequencies)
                each[id(mode)] = waves, np.exp(-1j * travel), np.exp(2j * travel)
        ports, forth, both = zip(*(each[id(mode)] for mode in (feeds if len(each) > 1 else feeds[:1])), strict=True)
        return cls(waves=Port.stacked(ports), forth=np.stack(forth), back_and_forth=np.stack(both))

    def chosen(self, places: Sequence[int]) -> _FeedPorts:
        """Return those of some antennas."""
        if len(self.forth) == 1:
            return self
        waves = Port(**{name: one[places] for name, one in vars(self.waves).items()})
        return _FeedPorts(waves=waves, forth=self.forth[places], back_and_forth=self.back_and_forth[places])

    def reflection(self, voltage: np.ndarray, current: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the forward amplitude and S11 at z = 0 from spectra at the port, each (batch, F)."""
        forward, backward = self.waves.split(voltage, current)
        return product(forward, self.forth), product(quotient(backward, forward), self.back_and_forth)


class _Answers:
    """Turns rows of `figures` into solutions; what depends on feeds and frequencies alone is computed once."""

    def __init__(
        self, layout: Layout, problem: Problem, feeds: Sequence[GuideMode], records: Records, band: np.ndarray,
        *, fields: bool,
    ) -> None:  # fmt: skip
        self._layout, self._problem, self._records, self._fields = layout, problem, records, fields
        self._band = band
        wanted = np.array(layout.frequencies)
        self._ports = _FeedPorts.of(layout, feeds, wanted)
        count, points, self._angles = len(wanted), len(band), layout.theta_intervals + 1
        ends = np.cumsum([0, count, count, points, points, count * self._angles, count * self._angles]).tolist()
        self._parts = [slice(*one) for one in pairwise(ends)]
        self._sweeps = _FeedPorts.of(layout, feeds, band) if len(band) else None

    def of(self, places: Sequence[int], rows: np.ndarray) -> Solutions:
        """Return the answers of some antennas from their rows.

        Complex products are made of real ones, and sums along angles are an antenna's own: no bit depends on others.
        """
        count, own = len(self._layout.frequencies), 2 * self._parts[-1].stop
        spectra, powers = rows[:, :own].view(complex), rows[:, own : own + 2 * count]
        patterns = rows[:, own + 2 * count :].reshape(len(rows), count, -1)
        v, i, band_v, band_i, a, b = (spectra[:, part] for part in self._parts)
        a, b = (np.ascontiguousarray(one.reshape(len(rows), count, -1)) for one in (a, b))
        ports, records, where = self._ports.chosen(places), self._records, np.asarray(places)
        forward, s11 = ports.reflection(v, i)
        power = ports.waves.power(forward)
        energy = np.asarray(records.energy)[where]
        columns = {
            "steps": np.asarray(records.steps)[where],
            "energy": energy,
            "finite": np.asarray(records.finite)[where],
            "residual": energy.astype(float),
            "s11": s11,
            "incident": forward * np.sqrt(ports.waves.flux),
            "e_plane": a,
            "h_plane": b,
            "accepted": power * (1 - modulus_squared(s11)),
            "radiated": patterns[..., 0].copy() if patterns.size else radiated_power(a, b),
            "through_contour": powers[:, :count],
            "dissipated": powers[:, count:],
            "sweep_s11": np.zeros((len(rows), 0), dtype=complex)
            if self._sweeps is None
            else self._sweeps.chosen(places).reflection(band_v, band_i)[1],
        }
        fields = [near_field(self._problem, records, index, self._fields) for index in places]
        return Solutions(
            columns=columns,
            sweep_frequency=self._band,
            fields=fields if any(fields) else (),
            patterns=patterns if patterns.size else None,
        )


def solutions(
    layout: Layout, problem: Problem, feeds: Sequence[GuideMode], records: Records, *, fields: bool = False,
    sweep: int = 0, losses: bool = True, guides: Guides | None = None,
) -> Solutions:  # fmt: skip
    """Turn a batch's records into spectra, powers and patterns.

    Args:
        layout: Frequencies, contour, sampling.
        problem: What was stepped.
        feeds: Mode of each antenna's feed.
        records: What the batch left behind.
        fields: Keep the electric field of the whole lattice at the frequencies.
        sweep: Number of frequencies across the band at which S11 is kept as well.
        losses: Whether the problem's field map holds the lossy bodies.
        guides: Where modes are measured.
    """
    batch = problem.media.batch
    many = 1 if isinstance(records.contour, list) else batch
    groups = [slice(first, first + many) for first in range(0, batch, many)]
    # Everything is started before anything is waited for.
    band = np.linspace(*_band(layout), sweep) if sweep else np.zeros(0)
    kept = [figures(layout, problem, records, group, band, losses=losses) for group in groups]
    answers = _Answers(layout, problem, feeds, records, band, fields=fields)
    found = answers.of(range(batch), np.concatenate([on_host(one) for one in kept]))
    rings = _still_rings(layout, found)
    for group in groups:
        ringing = (group.start + np.flatnonzero(rings[group])).tolist()
        if ringing:
            faded = [
                on_host(figures(layout, problem, records, group, band, losses=losses, fade=part)) for part in _FADES
            ]
            here = [index - group.start for index in ringing]
            late, early = (answers.of(ringing, rows[here]) for rows in faded)
            late.columns["residual"][:] = [
                min(one.energy, _change(before, one)) for before, one in zip(early, late, strict=True)
            ]
            for name, column in found.columns.items():
                column[ringing] = late.columns[name]
            if found.patterns is not None and late.patterns is not None:
                found.patterns[ringing] = late.patterns
    if guides is None:
        return found
    waves = plane_waves(layout, problem, records, guides, list(found.columns["incident"]))
    made = [_with_modes(one, own) for one, own in zip(found, waves, strict=True)]
    accepted = np.stack([one.accepted for one in made])
    return replace(found, columns={**found.columns, "accepted": accepted}, modes=[one.modes for one in made])


def _with_modes(solution: Solution, waves: tuple[PlaneWaves | None, ...]) -> Solution:
    """Add the waves in planes, and subtract what the port's modes other than TE11 carry away from the power accepted.

    TE11 in the port's plane is S11, as the port measured it.
    """
    accepted, kept = solution.accepted, list(waves)
    for place, port in enumerate(waves):
        if port is None or port.z != PORT_PLANE:
            continue
        backward = tuple(
            {name: complex(s11) if name == "TE11" else wave for name, wave in back.items()}
            for s11, back in zip(solution.s11, port.backward, strict=True)
        )
        others = [
            sum(abs(back[name]) ** 2 - abs(ahead[name]) ** 2 for name in back if name != "TE11")
            for ahead, back in zip(port.forward, backward, strict=True)
        ]
        accepted = accepted - np.abs(solution.incident) ** 2 * np.array(others, dtype=float)
        kept[place] = replace(port, backward=backward)
    return replace(solution, accepted=accepted, modes=tuple(kept))


_FADES = (0.3, 0.6)  # parts of a record, at its end, over which what still rings is faded out
_LONG_ENOUGH = 3  # times the pulse and the way through the antenna, before what is left may be judged by the figures
_UNSEEN = 4.0  # a resonance that hardly decays changes figures by less than what it still adds


def _still_rings(layout: Layout, found: Solutions) -> np.ndarray:
    """Say of which antennas energy is left after a record that is long enough to be faded out at its end, (batch,)."""
    steps, energy, finite = (found.columns[name] for name in ("steps", "energy", "finite"))
    rings = (layout.decay <= energy) & (energy < 1.0) & finite & (steps >= _LONG_ENOUGH * layout.settled)
    return rings & (layout.decay > 0.0)


def _change(early: Solution, late: Solution) -> float:
    """Return by how much S11 and the far field depend on the end of the record, as a ratio of powers."""
    far = [np.concatenate([one.e_plane, one.h_plane], axis=1) for one in (early, late)]
    largest = np.abs(far[1]).max(axis=1)
    parts = [np.abs(early.s11 - late.s11), np.abs(far[0] - far[1]).max(axis=1) / np.where(largest > 0, largest, 1.0)]
    return float((_UNSEEN * np.max(parts)) ** 2)


def figures(
    layout: Layout, problem: Problem, records: Records, group: slice, band: np.ndarray, *, losses: bool,
    fade: float = 0.0,
) -> Any:  # fmt: skip
    """Reduce the records of a part of the batch to one row of numbers an antenna, where the records are.

    Spectra of voltage and current at the port, at the frequencies and across the band, A and B at `Layout.theta_deg`
    (complex, two numbers each); power through the contour; power lost; of a device's records also the figures of their
    patterns, see `fdtd.backends.patterns`. With `fade` that part of the records of antennas
    that took all steps fades out as a cosine: what rings at other frequencies does not leak into these.
    """
    grid, frequencies = layout.grid, np.array(layout.frequencies)
    port, contour = (
        np.stack(part[group]) if isinstance(part, list) else part[group] for part in (records.port, records.contour)
    )
    xp, count, weights = library(contour), group.stop - group.start, None
    if fade:
        last = layout.steps // layout.record_every
        place = (np.arange(contour.shape[1]) - (1 - fade) * last) / (fade * last)
        weights = 0.5 + 0.5 * np.cos(np.pi * np.clip(place, 0.0, 1.0))
    taken = xp.asarray(records.steps[group] // layout.record_every, dtype=np.int32)
    at_e, at_h = layout.sampling.sample_times(grid, contour.shape[1])
    spectrum = _spectrum(contour, taken, at_e, frequencies, weights)
    spectrum *= _turns(xp, layout.contour, float((at_h - at_e)[0]), frequencies.tobytes())
    far, starts = (
        transform(grid, layout.contour, layout.frequencies, layout.theta_intervals),
        range(0, count, _TOGETHER),
    )
    a, b = (
        xp.concatenate(parts)[:count]
        for parts in zip(*(far(_filled_up(xp, spectrum[at : at + _TOGETHER])) for at in starts), strict=True)
    )
    if xp is np:
        through = contour_power(layout.contour, spectrum)
    else:
        through = backends.flux(spectrum, _pairs(xp, layout.contour))
    if losses and problem.field_map is not None and records.field_map is not None:
        parts = [slice(group.start + at, min(group.start + at + _TOGETHER, group.stop)) for at in starts]
        lost = xp.concatenate([_dissipated(problem, problem.field_map, records.field_map, part) for part in parts])
    else:
        lossy = xp.zeros(count, dtype=bool)
        if not losses and problem.media.spans.lossy_rows.any():
            lossy = np.moveaxis(problem.media.conductivity[group], 0, -1).any(axis=(0, 1, 2))  # see `packing`
        # Not by the mask as an index: a device would count its entries, and the host would wait for all it is doing.
        lost = np.broadcast_to(np.where(lossy, xp.nan, 0.0)[:, None], (count, len(frequencies)))
    spectra = [
        _spectrum(port[..., place : place + 1], taken, times, wanted, weights)
        for wanted in (frequencies, band)
        if len(wanted)
        for place, times in enumerate((at_e, at_h))
    ]
    flat = [xp.ascontiguousarray(part.reshape(count, -1)).view(float) for part in (*spectra, a, b)]
    patterns = [] if xp is np else [backends.patterns(a, b).reshape(count, -1)]
    return xp.concatenate([*flat, through, lost, *patterns], axis=1)


def _filled_up(xp: Any, part: Any) -> Any:
    """A part of the batch, (batch, ...); filled up with zeros for the library of a device.

    Products of matrices, and sums of an array library, round differently for other shapes: an antenna must have the
    same bits in any batch.
    """
    if xp is np or len(part) == _TOGETHER:
        return part
    found = library(part).zeros((_TOGETHER, *part.shape[1:]), part.dtype)
    found[: len(part)] = part
    return found


def _band(layout: Layout) -> tuple[float, float]:
    """Return the band in which the source has enough power for S11: the layout's, or a little around a single one.

    It begins above the cutoff of every feed, which the lowest frequency is at least 1.02 times.
    """
    low, high = min(layout.frequencies), max(layout.frequencies)
    middle = (low + high) / 2
    spread = max(high - low, 0.05 * middle) / 2
    return max(middle - spread, 0.99 * low), middle + spread


def _dissipated(problem: Problem, where: FieldMap, sums: Any, part: slice) -> Any:
    """Power lost in conductivity, (batch, F): sigma |E|^2 over each component's cells, with the lattice's time average.

    The sums are of open length times E, of E_phi also times its radius in cells. Where there is no map nothing is lost.
    Not as a product of matrices, whose order of summation is the library's choice and changes with what else runs.
    """
    box = np.s_[:, :, slice(*where.rows), slice(*where.columns)]
    xp, grid = library(sums), problem.grid
    length, conductivity, sums = (
        _filled_up(xp, one[part]) for one in (problem.media.open_length[box], problem.media.conductivity[box], sums)
    )
    node = xp.arange(*where.columns, dtype=float)
    radial = xp.stack([node + 0.5, xp.where(node > 0, 1 / xp.maximum(node, 1.0), 0.0), node])
    weight = conductivity / xp.where(length > 0, length, 1.0) * radial[:, None]
    power = (sums.astype(float) ** 2).sum(axis=2)
    batch, frequencies = power.shape[:2]
    losses = (power * weight[:, None]).reshape(batch, frequencies, -1).sum(axis=-1)
    cosines = np.cos(np.pi * where.frequencies * grid.time_step)
    return (losses * xp.asarray(_IMPEDANCE * grid.cell * cosines))[: part.stop - part.start]
