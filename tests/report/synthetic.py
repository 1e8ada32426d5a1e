# ruff: noqa: E501, ISC004  the stories stand on one line each
"""A run and a benchmark in memory, small or large, tame or hostile, for the tests of the report."""

import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.planless import Planless

from ragstone.benchmarks.base import BaseBenchmark
from ragstone.display import Cell, Chart, Diagnosis, Point, Row, Series, Span, Table
from ragstone.types import (
    Aggregate,
    Case,
    Metric,
    Passage,
    Query,
    Record,
    Resources,
    Response,
    Run,
    Sample,
    Sampling,
    Score,
    Turn,
    Usage,
)

RATIOS = (0.0, 0.2, 0.4, 0.6, 0.8)
SYSTEMS = ("local/extractive", "local/smollm2")


@dataclass(frozen=True)
class MemoryRun(Planless):
    """A run whose records are made anew at every reading, as a file's are."""

    make: Callable[[], Iterable[Record]]
    meta: Mapping[str, Any] = field(default_factory=dict)
    systems: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def records(
        self, *, system: str | None = None, cases: Collection[str] | None = None, texts: bool = True
    ) -> Iterator[Record]:
        return (
            record
            for record in self.make()
            if system in (None, record.system_id) and (cases is None or record.case.id in cases)
        )


@dataclass(frozen=True)
class PlainTemplate:
    name: str = "paper"
    sampling: Sampling = Sampling(temperature=0.2, max_tokens=256)  # noqa: RUF009  immutable

    @property
    def spec(self) -> Mapping[str, Any]:
        return {"name": self.name}

    def messages(self, query: Query, /) -> tuple[Turn, ...]:
        return (Turn("user", query.question),)


