"""What must be equal, bit for bit, in a run with a fault and in the run that nothing happened to."""

import json

import pandas as pd

ACCIDENTAL = ["seconds", "stepping_seconds", "worker", "attempt"]


def rows(folder):
    """Every evaluation, without what differs between two solutions of one antenna."""
    table = pd.read_parquet(folder / "evals").sort_values(["generation", "slot"], ignore_index=True)
    return table.drop(columns=ACCIDENTAL)


def checkpoints(folder):
    """The last two; one more is left by a kill before it was removed."""
    newest = sorted((folder / "checkpoint").glob("*.json"))[-2:]
    return {path.name: path.read_bytes() for path in newest}


def patterns(folder):
    return {path.name: path.read_bytes() for path in (folder / "patterns").iterdir()}


def samples(folder):
    """Made copies, without what differs between two solutions of one; None of a run without samples."""
    if not (folder / "samples").is_dir():
        return None
    table = pd.read_parquet(folder / "samples").sort_values(["generation", "individual", "sample"], ignore_index=True)
    return table.drop(columns=ACCIDENTAL)


def assert_equal(folder, quiet, *, without=()):
    """Rows, patterns, checkpoints and samples; some columns may be left out."""
    pd.testing.assert_frame_equal(
        rows(folder).drop(columns=list(without)), rows(quiet).drop(columns=list(without)), check_exact=True
    )
    assert patterns(folder) == patterns(quiet)
    assert checkpoints(folder) == checkpoints(quiet)
    made, due = samples(folder), samples(quiet)
    assert (made is None) == (due is None)
    if made is not None:
        pd.testing.assert_frame_equal(made, due, check_exact=True)


def events(folder, *names):
    """Lines of the run's log; a line cut short is none."""
    found = []
    for line in (folder / "logs" / "run.jsonl").read_text(encoding="utf-8").splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return [one for one in found if not names or one["event"] in names]
