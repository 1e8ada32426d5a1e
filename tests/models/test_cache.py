"""The reply cache: what it keys on, what it keeps, and that it never costs a run."""

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from tests.servers.fake_endpoint import FakeEndpoint
from tests.waiting import turns, until

from ragstone.errors import RateLimited, ServerFault
from ragstone.models import ModelOptions, open_model
from ragstone.models.cache import Cached, ReplyCache, default_cache, reply_key
from ragstone.models.scripted import Scripted
from ragstone.models.work import track_work
from ragstone.types import Completion, Request, Sampling, Turn, Usage

IDENTITY = {"base_url": "https://h/v1", "model": "m"}


def ask(text: str = "Who?", **more: Any) -> Request:
    return Request(messages=(Turn("user", text),), **more)


def cached(folder: Path, model: Scripted, identity: dict[str, Any] | None = None) -> Cached:
    return Cached(model, ReplyCache(folder), identity=identity or IDENTITY)


class KeptReplies:
    """What a case keeps of its requests. `lost`: those that were sent without a reply."""

    def __init__(self) -> None:
        self.lost = 0
        self._replies: dict[bytes, Completion] = {}

    def get(self, key: bytes, /) -> Completion | None:
        return self._replies.get(key)

    def begin(self, key: bytes, /) -> int:
        self.lost += 1
        return self.lost - 1

    def withdraw(self, key: bytes, /) -> None:
        self.lost -= 1

    def put(self, key: bytes, completion: Completion, /) -> None:
        self._replies[key], self.lost = completion, 0


async def test_a_reply_is_asked_for_once_and_then_found_again_by_another_process(tmp_path: Path) -> None:
    full = Completion(
        text="Pa\ud800ris\0", reasoning="Hm.", finish_reason="length", model="m-2024", seconds=0.5,
        usage=Usage(prompt_tokens=9, completion_tokens=2, cached_tokens=4, requests=1),
    )  # fmt: skip
    model = Scripted(lambda _: full)
    async with cached(tmp_path, model) as first:
        assert await first.generate(ask()) == full
    async with cached(tmp_path, model) as second:
        found = await second.generate(ask())
    assert len(model.requests) == 1
    assert found.cached
    assert (found.text, found.reasoning, found.finish_reason, found.model) == (
        full.text, full.reasoning, full.finish_reason, full.model,
    )  # fmt: skip
    assert found.usage == Usage(prompt_tokens=9, completion_tokens=2, cached_tokens=4, requests=0, cached=1)


async def test_a_reply_that_is_not_on_the_disk_yet_is_found(tmp_path: Path) -> None:
    model = Scripted(lambda _: "Paris")
    async with cached(tmp_path, model) as front:
        replies = [await front.generate(ask()) for _ in range(3)]
    assert [reply.cached for reply in replies] == [False, True, True]
    assert len(model.requests) == 1


BASE = ask(sampling=Sampling(temperature=0.2))
OTHERS = {
    "text": ask("Whom?", sampling=Sampling(temperature=0.2)),
    "role": Request(messages=(Turn("system", "Who?"),), sampling=Sampling(temperature=0.2)),
    "turns": Request(messages=(Turn("user", "Who?"), Turn("user", "")), sampling=Sampling(temperature=0.2)),
    "temperature": ask(sampling=Sampling(temperature=0.3)),
    "no temperature": ask(),
    "top_p": ask(sampling=Sampling(temperature=0.2, top_p=1.0)),
    "max_tokens": ask(sampling=Sampling(temperature=0.2, max_tokens=9)),
    "seed": ask(sampling=Sampling(temperature=0.2, seed=0)),
    "stop": ask(sampling=Sampling(temperature=0.2, stop=("a",))),
    "schema": ask(sampling=Sampling(temperature=0.2), schema={"type": "object"}),
    "sample": ask(sampling=Sampling(temperature=0.2), sample=1),
    "surrogate": ask("Who?\ud800", sampling=Sampling(temperature=0.2)),
}