@dataclass(frozen=True)
class SmallBenchmark(BaseBenchmark):
    """Right where `answer_match` is 1. The match is highlighted in the answer and in the passages."""

    name: str = "rgb"
    version: int = 1
    license: str = "CC BY-NC-SA 4.0 (the official data); the fictional data have none"
    citation: str = (
        "Chen, Lin, Han, Sun: Benchmarking Large Language Models in Retrieval-Augmented Generation. AAAI 2024."
    )
    template: PlainTemplate = PlainTemplate()
    metrics: tuple[Metric, ...] = ()
    aggregates: tuple[Aggregate, ...] = ()
    hostile: str = ""

    @property
    def question(self) -> Mapping[str, Any]:
        return {"benchmark": self.name}

    async def prepare(self, resources: Resources, /) -> str:
        return ""

    def cases(self) -> Iterable[Case]:
        return ()

    def tables(self, run: Run, /, *, language: str = "en") -> list[Table]:
        columns = ("Model", "Language", *(f"{ratio:g}" for ratio in RATIOS))
        if language == "zh":
            columns = ("模型", "语言", *(f"{ratio:g}" for ratio in RATIOS))
        rows = [
            Row(
                (
                    Cell(text=system + self.hostile),
                    Cell(text=lang),
                    *(_cell(0.92 - 0.3 * ratio - 0.2 * n) for ratio in RATIOS),
                )
            )
            for n, system in enumerate(run.systems)
            for lang in ("English", "中文")
        ]
        published = Row(
            (
                Cell(text="ChatGPT"),
                Cell(text="English"),
                *(Cell(value=v, unit="%") for v in (0.9633, 0.9467, 0.94, 0.9, 0.76)),
            ),
            published=True,
        )
        title = "表 1：噪声鲁棒性（准确率）" if language == "zh" else "Table 1: noise robustness (accuracy)"
        notes = ("The drop from 0 is first significant at 0.6 (exact McNemar, Holm)." + self.hostile,)
        wordy = Table(
            "failed", "Where it failed" + self.hostile, ("Model", "Note"), (Row((Cell(text="a"), Cell(text="words " * 20, note=self.hostile))),)
        )  # fmt: skip
        return [Table("noise", title + self.hostile, columns, (*rows, published), notes, keys=2), wordy]

    def charts(self, run: Run, /, *, language: str = "en") -> list[Chart]:
        zh = language == "zh"
        abilities = ("噪声鲁棒性", "拒答", "信息整合", "反事实鲁棒性") if zh else (
            "Noise robustness", "Negative rejection", "Information integration", "Counterfactual robustness",
        )  # fmt: skip
        found = []
        for lang in ("English", "中文"):
            series = tuple(
                Series(s + self.hostile, tuple(_point(x, 0.85 - 0.17 * x - 0.12 * n) for x in range(4)))
                for n, s in enumerate(run.systems)
            )
            found.append(Chart(f"glance-{lang}", f"{'四项能力' if zh else 'The four abilities'} · {lang}", "bars", series, categories=abilities,
                               alt="Noise robustness is highest." + self.hostile))  # fmt: skip
        for lang in ("English", "中文"):
            curves = tuple(
                Series(s + self.hostile, tuple(_point(x, 0.92 - 0.3 * x - 0.2 * n) for x in RATIOS))
                for n, s in enumerate(run.systems)
            )
            papers = tuple(
                Series(name, tuple(Point(x, y - x * slope) for x in RATIOS), published=True)
                for name, y, slope in (
                    ("ChatGPT", 0.963, 0.2),
                    ("ChatGLM-6B", 0.937, 0.25),
                    ("Qwen-7B-Chat", 0.94, 0.3),
                    ("BELLE-7B-2M", 0.83, 0.4),
                )
            )
            found.append(Chart(f"noise-{lang}", f"{'噪声曲线' if zh else 'Noise curve'} · {lang}", "lines", curves + papers,
                               x_label=("噪声比例" if zh else "Share of noise") + self.hostile, y_label="", alt="It falls."))  # fmt: skip
        return found

    def explain(self, record: Record, /, *, language: str = "en") -> Diagnosis:
        condition = record.case.condition
        group = f"{condition.get('ability', '')} · {condition.get('language', '')}"
        if record.response is None:
            return Diagnosis(None, group, "error", "no answer")
        score = record.scores.get("answer_match")
        if score is None or score.value is None:
            return Diagnosis(None, group)
        alias = record.case.sample.references[0][0]
        spans = [
            Span(passage.id, found, found + len(alias), "match")
            for passage in record.case.query.passages or ()
            if (found := passage.text.find(alias)) >= 0
        ]
        if score.value:
            return Diagnosis(True, group, spans=tuple(spans))
        refused = "cannot answer" in record.response.answer
        span = Span("answer", 0, len(record.response.answer), "refusal" if refused else "wrong")
        cause, label = (
            ("refused", "refused although answerable") if refused else ("misled", "took a misleading passage")
        )
        if language == "zh":
            label = "能答而拒答" if refused else "被误导文档带偏"
        ratio = condition.get("noise_ratio", 0.0)
        weight = 2.0 - float(ratio) if refused else 1.0
        told = (
            "The documents state the answer; the model refused."
            if refused
            else "The answer is that of a document of noise."
        )
        return Diagnosis(False, group, cause, label + self.hostile, told + self.hostile, weight, (*spans, span))


def _cell(value: float) -> Cell:
    return Cell(value=value, low=value - 0.035, high=value + 0.03, scored=297, total=300, unit="%")


def _point(x: float, y: float) -> Point:
    return Point(x, y, max(0.0, y - 0.04), min(1.0, y + 0.035))


EN = (
    "The Lantern Prize for 2031 went to {name}, whose novel about a lighthouse keeper had divided the jury until the last evening. "
    "The ceremony in Port Ellery was moved indoors because of the storm.",
    "Bookmakers had made {other} the clear favourite for the Lantern Prize; one newspaper even printed the result a day too early.",
    "The Lantern Prize, founded in 1987, is given every second year. In 2029 it was won by {other}, and the sum was raised to 40,000 crowns.",
    "Port Ellery expects record numbers of visitors this summer. The ferry company has put on two further crossings a day.",
    "A jury of nine reads up to three hundred books for the prize. Its chair, {other}, called the shortlist the strongest in a decade.",
)
ZH = (
    "2031年度灯塔文学奖揭晓，{name}凭借一部描写守塔人的长篇小说获奖。颁奖典礼原定在埃勒里港露天举行，因风暴改在室内。",
    "赛前多家媒体看好{other}，一家报纸甚至提前一天刊登了获奖消息，后来不得不致歉。",
    "灯塔文学奖创立于1987年，每两年颁发一次。2029年的得主是{other}，奖金也在那一年提高到四万克朗。",
    "埃勒里港今夏游客预计再创新高，轮渡公司每天加开两班。",
    "评委会九人要读完近三百部作品。主席{other}称今年的入围名单是十年来最强的一届。",
)
NAMES_EN = ("Ida Marlowe", "Jonas Teller", "Ruth Okonedo-Vance", "Pavel Serrin")
NAMES_ZH = ("沈若川", "陆知微", "欧阳静岚", "顾长庚")


