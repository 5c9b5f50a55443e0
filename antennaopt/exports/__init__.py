"""Data of one antenna for other programs: CSV tables, Touchstone, the field map of a run's best antenna."""

from antennaopt.exports.field_map import FieldMap, read_field_map, write_field_map
from antennaopt.exports.tables import write_csv
from antennaopt.exports.touchstone import write_touchstone

__all__ = ["FieldMap", "read_field_map", "write_csv", "write_field_map", "write_touchstone"]
