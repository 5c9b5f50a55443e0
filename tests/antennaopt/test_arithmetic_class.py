"""The arithmetic class that a run's manifest tells of, whatever stands there."""

import pytest

from antennaopt.study._arithmetic import class_changes, recorded_class

NOW = {"backend": "cpu", "precision": "float32", "versions": {"numpy": "2.4.6"}}


@pytest.mark.parametrize("versions", ["../../outside", 7, [], None, {}])
def test_versions_that_are_no_table_are_not_ours(versions):
    """Found by hypothesis: a resume ended in a traceback."""
    then = recorded_class({"arithmetic": {**NOW, "versions": versions}})
    assert class_changes(then, NOW) == ["numpy none -> 2.4.6"]


@pytest.mark.parametrize("broken", ["x", 7, [1]])
def test_an_earlier_manifest_whose_tables_are_none_tells_nothing(broken):
    then = recorded_class({"backend": "cpu", "precision": "float32", "versions": broken, "device": broken})
    assert class_changes(then, NOW) == ["numpy none -> 2.4.6"]
