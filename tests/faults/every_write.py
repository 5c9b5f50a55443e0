"""Runs killed at each of their writes, one forked process a run: a script, so that nothing but it is forked.

`python every_write.py kill|tear ROOT`: a run is begun, and killed (SIGKILL) before its first operation on a file, then
one before its second, and so on until one gets through; each that was killed is resumed. With `tear` what was being
written is cut in half first, as a power cut leaves it. `python every_write.py again ROOT` kills each session of one run
after some writes, and resumes until it is done. `python every_write.py full ROOT MOUNT`: the folder MOUNT is a small
file system, and has room for a number of bytes. Each prints a line of JSON a run: the strike, the operation, the exit
codes, the folder.

The operations are seen by an audit hook of the interpreter (opening for writing, renaming, making, removing,
truncating), which no code of the program can leave out, and by a wrapper of `os.fsync`, which has no audit event.
"""

import json
import os
import signal
import sys
import threading
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import cheap_lens

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGING = ("os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.truncate", "os.link", "os.symlink", "shutil.rmtree")


class Strike:
    """Kills this process before its n-th operation on a file below a folder."""

    def __init__(self, root, number, *, tear=False):
        self.root, self.left, self.tear = str(root), number, tear
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
            self.left -= 1
            if self.left > 0:
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


def in_child(action):
    """Do something in a forked process, whose error is kept in the folder; return its exit code."""
    return cheap_lens.in_child(action, Path(sys.argv[2]) / "said")


FARM = cheap_lens.two_ahead if sys.argv[1] in ("kill", "again") else cheap_lens.serial


def begin(root):
    cheap_lens.start(root, farm=FARM, evolution=cheap_lens.SHORT, sleep_s=0.0, fault={"kind": "fail", "one_in": 9})


def resume(folder):
    cheap_lens.go_on(folder, farm=FARM)


def run_folder(root):
    found = [path for path in (root / "cheap_lens").glob("*") if path.is_dir()] if root.exists() else []
    return found[0] if found else None


def struck(root, number, action, *, tear=False):
    def act():
        Strike(root, number, tear=tear)
        action()

    return in_child(act)


def last_strike(root):
    with suppress(OSError, ValueError):
        return json.loads(root.with_suffix(".strike").read_text())
    return None


def every(top, *, tear):
    for number in range(1, 10**4):
        root = top / f"{number:04d}"
        root.mkdir()
        code = struck(root, number, lambda: begin(root), tear=tear)  # noqa: B023 - called at once
        folder = run_folder(root)
        again = None
        if code != 0 and folder is not None:
            again = in_child(lambda: resume(folder))  # noqa: B023
        say(number=number, at=last_strike(root), code=code, resumed=again, folder=folder)
        if code == 0:
            return


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
        said = (top / "said").read_text() if code else ""
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
        say(number=pages, code=code, said=said, resumed=again, folder=kept if folder else None, torn=torn,
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
    else:
        every(top, tear=command == "tear")
