"""The experiment file: TOML in, checked and frozen settings in SI out. Pydantic is used in here and nowhere else."""

from antennaopt.config.antenna import FAMILIES
from antennaopt.config.experiment import Experiment, Gene
from antennaopt.config.load import load_antenna, load_experiment, load_file, read_source
from antennaopt.config.solver import Solver

__all__ = ["FAMILIES", "Experiment", "Gene", "Solver", "load_antenna", "load_experiment", "load_file", "read_source"]
