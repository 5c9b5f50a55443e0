from antennaopt import families as families
from antennaopt import metrics as metrics
from antennaopt.errors import AntennaoptError as AntennaoptError
from antennaopt.errors import ClusterError as ClusterError
from antennaopt.errors import ConfigurationError as ConfigurationError
from antennaopt.errors import Interrupted as Interrupted
from antennaopt.errors import ResumeRefusedError as ResumeRefusedError
from antennaopt.errors import RunInUseError as RunInUseError
from antennaopt.errors import StorageError as StorageError
from antennaopt.errors import TooManyFailuresError as TooManyFailuresError
from antennaopt.experiment import Experiment as Experiment
from antennaopt.interface import Antenna as Antenna
from antennaopt.interface import Run as Run
from antennaopt.interface import Simulation as Simulation
from antennaopt.interface import load as load
from antennaopt.interface import open_run as open_run
from antennaopt.interface import optimise as optimise
from antennaopt.interface import plot as plot
from antennaopt.interface import simulate as simulate
from antennaopt.interface import to_xarray as to_xarray

__version__: str

Outcome = Simulation
