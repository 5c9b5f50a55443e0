"""Whatever stands in a file, it is accepted or refused in one line; nothing else happens."""

import copy
import tomllib

from config_files import LENS
from hypothesis import given, settings
from hypothesis import strategies as st

from antennaopt.errors import ConfigurationError
from antennaopt.experiment import Experiment

GOOD = tomllib.loads(LENS)
QUANTITIES = st.sampled_from(["3 mm", "-1 mm", "0 m", "30 GHz", "8 h", "1e300 km", "1e-300 nm", "nan mm", "4", ""])
PLAIN = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), QUANTITIES, st.dates(), st.times()
)
KEYS = st.sampled_from(["min", "max", "count", "kind", "choices", "cell", "lens.radii", "family", "x"])
VALUES = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=6
)
TABLES = [
    (),
    ("antenna",),
    ("antenna", "feed"),
    ("antenna", "lens"),
    ("solver",),
    ("evolution",),
    ("objective", 0),
]
NEW = [
    "cell",
    "grid",
    "start",
    "stop",
    "crossover",
    "mutation",
    "pml_distance",
    "frequencies",
    "steps",
    "cluster",
    "name",
]


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(TABLES), VALUES, st.data())
def test_any_value_anywhere(where, value, data):
    table = tree = copy.deepcopy(GOOD)
    for key in where:
        table = table[key]
    table[data.draw(st.sampled_from(sorted(table) + NEW))] = value
    try:
        experiment = Experiment.parse(tree)
    except ConfigurationError as refused:
        assert "\n" not in str(refused)
        return
    assert Experiment.from_resolved(experiment.resolved()) == experiment
