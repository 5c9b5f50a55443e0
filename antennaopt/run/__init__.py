"""Runs: `antennaopt run` and `antennaopt resume`, from an experiment to its best antenna.

Import from its modules: `antennaopt simulate` needs neither the search nor the farm.
"""
