"""The certificate: checks of energy, power and mesh for a solved antenna."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypedDict

import numpy as np

from antennaopt.families.parameters import first_unmeasured
from antennaopt.quantities import format_frequency, format_length
from antennaopt.sent import Sent
from antennaopt.settings import TRUSTED_DB
from antennaopt.solve.modes import measured_at_port
from antennaopt.solve.outcome import REPEATABLE

DECAY_DB = -TRUSTED_DB
MOST_REFLECTED = 1.001
CONTOUR_TOLERANCE = 0.01
BALANCE_TOLERANCE = 0.02
MESH_DIRECTIVITY_DB = 0.1
MESH_S11 = 0.02
MOST_OVER_CUTOFF = 1.0
TRUSTED = "trusted"
ONE_MESH = "one mesh: its error is not known; the certificates of a run solve again with all cells halved"

DENSE = 30.0
OF_PATCHES = f", or search with solver.cells_per_wavelength = {DENSE:g}"
"""What helps a patch whose mesh alone is doubtful: measured in docs/decisions/0044, edges of sheets."""

SOUND = "sound"
"""Name of what is computed here of a whole batch."""

_TE11 = frozenset({"TE11"})


def certify(
    outcome: Mapping[str, Any],
    halved: Mapping[str, Any] | None = None,
    *,
    meshes: tuple[Mapping[str, Any], Mapping[str, Any]] | None = None,
    feed_radius: float | None = None,
    feed_permittivity: float = 1.0,
) -> dict[str, Any]:
    """Check an outcome's energy, reflection and power, and its mesh when it was solved on another one too.

    Args:
        outcome: As `evaluate` returns it; what it lacks counts as not passed. A power balance that is None at every
            frequency was not measured, as of a lossy antenna in a search: that check is neither passed nor failed.
        halved: Outcome of the same antenna with half the cell; one that is not `ok` leaves the mesh unknown.
        meshes: For an extrapolated outcome, those of the two meshes that it was extrapolated from.
        feed_radius: Inner radius of the feed, m; None leaves out the check of its modes.
        feed_permittivity: Of what fills the feed.

    Returns:
        For each of `decay`, `passive`, `contour`, `balance` its `figure`, its `limit`, `what` it is and whether it
        `passed`, None where it was not measured; with `feed_radius` for `modes` too, with `because` where it did not
        pass; with `halved` or `meshes` for `mesh_directivity` and `mesh_s11`, worst over the frequencies.
        `verdict` is `trusted` or `doubtful`. One solution says nothing about the mesh.
    """
    figures = _figures(outcome, feed_radius, feed_permittivity)
    decay = _check(figures["decay"], DECAY_DB, "energy left at the last step against its peak, dB")
    if decay["figure"] is not None and not decay["passed"]:
        decay["what"] += f" ({left_over(decay['figure'])})"
    checks: dict[str, Any] = {
        "decay": decay,
        "passive": _check(figures["passive"], MOST_REFLECTED, "largest |S11|"),
        "contour": _check(
            figures["contour"],
            CONTOUR_TOLERANCE,
            "far-field power over the flux through the contour, largest distance from 1",
        ),
        "balance": _check(
            figures["balance"],
            BALANCE_TOLERANCE,
            "radiated and dissipated over accepted power, largest distance from 1",
        ),
    }
    if balance_unmeasured(outcome):
        checks["balance"]["passed"] = None
    if feed_radius is not None:
        checks["modes"] = _modes_check(figures["modes"], outcome, feed_radius, feed_permittivity)
    if halved is not None:
        checks |= _mesh_checks(outcome, halved, "with half the cell")
    elif meshes is not None:
        checks |= _mesh_checks(*meshes, "from the coarser mesh to the finer")
    sound = outcome.get("status") == "ok" and all(check["passed"] is not False for check in checks.values())
    return {**checks, "verdict": TRUSTED if sound else "doubtful"}


class Feed(TypedDict):
    """Arguments of `certify` that say what the feed is."""

    feed_radius: float | None
    feed_permittivity: float


def feed_of(design: Mapping[str, float]) -> Feed:
    """Return what `certify` needs of a design; one that a port feeds has no radius."""
    return Feed(feed_radius=design.get("feed.inner_radius"), feed_permittivity=design.get("feed.permittivity", 1.0))


def passes(outcome: Mapping[str, Any], feed_radius: float | None = None, feed_permittivity: float = 1.0) -> bool:
    """Return whether `certify` trusts an outcome that was solved on one mesh; a tenth of its time.

    Of an outcome that came in a message the numbers of the whole batch are looked at once.
    """
    decay = outcome.get("decay_db")
    if outcome.get("status") != "ok" or decay is None or not decay <= DECAY_DB:
        return False
    sent, place = getattr(outcome, "sent", (None, 0))
    return ((sent is not None and _sound(sent)[place]) or _is_sound(outcome)) and (
        feed_radius is None or _is_below_cutoffs(outcome, feed_radius, feed_permittivity)
    )


def _is_sound(outcome: Mapping[str, Any]) -> bool:
    """Whether reflection, contour and balance pass."""
    reflected = outcome.get("s11") or ()
    return (
        len(reflected) > 0
        and all(math.hypot(real, imaginary) <= MOST_REFLECTED for real, imaginary in reflected)
        and _is_near_one(outcome.get("contour_balance"), CONTOUR_TOLERANCE)
        and (balance_unmeasured(outcome) or _is_near_one(outcome.get("power_balance"), BALANCE_TOLERANCE))
    )


def _sound(sent: Sent) -> list[bool]:
    """Return of each antenna of a batch whether `_is_sound` for certain; one at the very limit has to be looked at."""
    if SOUND not in sent.computed:
        contour, balance = sent.metrics.get("contour_balance"), sent.metrics.get("power_balance")
        if sent.s11 is None or contour is None or (balance is None and "power_balance" not in sent.absent):
            sent.computed[SOUND] = [False] * len(sent.planes[0])
        else:
            with np.errstate(over="ignore"):
                powers = np.square(sent.s11).sum(axis=-1)
            found = (powers <= (1.0 - 1e-12) * MOST_REFLECTED**2).all(axis=1)
            found &= (np.abs(contour - 1.0) <= CONTOUR_TOLERANCE).all(axis=1)
            if balance is not None:
                found &= (np.abs(balance - 1.0) <= BALANCE_TOLERANCE).all(axis=1)
            sent.computed[SOUND] = found.tolist()
    return sent.computed[SOUND]


def _is_near_one(values: Sequence[float | None] | None, tolerance: float) -> bool:
    """Whether there are values, all of them numbers that are no further from 1 than the tolerance."""
    return bool(values) and all(value is not None and abs(value - 1.0) <= tolerance for value in values)


def _is_below_cutoffs(outcome: Mapping[str, Any], feed_radius: float, permittivity: float) -> bool:
    """Whether no frequency is above the cutoff of the lowest mode that the port does not measure there."""
    if outcome.get("modes"):
        figures = _figures(outcome, feed_radius, permittivity)["modes"]
        return figures is not None and figures <= MOST_OVER_CUTOFF
    return _are_below_cutoff(tuple(outcome.get("frequency_hz") or ()), feed_radius, permittivity)


@lru_cache(maxsize=1024)
def _are_below_cutoff(frequencies: tuple[float, ...], feed_radius: float, permittivity: float) -> bool:
    """Whether a port that measures TE11 alone is fed below the next mode's cutoff."""
    cutoff = _lowest_unmeasured(feed_radius, _TE11, permittivity)
    return len(frequencies) > 0 and all(hz / cutoff <= MOST_OVER_CUTOFF for hz in frequencies)


