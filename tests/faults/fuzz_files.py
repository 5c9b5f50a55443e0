"""Hostile files found by atheris, guided by which branches of our readers they reach.

`python fuzz_files.py WHAT FOLDER [OPTION OF LIBFUZZER ...]`, for example `-max_total_time=300`; WHAT is `json`
(checkpoints with the right digest, manifest, resolved experiment, log), `bytes` (any file of a run folder), `rows`
(Parquet), `experiment` (an experiment file with pieces put in) or `toml` (the fuzzer's bytes as an experiment file).
The harm is what `test_hostile` draws from hypothesis, here from the fuzzer's bytes, and so is what must hold. Exit code
0 when it held; else the traceback, and the bytes in a file `crash-*` of FOLDER.
"""

import os
import random
import sys
from pathlib import Path

import atheris

# tests/, where `required` is, and the packages themselves: else tests/fdtd would be taken for fdtd
sys.path += [str(Path(__file__).resolve().parents[place]) for place in (2, 1)]

with atheris.instrument_imports(include=["antennaopt", "tomllib"]):
    import test_hostile
    import unfinished_runs

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

HARMS = {
    "json": test_hostile.harmed_json,
    "bytes": test_hostile.harmed_bytes,
    "rows": test_hostile.harmed_rows,
    "experiment": test_hostile.harmed_experiment,
}
LONGEST = 2000
"""Bytes of an input: what is put in at three places takes some hundred."""


def target(what, runs, scratch):
    """Return what is done with the fuzzer's bytes."""
    if what == "toml":
        return lambda content: test_hostile.experiment_bytes(scratch, content)

    @settings(database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(data=st.data())
    def harm(data):
        HARMS[what](runs, scratch, data)

    return harm.hypothesis.fuzz_one_input


def seeds(what):
    """Return inputs to begin with: an experiment file, or bytes enough for hypothesis to draw from."""
    chance = random.Random(1)
    return [test_hostile.TOML.encode()] if what == "toml" else [chance.randbytes(LONGEST // 4) for _ in range(8)]


def fuzz(what, folder, options):
    """Fuzz until libFuzzer's options end it; does not return."""
    for name in ("scratch", "corpus"):
        (folder / name).mkdir(parents=True)
    for number, content in enumerate(seeds(what)):
        (folder / "corpus" / f"seed-{number}").write_bytes(content)
    runs = unfinished_runs.unfinished(folder / "run")
    harm = target(what, runs, folder / "scratch")
    os.chdir(folder)
    atheris.Setup([sys.argv[0], f"-max_len={LONGEST}", "-len_control=0", *options, "corpus"], harm)
    atheris.Fuzz()


if __name__ == "__main__":
    fuzz(sys.argv[1], Path(sys.argv[2]).resolve(), sys.argv[3:])
