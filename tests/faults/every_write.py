"""Runs killed at each of their writes, one forked process a run: a script, so that nothing but it is forked.

`python every_write.py kill|tear ROOT`: a run is begun, and killed (SIGKILL) before its first operation on a file, then
one before its second, and so on until one gets through; each that was killed is resumed. With `tear` what was being
written is cut in half first, as a power cut leaves it. `python every_write.py again ROOT` kills each session of one run
after some writes, and resumes until it is done. `python every_write.py full ROOT MOUNT`: the folder MOUNT is a small
file system, and has room for a number of bytes. Each prints a line of JSON a run: the strike, the operation, the exit
codes, the folder.

`python every_write.py kinds ROOT` reads a search a line: `{"name": "a", "evolution": {}, "goals": {}, "generation": 2,
"folders": ["evals", "logs"]}`. Of a run of it only some operations are struck, on files of these folders: those that
open and flush what stores the generation, and the first that puts a file in place after the search. What was being
written is cut in half first. Twice an antenna of that generation is interrupted (SIGINT) in place of a kill. An empty
line follows the last run.

The operations are seen by an audit hook of the interpreter (opening for writing, renaming, making, removing,
truncating), which no code of the program can leave out, and by a wrapper of `os.fsync`, which has no audit event.
"""

import json
import os
import re
import signal
import sys
import threading
from collections import Counter
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import cheap_lens

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGING = ("os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.truncate", "os.link", "os.symlink", "shutil.rmtree")


SOLVED = ["cheap_lens.solve", ""]
"""Stands for an antenna in a list of operations."""


