"""Data of one antenna for other programs: CSV tables, Touchstone, its electric field, a script for Meep."""

from antennaopt.report.exports.field_map import FieldMap, Outlines, read_field_map, write_field_map
from antennaopt.report.exports.meep_script import meep_script
from antennaopt.report.exports.tables import write_csv, write_touchstone

__all__ = ["FieldMap", "Outlines", "meep_script", "read_field_map", "write_csv", "write_field_map", "write_touchstone"]
