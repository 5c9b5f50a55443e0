"""Files that would be read for ever, or parsed for minutes, are refused at once in one line."""

import json
import os
import subprocess
import sys

import pytest
from config_files import LENS, WAVEGUIDE
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from antennaopt.errors import ConfigurationError
from antennaopt.experiment import load_experiment, load_file
from antennaopt.experiment.load import MOST_NESTED, MOST_PARTS, too_deep
from antennaopt.machine import MOST_BYTES

DEEP = {
    "dotted": "a" + ".a" * 100_000 + " = 1",
    "dotted quoted": '"a"' + " . 'b'" * 100_000 + " = 1",
    "header": "[" + "a." * 50_000 + "a]",
    "inline": "b = { " + "a." * 50_000 + "a = 1 }",
    "list": "a = " + "[" * 100_000,
    "tables": "a = " + "{a=" * 100_000,
    "after a text": 'a = """\n[[[[ "" # \\""" """\nb = ' + "[" * 17,
}
"""Texts that tomllib takes minutes for, or whose depth ends in a RecursionError."""

NESTED = ("list", "tables", "after a text")


@pytest.fixture(params=["device", "fifo", "socket", "sparse"])
def endless(request, tmp_path):
    path = tmp_path / f"{request.param}.toml"
    if request.param == "device":
        path.symlink_to("/dev/zero")
    elif request.param == "fifo":
        os.mkfifo(path)
    elif request.param == "socket":
        import socket

        with socket.socket(socket.AF_UNIX) as one:
            one.bind(str(path))
    else:
        with path.open("wb") as file:
            file.truncate(10**12)
    return path


REASONS = {"sparse": "larger than 10 MB", "socket": "No such device or address"}


@pytest.mark.parametrize(
    "command", ["validate", "run", "run --dry-run", "simulate", "bench evaluate", "bench farm", "bench search"]
)
def test_no_regular_file(call, endless, command):
    code, out, err = call(*command.split(), endless)
    assert (code, out) == (2, "")
    reason = REASONS.get(endless.stem, "not a regular file")
    line = err.splitlines(keepends=True)[-1]  # benches say first what solves
    assert line == f"error: {endless} cannot be read ({reason}); name a TOML file of at most 10 MB\n"


@pytest.mark.parametrize(
    "command",
    ["tiles --measured FILE", "tiles --stencil tmz --device FILE", "bench kernels --measured FILE --plot a.png"],
)
def test_no_regular_file_of_rows(call, endless, command):
    code, out, err = call(*(str(endless) if word == "FILE" else word for word in command.split()))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert REASONS.get(endless.stem, "not a regular file") in err


def test_a_link_to_a_regular_file_is_followed(call, tmp_path):
    (tmp_path / "guide.toml").write_text(WAVEGUIDE)
    (tmp_path / "link.toml").symlink_to("guide.toml")
    assert call("validate", "link.toml")[0] == 0


def test_the_largest_file_is_read(tmp_path):
    path = tmp_path / "guide.toml"
    path.write_text(WAVEGUIDE + "#" * (MOST_BYTES - len(WAVEGUIDE)))
    assert load_file(path).family == "open_waveguide"
    with path.open("a") as file:
        file.write("#")
    with pytest.raises(ConfigurationError, match="larger than 10 MB"):
        load_file(path)


@pytest.mark.parametrize("name", DEEP)
def test_deep_texts(call, tmp_path, name):
    (tmp_path / "deep.toml").write_text("\n" + DEEP[name])
    code, out, err = call("validate", "deep.toml")
    assert (code, out, err.count("\n")) == (2, "", 1)
    what = "more than 16 deep" if name in NESTED else "dotted key of more than 16 parts"
    assert what in err
    assert f"line {DEEP[name].count(chr(10)) + 2} " in err


@pytest.mark.parametrize(
    "text",
    [
        "evolution.start.0" + ".a" * 100_000 + "=1",
        "title=" + "[" * 50_000,
        "title={" + "a." * 50_000 + "a=1}",
    ],
)
def test_deep_changes(call, tmp_path, text):
    """Of a worker's own process: the arguments of one are limited to 128 kB each."""
    (tmp_path / "lens.toml").write_text(LENS)
    code, out, err = call("validate", "lens.toml", "--set", text)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "16" in err and len(err) < 300


@pytest.mark.parametrize(
    "value", ["9" * 5000, "0x" + "f" * 5000, "[" + "9" * 5000 + "]", "[0x" + "f" * 5000 + "]", "1e999", "-inf"]
)
@pytest.mark.parametrize("entry", ["seed", "title", "name", "evolution.population", "objective.0.weight", "unknown"])
def test_long_numbers(call, tmp_path, entry, value):
    (tmp_path / "lens.toml").write_text(LENS)
    code, _, err = call("validate", "lens.toml", "--set", f"{entry}={value}")
    assert (code, err.count("\n")) == (2, 1) or (entry in ("title", "name") and code == 0), err
    assert "Traceback" not in err and len(err) < 6000


def test_at_the_limits():
    parts, nested = ".".join("a" * MOST_PARTS), "[" * MOST_NESTED + "]" * MOST_NESTED
    assert too_deep(f"{parts} = {nested}") is None
    assert "dotted" in str(too_deep(f"{parts}.a = 1"))
    assert "deep" in str(too_deep(f"a = [{nested}]"))


PIECES = st.sampled_from(
    ['"""', "'''", '"', "'", "\\", "#", "\n", ".", "[", "]", "{", "}", "=", " ", "a", "1", "é", "x" * 40, '\\"', '"" ']
)


CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@CALM
@given(st.lists(PIECES, max_size=60).map("".join))
def test_the_depth_of_any_valid_text_is_that_of_its_tables(text):
    """What tomllib reads, however it is quoted and commented, is found as deep as it is: never called too deep."""
    import tomllib

    try:
        read = tomllib.loads(text)
    except (ValueError, RecursionError):
        return
    if depth(read) <= MOST_NESTED // 2:
        assert too_deep(text) is None


def depth(value):
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(depth, inner), default=0)


@CALM
@given(
    st.recursive(st.text(max_size=8) | st.integers(), lambda one: st.lists(one, min_size=1, max_size=2), max_leaves=30)
)
def test_lists_of_any_texts(value):
    """Brackets, quotes and hashes in texts count for nothing."""
    text = f"a = {json.dumps(value)}"
    assert (too_deep(text) is not None) == (depth(value) - 1 > MOST_NESTED)


def test_nothing_is_read_for_ever():
    """The program itself, with a pipe without a writer in place of the file."""
    ends = os.pipe()
    done = subprocess.run(
        [sys.executable, "-m", "antennaopt", "validate", f"/dev/fd/{ends[0]}"],
        pass_fds=ends, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    for end in ends:
        os.close(end)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "not a regular file" in done.stderr


@pytest.mark.parametrize("entry", ["objective.0.at_least", "antenna.lens.permittivity", "solver.cells_per_wavelength"])
def test_a_whole_number_beyond_a_float_is_refused(tmp_path, entry):
    file = tmp_path / "lens.toml"
    file.write_text(LENS)
    with pytest.raises(ConfigurationError):
        load_experiment(file, (f"{entry}=1{'0' * 400}",))
