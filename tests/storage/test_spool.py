"""A list on disk is the list that was appended, however it is read, and needs little memory."""

import pickle
import tempfile
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.datasets.tabular.items import Digests, Item, spooled
from ragstone.errors import StorageError
from ragstone.storage import Spool, spool
from ragstone.types import Passage, Response, Sample


@pytest.fixture
def nothing_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "_FIRST", 2)
    monkeypatch.setattr(spool, "_BLOCK", 2)
    monkeypatch.setattr(spool, "_RECENT", 2)


def item(number: int, text: str = "plum") -> Item:
    passages = (Passage(f"p{number}", text, meta={"n": [number, None], "text": text}),)
    return Item(Sample(f"q{number}", text), Response(text, passages), f"line {number}", {"a": 1.5, text: True}, number)


@pytest.mark.usefixtures("nothing_stays")
def test_what_is_appended_while_others_are_read_is_there() -> None:
    values: Spool[Any] = Spool(range(5))
    for number, value in enumerate(values):
        if number < 5:
            values.append(value * 10)
    assert list(values) == [0, 1, 2, 3, 4, 0, 10, 20, 30, 40]
    assert [values[-1], values[3], values[0], len(values)] == [40, 3, 0, 10]
    assert list(values[2:7:2]) == [2, 4, 10]
    assert values == [0, 1, 2, 3, 4, 0, 10, 20, 30, 40]
    assert values != [0]
    with pytest.raises(IndexError):
        values[10]


@pytest.mark.usefixtures("nothing_stays")
def test_items_come_back_equal_whatever_their_texts_hold() -> None:
    items = [item(number, text) for number, text in enumerate(["plum", "字", "a\ud800b", "\0", ""] * 2)]
    assert list(spooled(items)) == items


@given(st.lists(st.tuples(st.text(), st.binary(min_size=8, max_size=8))))
def test_ids_and_hashes_of_rows_come_back(rows: list[tuple[str, bytes]]) -> None:
    digests = Digests()
    for name, digest in rows:
        digests.add(name, digest)
    assert list(digests) == [(name, digest.hex()) for name, digest in rows]
    assert len(digests) == len(rows)


def test_many_values_need_little_memory() -> None:
    tracemalloc.start()
    values: Spool[str] = Spool(f"{number} {'x' * 5_000}" for number in range(20_000))
    assert sum(map(len, values)) > 100e6
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 45e6


@pytest.mark.usefixtures("nothing_stays")
def test_a_full_disk_is_one_line_that_names_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with pytest.raises(StorageError, match=r"No space left on device.*TMPDIR") as caught:
        Spool(range(5))
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("nothing_stays")
@pytest.mark.parametrize("count", [0, 2, 7])
def test_a_list_comes_whole_to_another_process_and_goes_on_there(count: int) -> None:
    """More rows than stay in memory could not be sent to the workers of a cluster."""
    items = [item(number) for number in range(count)]
    kept = spooled(items)
    there = pickle.loads(pickle.dumps(kept))
    there.append(item(count))
    assert list(there) == [*items, item(count)]
    kept.append(item(99))
    assert list(kept) == [*items, item(99)]
