"""Geometry files of `export` and `simulate`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from antennaopt.cli.options import options_of, write_out
from antennaopt.errors import ConfigurationError
from antennaopt.terminal import with_article

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment
    from antennaopt.families import Family
    from antennaopt.families.shapes import Outline
    from antennaopt.families.spatial import Board
    from antennaopt.settings import SolverSettings

_PATH = click.Path(path_type=Path)
geometry_options = options_of(
    click.option(
        "--outline", type=_PATH, metavar="FILE", help="Antenna file of the family `outline`: the section as polygons."
    ),
    click.option("--profile", type=_PATH, metavar="FILE", help="Section r,z in mm (.csv); one file per body."),
    click.option(
        "--dxf", type=_PATH, metavar="FILE", help="Dimensioned drawing of the section in mm, one layer per body."
    ),
    click.option(
        "--stl",
        type=_PATH,
        metavar="FILE",
        help="Metal as a solid in mm, facets within 0.01 mm; dielectrics in FILE_dielectric_1.stl, ...",
    ),
    click.option(
        "--step",
        type=_PATH,
        metavar="FILE",
        help="Exact solids of metal and dielectrics in mm; needs pip install 'antennaopt[step]'.",
    ),
    click.option(
        "--gerber",
        type=_PATH,
        metavar="FILE",
        help="Upper metal of a board in mm (.gbr); ground in FILE_ground.gbr, board edge in FILE_outline.gbr.",
    ),
)
"""Add the options; the command gets them as keyword arguments for `GeometryFiles`."""


@dataclass(frozen=True, kw_only=True)
class Antenna:
    """An antenna to write: of a file, or of a run.

    Attributes:
        experiment: Its family and solver settings.
        design: Every parameter, SI, by dotted name.
        title: For people.
        comment: For the top of a file: where it comes from.
        settings: Of the solver, in place of the experiment's.
    """

    experiment: Experiment
    design: dict[str, float]
    title: str
    comment: str
    settings: SolverSettings | None = None


@dataclass(frozen=True, kw_only=True)
class GeometryFiles:
    """Which geometry is to be written, and where.

    Attributes:
        outline: Antenna file with polygons.
        profile: CSV.
        dxf: Drawing.
        stl: Facets.
        step: Exact solids.
        gerber: Layers of a board.
    """

    outline: Path | None = None
    profile: Path | None = None
    dxf: Path | None = None
    stl: Path | None = None
    step: Path | None = None
    gerber: Path | None = None

    @classmethod
    def of(cls, files: Mapping[str, Any]) -> GeometryFiles:
        """Return the part of a command's options that names geometry."""
        return cls(**{one.name: files.get(one.name) for one in fields(cls)})

    def named(self) -> list[Path]:
        """Return the files as given."""
        return [path for one in fields(self) if (path := getattr(self, one.name)) is not None]

    def written_for(self, antenna: Antenna) -> list[Path]:
        """Return all files that `write` would write for an antenna.

        Raises:
            ConfigurationError: A format cannot hold the antenna, an ending is not known, or a package is missing.
        """
        if not self.named():
            return []
        refuse_infeasible(antenna.experiment.kind, antenna.design)
        board = antenna.experiment.kind.board(antenna.design)
        if board is not None:
            return self._of_board(antenna.experiment.family, board)
        if self.gerber is not None:
            raise ConfigurationError(
                f"--gerber {self.gerber} holds flat metal, and {with_article(antenna.experiment.family)} "
                "has none; use --dxf, --stl or --step"
            )
        section = antenna.experiment.kind.outline(antenna.design)
        found = [path for path in (self.outline, self.dxf, self.step) if path is not None]
        if self.outline is not None and not (section.conductors[1:] or section.dielectrics):
            raise ConfigurationError(
                f"--outline {self.outline}: {with_article(antenna.experiment.family)} "
                "is its feed alone, without a body to draw"
            )
        if self.profile is not None:
            from antennaopt.report.geometry import profiles

            found += profiles(self.profile, section)
        if self.dxf is not None:
            from antennaopt.report.drawing import check_dxf

            check_dxf(self.dxf, section)
        if self.stl is not None:
            from antennaopt.report.geometry import meshes

            found += meshes(self.stl, section)
        if self.step is not None:
            from antennaopt.report.geometry import check_step

            check_step(self.step)
        return found

    def write(self, antenna: Antenna) -> Iterator[Path]:
        """Write all of it and yield the files.

        Raises:
            ConfigurationError: As `written_for`.
            StorageError: One cannot be written.
        """
        if not self.named():
            return
        board = antenna.experiment.kind.board(antenna.design)
        if board is not None:
            yield from self._write_board(board, antenna.title)
            return
        section: Outline = antenna.experiment.kind.outline(antenna.design)
        if self.outline is not None:
            yield _write_outline(self.outline, antenna)
        if self.profile is not None:
            from antennaopt.report.geometry import write_profiles

            yield from write_profiles(self.profile, section)
        if self.dxf is not None:
            from antennaopt.report.drawing import write_dxf

            yield write_dxf(self.dxf, section, title=antenna.title)
        if self.stl is not None:
            from antennaopt.report.geometry import write_stl

            yield from write_stl(self.stl, section)
        if self.step is not None:
            from antennaopt.report.geometry import write_step

            yield write_step(self.step, section, title=antenna.title)

    def _of_board(self, family: str, board: Board) -> list[Path]:
        """Return all files that are written for a board.

        Raises:
            ConfigurationError: A format holds bodies of revolution only, or an ending is not known.
        """
        for option, path in (("outline", self.outline), ("profile", self.profile)):
            if path is not None:
                raise ConfigurationError(
                    f"--{option} {path} holds bodies of revolution, and {with_article(family)} is none; use --dxf"
                    + (", --stl, --step or --gerber" if board.sheets else ", --stl or --step")
                )
        found = []
        if self.dxf is not None:
            from antennaopt.report.boards import check_board_dxf

            check_board_dxf(self.dxf)
            found.append(self.dxf)
        if self.stl is not None:
            from antennaopt.report.geometry import board_meshes

            found += board_meshes(self.stl, board)
        if self.step is not None:
            from antennaopt.report.geometry import check_step

            check_step(self.step)
            found.append(self.step)
        if self.gerber is not None:
            from antennaopt.report.gerber import gerber_layers

            found += gerber_layers(self.gerber, board)
        return found

    def _write_board(self, board: Board, title: str) -> Iterator[Path]:
        if self.dxf is not None:
            from antennaopt.report.boards import write_board_dxf

            yield write_board_dxf(self.dxf, board, title=title)
        if self.stl is not None:
            from antennaopt.report.geometry import write_board_stl

            yield from write_board_stl(self.stl, board)
        if self.step is not None:
            from antennaopt.report.board_step import write_board_step

            yield write_board_step(self.step, board, title=title)
        if self.gerber is not None:
            from antennaopt.report.gerber import write_gerber

            yield from write_gerber(self.gerber, board)


