"""Hostile files: a run folder and an experiment file with anything in them end in a typed error, or are gone on with.

Never in a traceback; nothing is written outside the run folder, no code is run, nothing is unpickled: seen by an audit
hook of the interpreter. A checkpoint's digest is no secret, so hostile ones here carry the right one.
"""

import copy
import json
import re
import shutil
import subprocess
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from required import skip_without
from test_resume import TOML
from unfinished_runs import dumped, go_on, sealed
from watched import watched

from antennaopt.errors import AntennaoptError
from antennaopt.experiment import load_experiment
from antennaopt.store import load
from antennaopt.store.run_folder import RunFolder

pytestmark = pytest.mark.slow

HOSTILE = st.sampled_from([
    "../../outside", "/etc/passwd", "__import__('os').system('touch /tmp/hostile')", "{{ 7 * 7 }}", "${HOME}", "\x00",
    "",
    "g0000-s000", "g9999999-s000", "g0000-s000/../../x", "!!python/object/apply:os.system [ls]", "\ud800", "é" * 300,
    1e308, -1e308, 10**400, -1, 0, True, None, float("nan"), float("inf"), [], {}, [[]], [[[[]]]] * 3, {"": {}},
    {"__class__": "x"}, "80049504", [0.5] * 4, "ok", "diverged", 2**63, -(2**63),
])  # fmt: skip
JSON = st.recursive(
    HOSTILE | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=5,
)
QUICK = (
    Phase.explicit,
    Phase.reuse,
    Phase.generate,
)  # a run is resumed for each: making an example small takes minutes
FEW = settings(
    max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), phases=QUICK, derandomize=True
)  # the same harm on every machine: what chance finds is looked for with `fuzz_files.py`
MANY = settings(FEW, max_examples=200)


def survives(run, scratch, harm):
    """Copy the run, do harm to the copy, and resume it: it goes on, or ends in a typed error of one line."""
    folder = scratch / run.name
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(run, folder)
    harm(folder)
    with watched(folder):
        for action in (lambda: load(folder), lambda: go_on(folder)):
            try:
                with warnings.catch_warnings():
                    warnings.filterwarnings("ignore", r"\S+ is (damaged|missing)", UserWarning)  # in one line, told
                    action()
            except AntennaoptError as error:
                assert error.exit_code in (3, 4, 6, 7, 130)
                assert "\n" not in " ".join(str(error).split())


def places(tree, path=()):
    """Every place in a JSON tree."""
    yield path
    if isinstance(tree, dict | list):
        for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from places(value, (*path, key))


def changed(tree, data):
    """Put something hostile in some places of a tree."""
    for _ in range(data.draw(st.integers(1, 3))):
        where = data.draw(st.sampled_from(list(places(tree))))
        value = copy.deepcopy(data.draw(JSON))  # what is drawn is shared by all examples, and changed here
        if not where:
            tree = value
            continue
        at = tree
        for key in where[:-1]:
            at = at[key]
        if isinstance(at, dict) and data.draw(st.booleans()):
            del at[where[-1]]
        else:
            at[where[-1]] = value
    return tree


def harmed_json(runs, scratch, data):
    """Change values: of a checkpoint with the right digest, of the manifest, of the resolved experiment."""
    run = data.draw(st.sampled_from(runs))
    names = ["checkpoint", "manifest.json", "resolved.json", "logs/run.jsonl", ".lock", "logs/order.jsonl"]
    name = data.draw(st.sampled_from([name for name in names if name == "checkpoint" or (run / name).exists()]))

    def harm(folder):
        if name == "checkpoint":
            for path in sorted((folder / "checkpoint").iterdir()):
                path.write_bytes(sealed(changed(json.loads(path.read_text())["payload"], data)))
            return
        path = folder / name
        tree = [json.loads(line) for line in path.read_text().splitlines()] if name.endswith("l") else None
        if tree is not None:
            path.write_bytes(b"\n".join(dumped(changed(line, data)) for line in tree))
        else:
            path.write_bytes(dumped(changed(json.loads(path.read_text()), data)))

    survives(run, scratch, harm)


def harmed_bytes(runs, scratch, data):
    """Flip, cut and insert bytes in any file."""
    run = data.draw(st.sampled_from(runs))
    files = sorted(path.relative_to(run) for path in run.rglob("*") if path.is_file() and path.stat().st_size)
    name = data.draw(st.sampled_from(files))

    def harm(folder):
        path = folder / name
        content = bytearray(path.read_bytes())
        for _ in range(data.draw(st.integers(1, 4))):
            place = data.draw(st.integers(0, max(len(content) - 1, 0)))
            what = data.draw(st.sampled_from(["flip", "cut", "insert"]))
            if what == "flip" and content:
                content[place] ^= 1 << data.draw(st.integers(0, 7))
            elif what == "cut":
                del content[place:]
            else:
                content[place:place] = data.draw(st.binary(max_size=20))
        path.write_bytes(content)

    survives(run, scratch, harm)


