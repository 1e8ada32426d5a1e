"""The four testbeds as cases: which there are, what they hold, and that the same options give the same bytes."""

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from tests.planless import Planless

from ragstone.benchmarks import BENCHMARKS
from ragstone.benchmarks.rgb.benchmark import RGB
from ragstone.benchmarks.rgb.selection import PassageChoice, official
from ragstone.datasets.rgb import RGBRow, RGBSet, read_rgb, rgb_files, rgb_set
from ragstone.errors import UnknownName, UsageError
from ragstone.metrics.rgb_official import RgbOfficial
from ragstone.structs import from_json, to_json
from ragstone.systems.template import OFFICIAL, PAPER, joined
from ragstone.types import Benchmark, Case, Record, Resources, Response

SHARED = Path(__file__).parents[4] / "shared" / "data" / "rgb"
official_data = pytest.mark.skipif(not SHARED.is_dir(), reason="the official RGB files are not beside the repository")


def base(name: str, count: int = 3, documents: int = 6) -> RGBSet:
    rows = [
        {
            "id": i,
            "query": f"Who won {i}?",
            "answer": [[f"Anna {i}", f"A. {i}"]],
            "positive": [f"Anna {i} won, {j}." for j in range(documents)],
            "negative": [f"Ben lost {j}." for j in range(documents)],
            "kinds": {"negative:0": "rumour"},
        }
        for i in range(count)
    ]
    return rgb_set(name, rows)


def integration(name: str, count: int = 2) -> RGBSet:
    rows = [
        {
            "id": f"q{i}",
            "query": "Who won, and when?",
            "answer": ["Anna", "Monday"],
            "positive": [[f"Anna {j}." for j in range(3)], [f"Monday {j}." for j in range(3)]],
            "negative": [f"Ben {j}." for j in range(5)],
        }
        for i in range(count)
    ]
    return rgb_set(name, rows)


def counterfactual(name: str, count: int = 2, documents: int = 5, fake: str = "80") -> RGBSet:
    rows = [
        {
            "id": i,
            "query": "How many seats?",
            "answer": "70",
            "fakeanswer": fake,
            "positive": [f"70 seats, {j}." for j in range(documents)],
            "positive_wrong": [f"{fake} seats, {j}." for j in range(documents)],
            "negative": [f"Seats {j}." for j in range(5)],
        }
        for i in range(count)
    ]
    return rgb_set(name, rows)


def everything() -> dict[str, RGBSet]:
    sets = [base("en"), base("en_refine"), base("zh"), integration("en_int"), integration("zh_int")]
    sets += [counterfactual("en_fact"), counterfactual("zh_fact")]
    return {data.name: data for data in sets}


def blocks(benchmark: RGB) -> Counter[str]:
    return Counter(case.id.rsplit("/", 1)[0] for case in benchmark.cases())


def test_the_default_grid_is_the_papers() -> None:
    found = blocks(RGB(everything()))
    expected = {
        f"noise/{name}/{ratio}": 3 for name in ("en_refine", "zh") for ratio in ("0", "0.2", "0.4", "0.6", "0.8")
    }
    expected |= {f"rejection/{name}/1": 3 for name in ("en_refine", "zh")}
    expected |= {f"integration/{name}/{ratio}": 2 for name in ("en_int", "zh_int") for ratio in ("0", "0.2", "0.4")}
    expected |= {f"counterfactual/{name}/{what}": 2 for name in ("en_fact", "zh_fact") for what in ("0", "closed")}
    assert found == expected


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"limit": 1, "repeat": 3},
        {"languages": ["zh"], "abilities": ["noise", "rejection"], "noise_ratios": [0.5, 0, 1]},
        {"passages": 0},
        {"selection": "official", "passages": 10, "correct_rate": 0.3},
        {"closed_book": False},
        {"dataset": "en", "noise_ratios": [0.7]},
    ],
)
def test_the_length_is_the_number_of_cases_and_ids_are_unique_and_bytes_the_same(options: dict[str, Any]) -> None:
    cases = list(RGB(everything(), **options).cases())
    assert RGB(everything(), **options).size == len(cases) > 0
    assert len({case.id for case in cases}) == len(cases)
    assert [to_json(case) for case in cases] == [to_json(case) for case in RGB(everything(), **options).cases()]
    assert [from_json(to_json(case), Case) for case in cases] == cases


