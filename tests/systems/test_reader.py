"""The reader, and systems by name."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import pytest
from tests.servers.fake_endpoint import FakeEndpoint

import ragstone.systems
from ragstone.errors import RateLimited, UnknownName, UsageError
from ragstone.models import ModelOptions
from ragstone.models.scripted import Scripted
from ragstone.systems import open_system
from ragstone.systems.reader import Reader
from ragstone.types import Completion, Passage, Query, Request, Response, Sampling, System, Turn, Usage

PAPER = Sampling(temperature=0.2)


@dataclass(frozen=True)
class Plain:
    """A template of the simplest kind."""

    name: str = "plain"
    sampling: Sampling = PAPER

    @property
    def spec(self) -> Mapping[str, Any]:
        return {"name": self.name, "version": 1}

    def messages(self, query: Query, /) -> tuple[Turn, ...]:
        documents = "\n".join(passage.text for passage in query.passages or ())
        return (Turn("system", documents), Turn("user", query.question))


QUERY = Query(question="Who?", passages=(Passage(id="positive:0", text="It was Quill."),), repeat=2)


async def test_the_model_is_asked_what_the_template_makes_of_the_query() -> None:
    model = Scripted(lambda _: "Quill")
    await Reader(model, Plain()).answer(QUERY)
    turns = (Turn("system", "It was Quill."), Turn("user", "Who?"))
    assert model.requests == [Request(messages=turns, sampling=Sampling(temperature=0.2), sample=2)]


async def test_the_response_holds_all_that_the_completion_said() -> None:
    usage = Usage(prompt_tokens=5, completion_tokens=1, requests=1)
    full = Completion("Quill", reasoning="Hm.", finish_reason="length", usage=usage, model="m-2024", seconds=0.5)
    response = await Reader(Scripted(lambda _: full), Plain()).answer(QUERY)
    assert response == Response(
        answer="Quill", usage=usage, seconds=0.5, reasoning="Hm.", finish_reason="length", model="m-2024"
    )


async def test_an_error_of_the_model_is_the_systems() -> None:
    with pytest.raises(RateLimited):
        await Reader(Scripted(lambda _: RateLimited("no")), Plain()).answer(QUERY)


def test_what_a_reader_is_made_of_is_its_spec() -> None:
    model = Scripted(lambda _: "x", id="scripted/a")
    reader = Reader(model, Plain())
    assert isinstance(reader, System)
    assert (reader.id, Reader(model, Plain(), id="other").id) == ("scripted/a", "other")
    assert reader.spec == {
        "kind": "reader", "model": "scripted/a", "template": {"name": "plain", "version": 1},
        "sampling": {"temperature": 0.2},
    }  # fmt: skip
    specs = [
        reader.spec,
        Reader(model, Plain(name="other")).spec,
        Reader(model, Plain(), Sampling(temperature=0.7)).spec,
        Reader(model, Plain(), Sampling()).spec,
        Reader(Scripted(lambda _: "x", id="scripted/b"), Plain()).spec,
        Reader(model, Plain(), endpoint="http://h/v1").spec,
    ]
    assert all(specs.count(spec) == 1 for spec in specs)


async def test_a_chat_models_name_opens_a_reader(tmp_path: Path) -> None:
    async with FakeEndpoint() as endpoint:
        options = ModelOptions(base_url=f"{endpoint.base_url}/chat/completions?x=geheim")
        async with open_system(
            "compat/m", template=Plain(), sampling=Sampling(max_tokens=4), options=options
        ) as system:
            assert system.id == "compat/m"
            assert system.spec["endpoint"] == f"{endpoint.base_url}?x=***"
            assert (await system.answer(QUERY)).answer.startswith("answer ")
        assert endpoint.seen[0].body["max_tokens"] == 4
    file = tmp_path / "s.jsonl"
    file.write_text('{"default": "x"}')
    async with open_system(f"scripted/{file}", template=Plain(), options=options) as system:
        assert "endpoint" not in system.spec


async def test_the_extractive_baseline_is_a_system_of_that_name() -> None:
    pytest.importorskip("ragstone.systems.extractive")
    async with open_system("local/extractive", template=Plain()) as system:
        assert isinstance(system, System)
        assert system.id == "local/extractive"
        passages = (Passage(id="positive:0", text="The mayor of Marvelton is Tessa Quill. It snowed."),)
        query = Query(question="Who is the mayor of Marvelton?", passages=passages, language="en")
        assert "Quill" in (await system.answer(query)).answer


class Pipeline:
    id = "my-pipeline"
    spec: Mapping[str, Any] = {"kind": "mine"}

    async def answer(self, query: Query, /) -> Response:
        return Response(answer="mine")


async def test_a_system_of_another_package_is_one_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(group: str, name: str) -> EntryPoints:
        assert group == "ragstone.systems"
        known = {"my-pipeline": f"{__name__}:Pipeline", "nothing": "builtins:object"}
        return EntryPoints([EntryPoint(name, known[name], group)] if name in known else [])

    monkeypatch.setattr(ragstone.systems, "entry_points", found)
    monkeypatch.setattr(EntryPoint, "load", lambda self: Pipeline if self.name == "my-pipeline" else object)
    async with open_system("my-pipeline", template=Plain()) as system:
        assert (await system.answer(QUERY)).answer == "mine"
    with pytest.raises(UsageError, match="cannot be asked"):
        async with open_system("nothing", template=Plain()):
            pass
    with pytest.raises(UsageError, match=r"app\.py is a file: name the object in it, too, for example app\.py:ask"):
        async with open_system("app.py", template=Plain()):
            pass
    with pytest.raises(UnknownName, match="openai"):
        async with open_system("opnai/gpt-4o", template=Plain()):
            pass
