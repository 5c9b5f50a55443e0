"""Data of one antenna for other programs: CSV tables, Touchstone, its electric field, a script for Meep."""

from antennaopt.exports.field_map import FieldMap, Outlines, read_field_map, write_field_map
from antennaopt.exports.meep_script import meep_script
from antennaopt.exports.tables import write_csv
from antennaopt.exports.touchstone import write_touchstone

__all__ = ["FieldMap", "Outlines", "meep_script", "read_field_map", "write_csv", "write_field_map", "write_touchstone"]