def test_a_case_says_what_was_asked_and_holds_what_is_shown() -> None:
    case = next(case for case in RGB(everything(), noise_ratios=[0.4]).cases() if case.id == "noise/en_refine/0.4/0001")
    assert (case.sample.id, case.sample.question, case.sample.language) == ("en_refine:1", "Who won 1?", "en")
    assert case.sample.references == (("Anna 1", "A. 1"),)
    assert case.sample.passages == ()
    assert case.sample.meta == {"fake": [], "kinds": {"negative:0": "rumour"}}
    passages = case.query.passages
    assert passages is not None
    first = next(place for place, passage in enumerate(passages, start=1) if passage.relevant)
    assert case.condition == {
        "ability": "noise", "dataset": "en_refine", "language": "en", "noise_ratio": 0.4, "correct_rate": 0.0,
        "passages": 5, "documents": 5, "first_relevant": first, "closed_book": False, "selection": "balanced",
        "repeat": 0,
    }  # fmt: skip
    assert sorted(passage.id for passage in passages) == [
        "negative:0", "negative:1", "positive:0", "positive:1", "positive:2",
    ]  # fmt: skip
    assert {passage.id: passage.meta for passage in passages}["negative:0"] == {"kind": "rumour"}
    assert case.query.question == "Who won 1?"


def test_for_rejection_no_document_states_the_answer() -> None:
    cases = list(RGB(everything(), abilities=["rejection"]).cases())
    assert len(cases) == 6
    for case in cases:
        assert case.query.passages is not None
        assert [passage.relevant for passage in case.query.passages] == [False] * 5
        assert (case.condition["noise_ratio"], case.condition["first_relevant"]) == (1.0, 0)


def test_counterfactual_questions_are_asked_with_false_texts_and_closed_book() -> None:
    cases = {case.id: case for case in RGB(everything(), abilities=["counterfactual"], languages=["en"]).cases()}
    shown, closed = cases["counterfactual/en_fact/0/0000"], cases["counterfactual/en_fact/closed/0000"]
    assert shown.query.passages is not None
    assert {passage.id.split(":")[0] for passage in shown.query.passages} == {"wrong"}
    assert shown.sample.meta["fake"] == ["80"]
    assert closed.query.passages == ()
    assert closed.condition["closed_book"] is True
    assert (closed.condition["passages"], closed.condition["documents"]) == (0, 0)
    assert shown.condition["closed_book"] is False


def test_repeats_have_ids_and_numbers_of_their_own() -> None:
    cases = list(RGB({"en": base("en", 1)}, dataset="en", repeat=3).cases())
    assert [case.id for case in cases] == ["noise/en/0/0000", "noise/en/0/0000/r1", "noise/en/0/0000/r2"]
    assert [case.query.repeat for case in cases] == [0, 1, 2]
    assert cases[0].query.passages == cases[1].query.passages == cases[2].query.passages


def test_the_limit_and_the_grid_may_grow_and_give_the_same_cases_and_the_same_question() -> None:
    small = RGB(everything(), limit=1, noise_ratios=[0.2], abilities=["noise"], languages=["en"])
    large = RGB(everything(), repeat=2)
    cases = {case.id: to_json(case) for case in large.cases()}
    assert all(cases[case.id] == to_json(case) for case in small.cases())
    assert small.question == large.question


@pytest.mark.parametrize(
    "options", [{"selection": "official"}, {"passages": 4}, {"correct_rate": 0.2}, {"seed": 1}]
)  # fmt: skip
def test_what_changes_the_cases_changes_the_question(options: dict[str, Any]) -> None:
    assert RGB(everything(), **options).question != RGB(everything()).question
    assert RGB(everything() | {"zh": base("zh", 2)}).question != RGB(everything()).question


@pytest.mark.parametrize(("ratio", "ability"), [(0, "noise"), (0.35, "noise"), (1, "rejection")])
@pytest.mark.parametrize("selection", ["balanced", "official"])
def test_one_data_set_gives_one_case_a_row_at_any_ratio(ratio: float, ability: str, selection: str) -> None:
    cases = list(RGB(everything(), dataset="en", noise_ratios=[ratio], selection=selection).cases())
    assert [case.sample.id for case in cases] == ["en:0", "en:1", "en:2"]
    assert {case.condition["ability"] for case in cases} == {ability}
    fact = list(RGB(everything(), dataset="zh_fact", noise_ratios=[ratio], selection=selection).cases())
    assert [case.query.passages == () for case in fact] == [False, False]
    assert all(case.id.startswith("counterfactual/zh_fact/") for case in fact)


