"""Antennas in three dimensions on a rectilinear Yee lattice."""
