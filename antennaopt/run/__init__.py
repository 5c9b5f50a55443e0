"""What `antennaopt run` and `antennaopt resume` do, from an experiment to its best antenna.

Import from its modules: `antennaopt simulate` needs neither the search nor the farm.
"""
