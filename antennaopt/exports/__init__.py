"""Data of one antenna for other programs: CSV tables, Touchstone, its electric field."""

from antennaopt.exports.field_map import FieldMap, Outlines, read_field_map, write_field_map
from antennaopt.exports.tables import write_csv
from antennaopt.exports.touchstone import write_touchstone

__all__ = ["FieldMap", "Outlines", "read_field_map", "write_csv", "write_field_map", "write_touchstone"]
