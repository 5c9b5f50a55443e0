"""The order of completion as a file: lines that a kill tore, and places that were written twice."""

import pytest

from antennaopt.store.checkpoint import OrderLog


def written(path, *lines):
    log = OrderLog(path)
    for line in lines:
        log.append(*line)
    log.close()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "order.jsonl"


def test_nothing_was_written(path):
    assert OrderLog(path).after(0) == []
    assert not path.exists()


def test_from_any_place_on(path):
    written(path, (0, "b000000", 3), (1, "b000002", 4), (2, "b000001", 5))
    assert OrderLog(path).after(0) == [("b000000", 3), ("b000002", 4), ("b000001", 5)]
    assert OrderLog(path).after(2) == [("b000001", 5)]
    assert OrderLog(path).after(3) == []


def test_a_torn_line_ends_the_order_and_is_never_joined_to_another(path):
    written(path, (0, "b000000", 3), (1, "b000002", 4))
    path.write_bytes(path.read_bytes()[:-6])
    assert OrderLog(path).after(0) == [("b000000", 3)]
    written(path, (1, "b000001", 4))
    assert OrderLog(path).after(0) == [("b000000", 3), ("b000001", 4)]


def test_what_was_written_again_counts_and_what_stood_after_it_does_not(path):
    written(path, *((place, f"b{place:06d}", 6) for place in range(6)))
    written(path, (3, "b000005", 6))
    assert OrderLog(path).after(2) == [("b000002", 6), ("b000005", 6)]


def test_lines_that_are_no_lines_and_a_gap(path):
    written(path, (0, "b000000", 3), (2, "b000001", 4))
    with path.open("ab") as file:
        file.write(b'{}\n[1]\n[true,"b",2]\n[1,7,2]\n\xff\n' + b"[" * 10_000 + b"\n")
    assert OrderLog(path).after(0) == [("b000000", 3)]
    assert OrderLog(path).after(2) == [("b000001", 4)]
