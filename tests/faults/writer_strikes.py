"""Runs whose writing process is struck, one forked driver a run: a script, so that nothing but it is forked.

`python writer_strikes.py ROOT VICTIMS [NUMBER ...]`: VICTIMS are `writer`, `driver`, `driver,writer`, `writer,torn` or
`stopped`. A run is struck before the first operation of that process on a file, then one before the second, and so on
until one gets through, or before those with the numbers; a run whose driver was killed is resumed at once. Each prints
a line of JSON. `python writer_strikes.py ROOT full MOUNT PAGES ...`: the folder MOUNT is a small file system with room
for that many pages. `python writer_strikes.py ROOT quiet`: a run whose thread writes.
"""

import fcntl
import json
import os
import sys
from contextlib import suppress
from pathlib import Path

import cheap_lens

from antennaopt.run import other_process, write_behind
from antennaopt.run.writer import Writer, WriterLost
from antennaopt.store.files import has_ended


def apart():
    """Let a process write from the first generation on."""
    start, write = write_behind.WriteBehind.start_writer, Writer.write
    other_process.MANY, other_process.PER_SECOND, other_process.WAKE_AFTER_S = 0, 0.0, 0.2

    def started(self):
        start(self)
        with suppress(WriterLost):
            while self._writer is not None and not self._writer.ready:
                os.sched_yield()

    def counted(self, message):
        written.append(1)
        write(self, message)

    written = []
    write_behind.WriteBehind.start_writer, Writer.write = started, counted
    return written


def begin(root, *, by_process, strike=None):
    if strike is not None:
        os.environ["ANTENNAOPT_STRIKE"] = json.dumps(strike)
        os.environ["PYTHONPATH"] = f"{Path(__file__).parent / 'struck_writer'}:{os.environ.get('PYTHONPATH', '')}"
    written = apart() if by_process else []
    fault = {"kind": "fail", "one_in": 9}
    cheap_lens.start(root, farm=cheap_lens.two_ahead, evolution=cheap_lens.SHORT, sleep_s=0.0, fault=fault)
    if by_process:
        assert len(written) >= 1


def resume(folder, *, by_process, met=None):
    """Resume a run; make the file `met` where its lock is held."""
    take = fcntl.flock

    def tried(handle, operation):
        try:
            take(handle, operation)
        except BlockingIOError:
            met.touch()
            raise

    if met is not None:
        fcntl.flock = tried
    if by_process:
        apart()
    cheap_lens.go_on(folder, farm=cheap_lens.two_ahead)


def run_folder(root):
    return next((path for path in (root / "cheap_lens").glob("*") if path.is_dir()), None)


def struck(top, victims, numbers):
    torn, victims = "torn" in victims, [one for one in victims if one != "torn"]
    for number in numbers:
        root, report, said = top / f"{number:04d}", top / f"{number:04d}.json", top / f"{number:04d}.txt"
        met = top / f"{number:04d}.json.met"
        root.mkdir()
        strike = {"root": str(root), "number": number, "victims": victims, "torn": torn, "report": str(report)}
        code = cheap_lens.in_child(lambda: begin(root, by_process=True, strike=strike), said)  # noqa: B023 - called at once
        folder, again = run_folder(root), None
        if code != 0:
            again = cheap_lens.in_child(lambda: resume(folder, by_process=number % 2, met=met), said)  # noqa: B023
        found = json.loads(report.read_text()) if report.exists() else {"at": None, "writer": None}
        found["met"] = met.exists()
        found["outlived"] = found["writer"] is not None and not has_ended(found["writer"])
        text = said.read_text() if said.exists() else ""
        print(json.dumps({"code": code, "resumed": again, "folder": str(folder), "said": text, **found}), flush=True)
        if found["at"] is None:
            return


def full(top, mount, pages):
    """Leave room for some pages of 4 KiB, and let the run begin and, with space again, go on."""
    space = os.statvfs(mount)
    for count in pages:
        filler, root, said = mount / "filler", mount / "results", top / f"{count}.txt"
        filler.write_bytes(bytes(space.f_bavail * space.f_frsize - 4096 * count))
        code = cheap_lens.in_child(lambda: begin(root, by_process=True), said)  # noqa: B023
        folder, text = run_folder(root), said.read_text() if said.exists() else ""
        torn = [str(path) for path in root.rglob(".tmp-*")]
        filler.unlink()
        again = cheap_lens.in_child(lambda: resume(folder, by_process=True), said) if folder else None  # noqa: B023
        kept = top / f"{count:04d}"
        os.system(f"cp -r {folder} {kept}; rm -rf {root}")
        print(json.dumps({"code": code, "resumed": again, "folder": str(kept), "said": text, "torn": torn}), flush=True)


if __name__ == "__main__":
    top, what = Path(sys.argv[1]), sys.argv[2]
    if what == "quiet":
        begin(top, by_process=False)
        print(run_folder(top))
    elif what == "full":
        full(top, Path(sys.argv[3]), [int(one) for one in sys.argv[4:]])
    else:
        struck(top, what.split(","), [int(one) for one in sys.argv[3:]] or range(1, 10**4))