@lru_cache(maxsize=1024)
def _lowest_unmeasured(feed_radius: float, measured: frozenset[str], permittivity: float) -> float:
    """Return the cutoff of the lowest mode that a port does not measure, Hz."""
    return first_unmeasured(feed_radius, measured, permittivity)[1]


def _figures(outcome: Mapping[str, Any], feed_radius: float | None, permittivity: float) -> dict[str, float | None]:
    """Return the figures of the checks that one solution allows; that of its modes with the feed's radius only."""
    figures = {
        "decay": outcome.get("decay_db"),
        "passive": _largest([math.hypot(*pair) for pair in outcome.get("s11") or ()]),
        "contour": _largest(_off_one(outcome.get("contour_balance"))),
        "balance": _largest(_off_one(outcome.get("power_balance"))),
    }
    if feed_radius is not None:
        figures["modes"] = _largest(
            [hz / _lowest_unmeasured(feed_radius, frozenset(names), permittivity) for hz, names in _measured(outcome)]
        )
    return figures


def balance_unmeasured(outcome: Mapping[str, Any]) -> bool:
    """Say whether a solved antenna's losses were not measured, and with them the balance of its power."""
    balance = outcome.get("power_balance") or (0.0,)
    return all(value is None for value in balance)


def _measured(outcome: Mapping[str, Any]) -> Iterator[tuple[float, Collection[str]]]:
    """Yield each frequency, Hz, with the names of the modes that the port measures there."""
    frequencies, modes = outcome.get("frequency_hz") or (), outcome.get("modes")
    for place, hz in enumerate(frequencies):
        yield hz, measured_at_port(modes[place]) if modes else ("TE11",)