@official_data
def test_official_cases_of_the_official_data_are_the_programs() -> None:
    data = read_rgb(rgb_files(SHARED)["zh_refine"])
    benchmark = RGB({data.name: data}, dataset="zh_refine", noise_ratios=[0.4], selection="official", template=OFFICIAL)
    cases = list(benchmark.cases())
    assert [case.sample.id for case in cases] == [f"zh_refine:{i}" for i in range(300)]
    for case, row in zip(cases, data.rows, strict=True):
        assert case.query.passages is not None
        assert [passage.id for passage in case.query.passages] == official(row, "base", 0, PassageChoice(5, 0.4))
    turns = benchmark.template.messages(cases[0].query)
    assert cases[0].query.passages is not None
    documents = "\n".join(passage.text for passage in cases[0].query.passages)
    assert turns[-1].content == f"文档：\n{documents} \n\n问题：\n{data.rows[0].query}"
    assert [turn.role for turn in turns] == ["system", "user"]


def test_ids_stand_in_natural_order_when_sorted_as_text() -> None:
    cases = [case.id for case in RGB({"en": base("en", 12_000, 1)}, dataset="en", passages=1, limit=10_500).cases()]
    assert cases == sorted(cases)
    assert cases[-1].endswith("/10499")


def test_cases_of_a_huge_set_are_made_as_they_are_asked_for() -> None:
    class Watched(tuple[RGBRow, ...]):
        """Rows that count how many of them were looked at."""

        looked_at = 0

        def __iter__(self) -> Iterator[RGBRow]:
            for row in super().__iter__():
                Watched.looked_at += 1
                yield row

        def __getitem__(self, key: Any) -> Any:
            found = super().__getitem__(key)
            return Watched(found) if isinstance(key, slice) else found

    one = base("en", 1)
    many = RGBSet("en", "en", "base", Watched(one.rows * 10_000), one.sha256)
    benchmark = RGB({"en": many})
    assert benchmark.size == 60_000
    assert len(list(islice(benchmark.cases(), 3))) == 3
    assert Watched.looked_at <= 4


def test_a_run_can_be_read_without_its_data() -> None:
    made = RGB(everything(), noise_ratios=[0.2], selection="official", template=OFFICIAL, limit=2, data_name="official")
    meta: Mapping[str, Any] = {"options": json.loads(json.dumps(made.options)), "question": made.question}
    read = RGB.from_meta(meta)
    assert read.options == made.options
    assert list(read.cases()) == []
    assert read.size == 0
    assert read.warnings == []
    assert read.template == made.template
    assert RGB.from_meta({}).options == RGB({}).options


def test_a_template_of_ones_own_survives_in_the_options() -> None:
    made = RGB({}, template=joined(PAPER))
    read = RGB.from_meta({"options": json.loads(json.dumps(made.options))})
    assert read.template.spec == joined(PAPER).spec
    assert RGB.from_meta({"options": {"template": {"kind": "unknown"}}}).template is PAPER