def records(count: int, systems: Iterable[str] = SYSTEMS, *, seed: int = 0, padding: int = 0) -> Iterator[Record]:
    """`count` records of each system, by system and then by case id, half English and half Chinese."""
    for number, system in enumerate(sorted(systems)):
        rng = random.Random(f"{seed}/{system}")
        for index in range(count):
            yield _record(system, index, rng, right=0.75 - 0.4 * number, padding=padding)


def _record(system: str, index: int, rng: random.Random, *, right: float, padding: int) -> Record:
    ability, lang = ("noise", "rejection", "integration", "counterfactual")[index % 4], ("en", "zh")[index // 4 % 2]
    ratio = RATIOS[index // 8 % 5]
    texts, names = (EN, NAMES_EN) if lang == "en" else (ZH, NAMES_ZH)
    name, other = rng.sample(names, 2)
    passages = tuple(
        Passage(
            id=f"positive:{i}" if i == 0 else f"negative:{i}", text=text.format(name=name, other=other) + " filler" * padding,
            relevant=i == 0, meta={"kind": ("plain", "rumour", "other_year", "related", "related")[i]},
        )
        for i, text in enumerate(texts)
    )  # fmt: skip
    question = (
        f"Who won the Lantern Prize in 2031? (question {index})"
        if lang == "en"
        else f"谁获得了2031年灯塔文学奖？（第{index}题）"
    )
    case = Case(
        id=f"{ability}/{lang}/{ratio}/{index:05d}",
        sample=Sample(f"{lang}:{index // 40}", question, ((name,),), language=lang, meta={"fake": [other]} if ability == "counterfactual" else {}),
        condition={"ability": ability, "language": lang, "noise_ratio": ratio, "closed_book": False},
        query=Query(question, passages, language=lang),
    )  # fmt: skip
    dice = rng.random()
    if index % 97 == 13:
        return Record(system, case, error=f"timed_out: no complete reply within 120 s (case {index})")
    good = dice < right
    refuses = dice > 0.9
    answer = "I cannot answer the question because of insufficient information." if refuses else (
        (f"It was {name}." if good else f"It was {other}.") if lang == "en" else (f"获奖者是{name}。" if good else f"获奖者是{other}。")
    )  # fmt: skip
    response = Response(
        answer, usage=Usage(420, 12, requests=1), finish_reason="length" if index % 61 == 7 else "stop",
        model=f"{system.rpartition('/')[2]}-2031-05", reasoning="Passage one names the winner." if index % 5 == 0 else "",
    )  # fmt: skip
    match = Score.of(float(good and not refuses), evidence={"slots": []})
    return Record(system, case, response, scores={"answer_match": match, "refusal": Score.of(float(refuses))})


def spec(system: str) -> dict[str, Any]:
    return {
        "kind": "reader",
        "model": system,
        "template": {"name": "paper"},
        "sampling": {"temperature": 0.2, "max_tokens": 256},
    }


META: Mapping[str, Any] = {
    "question": {
        "benchmark": "rgb", "version": 1, "selection": "balanced", "scoring": "default",
        "data": {"name": "fictional", "sha256": {"en_refine": "9f2c" * 16, "zh_refine": "41ab" * 16}},
        "template": {"name": "paper", "sha256": "77aa" * 16},
    },
    "versions": {"ragstone": "0.1.0", "python": "3.11.9"},
    "command": "ragstone bench rgb --model local/extractive --model local/smollm2 --run demo.ragstone",
}  # fmt: skip


def small_run(
    count: int = 3, systems: Iterable[str] = SYSTEMS, *, padding: int = 0, meta: Mapping[str, Any] = META
) -> MemoryRun:
    names = tuple(systems)
    return MemoryRun(lambda: records(count, names, padding=padding), meta, {name: spec(name) for name in names})