def test_everything_that_could_change_a_reply_changes_the_key() -> None:
    keys = [reply_key(IDENTITY, request) for request in (BASE, *OTHERS.values())]
    keys += [
        reply_key({**IDENTITY, "model": "m2"}, BASE),
        reply_key({**IDENTITY, "base_url": "https://h2/v1"}, BASE),
        reply_key({**IDENTITY, "extra": {"enable_thinking": False}}, BASE),
    ]
    assert len(set(keys)) == len(keys)
    assert reply_key(IDENTITY, BASE) == reply_key(dict(reversed(IDENTITY.items())), ask(sampling=Sampling(0.2)))


def test_every_field_of_a_request_is_part_of_the_key() -> None:
    # A new field of these words must be thought of here, too. `renew` has the key of what it replaces.
    assert Request.__struct_fields__ == ("messages", "sampling", "schema", "schema_name", "sample", "renew")
    assert Turn.__struct_fields__ == ("role", "content")


async def test_a_request_to_renew_is_sent_as_any_other_and_its_reply_replaces_the_stored_one(tmp_path: Path) -> None:
    replies = iter(["No.", "Yes."])
    model = Scripted(lambda _: next(replies))
    async with cached(tmp_path, model) as first:
        assert (await first.generate(ask())).text == "No."
        found = await first.generate(ask(renew=True))
        assert (found.text, found.cached, found.usage.requests) == ("Yes.", False, 1)
        assert (await first.generate(ask())).text == "Yes."
    async with cached(tmp_path, model) as second:
        assert (await second.generate(ask())).text == "Yes."
    assert model.requests == [ask(), ask()]
    assert reply_key(IDENTITY, ask(renew=True)) == reply_key(IDENTITY, ask())


async def test_a_model_never_answers_from_anothers_cache(tmp_path: Path) -> None:
    async with FakeEndpoint() as endpoint:
        options = ModelOptions(base_url=endpoint.base_url, cache=tmp_path)
        for name in ("compat/a", "compat/b", "compat/a"):
            async with open_model(name, options) as model:
                await model.generate(ask())
        assert [seen.body["model"] for seen in endpoint.seen] == ["a", "b"]


async def test_identical_requests_under_way_are_sent_once(tmp_path: Path) -> None:
    go = asyncio.Event()

    async def script(_: Request) -> str:
        await go.wait()
        return "Paris"

    model = Scripted(script)
    async with cached(tmp_path, model) as front:
        tasks = [asyncio.ensure_future(front.generate(ask())) for _ in range(5)]
        await turns()
        go.set()
        replies = await asyncio.gather(*tasks)
    assert len(model.requests) == 1
    assert [reply.cached for reply in replies] == [False, True, True, True, True]
    assert sum(reply.usage.requests for reply in replies) == 1


async def test_who_stops_waiting_takes_nothing_from_the_others_and_nothing_is_paid_twice() -> None:
    go = asyncio.Event()

    async def script(_: Request) -> str:
        await go.wait()
        return "Paris"

    model = Scripted(script)
    front = Cached(model, None, identity=IDENTITY)
    first, *others = (asyncio.ensure_future(front.generate(ask())) for _ in range(4))
    await turns()
    first.cancel()
    others.pop().cancel()
    await turns()
    go.set()
    replies = await asyncio.gather(*others)
    assert [(reply.text, reply.cached, reply.usage.requests) for reply in replies] == [
        ("Paris", False, 1), ("Paris", True, 0)
    ]  # fmt: skip
    assert first.cancelled()
    assert len(model.requests) == 1


async def test_a_request_that_was_inherited_is_in_the_cache_and_in_the_count_of_no_case_twice(tmp_path: Path) -> None:
    go, kept = asyncio.Event(), [KeptReplies(), KeptReplies()]

    async def script(_: Request) -> str:
        await go.wait()
        return "Paris"

    async def of_a_case(replies: KeptReplies) -> Completion:
        with track_work(replies):
            return await front.generate(ask())

    model = Scripted(script)
    async with cached(tmp_path, model) as front:
        first, second = (asyncio.ensure_future(of_a_case(replies)) for replies in kept)
        await turns()
        first.cancel()
        await turns()
        go.set()
        paid = await second
        again = await of_a_case(kept[0])
    assert (paid.usage.requests, again.usage.requests, again.cached) == (1, 0, True)
    assert [replies.lost for replies in kept] == [0, 0]
    assert len(model.requests) == 1


