"""The experiment file: from TOML to checked and frozen settings in SI units. Only this package uses Pydantic."""

from antennaopt.experiment.antenna import Antenna, Solver
from antennaopt.experiment.cluster import Cluster
from antennaopt.experiment.experiment import LARGEST_SEED, Experiment, Gene
from antennaopt.experiment.load import (
    figure_asked,
    figure_written,
    load_antenna,
    load_experiment,
    load_file,
    parse_table,
    read_source,
)

__all__ = [
    "LARGEST_SEED",
    "Antenna",
    "Cluster",
    "Experiment",
    "Gene",
    "Solver",
    "figure_asked",
    "figure_written",
    "load_antenna",
    "load_experiment",
    "load_file",
    "parse_table",
    "read_source",
]
