"""A needle test through a retriever: what is found, what is answered, and both."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.benchmarks.factory import make, make_async

from ragstone.api import bench, read_run
from ragstone.benchmarks.niah.benchmark import NIAH
from ragstone.benchmarks.niah.contexts import BuiltContext
from ragstone.benchmarks.niah.needles import NeedleQuestion
from ragstone.benchmarks.niah.retrieved_context import RagSetting, Searcher, chunks_of
from ragstone.errors import UsageError
from ragstone.metrics.needle_retrieved import NeedleRetrieved
from ragstone.retrieval import open_retriever
from ragstone.text import estimate_tokens
from ragstone.types import Case, Passage, Query, Record, Response, Sample

GRID: Mapping[str, Any] = {"lengths": "600,1200", "depths": "0,50,100"}
NEEDLE = "The special number of Lima is 1234567."


class Reading:
    """Answers with all that it was given; so the rule finds what was retrieved."""

    id = "reading"
    spec: Mapping[str, Any] = {}
    seen = 0

    async def answer(self, query: Query, /) -> Response:
        self.seen = max(self.seen, sum(len(passage.text) for passage in query.passages or ()))
        return Response(" ".join(passage.text for passage in query.passages or ()) or "UNANSWERABLE")


def records(path: Path) -> list[Record]:
    with read_run(path) as run:
        return list(run.run.records())


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_model_gets_the_best_chunks_and_the_needle_among_them(language: str, tmp_path: Path) -> None:
    system = Reading()
    bench("niah", model=system, retrievers=["bm25"], chunks=[60], ks=[2], data_languages=[language],
          run=tmp_path / "n.run", **GRID)  # fmt: skip
    held = records(tmp_path / "n.run")
    assert len(held) == 8
    for record in held:
        control = record.case.condition["ability"] == "control"
        assert record.response is not None
        assert len(record.response.passages) == 2
        assert all(not passage.text and passage.score is not None for passage in record.response.passages)
        assert record.scores["needle.retrieved"].value == (None if control else 1.0)
        assert record.scores["needle.found"].value == (None if control else 1.0)
        assert any(passage.relevant for passage in record.response.passages) is not control
    assert system.seen < 1000  # characters: two chunks, not a context


def test_three_maps_and_the_share_of_both(tmp_path: Path) -> None:
    bench("niah", model=Reading(), retrievers=["bm25"], chunks=[60, 330], ks=[1], run=tmp_path / "n.run", **GRID)
    with read_run(tmp_path / "n.run") as run:
        maps = [chart.title for chart in run.benchmark.charts(run.run) if chart.kind == "heatmap"]
        summary = next(table for table in run.tables() if table.id == "niah-summary")
    assert [title.split(": ")[1].split(",")[0] for title in maps] == [
        "found by the retriever", "answered", "retrieved and answered"
    ] * 2  # fmt: skip
    assert "bm25, 330 × 1" in maps[0]
    assert [cell.value for cell in summary.rows[0].cells[-2:]] == [1.0, 1.0]


def test_retrieval_alone_needs_no_model(tmp_path: Path) -> None:
    bench("niah", model="local/retrieval", retrievers=["bm25"], run=tmp_path / "n.run", **GRID)
    with read_run(tmp_path / "n.run") as run:
        maps = [chart for chart in run.benchmark.charts(run.run) if chart.kind == "heatmap"]
        rows = next(table for table in run.tables() if table.id == "niah-lengths").rows
    assert len(maps) == 1
    assert [cell.value for cell in rows[0].cells[1:]] == [1.0, 1.0]


def test_the_whole_context_can_be_asked_beside_it(tmp_path: Path) -> None:
    bench("niah", model=Reading(), retrievers=["bm25"], whole=True, run=tmp_path / "n.run", **GRID)
    modes = [record.case.condition["mode"] for record in records(tmp_path / "n.run")]
    assert (modes.count("full"), modes.count("rag")) == (8, 8)


def test_only_the_mode_with_whole_contexts_needs_a_window_for_them() -> None:
    made = make("niah", retrievers=["bm25"], chunks=[100], ks=[3], lengths="20k", depths="50", window=2000)
    assert made.window < 2000
    with pytest.raises(UsageError, match="exceeds the window"):
        make("niah", retrievers=["bm25"], whole=True, lengths="20k", depths="50", window=2000)
    with pytest.raises(UsageError, match="--top-k"):
        make("niah", retrievers=["bm25"], chunks=[500], ks=[9], lengths="20k", depths="50", window=2000)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"retrievers": ["bm52"]}, "bm52"),
        ({"retrievers": ["run:x.trec"]}, "has no needles"),
        ({"retrievers": ["bm25"], "chunks": [0]}, "--chunk 0"),
        ({"retrievers": ["bm25"], "ks": [0]}, "ks: 0 is not in the range"),
    ],
)
def test_what_cannot_be_searched_is_told_before_anything_is_asked(options: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        make("niah", **GRID, **options)


def test_a_retriever_that_cannot_be_opened_is_told_before_the_first_cell(tmp_path: Path) -> None:
    system = Reading()
    with pytest.raises(UsageError, match="k1"):
        bench("niah", model=system, retrievers=["bm25(k1=-3)"], run=tmp_path / "n.run", **GRID)
    assert system.seen == 0


def test_a_dry_run_opens_no_retriever() -> None:
    made = make("niah", retrievers=["openai/text-embedding-3-small"], chunks=[100], ks=[2], **GRID)
    around = {cell.around for cell in made.cells}
    assert {made.prompt_tokens(case) - 200 for case in made.cases()} == around
    assert min(around) > 50  # of the template


def prompt_of(made: NIAH, query: Query) -> str:
    return "\n".join(turn.content for turn in made.template.messages(query))


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("count", [estimate_tokens, len, lambda text: len(text.encode())])
async def test_the_window_bounds_every_prompt_whoever_counts(
    language: str, count: Callable[[str], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragstone.models.tokenizers.estimate_tokens", count)  # chunks are cut by the estimate still
    made = await make_async("niah",
        retrievers=["bm25"], chunks=[40, 110], ks=[1, 7], data_languages=[language], needles=["number", "multi"],
        lengths="4k,12k", depths="0,100",
    )  # fmt: skip
    prompts = [count(prompt_of(made, await made.expand(case.query))) for case in made.cases()]
    assert 0.6 * made.window < max(prompts) + 128 <= made.window
    assert sum(map(made.prompt_tokens, made.cases())) == pytest.approx(sum(prompts), rel=0.25)


async def test_who_asks_for_the_same_search_waits_for_it_and_its_chunks_are_cut_once() -> None:
    searcher = Searcher()
    cut = []

    def pool() -> list[Passage]:
        cut.append(1)
        return [Passage("a", "Lima is a city."), Passage("b", "Bread is baked.")]

    rag = RagSetting("bm25", 60, 1)
    answers = await asyncio.gather(*(searcher.search("same", "Where is Lima?", pool, rag) for _ in range(4)))
    assert len(cut) == 1
    assert {found[0].id for found in answers} == {"a"}
    await searcher.search("same", "Where is Lima?", pool, rag)
    assert len(cut) == 1


async def test_few_contexts_are_in_memory_however_many_cases_are_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    held = most = 0

    def pool() -> list[Passage]:
        nonlocal held, most
        held += 1
        most = max(most, held)
        return [Passage("a", "Lima is a city.")]

    @asynccontextmanager
    async def opened(*given: Any, **options: Any) -> AsyncIterator[Any]:
        nonlocal held
        async with open_retriever(*given, **options) as retriever:
            yield retriever
        held -= 1

    monkeypatch.setattr("ragstone.benchmarks.niah.retrieved_context.open_retriever", opened)
    searcher = Searcher()
    asked = (searcher.search(number, "Where is Lima?", pool, RagSetting("bm25", 60, 1)) for number in range(20))
    assert len(await asyncio.gather(*asked)) == 20
    assert (held, most) == (0, 2)


async def test_a_search_that_fails_is_tried_again_and_goes_on_for_the_one_who_still_waits() -> None:
    searcher = Searcher()
    rag = RagSetting("bm25", 60, 1)
    begun, held = threading.Event(), threading.Event()

    def broken() -> list[Passage]:
        raise OSError("no memory")

    def slow() -> list[Passage]:
        begun.set()
        held.wait(5)
        return [Passage("a", "Lima is a city.")]

    with pytest.raises(OSError, match="no memory"):
        await searcher.search(1, "Where is Lima?", broken, rag)
    first, second = (asyncio.ensure_future(searcher.search(1, "Where is Lima?", slow, rag)) for _ in range(2))
    await asyncio.to_thread(begun.wait, 5)
    first.cancel()
    held.set()
    assert [one.id for one in await second] == ["a"]
    assert first.cancelled()


def test_a_needle_that_is_cut_in_two_is_there_where_both_parts_are() -> None:
    context = BuiltContext(f"One sentence. {NEEDLE} And another one.", (14,))
    parts = chunks_of(context, [NEEDLE], [0], 4, "en")
    cut = [part for part in parts if part.relevant]
    assert len(cut) > 1
    assert not parts[0].relevant
    assert retrieved(cut).value == 1.0
    assert retrieved(cut[:-1]).value == 0.0
    assert retrieved([]).value == 0.0


def retrieved(passages: list[Passage], wanted: tuple[int, ...] = (0,)) -> Any:
    meta = {"recipe": {"needles": [NEEDLE, "Another."], "wanted": list(wanted)}}
    case = Case("c", Sample("s", "?"), {}, Query("?", (Passage("haystack", "", meta=meta),)))
    return NeedleRetrieved().score(case, Response("", tuple(passages)))


def test_retrieved_is_a_share_of_the_needles_that_are_asked_for() -> None:
    whole = [Passage("a", "", meta={"needles": [[0, 0, len(NEEDLE)]]})]
    assert retrieved(whole, (0, 1)).value == 0.5
    assert retrieved(whole, ()).status == "not_applicable"
    case = Case("c", Sample("s", "?"), {}, Query("?", (Passage("haystack", "", meta={"recipe": {}}),)))
    assert NeedleRetrieved().score(case, Response("")).status == "not_applicable"


def test_of_several_facts_those_asked_for_are_wanted_and_of_a_chain_both() -> None:
    several = NeedleQuestion("?", ("A is 1.", "B is 2.", "C is 3."), (("1",), ("3",)))
    assert several.places(["C is 3.", "X.", "A is 1.", "B is 2."]) == [0, 2]
    chain = NeedleQuestion("?", ("Lima sent Ana.", "Ana has 7."), (("7",),))
    assert chain.places(["Ana has 7.", "Lima sent Ana."]) == [0, 1]