async def test_a_request_whose_reply_no_case_took_stays_in_the_count_of_one() -> None:
    async def of_a_case(replies: KeptReplies) -> Completion:
        with track_work(replies):
            return await front.generate(ask())

    async def replied_as_all_stop(_: Request) -> str:
        stop_all()
        return "Paris"

    async def hangs(_: Request) -> str:
        await asyncio.Event().wait()
        return "Paris"

    def stop_all() -> None:
        for task in tasks:
            asyncio.get_running_loop().call_soon(task.cancel)

    for script, cases in ((replied_as_all_stop, 1), (replied_as_all_stop, 2), (hangs, 1), (hangs, 3)):
        front, kept = Cached(Scripted(script), None, identity=IDENTITY), [KeptReplies() for _ in range(cases)]
        tasks = [asyncio.ensure_future(of_a_case(replies)) for replies in kept]
        await turns()
        stop_all()
        await asyncio.wait(tasks)
        assert all(task.cancelled() for task in tasks)
        assert sum(replies.lost for replies in kept) == 1, (script.__name__, cases)


async def test_when_the_one_that_sends_and_then_the_heir_stop_the_next_one_inherits_and_the_last_ends_it() -> None:
    go, ended = asyncio.Event(), asyncio.Event()

    async def script(_: Request) -> str:
        try:
            await go.wait()
        finally:
            ended.set()
        return "Paris"

    model = Scripted(script)
    front = Cached(model, None, identity=IDENTITY)
    tasks = [asyncio.ensure_future(front.generate(ask())) for _ in range(3)]
    for task in tasks:
        await turns()
        assert not ended.is_set()
        task.cancel()
    await turns()
    assert ended.is_set()
    assert all(task.cancelled() for task in tasks)
    go.set()
    assert (await front.generate(ask())).usage.requests == 1  # a new one, as nobody has the reply
    assert len(model.requests) == 2