def harmed_rows(runs, scratch, data):
    """Write well-formed Parquet with hostile rows."""
    run = data.draw(st.sampled_from(runs))
    kind = data.draw(st.sampled_from(["evals", "patterns"]))

    def harm(folder):
        path = folder / kind / "gen-000001.parquet"
        table = pq.read_table(path, partitioning=None)
        rows = changed(table.to_pylist(), data)
        try:
            hostile = pa.Table.from_pylist(rows, schema=data.draw(st.sampled_from([table.schema, None])))
            pq.write_table(hostile, path)
        except (pa.ArrowException, TypeError, ValueError, AttributeError, OverflowError, LookupError):
            pq.write_table(table.slice(0, data.draw(st.integers(0, 2))), path)  # no such file can be written

    survives(run, scratch, harm)


HARMS = [harmed_json, harmed_bytes, harmed_rows]


@pytest.mark.parametrize("harmed", HARMS)
@FEW
@given(data=st.data())
def test_hostile_run_folders(runs, tmp_path_factory, harmed, data):
    harmed(runs, scratch(tmp_path_factory), data)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("harmed", HARMS)
@MANY
@given(data=st.data())
def test_many_hostile_run_folders(runs, tmp_path_factory, harmed, data):
    harmed(runs, scratch(tmp_path_factory), data)


def scratch(factory):
    folder = Path(factory.getbasetemp()) / "hostile"
    folder.mkdir(exist_ok=True)
    return folder


def experiment_bytes(folder, content):
    path = folder / "experiment.toml"
    path.write_bytes(content)
    with watched(folder):
        try:
            experiment = load_experiment(path)
        except AntennaoptError as error:
            assert error.exit_code == 2
            assert "\n" not in str(error)
        else:
            assert "/" not in experiment.name


def harmed_experiment(runs, scratch, data):
    """Break the text of an experiment file."""
    text = TOML
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(text)))
        pieces = ['name = "../../x"\n', "[[", '"""', "\x00", "= 1e999", "\n[evolution]\n", "é"]
        piece = data.draw(st.sampled_from(pieces) | st.text(max_size=8))
        text = text[:place] + piece + text[place + data.draw(st.integers(0, 6)) :]
    experiment_bytes(scratch, text.encode("utf-8", "surrogatepass"))


@FEW
@given(data=st.data())
def test_hostile_experiment_files(tmp_path_factory, data):
    """Values of every kind anywhere, and broken text; a name cannot lead out of the folder for results."""
    harmed_experiment(None, scratch(tmp_path_factory), data)


def test_the_watch_sees_what_it_should(tmp_path):
    """Otherwise nothing above would mean a thing."""
    import pickle

    with pytest.raises(AssertionError, match=r"outside"), watched(tmp_path / "inside"):
        (tmp_path / "outside").write_text("x")
    with pytest.raises(AssertionError, match=r"find_class"), watched(tmp_path):
        pickle.loads(pickle.dumps(Path("x")))
    with pytest.raises(AssertionError, match=r"compile"), watched(tmp_path):
        eval("1 + 1")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "count"), [("json", 150), ("bytes", 150), ("rows", 100), ("experiment", 3000), ("toml", 5000)]
)
def test_guided_by_coverage(tmp_path, what, count):
    """With atheris, where it is installed: some twenty seconds each here, `fuzz_files.py` for as long as one likes."""
    if find_spec("atheris") is None:
        skip_without("atheris", "atheris has no wheel for this Python or processor")
    command = [sys.executable, str(Path(__file__).with_name("fuzz_files.py")), what, str(tmp_path / "fuzz")]
    options = ["-seed=1", f"-runs={count}", "-max_total_time=120"]
    done = subprocess.run([*command, *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    runs = re.findall(r"^Done (\d+) runs", done.stderr, re.MULTILINE)
    assert runs and int(runs[0]) >= 10, done.stderr[-3000:]


def test_every_bit_of_a_file_of_rows(runs):
    """A file of rows is read whole or refused, whichever bit is flipped (every 37th here): never other rows in silence.

    Pages carry checksums and columns must be the run's; what flips unseen lies in the file's notes to readers
    (statistics, who wrote it), and changes no row.
    """
    path = runs[0] / "evals" / "gen-000000.parquet"
    content, whole = path.read_bytes(), pq.read_table(path, partitioning=None).to_pylist()
    folder = RunFolder.open(runs[0])
    try:
        for place in range(0, 8 * len(content), 37):
            changed_bytes = bytearray(content)
            changed_bytes[place // 8] ^= 1 << place % 8
            path.write_bytes(changed_bytes)
            try:
                assert folder.read_generation(0) == whole, f"bit {place} of {8 * len(content)}"
            except AntennaoptError:
                continue
    finally:
        path.write_bytes(content)
