"""A store that writes in the background: what is in order, what waits, and what a fault of writing leaves undone."""

import threading
from concurrent.futures import Future

import pytest

from antennaopt.errors import StorageError
from antennaopt.run import other_process
from antennaopt.run.write_behind import WriteBehind


class Folder:
    """A run folder that keeps a list; generation `broken` meets a full disk, once `gate` is open."""

    path = None

    def __init__(self, broken=None):
        self.broken, self.gate, self.written = broken, threading.Event(), []

    def log(self, event, **_):
        self.written.append(event)

    def save_checkpoint(self, generation, state):
        self.written.append(("state", generation, state))


@pytest.fixture
def store(monkeypatch):
    """A store of a `Folder` in which two generations may wait, as where a process writes."""

    def write(folder, generation, rows, copies):
        folder.gate.wait(60)
        if generation == folder.broken:
            raise StorageError("disk is full")
        folder.written.append(generation)

    made = []

    def open_store(broken=None):
        monkeypatch.setattr("antennaopt.run.stores.write_evaluations", write)
        made.append(WriteBehind(Folder(broken)))
        made[-1]._writer = Asleep()
        return made[-1]

    yield open_store
    for one in made:
        one.folder.gate.set()
        one.close()


class Asleep:
    """A process that is never ready, so that the thread writes."""

    ready = False

    def __init__(self, woken=lambda: None):
        self.wake = woken

    def close(self):
        return 0


def test_everything_comes_in_its_order(store):
    one = store()
    one.write_generation(0, [])
    one.checkpoint(0, {"a": 1})
    one.log("progress")
    one.write_generation(1, [])  # does not wait for the first
    one.folder.gate.set()
    one.flush()
    assert one.folder.written == [0, ("state", 0, {"a": 1}), "progress", 1]


def test_nothing_but_the_log_comes_after_a_fault(store):
    """A generation that was handed in before the fault was known must not leave a hole behind it."""
    one = store(broken=0)
    one.write_generation(0, [])
    one.checkpoint(0, {})
    one.write_generation(1, [])
    one.checkpoint(1, {})
    one.log("progress")
    one.folder.gate.set()
    with pytest.raises(StorageError, match="disk is full"):
        one.flush()
    one.flush()
    with pytest.raises(StorageError, match="disk is full"):
        one.write_generation(2, [])
    with pytest.raises(StorageError, match="disk is full"):
        one.recall(["g0001-s000"])
    assert one.folder.written == ["progress"]


def test_a_third_generation_waits_for_the_first(store, monkeypatch):
    one, waited = store(), []
    for generation in range(2):
        one.write_generation(generation, [])
    first, wait = one._writing[0], one._wait

    def opened(write):
        waited.append(write)
        one.folder.gate.set()
        return wait(write)

    monkeypatch.setattr(one, "_wait", opened)
    one.write_generation(2, [])
    assert waited == [first]
    one.flush()
    assert one.folder.written == [0, 1, 2]


def test_a_close_that_is_interrupted_wakes_the_process_and_waits_for_what_is_under_way(store, monkeypatch):
    def interrupted(write):
        raise KeyboardInterrupt

    one = store()
    one._writer = Asleep(woken=one.folder.gate.set)
    one.write_generation(0, [])
    monkeypatch.setattr(one, "_wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        one.close()
    assert one.folder.written == [0] and one._writer is None


def test_a_write_that_ends_as_the_patience_does(store):
    class Late(Future):
        """Ends just after who waits for it has lost patience."""

        def result(self, timeout=None):
            if not self.done():
                self.set_result(None)
                raise TimeoutError
            return super().result(timeout)

    assert store()._wait(Late()) is None


def test_a_write_that_raises_a_time_out_of_its_own(store, monkeypatch):
    monkeypatch.setattr(other_process, "WAKE_AFTER_S", 0.001)
    failed = Future()
    failed.set_exception(TimeoutError("the disk's own"))
    with pytest.raises(TimeoutError, match="the disk's own"):
        store()._wait(failed)
