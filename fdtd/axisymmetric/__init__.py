"""Axisymmetric fields of one azimuthal order: lattice, scene, media, ports, monitors, and their solver."""
