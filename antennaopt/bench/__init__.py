"""What `antennaopt bench` measures."""
