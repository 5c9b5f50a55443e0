"""Benchmarks of `antennaopt bench`."""
