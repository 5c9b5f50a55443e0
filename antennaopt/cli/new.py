"""`antennaopt new`: an experiment file for a family, a frequency and a gain."""

from __future__ import annotations

from typing import Any

import click

from antennaopt.cli.options import check_writable, write_out


class Gain(click.ParamType[float]):
    """A gain in dBi, with or without its unit."""

    name = "gain"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read `20` and `20 dBi`."""
        try:
            return float(str(value).removesuffix("dBi"))
        except ValueError:
            self.fail(f"{value!r} is not a gain in dBi, for example 20 or '20 dBi'", param, ctx)


@click.command(short_help="Write an experiment file for a family.")
@click.argument("family", metavar="FAMILY")
@click.option("--frequency", required=True, metavar="FREQUENCY", help='Centre of the band, e.g. "10 GHz".')
@click.option("--gain", required=True, type=Gain(), metavar="DBI", help='Gain on axis, e.g. 20 or "20 dBi".')
@click.option("--out", metavar="FILE", default="-", help="Experiment file.  [default: stdout]")
def new(family: str, frequency: str, gain: float, out: str) -> None:
    """Write a commented experiment file that is ready for `antennaopt run`.

    Closed forms give the ranges and a first design. The radius of a round feed follows from the cutoff of TE11. The
    goals are gain, match and figures typical of the family. A pin feeds patches, a slot feeds resonators.

    \b
    Examples:
      antennaopt new conical_horn --frequency "10 GHz" --gain 20 --out horn.toml
      antennaopt validate horn.toml
      antennaopt run horn.toml

    \b
    FAMILY is one of
      lenses   hemispherical_lens, shaped_lens, shell_lens      12 to 26 dBi
      horns    conical_horn, profile_horn, spline_horn          10 to 28 dBi
               dual_mode_horn                                 12.5 to 26 dBi
               corrugated_horn                                  11 to 25 dBi
               lens_horn                                        13 to 26 dBi
               pyramidal_horn                                   10 to 20 dBi
      feeds    choke_ring_feed                                 7 to 9.5 dBi
      dishes   reflector                                        23 to 40 dBi
               cassegrain                                       29 to 42 dBi
               ring_focus                                       28 to 42 dBi
               splash_plate                                     26 to 40 dBi
      rods     dielectric_rod                                   11 to 18 dBi
      patches  patch, pixel_patch                              5 to 8.5 dBi
      dipoles  strip_dipole                                     6 to 8.5 dBi
      others   dielectric_resonator                          4.5 to 7.5 dBi
    """  # noqa: D301 - \b is click's
    from antennaopt.experiment.beginning import new_experiment

    check_writable(out)
    write_out(out, new_experiment(family, frequency, gain))
