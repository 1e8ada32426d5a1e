"""The list of batches that commands share."""

from pathlib import Path

from ragstone.models.batches.store import BatchStore, Reply

KEY = b"k" * 32


def sealed(store: BatchStore) -> int:
    """The number of a batch of one request."""
    store.collect(KEY, "lane", 1, b"{}")
    store.seal("lane", provider="openai", model="m", base_url="", requests=10, size=1000, files=store.folder)
    return store.all()[0].id


def answer_and_leave(store: BatchStore, number: int) -> None:
    """What a command does whose batch has ended: it stores the reply, reads it and ends."""
    store.end(number, [Reply(KEY, "settled", 200, "yes")], state="ended", missing="")
    store.use([KEY])
    store.close()


def test_a_reply_stays_while_another_command_may_wait_for_it_and_goes_with_the_last(tmp_path: Path) -> None:
    quick, slow = BatchStore(tmp_path), BatchStore(tmp_path)
    number = sealed(quick)
    slow.collect(KEY, "lane", 1, None)
    assert [batch.id for batch in slow.wanted()] == [number]
    answer_and_leave(quick, number)

    entry = slow.get(KEY)
    assert entry is not None
    assert (entry.settled, entry.reply) == (True, "yes")
    assert slow.wanted() == []
    assert slow.answered()  # there is another round, in which it is read
    slow.use([KEY])
    slow.close()

    late = BatchStore(tmp_path)
    assert late.get(KEY) is None
    late.close()


def test_a_request_that_another_command_has_sent_meanwhile_is_not_sent_again(tmp_path: Path) -> None:
    quick, slow = BatchStore(tmp_path), BatchStore(tmp_path)
    slow.collect(KEY, "lane", 1, b"{}")  # before the other had sealed its batch
    answer_and_leave(quick, sealed(quick))
    slow.seal("lane", provider="openai", model="m", base_url="", requests=10, size=1000, files=tmp_path)
    assert len(slow.all()) == 1
    assert slow.answered()
    slow.close()


def test_what_a_killed_command_left_used_is_gone_for_the_next(tmp_path: Path) -> None:
    killed = BatchStore(tmp_path)
    number = sealed(killed)
    killed.end(number, [Reply(KEY, "settled", 200, "yes")], state="ended", missing="")
    killed.use([KEY])
    killed._presence.close()  # the operating system does this for a process that dies
    killed._connection.close()
    late = BatchStore(tmp_path)
    assert late.get(KEY) is None
    late.close()