async def test_a_request_that_nobody_waits_for_any_more_is_cancelled() -> None:
    ended = asyncio.Event()

    async def script(_: Request) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    front = Cached(Scripted(script), None, identity=IDENTITY)
    task = asyncio.ensure_future(front.generate(ask()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


async def test_a_reply_comes_in_a_loop_that_begins_tasks_at_once() -> None:
    # Python 3.12 has `asyncio.eager_task_factory`: what waits for nothing ends before the task is there.
    def eager(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> Any:
        if coroutine.__name__ != "_send":
            return asyncio.Task(coroutine, loop=loop, **options)
        ended = loop.create_future()
        with pytest.raises(StopIteration):
            coroutine.send(None)
        ended.set_result(None)
        return ended

    def script(request: Request) -> str:
        if request != ask():
            raise ServerFault("down")
        return "Paris"

    asyncio.get_running_loop().set_task_factory(getattr(asyncio, "eager_task_factory", eager))
    front = Cached(Scripted(script), None, identity=IDENTITY)
    async with asyncio.timeout(5):
        assert (await front.generate(ask())).text == "Paris"
        with pytest.raises(ServerFault, match="down"):
            await front.generate(ask("Whom?"))


async def test_an_error_is_not_kept(tmp_path: Path) -> None:
    outcomes = iter([ServerFault("no"), RateLimited("no")])
    async with cached(tmp_path, Scripted(lambda _: next(outcomes, "Paris"))) as front:
        for kind in (ServerFault, RateLimited):
            with pytest.raises(kind):
                await front.generate(ask())
        assert (await front.generate(ask())).text == "Paris"


async def test_a_damaged_file_is_put_aside_and_the_run_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "replies.sqlite").write_bytes(b"SQLite format 3\0" + b"\x17" * 5000)
    model = Scripted(lambda _: "Paris")
    for expected in (1, 1):
        async with cached(tmp_path, model) as front:
            assert (await front.generate(ask())).text == "Paris"
        assert len(model.requests) == expected
    assert "was renamed to" in caplog.text
    assert (tmp_path / "replies.damaged").exists()


async def test_pages_damaged_in_the_middle_cost_requests_and_nothing_else(tmp_path: Path) -> None:
    model = Scripted(lambda request: f"re {request.messages[0].content}")
    async with cached(tmp_path, model) as front:
        for number in range(300):
            await front.generate(ask(f"{number} " + "x" * 200))
    file = tmp_path / "replies.sqlite"
    data = bytearray(file.read_bytes())
    for page in range(2, len(data) // 4096, 2):
        data[page * 4096 : page * 4096 + 4096] = b"\xa5" * 4096
    file.write_bytes(data)
    async with cached(tmp_path, model) as front:
        for number in range(300):
            text = f"{number} " + "x" * 200
            assert (await front.generate(ask(text))).text == f"re {text}"


async def test_a_file_found_damaged_while_it_is_used_begins_anew_in_the_next_run(tmp_path: Path) -> None:
    model = Scripted(lambda request: f"re {request.messages[0].content}")
    file = tmp_path / "replies.sqlite"
    text = "x" * 4000
    async with cached(tmp_path, model) as front:
        for number in range(5000):  # too large to be checked whenever it is opened
            await front.generate(ask(f"{number} {text}"))
    data = bytearray(file.read_bytes())
    assert len(data) > 16 * 1024 * 1024
    data[8192:] = b"\xa5" * (len(data) - 8192)
    file.write_bytes(data)
    async with cached(tmp_path, model) as front:
        for number in range(100):
            await front.generate(ask(f"{number} {text}"))
    assert len(model.requests) == 5100
    async with cached(tmp_path, model) as front:
        await front.generate(ask("new"))
    async with cached(tmp_path, model) as front:
        assert (await front.generate(ask("new"))).cached


async def test_a_damaged_row_is_asked_for_again_and_replaced(tmp_path: Path) -> None:
    model = Scripted(lambda _: "Paris")
    async with cached(tmp_path, model) as front:
        await front.generate(ask())
    with sqlite3.connect(tmp_path / "replies.sqlite") as connection:
        connection.execute("UPDATE replies SET reply = '{\"text\": 7'")
    connection.close()
    for expected in (2, 2):
        async with cached(tmp_path, model) as front:
            assert (await front.generate(ask())).text == "Paris"
        assert len(model.requests) == expected


async def test_where_no_cache_can_be_made_there_is_none(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("in the way")
    async with cached(tmp_path / "file" / "folder", Scripted(lambda _: "Paris")) as front:
        assert (await front.generate(ask())).text == "Paris"
    assert "The reply cache cannot be used" in caplog.text


async def test_a_write_that_fails_ends_the_cache_and_not_the_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with cached(tmp_path, Scripted(lambda _: "Paris")) as front:
        with sqlite3.connect(tmp_path / "replies.sqlite") as connection:
            connection.execute("DROP TABLE replies")
        connection.close()
        assert (await front.generate(ask("0"))).text == "Paris"
        await until(lambda: "not used any more" in caplog.text)
        for number in (1, 2):
            assert (await front.generate(ask(str(number)))).text == "Paris"
            await turns()
    assert caplog.text.count("not used any more") == 1


async def test_the_key_of_the_account_is_not_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPAT_API_KEY", "sk-very-secret-0123456789")
    async with (
        FakeEndpoint() as endpoint,
        open_model("compat/a", ModelOptions(base_url=endpoint.base_url, cache=tmp_path)) as model,
    ):
        await model.generate(ask())
    everything = (tmp_path / "replies.sqlite").read_bytes()
    assert b"answer" in everything
    assert b"very-secret" not in everything


def test_the_default_folder_is_the_users_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache().parts[-2:] == ("ragstone", "replies")
