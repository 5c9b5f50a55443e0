"""Far-field files of `export` and `simulate` for other programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from antennaopt.cli.options import options_of
from antennaopt.errors import ConfigurationError

_ABOUT = {
    "cut": "Far field for GRASP: cuts, co- and cross-polar (.cut).",
    "sph": "Far field for GRASP: spherical waves (.sph).",
    "ffs": "Far field source for CST, version 3.0 (.ffs).",
    "ffe": "Far field for Feko (.ffe).",
    "msi": "Gain and losses in both planes at one frequency, for planning tools (.msi, .pln).",
    "netcdf": "Far field for xarray: complex E_theta and E_phi (.nc).",
}
_FREQUENCY = "pattern_frequency"

far_field_options = options_of(
    *(
        click.option(f"--{name}", type=click.Path(path_type=Path), metavar="FILE", help=about)
        for name, about in _ABOUT.items()
    ),
    click.option(
        "--pattern-frequency",
        metavar="FREQUENCY",
        help="Frequency of the far-field files; default: all solved frequencies.",
    ),
)
"""Add the options; the command gets them as keyword arguments for `FarFieldFiles`."""


@dataclass(frozen=True, kw_only=True)
class FarFieldFiles:
    """Which far-field files are to be written, and where.

    Attributes:
        files: Path by kind, see `antennaopt.report.far_field_files.KINDS`.
        frequency: The one that they hold, as given; None for all.
    """

    files: Mapping[str, Path] = field(default_factory=dict)
    frequency: str | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> FarFieldFiles:
        """Return the part of a command's options that names far fields."""
        files = {name: options[name] for name in _ABOUT if options.get(name) is not None}
        return cls(files=files, frequency=options.get(_FREQUENCY))

    @staticmethod
    def names() -> tuple[str, ...]:
        """Return the names of all options."""
        return (*_ABOUT, _FREQUENCY)

    def named(self) -> list[Path]:
        """Return the files as given."""
        return list(self.files.values())

    def check(self) -> None:
        """Refuse names with an ending that is not their kind's.

        Raises:
            ConfigurationError: One has another ending, or there is a frequency without a file.
        """
        if self.frequency is not None and not self.files:
            raise ConfigurationError(
                f"--pattern-frequency {self.frequency} goes with --cut, --sph, --ffs, --ffe, --msi or --netcdf"
            )
        if self.files:
            from antennaopt.report.far_field_files import check_ending

            for name, path in self.files.items():
                check_ending(name, path)

    def check_frequencies(self, solved: Sequence[float]) -> None:
        """Refuse what the files cannot hold, before anything is solved.

        Args:
            solved: Frequencies, Hz.

        Raises:
            ConfigurationError: `--pattern-frequency` is not solved, or `--msi` has several frequencies.
        """
        if not self.files:
            return
        from antennaopt.report.far_field import chosen
        from antennaopt.report.far_field_files import check_single

        if self.frequency is not None:
            chosen(self.frequency, list(solved))
        elif "msi" in self.files:
            check_single(list(solved))

    def write(self, outcome: Mapping[str, Any], *, title: str, polarisation: str) -> Iterator[Path]:
        """Write all of them and yield the files.

        Args:
            outcome: An `ok` outcome with patterns.
            title: Of the antenna.
            polarisation: Of its experiment.

        Raises:
            ConfigurationError: There are no complex patterns, or a file cannot hold them.
            StorageError: One cannot be written.
        """
        if not self.files:
            return
        from antennaopt.report.far_field import FarField
        from antennaopt.report.far_field_files import write_far_field

        far = FarField.of(outcome, title=title, polarisation=polarisation).at(self.frequency)
        for name, path in self.files.items():
            yield write_far_field(name, path, far)
