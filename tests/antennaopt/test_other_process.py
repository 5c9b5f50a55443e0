"""What a driver makes of the answers of a process that writes."""

import socket
import struct

import msgpack
import pytest

from antennaopt.errors import StorageError
from antennaopt.run.other_process import OtherProcess, WriterLost


@pytest.fixture
def answered():
    """Return what a message's `write` does where the bytes given are the answer to it."""
    ends = socket.socketpair()

    def write(answer):
        process = OtherProcess.__new__(OtherProcess)
        process._socket = ends[0]
        ends[1].sendall(answer)
        ends[1].shutdown(socket.SHUT_WR)
        return process.write((b"", []))

    yield write
    for end in ends:
        end.close()


def framed(content):
    return struct.pack("<Q", len(content)) + content


@pytest.mark.parametrize(
    "answer",
    [
        framed(b"\xc1"),  # no MessagePack
        framed(b"\x92\xc0"),  # cut short
        framed(msgpack.packb(7)),
        framed(msgpack.packb([None, 1, 2])),
        framed(msgpack.packb([["StorageError"], None])),
        struct.pack("<Q", 2**64 - 1),
        struct.pack("<Q", 2**62),
        b"\x03",
        b"",
    ],
)
def test_a_malformed_answer_is_a_lost_process(answered, answer):
    with pytest.raises(WriterLost):
        answered(answer)


def test_answers_of_the_process_are_returned_or_raised(answered):
    assert answered(framed(msgpack.packb([None, {"replaced": 0}]))) == {"replaced": 0}


def test_an_error_for_users_is_raised_as_the_same_class(answered):
    with pytest.raises(StorageError, match="disk full"):
        answered(framed(msgpack.packb([["StorageError", "disk full", "Traceback"], None])))
