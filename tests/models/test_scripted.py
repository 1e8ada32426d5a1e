"""The double: answers from a function, a mapping or a recorded file, and remembers."""

from pathlib import Path

import pytest

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
    "line", ["{", "[]", '{"text": "x"}', '{"request": {}, "completion": {}}', '"x"', "[" * 100_000]
)
async def test_a_broken_line_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "broken.jsonl"
    file.write_text('{"default": "x"}\n' + line + "\n")
    with pytest.raises(DataError, match="line 2"):
        async with open_model(f"scripted/{file}"):
            pass


async def test_a_file_that_is_not_there_is_told() -> None:
    with pytest.raises(UsageError, match="no such file"):
        async with open_model("scripted/absent.jsonl"):
            pass
    with pytest.raises(UsageError, match="not an embedder"):
        async with open_embedder("scripted/x.jsonl"):
            pass
