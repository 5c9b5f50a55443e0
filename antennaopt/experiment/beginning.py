"""Write a commented experiment file for a family, a frequency and a gain; see `antennaopt.families.start`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from difflib import get_close_matches

from scipy.constants import c

from antennaopt.errors import ConfigurationError
from antennaopt.experiment.beginning_in_space import FILES, InSpace
from antennaopt.families import RULES, families
from antennaopt.families.start import WALL, Fixed, Gene, Rule, Start
from antennaopt.quantities import FREQUENCY, QuantityError, format_frequency, parse_quantity
from antennaopt.terminal import with_article

HALF_BAND = 0.05
_FEWEST_HZ, _MOST_HZ = 1e6, 1e13
_NOTHING_TO_SEARCH = ("open_waveguide", "outline")


def new_experiment(family: str, frequency: str, gain_dbi: float) -> str:
    """Return the text of an experiment file.

    Args:
        family: Name.
        frequency: In the middle of the band, with a unit.
        gain_dbi: On axis, dBi.

    Raises:
        ConfigurationError: There is no such family, it has nothing to search, or the gain is beyond its closed form.
    """
    rule = FILES[family] if family in FILES else _rule(family)
    low, high = rule.lowest, rule.highest
    try:
        hz = parse_quantity(frequency, FREQUENCY)
    except QuantityError as error:
        raise ConfigurationError(f'--frequency "{frequency}" {error}') from None
    if not _FEWEST_HZ <= hz <= _MOST_HZ:
        raise ConfigurationError(f'--frequency "{frequency}" must be from 1 MHz to 10 THz; correct it')
    if not low <= gain_dbi <= high:
        better = ", ".join(name for name, one in (RULES | FILES).items() if one.lowest <= gain_dbi <= one.highest)
        other = f", or take one of {better}" if better else ""
        raise ConfigurationError(
            f"--gain {gain_dbi:g} dBi is out of reach of {with_article(family)}, whose rule holds from {low:g} to "
            f"{high:g} dBi; choose a gain in between{other}"
        )
    if isinstance(rule, InSpace):
        return _text_in_space(family, hz, gain_dbi, rule)
    return _text(family, hz, gain_dbi, rule.make(10 ** (gain_dbi / 10)))


def _rule(family: str) -> Rule:
    if family in RULES:
        return RULES[family]
    known = f"families: {', '.join((*RULES, *FILES))}"
    if family in _NOTHING_TO_SEARCH:
        what = "is the feed alone" if family == "open_waveguide" else "is drawn by points, which are no genes"
        raise ConfigurationError(f"{family} {what}, so there is nothing to search; take another one ({known})")
    if family in families():
        raise ConfigurationError(
            f"`new` writes no file of {with_article(family)}; write it by hand, or take another family ({known})"
        )
    close = get_close_matches(family, (*RULES, *FILES), n=1, cutoff=0.5)
    meant = f"; did you mean {close[0]}?" if close else ";"
    raise ConfigurationError(f"{family} is not a known family{meant} ({known})")


def _head(family: str, hz: float, gain_dbi: float, about: Iterable[str]) -> list[str]:
    """Return the lines that every file begins with."""
    title = family.replace("_", " ").capitalize()
    return [
        f"# {title} of {gain_dbi:g} dBi at {format_frequency(hz)}.",
        "# Run it with `antennaopt run FILE`; `--dry-run` shows its cost on your machine. The search chooses within",
        "# every range; single values stay. Change any of them.",
        "#",
        *(f"# {line}" for line in about),
        f"# Wavelength lam = {c / hz * 1e3:.5g} mm.",
        "",
        f'title = "{title}, {gain_dbi:g} dBi at {format_frequency(hz)}"',
        "seed = 1",
    ]


def _frequencies(hz: float, half_band: float) -> str:
    each = [format_frequency(_rounded(hz * share, 6)) for share in (1 - half_band, 1.0, 1 + half_band)]
    return "frequencies = [" + ", ".join(f'"{one}"' for one in each) + "]"


def _text_in_space(family: str, hz: float, gain_dbi: float, begun: InSpace) -> str:
    lines = [
        *_head(family, hz, gain_dbi, begun.about),
        *([begun.certificate] if begun.certificate else []),
        "",
        "[antenna]",
        f'family = "{family}"',
        "",
        *begun.tables(c / hz, gain_dbi),
        "",
        "[solver]",
        _frequencies(hz, begun.half_band),
        *begun.solver(c / hz),
        "",
        "[evolution]",
        "population = 24",
        "generations = 12",
        "stop = { fitness = 0.0 }",
        'start = "balanis"    # the closed form; the others are drawn at random',
        *begun.evolution,
        "",
        "[[objective]]    # over the whole band",
        'metric = "s11_db"',
        f"at_most = {begun.reflection:g}",
        "",
        "[[objective]]",
        'metric = "gain_dbi"',
        f"at_least = {gain_dbi:g}",
        "weight = 0.5",
    ]
    return "\n".join(lines) + "\n"


def _text(family: str, hz: float, gain_dbi: float, start: Start) -> str:
    lam = c / hz * 1e3  # mm
    lines = [
        *_head(family, hz, gain_dbi, start.about),
        "",
        "[antenna]",
        f'family = "{family}"',
        "",
        "[antenna.feed]    # circular waveguide, TE11; its aperture is the plane z = 0",
        f"inner_radius = {_mm(start.feed_radius, lam)}    # {start.about_feed}",
        f"outer_radius = {_mm(start.feed_radius + WALL, lam)}",
        f"length = {_mm(start.feed_length, lam)}",
    ]
    table = ""
    for entry in start.entries:
        name, _, key = entry.name.rpartition(".")
        if name != table:
            lines += ["", f"[antenna.{name}]"]
            table = name
        lines.append(_entry(key, entry, lam))
    planted = [f'"{one.name}" = {_best(one, lam)}' for one in start.entries if isinstance(one, Gene)]
    lines += [
        "",
        "[solver]",
        _frequencies(hz, HALF_BAND),
        f"cells_per_wavelength = {start.cells:g}    # in the densest medium, at the highest frequency",
        "",
        "[evolution]",
        'algorithm = "auto"    # `antennaopt validate FILE` says which',
        "population = 24",
        "generations = 20",
        "stop = { fitness = 0.0, stagnation = 6 }",
        "start = [    # the closed form; the others are drawn at random",
        f"  {{ {', '.join(planted)} }},",
        "]",
        "",
        "[[objective]]    # over the whole band",
        'metric = "gain_dbi"',
        f"at_least = {gain_dbi:g}",
    ]
    for metric, bound, level, weight in start.goals:
        lines += ["", "[[objective]]", f'metric = "{metric}"', f"{bound} = {level:g}", f"weight = {weight:g}"]
    return "\n".join(lines) + "\n"


def _entry(key: str, entry: Gene | Fixed, lam: float) -> str:
    if isinstance(entry, Fixed):
        value = f'"{entry.value}"' if isinstance(entry.value, str) else _value(entry.value, entry.unit, lam)
        return f"{key} = {value}    # {entry.why}"
    low, high = (_value(one, entry.unit, lam) for one in (entry.low, entry.high))
    count = f"count = {len(entry.best)}, " if isinstance(entry.best, tuple) else ""
    kind = ', kind = "integer"' if entry.unit == "integer" else ""
    return f"{key} = {{ {count}min = {low}, max = {high}{kind} }}    # {entry.why}"


def _best(gene: Gene, lam: float) -> str:
    def inside(value: float) -> str:
        return _value(min(max(value, gene.low), gene.high), gene.unit, lam)

    if isinstance(gene.best, tuple):
        return "[" + ", ".join(map(inside, gene.best)) + "]"
    return inside(gene.best)


def _value(value: float, unit: str, lam: float) -> str:
    if unit == "lam":
        return _mm(value, lam)
    return str(round(value)) if unit == "integer" else f"{_rounded(value, 4):g}"


def _mm(wavelengths: float, lam: float) -> str:
    return f'"{_exact(wavelengths, lam):.9g} mm"'


def _exact(wavelengths: float, lam: float) -> float:
    """Return a length as it is written, mm."""
    return _rounded(wavelengths * lam, 4)


def _rounded(value: float, digits: int) -> float:
    return round(value, digits - 1 - math.floor(math.log10(abs(value)))) if value else 0.0
