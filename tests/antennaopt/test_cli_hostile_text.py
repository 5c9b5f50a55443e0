"""Texts of files reach no stream with their control characters, whichever command prints them."""

import json
import os
import pty
import shutil
import subprocess
import sys

import cheap_evaluation
import pytest
from config_files import LENS, WAVEGUIDE
from made_up_runs import RESOLVED, MadeUpRun, write_run

from antennaopt.terminal import HIDDEN

TOML = r"\u001b]0;owned\u0007\u001b[2J\u202edrow\u2066\u0085\u009b31m\u200b"
HOSTILE = json.loads(f'"{TOML}"')
SHOWN = r"\x1b]0;owned\x07\x1b[2J\u202edrow\u2066\x85\x9b31m\u200b"


def titled(text):
    return LENS.replace('"a lens"', text)


def assert_clean(*texts):
    for text in texts:
        assert HIDDEN.sub("", text) == text


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr("antennaopt.solve.evaluate.evaluate", cheap_evaluation.evaluate)
    (tmp_path / "guide.toml").write_text(f'title = "{TOML}"\n{WAVEGUIDE}')
    (tmp_path / "lens.toml").write_text(titled(f'"{TOML}\\nready for    nothing"'))
    return tmp_path


FILES = {
    "title": (titled(f'"{TOML}"'), [], 0),
    "key": (f'"{TOML}" = 1\n' + LENS, [], 2),
    "key of a table": (LENS.replace("seed = 7", f'seed = 7\n"a{TOML}" = {{ b = 1 }}'), [], 2),
    "value": (LENS.replace('"directivity_dbi"', f'"{TOML}"'), [], 2),
    "family": (LENS.replace('"shaped_lens"', f'"{TOML}"'), [], 2),
    "length": (LENS.replace('"3.6 mm"', f'"{TOML}"'), [], 2),
    "broken": (titled(f'"{HOSTILE}'), [], 2),
    "change": (LENS, ["--set", f"{HOSTILE}=1"], 2),
    "changed value": (LENS, ["--set", f"title={HOSTILE}"], 0),
    "option": (LENS, [f"--{HOSTILE}"], 2),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("command", ["validate", "run --dry-run"])
def test_experiment_files(call, tmp_path, command, name):
    text, more, expected = FILES[name]
    (tmp_path / "file.toml").write_text(text)
    code, out, err = call(*command.split(), "file.toml", *more)
    assert code == expected
    assert_clean(out, err)
    assert err.count("\n") == (1 if code else err.count("\n"))
    if name != "broken" and "length" not in name and (command == "validate" or code):
        assert r"\u202e" in out + err


def test_a_title_stays_in_its_line(call, folder):
    _, out, _ = call("validate", "lens.toml")
    assert out.startswith(f"title        {SHOWN} ready for    nothing\nfamily ")


@pytest.mark.parametrize(
    "command", ["validate {}", "run {}", "simulate {}", "status {}", "report {}", "export {} --toml a"]
)
def test_paths(call, folder, command):
    code, out, err = call(*(word.replace("{}", f"none{HOSTILE}") for word in command.split()))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert_clean(err)
    assert f"none{SHOWN} " in err


@pytest.fixture
def run(folder):
    """Return a run folder whose every text is hostile."""
    made = MadeUpRun(
        generations=2, population=4, failing=("error",), field_map=False, resolved=RESOLVED | {"title": HOSTILE}
    )
    path = write_run(folder / "made", made)
    changed = path.with_name(f"RUN{HOSTILE.replace('/', '')}")
    path.rename(changed)
    manifest = json.loads((changed / "manifest.json").read_text())
    manifest |= {
        "title": HOSTILE,
        "name": HOSTILE,
        "backend": HOSTILE,
        "overrides": [HOSTILE],
        "device": {"a": HOSTILE},
    }
    (changed / "manifest.json").write_text(json.dumps(manifest))
    (changed / "experiment.toml").write_text(f"# {HOSTILE}\n")
    events = [
        {"event": "generation", "generation": 1, "best": 0.5, "individual": HOSTILE},
        {"event": "progress", "generation": 0, "to_solve": 4, "solved": 4, "seconds": 1.0, "counts": {HOSTILE: 2},
         "busy": {HOSTILE: 1.0}, "devices": {HOSTILE: HOSTILE}},
        {"event": "stopped", "reason": HOSTILE},
    ]  # fmt: skip
    with (changed / "logs" / "run.jsonl").open("a") as log:
        log.writelines(json.dumps(event) + "\n" for event in events)
    return changed


@pytest.mark.parametrize(
    "command",
    ["status RUN", "status RUN --watch", "compare RUN RUN", "report RUN", "export RUN --toml a.toml", "resume RUN",
     "simulate RUN --individual best", "export RUN --csv a.csv --format meep", "export RUN --individual g0000-s000"],
)  # fmt: skip
def test_run_folders(call, run, command):
    _, out, err = call(*(str(run) if word == "RUN" else word for word in command.split()))
    assert out + err
    assert_clean(out, err)


def test_the_report_shows_them(call, run, blank_figures):
    assert call("report", run)[0] == 0
    page = (run / "report.html").read_text("utf-8")
    assert_clean(page)
    assert page.count(SHOWN) > 3


def test_an_exported_antenna_can_be_read(call, folder, run):
    """TOML allows no control characters in comments, which name the run's folder."""
    assert call("export", run, "--toml", "a.toml")[0] == 0
    assert_clean((folder / "a.toml").read_text("utf-8").splitlines()[0])
    assert call("validate", "a.toml")[2] == ""


def test_certificates_and_other_outputs(call, folder):
    """A warning, a table, a script and a Touchstone file, all with the title."""
    for command in ("simulate guide.toml", "simulate guide.toml --touchstone a.s1p", "export guide.toml --format meep"):
        code, out, err = call(*command.split())
        assert code == 0, err
        assert_clean(out, err)


def on_a_terminal(words, folder):
    """Run the program with its streams on a terminal; return what it wrote there."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "antennaopt", *words], cwd=folder, stdin=follower, stdout=follower, stderr=follower,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "200"},
    )  # fmt: skip
    os.close(follower)
    written = b""
    while True:
        try:
            more = os.read(leader, 65536)
        except OSError:  # the terminal's other end is closed
            break
        if not more:
            break
        written += more
    os.close(leader)
    process.wait(300)
    return written.decode("utf-8", "surrogateescape")


def test_on_a_terminal(folder, run):
    """Rich draws the view there, and its own sequences alone pass."""
    shutil.move(run, folder / "RUN")
    view = on_a_terminal(["status", "RUN", "--watch"], folder)
    assert "convergence" in view
    for escape in ("\x1b]0;", "\x1b[2J", "\u202e", "\u2066", "\x07", "\x9b", "\u200b"):
        assert escape not in view
    assert r"\x1b]0;owned" in view and r"\u202edrow" in view
