"""Scripts of `export` and `simulate` that solve an antenna with another program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from antennaopt.cli.geometry import Antenna, refuse_infeasible
from antennaopt.cli.options import options_of, write_out

_ABOUT = {
    "meep": "Python script that solves the antenna with Meep; - is stdout.",
    "openems": "Python script that solves the antenna with openEMS; - is stdout.",
}

script_options = options_of(*(click.option(f"--{name}", metavar="FILE", help=about) for name, about in _ABOUT.items()))
"""Add the options; the command gets them as keyword arguments for `ScriptFiles`."""


@dataclass(frozen=True, kw_only=True)
class ScriptFiles:
    """Which scripts are to be written, and where.

    Attributes:
        files: Path by program; `-` is stdout.
    """

    files: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> ScriptFiles:
        """Return the part of a command's options that names scripts."""
        return cls(files={name: options[name] for name in _ABOUT if options.get(name) is not None})

    @staticmethod
    def names() -> tuple[str, ...]:
        """Return the names of all options."""
        return tuple(_ABOUT)

    def named(self) -> list[str]:
        """Return the files as given."""
        return list(self.files.values())

    @property
    def on_stdout(self) -> bool:
        """Whether a script goes to stdout."""
        return "-" in self.files.values()

    def write(self, antenna: Antenna, plan: Mapping[str, Any]) -> Iterator[Path]:
        """Write all of them and yield the files; stdout is none.

        Args:
            antenna: Which.
            plan: Its lattice, as `SolverPlan.to_dict` wrote it.

        Raises:
            ConfigurationError: The antenna cannot be built.
            StorageError: One cannot be written.
        """
        if self.files:
            refuse_infeasible(antenna.experiment.kind, antenna.design)
        for name, file in self.files.items():
            write_out(file, _script(name, antenna, plan))
            if file != "-":
                yield Path(file)


def _script(name: str, antenna: Antenna, plan: Mapping[str, Any]) -> str:
    if name == "meep":
        from antennaopt.report.meep import meep_script as made
    else:
        from antennaopt.report.openems import openems_script as made
    return made(antenna.experiment.family, antenna.design, plan, title=antenna.title)
