"""A system with an answer cache is measured as its users meet it: what they ask comes first, and what a probe invented
never counts as an answer."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from tests.diagnosis.test_diagnose_verified import LANGUAGES, REFUSAL, SIZE, World, rows
from tests.servers.threaded import ThreadedServer, serving

from ragstone import merge
from ragstone.diagnosis.diagnose import DiagnosisResult, diagnose, diagnose_async
from ragstone.evaluation.system_check import check_system
from ragstone.systems.http import HttpTarget

BODY = '{"question": "{question}", "passages": "{passages}", "k": "{k}"}'
DEPOTS = ("Quolvar", "夸尔瓦")


class Caching(World):
    """A pipeline that keeps whole responses by the last `end` characters of a question, or by all of it. `fragile`: its
    model finds nothing in a question with other words around it."""

    def __init__(self, language: str, end: int | None = None, *, fragile: bool = False) -> None:
        super().__init__(language)
        self.end, self.fragile, self.cache, self.asked = end, fragile, dict[str, Any](), list[dict[str, Any]]()

    def read(self, question: str, texts: list[str]) -> str:
        invented = [text for text in texts if any(depot in text and depot in question for depot in DEPOTS)]
        framed = self.fragile and question not in {row["question"] for row in rows(self.language)}
        return invented[0] if invented else REFUSAL[self.language] if framed else super().read(question, texts)

    def ask(self, question: str, passages: list[str] | None = None, k: int | None = None) -> Any:
        self.asked.append({"question": question, "passages": passages, "k": k})
        key = question if self.end is None else question[-self.end :]
        if key not in self.cache:
            texts = self.found(question, k or 3) if passages is None else passages
            self.cache[key] = {"answer": self.read(question, texts), "contexts": texts}
        return self.cache[key]


@contextmanager
def served(world: Caching) -> Iterator[HttpTarget]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            data = json.dumps(world.ask(body["question"], body.get("passages"), body.get("k"))).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: Any) -> None:
            pass

    with serving(ThreadedServer(Handler)) as address:
        yield HttpTarget(f"{address}/ask", body=BODY, name="service")


def assert_healthy(result: DiagnosisResult) -> None:
    assert (result.waterfall().as_is.value, result.waterfall().as_is.n) == (1.0, SIZE)
    assert {cause.name for cause in result.causes().values()} == {"healthy"}
    assert (result.fixes(), result.alarms()) == ([], ())


@LANGUAGES
def test_a_healthy_system_that_caches_by_the_whole_question_is_healthy(language: str, tmp_path: Path) -> None:
    with served(Caching(language)) as service:
        assert_healthy(diagnose(rows(language), service, run=tmp_path / "http.run"))
    world = Caching(language)
    assert_healthy(diagnose(rows(language), world.ask, run=tmp_path / "function.run"))
    assert_healthy(diagnose(rows(language), world.ask, run=tmp_path / "again.run"))


@LANGUAGES
@pytest.mark.parametrize("fragile", [False, True])
def test_the_answer_and_the_passages_of_another_question_are_those_of_a_cache(
    fragile: bool, language: str, tmp_path: Path
) -> None:
    """Also where the model does not understand the question with other words around it: its passages tell."""
    world = Caching(language, 3 if language == "en" else 6, fragile=fragile)
    with served(world) as service:
        result = diagnose(rows(language), service, run=tmp_path / "short.run")
    wrong = [item for item in result.questions if item.right("as_is") == 0]
    assert len(wrong) == 6  # 20 to 25 end like 10 to 15
    assert {(item.cause.name, item.lost, item.cause.also) for item in wrong} == {("cached_answer", "", ())}
    assert [step.lost for step in result.waterfall().steps] == [()] * 4
    (fix,) = result.fixes()
    assert (fix.cause, fix.change, fix.failed) == ("cached_answer", "" if fragile else "reworded", ())
    assert [effect.condition for effect in fix.shown[:1]] == ["as_is" if fragile else "reworded"]


@LANGUAGES
def test_questions_with_the_same_passages_and_the_same_wrong_answer_are_no_cache(language: str, tmp_path: Path) -> None:
    """A search that loses the passages of some questions and returns the same ones for all of them."""
    world = World(language, lost=lambda n: n >= 20)

    def ask(question: str) -> Any:
        number = world.number(question) or 0
        texts = world.found(question) if number < 20 else world.found(rows(language)[0]["question"])
        return {"answer": world.read(question, texts) if number < 20 else "310", "contexts": texts}

    causes = diagnose(rows(language), ask, run=tmp_path / "lost.run").causes()
    assert {causes[f"q{n}"].lost for n in range(20, 26)} == {"rewriting"}, "it sees no word of these questions"
    assert "cached_answer" not in {cause.name for cause in causes.values()}


@LANGUAGES
def test_every_question_is_asked_as_it_is_before_anything_else_and_probes_use_one_of_the_same_part(
    language: str, tmp_path: Path
) -> None:
    questions = {row["question"] for row in rows(language)}
    parts = []
    for part in (1, 2):
        world = Caching(language)
        size = len(diagnose(rows(language), world.ask, run=tmp_path / f"{part}.run", shard=f"{part}/2").questions)
        first = {one["question"] for one in world.asked[:size]}
        assert all(one["passages"] is None and one["k"] is None for one in world.asked[:size])
        assert {one["question"] for one in world.asked} & questions == first
        assert any(one["passages"] == [] for one in world.asked[size:])
        parts.append(first)
    assert parts[0] | parts[1] == questions
    merge([tmp_path / "1.run", tmp_path / "2.run"], tmp_path / "whole.run")
    world = Caching(language)
    assert_healthy(diagnose(rows(language), world.ask, run=tmp_path / "whole.run"))
    assert not any(DEPOTS[language == "zh"] in one["question"] for one in world.asked), "parts know what it takes"


@LANGUAGES
def test_questions_that_failed_are_asked_as_they_are_before_conditions_of_the_others(
    language: str, tmp_path: Path
) -> None:
    failing = Caching(language)

    def broken(question: str, passages: list[str] | None = None) -> Any:
        if passages is not None or failing.number(question) in range(18, 26):
            raise RuntimeError("out of memory")
        return failing.ask(question)

    diagnose(rows(language), broken, run=tmp_path / "d.run")
    assert not any(one["passages"] == [] for one in failing.asked)
    world = Caching(language)

    def mended(question: str, passages: list[str] | None = None) -> Any:
        return world.ask(question, passages)

    mended.__name__, mended.__qualname__, mended.__module__ = broken.__name__, broken.__qualname__, broken.__module__
    assert_healthy(diagnose(rows(language), mended, run=tmp_path / "d.run"))
    assert {world.number(one["question"]) for one in world.asked[:8]} == set(range(18, 26))


@LANGUAGES
async def test_what_a_probe_invented_is_named_and_does_not_count_as_an_answer(language: str, tmp_path: Path) -> None:
    data = rows(language)
    data[0]["question"] = "How high is tower 10x near the depot?" if language == "en" else "塔10号的门禁号码是多少？"
    end = 6 if language == "en" else 7

    def view(result: DiagnosisResult) -> dict[str, Any]:
        with result.open() as opened:
            records = [*opened.benchmark.view(opened.run).records(texts=False)]
            return {record.case.sample.id: record.scores["answer_match"].value for record in records}

    clean = await diagnose_async(data, Caching(language, end).ask, run=tmp_path / "clean.run")
    assert_healthy(clean)
    assert set(view(clean).values()) == {1.0}
    world = Caching(language, end)
    (tmp_path / "some.jsonl").write_text("\n".join(map(json.dumps, data[1:3])), encoding="utf-8")
    await check_system(world.ask, tmp_path / "some.jsonl")
    result = await diagnose_async(data, world.ask, run=tmp_path / "marked.run", language=language)
    assert {name: cause.name for name, cause in result.causes().items() if cause.name != "healthy"} == {
        "q10": "cached_answer"
    }
    assert (result.waterfall().as_is.value, result.waterfall().as_is.n) == (1.0, SIZE - 1)
    assert [(alarm.name, alarm.n, alarm.total) for alarm in result.alarms()] == [("probed", 1, SIZE)]
    assert {name for name, value in view(result).items() if value is None} == {"q10"}
    assert ("invented" if language == "en" else "虚构") in str(result)


def test_a_system_that_answers_nothing_is_not_probed(tmp_path: Path) -> None:
    asked = []

    def ask(question: str, passages: list[str] | None = None) -> str:
        asked.append(passages)
        raise RuntimeError("out of memory")

    result = diagnose(rows("en"), ask, run=tmp_path / "d.run")
    assert asked == [None] * SIZE
    assert result.outcome.failed == SIZE