def left_over(decay_db: float) -> str:
    """Say what energy that is left at the last step means for the result.

    What is left can leave through the port at most whole: with e of the peak's energy left, and the peak no more than
    went in, the mean square of the error of S11 over the pulse's band is at most e (Parseval), and that of the far
    field e of it. On boresight that is 20 lg(1 + sqrt(e)) dB; a pattern's level below e is no larger than its error. A
    sharp resonance that still rings gathers the error at its own frequency, where it may be more.

    Args:
        decay_db: Energy over its peak, dB.
    """
    error = 10 ** (decay_db / 20)
    return (
        f"S11 is uncertain by about {error:.2g}, directivity by {20 * math.log10(1 + error):.2g} dB, "
        f"pattern levels below {decay_db:.0f} dB mean nothing"
    )


def checks_of(certificate: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return a certificate's checks by name."""
    return {name: check for name, check in certificate.items() if isinstance(check, Mapping) and "passed" in check}


def failed(certificate: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the checks that were measured and not passed, by name."""
    return {name: check for name, check in checks_of(certificate).items() if check["passed"] is False}


def doubts(certificate: Mapping[str, Any]) -> list[str]:
    """Return one line for each check that was not passed."""
    return [f"certificate: {_figure(name, check)}: {check['what']}" for name, check in failed(certificate).items()]


def reason(certificate: Mapping[str, Any]) -> str | None:
    """Return what was not passed, in one line; None when all was."""
    shown = [_figure(name, check) for name, check in failed(certificate).items()]
    halved = certificate.get("halved") or {}
    if halved.get("status", "ok") != "ok":
        shown.append(f"with half the cell it is {halved['status']}")
    return ", ".join(shown) or None


def is_trusted(certificate: Mapping[str, Any]) -> bool:
    """Say whether all checks were passed."""
    return certificate.get("verdict") == TRUSTED


def crowned(certificates: Mapping[str, Mapping[str, Any]], mode: str) -> str | None:
    """Choose the winner of a run.

    Args:
        certificates: By individual, the best by fitness first.
        mode: `strict` passes over the doubtful ones, unless all are; `report` and `off` do not.

    Returns:
        The individual, or None of nothing.
    """
    trusted = [name for name, certificate in certificates.items() if is_trusted(certificate)]
    if mode == "strict" and trusted:
        return trusted[0]
    return next(iter(certificates), None)


def verdict_shown(verdict: str | None, *, mesh_checked: bool) -> str | None:
    """Return a verdict for people: one that is of one mesh alone says so."""
    return f"{verdict}, one mesh" if verdict == TRUSTED and not mesh_checked else verdict


def account(
    certificates: Mapping[str, Mapping[str, Any]], mode: str, *, experiment: Mapping[str, Any] | None = None
) -> str:
    """Name the winner with its verdict, why no better antenna won, and what to do where none is trusted, in one line.

    Args:
        certificates: By individual, the best by fitness first; at least one.
        mode: As in `crowned`.
        experiment: Its resolved table, which decides what would help.
    """
    best, winner = next(iter(certificates)), crowned(certificates, mode) or ""
    said = f"{winner} is {_verdict(certificates[winner])}"
    if winner != best:
        passed_over = list(certificates).index(winner)
        others = f"; so are the {passed_over - 1} after it" if passed_over > 2 else ""
        others = "; so is the one after it" if passed_over == 2 else others
        return f"{best} scores better but is {_verdict(certificates[best])}{others}; crowned instead: {said}"
    if any(is_trusted(one) for one in certificates.values()):
        return said
    said += _remedy(certificates[winner], experiment or {})
    if mode != "strict":
        return said
    number = len(certificates)
    none = f"none of the {number} best is trusted" if number > 1 else "the only antenna is not trusted"
    return f"{none}; the best by fitness is kept: {said}"


def _remedy(certificate: Mapping[str, Any], experiment: Mapping[str, Any]) -> str:
    """Return what to do about an antenna that is not trusted, as the rest of a line; the first cause counts."""
    names, halved = failed(certificate).keys(), (certificate.get("halved") or {}).get("status", "ok")
    solver, antenna = experiment.get("solver") or {}, experiment.get("antenna") or {}
    if "decay" in names:
        return "; raise solver.steps" if solver.get("steps") else "; raise solver.decay_db or solver.max_steps"
    if halved not in REPEATABLE or ("balance" in names and certificate["balance"]["figure"] is None):
        return "; run `antennaopt resume` with the folder, which solves it again"
    if "modes" in names:
        return "; lower solver.frequencies or antenna.feed.inner_radius, so that the port measures all modes"
    if halved == "undecayed":
        return "; raise solver.max_steps"
    if names & {"passive", "contour", "balance"} or halved != "ok":
        return "; use smaller cells (raise solver.cells_per_wavelength, or lower solver.cell)"
    said = "; go by its figures with half the cell, `halved` in best/certificates.json"
    patch = str(antenna.get("family")).endswith("patch")
    return said + (OF_PATCHES if patch and (solver.get("cells_per_wavelength") or 0.0) < DENSE else "")


def _verdict(certificate: Mapping[str, Any]) -> str:
    """Write `trusted (...)` with the mesh figures, or `doubtful (...)` with what was not passed."""
    checks = checks_of(certificate)
    mesh = [_figure(name, check) for name, check in checks.items() if name.startswith("mesh")]
    shown = ", ".join(mesh) if is_trusted(certificate) else reason(certificate)
    return f"{certificate.get('verdict')} ({shown or 'no check was made'})"


def _figure(name: str, check: Mapping[str, Any]) -> str:
    value = "unknown" if check["figure"] is None else format(check["figure"], ".4g")
    because = f"; {check['because']}" if check.get("because") else ""
    return f"{name} = {value} (must be <= {check['limit']:g}{because})"


def _modes_check(
    figure: float | None, outcome: Mapping[str, Any], feed_radius: float, permittivity: float
) -> dict[str, Any]:
    """Check that the port measures every mode of the solved azimuthal order that propagates in the feed."""
    found = [
        (hz / first_unmeasured(feed_radius, names, permittivity)[1], hz, names) for hz, names in _measured(outcome)
    ]
    _, highest, names = max(found, default=(0.0, 0.0, ("TE11",)), key=lambda one: one[0])
    mode, cutoff = first_unmeasured(feed_radius, names, permittivity)
    measured = ", ".join(sorted(names, key=lambda name: (name[2:], name)))
    what = f"largest frequency over the cutoff of {mode} in the feed; the port measures {measured}"
    check = _check(figure, MOST_OVER_CUTOFF, what)
    if figure is not None and not check["passed"]:
        check["because"] = (
            f"at {format_frequency(highest)} {mode} propagates in the feed of inner radius "
            f"{format_length(feed_radius)}, cutoff {cutoff / 1e9:.4g} GHz"
        )
    return check


def _mesh_checks(coarse: Mapping[str, Any], fine: Mapping[str, Any], how: str) -> dict[str, Any]:
    return {
        "mesh_directivity": _check(
            _largest(_directivity_changes(coarse, fine)),
            MESH_DIRECTIVITY_DB,
            f"change of boresight directivity {how}, largest, dB",
        ),
        "mesh_s11": _check(
            _largest(_s11_changes(coarse, fine)), MESH_S11, f"change of complex S11 {how}, largest distance"
        ),
    }


def _directivity_changes(outcome: Mapping[str, Any], halved: Mapping[str, Any]) -> list[float]:
    pairs = _pairs(outcome, halved, "directivity_dbi")
    return [math.nan if None in pair else abs(pair[1] - pair[0]) for pair in pairs]


def _s11_changes(outcome: Mapping[str, Any], halved: Mapping[str, Any]) -> list[float]:
    pairs = _pairs(outcome, halved, "s11")
    return [math.hypot(fine[0] - coarse[0], fine[1] - coarse[1]) for coarse, fine in pairs]


def _pairs(outcome: Mapping[str, Any], halved: Mapping[str, Any], metric: str) -> list[tuple[Any, Any]]:
    """Return a metric with both cells, a pair a frequency; nothing unless both are whole."""
    coarse, fine = outcome.get(metric) or (), halved.get(metric) or ()
    if halved.get("status") != "ok" or len(coarse) != len(fine):
        return []
    return list(zip(coarse, fine, strict=True))


def _check(figure: float | None, limit: float, what: str) -> dict[str, Any]:
    known = figure is not None and not math.isnan(figure)
    return {
        "figure": figure if known and figure is not None and math.isfinite(figure) else None,
        "limit": limit,
        "passed": bool(known and figure is not None and figure <= limit),
        "what": what,
    }


def _off_one(values: Sequence[float | None] | None) -> list[float]:
    return [math.nan if value is None else abs(value - 1.0) for value in values or ()]


def _largest(values: Sequence[float]) -> float | None:
    """Return the largest of values that are not negative, NaN when one is NaN, None of nothing."""
    return math.nan if math.isnan(sum(values)) else max(values, default=None)
