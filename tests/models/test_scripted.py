"""The double: answers from a function, a mapping or a recorded file, and remembers."""

import re
from pathlib import Path

import pytest

from ragstone.error_text import told, untranslated
from ragstone.errors import ContentBlocked, DataError, ModelError, RateLimited, Rejected, UsageError
from ragstone.models import open_embedder, open_model
from ragstone.models.scripted import Scripted, recording
from ragstone.types import Completion, Request, Sampling, Turn


def ask(text: str = "Who?", sample: int = 0) -> Request:
    return Request(messages=(Turn("system", "Be brief."), Turn("user", text)), sampling=Sampling(0.2), sample=sample)


async def test_a_function_answers_and_its_requests_are_kept() -> None:
    model = Scripted(lambda request: f"re {request.messages[-1].content}", id="scripted/echo")
    reply = await model.generate(ask())
    assert reply.text == "re Who?"
    assert (reply.model, reply.finish_reason) == ("scripted/echo", "stop")
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.usage.requests) == (5, 3, 1)
    assert model.requests == [ask()]


async def test_an_asynchronous_function_a_completion_and_an_error_are_replies_too() -> None:
    async def script(request: Request) -> Completion | ModelError:
        return RateLimited("slow down") if request.sample else Completion(text="Paris", model="m")

    model = Scripted(script)
    assert await model.generate(ask()) == Completion(text="Paris", model="m")
    with pytest.raises(RateLimited, match="slow down"):
        await model.generate(ask(sample=1))
    assert len(model.requests) == 2


async def test_a_mapping_answers_by_the_last_message() -> None:
    model = Scripted({"Who?": "Paris"})
    assert (await model.generate(ask())).text == "Paris"
    with pytest.raises(Rejected, match="Where"):
        await model.generate(ask("Where?"))


async def test_what_was_recorded_is_answered_word_for_word(tmp_path: Path) -> None:
    file = tmp_path / "talk.jsonl"
    full = Completion(text="a\ud800\0\u2028b", reasoning="Hm.", finish_reason="length", model="m", seconds=0.25)
    replies: list[Completion | ModelError] = [full, ContentBlocked("not this"), Completion(text="other")]
    async with recording(Scripted(lambda request: replies[request.sample]), file) as model:
        assert model.id == "scripted/function"
        assert await model.generate(ask()) == full
        with pytest.raises(ContentBlocked):
            await model.generate(ask(sample=1))
        await model.generate(ask(sample=2))
    assert len(file.read_text("ascii").splitlines()) == 3
    async with open_model(f"scripted/{file}") as again:
        assert again.id == f"scripted/{file}"
        assert (await again.generate(ask(sample=2))).text == "other"
        assert await again.generate(ask()) == full
        with pytest.raises(ContentBlocked, match="not this"):
            await again.generate(ask(sample=1))
        with pytest.raises(Rejected, match="no reply to"):
            await again.generate(ask("Something else?"))


async def test_a_script_by_hand_answers_by_words_and_else_by_default(tmp_path: Path) -> None:
    file = tmp_path / "hand.jsonl"
    file.write_text('{"contains": "capital", "text": "Paris"}\n\n{"default": "I do not know"}\n')
    async with open_model(f"scripted/{file}") as model:
        assert (await model.generate(ask("The capital of France?"))).text == "Paris"
        assert (await model.generate(ask("The mayor?"))).text == "I do not know"


@pytest.mark.parametrize(
    ("line", "words", "chinese"),
    [
        ("{", "not JSON", "不是 JSON"),
        ("[]", "found no object; expected an object with the texts contains", "内容为非对象的值；应为"),
        ('{"text": "x"}', "found the keys 'text'; expected an object", "内容为键 'text'；应为"),
        ('{"request": {}, "completion": {}}', "the recorded call cannot be read", "录制的调用无法读取"),
        ('{"request": {"messages": []}, "error": {"kind": "plum", "message": ""}}', "the recorded call", "录制"),
        ('"x"', "found no object", "内容为非对象的值"),
        ("[" * 100_000, "nested too deeply", "嵌套"),
        ('{"contains": 3, "text": "x"}', "found the keys 'contains', 'text'", "应为"),
        ('{"default": 5}', "found the keys 'default'", "应为"),
        ("{}", "found the keys none", "应为"),
    ],
)
async def test_a_broken_line_is_named_with_cause_and_next_step(
    tmp_path: Path, line: str, words: str, chinese: str
) -> None:
    file = tmp_path / "broken.jsonl"
    file.write_text('{"default": "x"}\n' + line + "\n")
    with pytest.raises(DataError) as caught:
        async with open_model(f"scripted/{file}"):
            pass
    message = str(caught.value)
    assert f"broken.jsonl, line 2: {words}" in message
    assert message.endswith(("Correct or delete the line.", "Record it again, or delete the line."))
    assert not re.search(r"[A-Za-z]+Error|Errno|ragstone\.models", message)
    assert chinese in told(message, "zh")
    assert untranslated(message.partition(": ")[2], "zh") == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("absent.jsonl", "no such file. Name a file of recorded answers: scripted/FILE.jsonl."),
        (".", "is a folder. Name a file of recorded answers in it: scripted/FILE.jsonl."),
        ("latin.jsonl", "is not UTF-8 (byte 0). Save it as UTF-8."),
        ("empty.jsonl", "has no recorded answers. Add a line with `contains` and `text`, or a `default`."),
        ("latin.jsonl/x", "cannot be read (Not a directory). Check the path and its permissions."),
    ],
)
async def test_a_file_that_cannot_be_read_is_named_with_cause_and_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "latin.jsonl").write_bytes(b"\xff\xfe")
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(UsageError) as caught:
        async with open_model(f"scripted/{name}"):
            pass
    assert str(caught.value).startswith(f"scripted/{name}")
    assert str(caught.value).endswith(words)
    assert untranslated(str(caught.value), "zh") == []
    assert "Errno" not in str(caught.value)
    assert [text for text in untranslated(str(caught.value), "zh") if "Not a directory" not in text] == []


async def test_a_file_of_answers_is_no_embedder() -> None:
    with pytest.raises(UsageError, match="not an embedder"):
        async with open_embedder("scripted/x.jsonl"):
            pass