def refuse_of_revolution(antenna: Antenna, named: Mapping[str, Any]) -> None:
    """Refuse files that hold bodies of revolution only, for an antenna that is none.

    Args:
        antenna: To write.
        named: Files by option; those that are not asked for are None.

    Raises:
        ConfigurationError: One is asked for.
    """
    option = next((name for name, file in named.items() if file is not None), None)
    board = antenna.experiment.kind.board(antenna.design) if option is not None else None
    if board is not None:
        raise ConfigurationError(
            f"--{option} is of bodies of revolution, and {with_article(antenna.experiment.family)} "
            "is none; it has --csv, --touchstone, "
            f"--dxf, --stl{', --step and --gerber' if board.sheets else ' and --step'}; "
            "`simulate` writes --cut, --ffs, --ffe, --msi and --netcdf too"
        )


def refuse_infeasible(family: Family, design: dict[str, float]) -> None:
    """Refuse an antenna that cannot be built.

    Raises:
        ConfigurationError: With the reason.
    """
    from antennaopt.families import stack

    reason = family.refusal(stack([design]))[0]
    if reason is not None:
        raise ConfigurationError(f"the antenna cannot be built: {reason}")


def _write_outline(path: Path, antenna: Antenna) -> Path:
    """Write the section as polygons: an antenna file of the family `outline`."""
    from antennaopt.families import kind
    from antennaopt.families.outline import outlined

    bodies, design = outlined(antenna.experiment.kind, antenna.design)
    return write_antenna(path, kind("outline", bodies), replace(antenna, design=design))


def write_antenna(path: Path, family: Family, antenna: Antenna) -> Path:
    """Write an antenna file for `antennaopt simulate`.

    Args:
        path: Target.
        family: That the file names, with its bodies where the file draws them.
        antenna: Its design is one of that family.
    """
    from antennaopt.run.summary import antenna_toml

    text = antenna_toml(
        title=antenna.title,
        family=family,
        design=antenna.design,
        solver=(antenna.settings or antenna.experiment.solver.settings).to_dict(),
        comment=antenna.comment,
        polarisation=antenna.experiment.polarisation,
    )
    write_out(str(path), text)
    return path