class Strike:
    """Kills this process before its n-th operation on a file below a folder.

    With `at`, an event and a file as `listed` has them, before the n-th of those.
    """

    def __init__(self, root, number, *, tear=False, at=None):
        self.root, self.left, self.tear, self.at = str(root), number, tear, at
        self.listed = []
        self.report = os.open(Path(root).with_suffix(".strike"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        self.one = threading.RLock()  # of two threads that write at once, one is struck
        self.flush = os.fsync
        os.fsync = self.synced
        sys.addaudithook(self.seen)

    def seen(self, event, arguments):
        if event == "open":
            path, mode, flags = arguments
            if isinstance(path, str) and (flags & WRITING) and not flags & os.O_DIRECTORY:
                self.count(event, path, torn=path if mode and "a" in mode else None)
        elif event == SOLVED[0] and self.at in (None, SOLVED):
            self.count(event, self.root)
        elif event in CHANGING:
            self.count(event, str(arguments[0]))

    def synced(self, handle):
        path = os.readlink(f"/proc/self/fd/{handle}")
        self.count("fsync", path, torn=handle if os.path.isfile(path) else None)
        return self.flush(handle)

    def count(self, event, path, torn=None):
        if not path.startswith(self.root):
            return
        with self.one:
            one = [event, named(path[len(self.root) :])]
            self.listed.append(one)
            self.left -= one == self.at or (self.at is None and one != SOLVED)
            if self.left > 0 or self.at not in (None, one):
                return
            if one == SOLVED:
                self.at = ["nothing", "more"]
                os.write(self.report, json.dumps(one).encode())
                os.kill(os.getpid(), signal.SIGINT)
                return
            if self.tear and isinstance(torn, int):
                os.ftruncate(torn, os.fstat(torn).st_size // 2)
            elif self.tear and torn:
                self.left = 10**9  # the next opening is ours
                with open(torn, "ab") as file:
                    file.write(b'{"event":"gener')
            os.write(self.report, json.dumps([event, path[len(self.root) :]]).encode())
            os.kill(os.getpid(), signal.SIGKILL)
            signal.pause()  # nothing more is done until it has come


def named(path):
    """Return a file's name in its run folder, without the number of the process that writes it."""
    return re.sub(r"\.tmp-\d+-", "", re.sub(r"^/cheap_lens/[^/]+/?", "", path))


def in_child(action):
    """Do something in a forked process, whose error is kept in the folder; return its exit code."""
    return cheap_lens.in_child(action, SAID)


def said(code):
    """Return the error of the last process that ended with `code`."""
    return SAID.read_text() if code and SAID.exists() else ""


SAID = Path(sys.argv[2]) / "said"
FARM = cheap_lens.two_ahead if sys.argv[1] in ("kill", "again", "kinds") else cheap_lens.serial


def begin(root, *, evolution=cheap_lens.SHORT, goals=None):
    fault = {"kind": "fail", "one_in": 11}  # with 9 a search of test_every_write_of_each fails as a whole
    cheap_lens.start(root, farm=FARM, evolution=evolution, goals=goals, sleep_s=0.0, fault=fault)


def resume(folder):
    cheap_lens.go_on(folder, farm=FARM)


def run_folder(root):
    found = [path for path in (root / "cheap_lens").glob("*") if path.is_dir()] if root.exists() else []
    return found[0] if found else None


def struck(root, number, action, *, tear=False, at=None):
    def act():
        Strike(root, number, tear=tear, at=at)
        action()

    return in_child(act)


def last_strike(root):
    with suppress(OSError, ValueError):
        return json.loads(root.with_suffix(".strike").read_text())
    return None


def operations(root, action):
    """Return the operations of a whole run: event, and file as `named` has it; of one that failed, none."""
    root.mkdir()
    listed = root.with_suffix(".listed")

    def act():
        strike = Strike(root, 10**9)
        action()
        listed.write_text(json.dumps(strike.listed))

    code = in_child(act)
    say(number=0, at=None, code=code, resumed=None, folder=run_folder(root), said=said(code))
    return json.loads(listed.read_text()) if code == 0 else []


def of_a_generation(done, generation, folders):
    """Yield strikes, `n, [event, file]`: before operations that store a generation, and some after the search.

    Those that store a generation go from the first of a file with its number to the log's next line after the last of
    them is in place. Until then another thread may write lines of antennas that failed.
    """
    written = ("open", "fsync")
    stored = [at for at, (event, name) in enumerate(done) if event in written and f"-{generation:06d}." in name]
    first = stored[0]
    in_place = done.index(["fsync", done[stored[-1]][1].split("/")[0]], stored[-1])
    last = done.index(["open", "logs/run.jsonl"], in_place)
    over = max(at for at, (_, name) in enumerate(done) if name.startswith("checkpoint"))
    solved = done[:first].count(SOLVED)
    yield from ((solved - before, SOLVED) for before in (1, 5))
    seen, after = Counter(), set()
    for at, one in enumerate(done):
        seen[tuple(one)] += 1
        event, (folder, *_) = one[0], one[1].split("/")
        stores = first <= at <= last and event in written
        if folder in folders and (stores or (at > over and event == "os.rename" and folder not in after)):
            after |= {folder} if at > over else set()
            yield seen[tuple(one)], one


def kinds(top, *, name, generation, folders, **search):
    """Carry a search out, then strike it at the operations of `of_a_generation`."""
    top = top / name
    top.mkdir()
    done = operations(top / "whole", lambda: begin(top / "whole", **search))
    for place, (number, one) in enumerate(of_a_generation(done, generation, folders) if done else ()):
        strike_one(top, place, lambda root: struck(root, number, lambda: begin(root, **search), tear=True, at=one))  # noqa: B023
    print(flush=True)


def every(top, *, tear):
    for number in range(1, 10**4):
        if strike_one(top, number, lambda root: struck(root, number, lambda: begin(root), tear=tear)) == 0:  # noqa: B023
            return


def strike_one(top, number, begun):
    """Begin a run, resume it if it was killed, and say what came of it; return the first exit code."""
    root = top / f"{number:04d}"
    root.mkdir()
    code = begun(root)
    folder = run_folder(root)
    again = None
    if code != 0 and folder is not None:
        again = in_child(lambda: resume(folder))
    say(number=number, at=last_strike(root), code=code, resumed=again, folder=folder, said=said(again))
    return code


def again_and_again(top, after=17):
    """Kill each session at another of its writes until one gets through."""
    root = top / "again"
    root.mkdir()
    code = struck(root, 25, lambda: begin(root))
    for session in range(200):
        say(number=session, at=last_strike(root), code=code, resumed=None, folder=run_folder(root))
        if code == 0:
            return
        code = struck(root, after + session % 13, lambda: resume(run_folder(root)))


def say(**line):
    print(
        json.dumps({name: str(value) if isinstance(value, Path) else value for name, value in line.items()}), flush=True
    )


def full(top, mount):
    """Leave so much room on a small file system that the run's writes fail one after the other."""
    filler = mount / "filler"
    space = os.statvfs(mount)
    whole = space.f_bavail * space.f_frsize
    for pages in range(200):
        room = pages * 4096
        filler.write_bytes(bytes(whole - room))
        root = mount / "results"
        code = in_child(lambda: begin(root))  # noqa: B023
        error = said(code)
        folder = run_folder(root)
        left = (
            sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()) if root.exists() else []
        )
        torn = [name for name in left if ".tmp-" in name]
        readable = in_child(lambda: read_all(folder)) if folder else None  # noqa: B023
        filler.unlink()
        again = in_child(lambda: resume(folder)) if folder and code else None  # noqa: B023
        kept = top / f"{pages:04d}"
        if folder is not None:
            os.system(f"cp -r {folder} {kept}")
        say(number=pages, code=code, said=error, resumed=again, folder=kept if folder else None, torn=torn,
            readable=readable, files=left)  # fmt: skip
        os.system(f"rm -rf {root}")
        if code == 0:
            return


def read_all(folder):
    """Every file of rows there is must be whole."""
    from antennaopt.store.run_folder import RunFolder

    opened = RunFolder.open(folder)
    for generation in opened.generations():
        opened.read_generation(generation)
    opened.load_checkpoint()


def import_all(top):
    """Import what a run imports, once and here: forked processes then begin with it."""
    listed = top / "modules"

    def act():
        begin(top / "first")
        resume(run_folder(top / "first"))
        listed.write_text("\n".join(sys.modules))

    in_child(act)
    for name in listed.read_text().splitlines():
        with suppress(ImportError):
            import_module(name)


if __name__ == "__main__":
    command, top = sys.argv[1], Path(sys.argv[2])
    import_all(top)
    if command == "again":
        again_and_again(top)
    elif command == "full":
        full(top, Path(sys.argv[3]))
    elif command == "kinds":
        for line in sys.stdin:
            kinds(top, **json.loads(line))
    else:
        every(top, tear=command == "tear")
