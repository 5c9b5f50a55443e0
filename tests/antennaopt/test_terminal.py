"""What is printed: hidden characters as escapes, and a stdout or stderr that cannot be written as an exit code."""

import os
import shutil
import signal
import subprocess
import sys

import cheap_evaluation
import pytest
from config_files import LENS, WAVEGUIDE
from made_up_runs import MadeUpRun, write_run

from antennaopt import cli
from antennaopt.terminal import one_line, visible

NO_PLACE = "error: stdout cannot be written (No space left on device); send it to another file\n"
CLOSED = "error: stdout cannot be written (it is closed); send it to another file\n"
PROGRAM = f"{sys.executable} -m antennaopt"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("a\rb\x08\x00\x7f", r"a\x0db\x08\x00\x7f"),
        ("\x9b31m\x85", r"\x9b31m\x85"),
        ("abc\u202edcb\u2066\u2069\u200e\u200f\u061c", r"abc\u202edcb\u2066\u2069\u200e\u200f\u061c"),
        ("a\u2028b\u2029c\u200bd\ufeff\u2060", r"a\u2028b\u2029c\u200bd\ufeff\u2060"),
        ("\udcff.toml", r"\udcff.toml"),
        ("two\n\tlines", "two\n\tlines"),
        ("天线 アンテナ Hörner ελιά antène é 📡 👩\u200d🔬 ✔️ نمی\u200cخواهم", None),
    ],
)
def test_hidden_characters_are_shown_and_letters_stay(text, shown):
    assert visible(text) == (text if shown is None else shown)
    assert visible(visible(text)) == visible(text)


def test_every_control_and_bidirectional_character_is_shown():
    """Against the Unicode database: all of Cc but tab and line feed, all separators, all that have a direction only."""
    import unicodedata

    hidden = {chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) in ("Cc", "Cs", "Zl", "Zp")}
    hidden |= {chr(code) for code in range(0x110000) if unicodedata.bidirectional(chr(code)) in BIDIRECTIONAL}
    hidden |= set("\u200e\u200f\u061c")
    passed = {character for character in hidden if visible(character) == character}
    assert passed == {"\t", "\n"}


BIDIRECTIONAL = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")


def test_a_cell_stays_in_its_line():
    assert one_line("a\nb\tc\x1b") == r"a b c\x1b"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "lens.toml").write_text(LENS)
    (tmp_path / "guide.toml").write_text(WAVEGUIDE)
    (tmp_path / "wide.toml").write_text(WAVEGUIDE.replace('"31.5 GHz"', '"34 GHz"'))  # has a warning
    return tmp_path


def shell(folder, line, **environment):
    """Run a line as a user types it, with pipefail."""
    command = ["bash", "-c", "set -o pipefail; " + line]
    environment = {**os.environ, **environment}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, env=environment)
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


def test_stdout_that_cannot_be_written(files):
    assert shell(files, f"{PROGRAM} --help >/dev/full") == (6, "", NO_PLACE)
    assert shell(files, f"{PROGRAM} --help >&-") == (6, "", CLOSED)
    assert shell(files, f"{PROGRAM} --help >/dev/full 2>&1") == (6, "", "")
    assert shell(files, f"{PROGRAM} validate lens.toml >&- 2>&- <&-") == (6, "", "")


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    return write_run(tmp_path_factory.mktemp("runs"), MadeUpRun(generations=2, population=4, field_map=False))


PRINTING = [
    "--help", "run --help", "--version", "validate lens.toml", "doctor", "doctor --no-self-test --json -", "tiles",
    "tiles --json", "bench --matrix", "cache --cache none", "tls farm", "status RUN", "status RUN --json -",
    "status RUN --watch", "compare RUN RUN", "report RUN", "export RUN --toml best.toml",
    "export guide.toml --format meep", "simulate guide.toml --backend reference", "simulate guide.toml --json -",
    "run lens.toml --dry-run",
]  # fmt: skip


@pytest.mark.parametrize("command", PRINTING)
def test_every_command_that_prints(files, run_folder, blank_figures, monkeypatch, capsys, command):
    """Exit code 6 on a full disk and 141 without a reader; one line at most, and not one of a traceback."""
    monkeypatch.chdir(files)
    monkeypatch.setattr("antennaopt.solve.evaluate.evaluate", cheap_evaluation.evaluate)
    words = [str(run_folder) if word == "RUN" else word for word in command.split()]
    for code, stream in ((6, open("/dev/full", "w")), (141, readerless())):  # noqa: SIM115
        monkeypatch.setattr("sys.stdout", stream)
        ended = cli.main(words)
        err = capsys.readouterr().err
        assert ended == code, err
        assert "Traceback" not in err
        assert err.endswith(NO_PLACE) is (code == 6)
        stream.close()
        shutil.rmtree(files / "farm", ignore_errors=True)


def readerless():
    """Open the writing end of a pipe without a reader."""
    ends = os.pipe()
    os.close(ends[0])
    return os.fdopen(ends[1], "w")


def test_an_unwritten_result_does_not_hide_a_failure(files):
    """Bad usage keeps its own code, also where its line cannot be printed."""
    for place in ("2>/dev/full", "2>&-", ">/dev/full 2>&1"):
        assert shell(files, f"{PROGRAM} frobnicate {place}") == (2, "", "")
        assert shell(files, f"{PROGRAM} {place}") == (2, "", "")  # click prints its help there


@pytest.mark.parametrize("place", ["2>/dev/full", "2>&-"])
def test_messages_that_cannot_be_written(files, place):
    """The command completes, and its exit code shows a lost message; without one the exit code is 0."""
    code, out, _ = shell(files, f"{PROGRAM} validate wide.toml {place}")
    assert code == 6
    assert "ready for    antennaopt simulate" in out
    code, out, _ = shell(files, f"{PROGRAM} --version {place}")
    assert (code, "version" in out) == (0, True)


def test_a_reader_that_is_gone(files):
    """141, as from a program that SIGPIPE ended; it prints nothing."""
    with readerless() as pipe:
        command = [*PROGRAM.split(), "validate", "lens.toml"]
        done = subprocess.run(command, cwd=files, stdout=pipe, stderr=subprocess.PIPE, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (141, "")


def test_titles_outside_the_encoding(files):
    """A terminal that has no letters but ASCII shows the others as escapes."""
    (files / "guide.toml").write_text('title = "天线 é"\n' + WAVEGUIDE, "utf-8")
    code, out, _ = shell(files, f"{PROGRAM} validate guide.toml", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert code == 0
    assert r"title        \u5929\u7ebf \xe9" in out


def test_the_streams_are_put_back(call):
    before = sys.stdout, sys.stderr
    call("validate", "none.toml")
    assert (sys.stdout, sys.stderr) == before


@pytest.mark.parametrize(("ignored", "handler"), [(False, "_terminated"), (True, "SIG_IGN")])
def test_sighup_ends_a_command_unless_it_is_ignored(call, monkeypatch, ignored, handler):
    """`nohup` ignores it before the program starts."""
    seen = []

    def examine():
        seen.append(signal.getsignal(signal.SIGHUP))
        os.kill(os.getpid(), signal.SIGHUP)
        raise KeyboardInterrupt  # where it was ignored

    monkeypatch.setattr("antennaopt.cli.doctor.examine", examine)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN if ignored else signal.SIG_DFL)
    try:
        assert call("doctor")[0] == (130 if ignored else 129)
        assert signal.getsignal(signal.SIGHUP) is (signal.SIG_IGN if ignored else signal.SIG_DFL)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert (getattr(seen[0], "__name__", None) or seen[0].name) == handler