async def test_the_prepared_hash_is_of_the_data() -> None:
    resources = Resources()
    assert await RGB(everything()).prepare(resources) == await RGB(everything(), limit=1).prepare(resources)
    assert await RGB(everything()).prepare(resources) != await RGB({"en": base("en")}).prepare(resources)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"languages": ["de"]}, "No language named 'de'"),
        ({"abilities": ["nose"]}, "No ability named 'nose'. Did you mean 'noise'"),
        ({"selection": "balance"}, "Did you mean 'balanced'"),
        ({"scoring": "offical"}, "Did you mean 'official'"),
        ({"dataset": "en_refined"}, "Did you mean 'en_refine'"),
    ],
)
def test_an_unknown_name_is_told_with_the_nearest_one(options: dict[str, Any], says: str) -> None:
    with pytest.raises(UnknownName, match=says):
        RGB(everything(), **options)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"noise_ratios": [0.2, 1.5]}, "noise ratio of 1.5"),
        ({"correct_rate": 2}, "share of correct passages of 2"),
        ({"passages": -1}, "expected 0 or more"),
        ({"limit": 0}, "limit of 0"),
        ({"repeat": 0}, "0 repeats"),
        ({"dataset": "en", "noise_ratios": [0, 0.2]}, "give a single noise ratio"),
        ({"dataset": "en_fact", "noise_ratios": [0.8], "correct_rate": 0.6}, "do not fit into 5"),
        ({"sets": {"en_int": integration("en_int")}, "abilities": ["noise"]}, "No data set for noise"),
    ],
)
def test_an_option_that_cannot_be_is_told_at_once(options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        RGB(**({"sets": everything()} | options))


def test_testbeds_without_data_and_questions_with_too_few_documents_are_told() -> None:
    sets = {"en": base("en", 3, documents=4), "en_fact": counterfactual("en_fact", 2, documents=2, fake="170")}
    warnings = RGB(sets, languages=["en"]).warnings
    assert warnings[0] == "No integration set in 'en': integration is skipped there."
    assert any(
        line.startswith("en, noise at noise 0: 3 of 3 questions have fewer than 5 suitable documents")
        for line in warnings
    )
    assert any(line.startswith("en_fact, counterfactual at noise 0: 2 of 2 questions") for line in warnings)
    assert any("the false answer contains the true one" in line and "(ids 0, 1)" in line for line in warnings)
    filled = RGB(sets, languages=["en"], abilities=["noise"], noise_ratios=[0], selection="official").warnings
    assert [
        line for line in filled if "the other kind fills the gap, which changes the noise ratio (ids 0, 1, 2)" in line
    ]
    assert RGB(everything()).warnings == []


@official_data
def test_the_questions_of_en_fact_that_have_too_few_documents_are_told() -> None:
    data = read_rgb(rgb_files(SHARED)["en_fact"])
    short = sum(len(row.positive_wrong) < 5 for row in data.rows)
    (line,) = RGB({"en_fact": data}, dataset="en_fact").warnings
    assert f"{short} of 100 questions have fewer than 5 suitable documents and get fewer" in line
    given = Counter(case.condition["documents"] for case in RGB({"en_fact": data}, dataset="en_fact").cases())
    assert given == Counter(min(5, len(row.positive_wrong)) for row in data.rows)


def test_rgb_is_a_benchmark_and_is_found_by_its_name() -> None:
    benchmark: Benchmark = RGB(everything())
    assert isinstance(BENCHMARKS.get("rgb").from_meta({}), RGB)
    assert (benchmark.name, benchmark.version) == ("rgb", 1)
    assert [metric.name for metric in benchmark.metrics] == [
        "answer_match",
        "rgb.binding",
        "refusal",
        "error_detection",
        "rgb.official",
    ]
    assert "2309.01431" in benchmark.citation
    assert RGB({}, data_name="official").license == "CC BY-NC-SA 4.0"
    assert RGB({}, data_name="/my/data").license == ""


class Answered(Planless):
    """A run in which everybody answers "Anna 0" to every case of a benchmark."""

    def __init__(self, benchmark: RGB) -> None:
        self.benchmark = benchmark
        self.meta: Mapping[str, Any] = {"options": benchmark.options}
        self.systems: Mapping[str, Mapping[str, Any]] = {"one": {}}

    def records(
        self, *, system: str | None = None, cases: Collection[str] | None = None, texts: bool = True
    ) -> Iterator[Record]:
        official = RgbOfficial()
        for case in self.benchmark.cases():
            response = Response("It was Anna 0.")
            yield Record("one", case, response, scores={official.name: official.score(case, response)})


@pytest.mark.parametrize("language", ["en", "zh"])
def test_tables_charts_and_findings_come_from_the_benchmark_alone(language: str) -> None:
    run = Answered(RGB(everything(), scoring="official", limit=1))
    read = RGB.from_meta(run.meta)
    tables = read.tables(run, language=language)
    assert {len(row.cells) - len(table.columns) for table in tables for row in table.rows} == {0}
    assert len(tables) >= 4
    assert read.charts(run, language=language)
    findings = [read.explain(record, language=language) for record in run.records()]
    assert {finding.right for finding in findings} == {True, False}
