"""RGB as a benchmark: its four testbeds as cases.

| ability | sets | noise ratio | documents |
|---|---|---|---|
| noise | base | 0, 0.2, 0.4, 0.6, 0.8 | some state the answer, the rest mislead |
| rejection | base | 1 | none states the answer; the right reply is to decline |
| integration | integration | 0, 0.2, 0.4 | each part of the answer is in another document |
| counterfactual | counterfactual | 0 | all state a false answer; also asked without documents |

Source: Chen et al. 2024, sections 2.2 and 3.1. The module `selection` describes how documents are chosen.
"""

import dataclasses
import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import msgspec

from ragstone.benchmarks.base import BaseBenchmark
from ragstone.benchmarks.rgb import charts, diagnosis, summary, tables
from ragstone.benchmarks.rgb.aggregate import ABILITIES, SCORINGS
from ragstone.benchmarks.rgb.data import LANGUAGES
from ragstone.benchmarks.rgb.selection import SELECTIONS, PassageChoice, Selection, available, passages_of, shortage
from ragstone.datasets.rgb import Kind, RGBRow, RGBSet
from ragstone.datasets.sources import GENERATED_LICENSE
from ragstone.display import Chart, Diagnosis, Summary, Table
from ragstone.errors import UsageError, check_name
from ragstone.metrics.answer_match import AnswerMatch
from ragstone.metrics.error_detection import ErrorDetection
from ragstone.metrics.refusal import Refusal
from ragstone.metrics.rgb_binding import RgbBinding
from ragstone.metrics.rgb_official import RgbOfficial
from ragstone.systems.template import TEMPLATES, PromptTemplate, prompt_template
from ragstone.types import Case, Metric, Query, Record, Resources, Run, Sample, Template

__all__ = ["ABILITIES", "RGB"]

# Ability → the kind of its sets, and its noise ratios.
_TESTBEDS: Mapping[str, tuple[Kind, tuple[float, ...]]] = {
    "noise": ("base", (0.0, 0.2, 0.4, 0.6, 0.8)),
    "rejection": ("base", (1.0,)),
    "integration": ("integration", (0.0, 0.2, 0.4)),
    "counterfactual": ("counterfactual", (0.0,)),
}
_LISTED = 5  # ids listed in a warning
_VERDICT_TOKENS = 10  # {"verdict": "…"}
_ANSWER_TOKENS = 60  # of the answer that the judge reads


@dataclass(frozen=True)
class _Block:
    """The questions of one set under one condition."""

    ability: str
    data: RGBSet
    ratio: float
    closed_book: bool = False


@dataclass(frozen=True)
class RGB(BaseBenchmark):
    """The cases of RGB over these `sets` (by name, as returned by `datasets.rgb.read_rgb` or `rgb_set`).

    - `languages`, `abilities`: the testbeds. `noise_ratios`: overrides the paper's for noise and integration.
    - `passages`: documents per question; 0 asks without documents. `correct_rate`: in counterfactual sets, the share of
      documents that state the true answer. `selection`: "balanced" or "official" (see `selection`), with `seed`.
    - `scoring`: the scoring shown first, "default" or "official"; both are always computed.
    - `limit`: only the first N questions of each set. `repeat`: answers per case.
    - `closed_book`: also ask counterfactual questions without documents.
    - `dataset`: only this set, one case per row, at `noise_ratios[0]` (default 0), without closed-book cases.
    - `data_name`: the name of the data in a run: "fictional", "official", or a path.

    If both base sets of a language are present, the corrected one (`en_refine`, `zh_refine`) is used; the official
    selection, meant for comparison with the paper, uses the paper's (`en`, `zh`).
    Raises UsageError or UnknownName for an invalid option. Without sets there are no cases, but runs can be read.
    """

    name: ClassVar[str] = "rgb"
    version: ClassVar[int] = 1
    gives_passages: ClassVar[bool] = True
    citation: ClassVar[str] = (
        "Jiawei Chen, Hongyu Lin, Xianpei Han, Le Sun: Benchmarking Large Language Models in Retrieval-Augmented "
        "Generation. AAAI 2024. arXiv:2309.01431."
    )
    axes: ClassVar[tuple[str, ...]] = (
        "ability", "language", "dataset", "closed_book", "noise_ratio", "correct_rate",
    )  # fmt: skip
    leads: ClassVar[tuple[str, ...]] = ("rgb-summary", "rgb-table1", "rgb-table3", "rgb-table5", "rgb-table7")
    growing: ClassVar[tuple[str, ...]] = ("languages", "abilities", "noise_ratios", "limit", "repeat")

    sets: Mapping[str, RGBSet]
    languages: Sequence[str] = LANGUAGES
    abilities: Sequence[str] = ABILITIES
    noise_ratios: Sequence[float] | None = None
    passages: int = 5
    correct_rate: float = 0.0
    selection: str = "balanced"
    scoring: str = "default"
    template: Template = TEMPLATES["paper"]
    limit: int | None = None
    repeat: int = 1
    closed_book: bool = True
    seed: int = 2333
    dataset: str | None = None
    data_name: str = "fictional"

    def __post_init__(self) -> None:
        normalised = {
            "languages": _known_names("language", self.languages, LANGUAGES),
            "abilities": _known_names("ability", self.abilities, ABILITIES),
            "noise_ratios": None if self.noise_ratios is None else _checked_ratios(self.noise_ratios),
            "correct_rate": float(self.correct_rate),
        }
        for name, value in normalised.items():
            object.__setattr__(self, name, value)
        _known_names("selection", [self.selection], SELECTIONS)
        _known_names("scoring", [self.scoring], SCORINGS)
        PassageChoice(self.passages, 0.0, self.correct_rate, self.seed)  # raises if one of them is out of range
        if self.limit is not None and self.limit < 1:
            raise UsageError(f"A limit of {self.limit} questions: expected 1 or more.")
        if self.repeat < 1:
            raise UsageError(f"{self.repeat} repeats: expected 1 or more.")
        if self.sets and not self._blocks:
            requested = f"{', '.join(self.abilities)} in {', '.join(self.languages)}"
            raise UsageError(f"No data set for {requested}. There are: {', '.join(sorted(self.sets))}.")
        for block in self._blocks:  # incompatible shares fail here instead of at the first case
            if block.data.rows:
                self._select(block, 0, block.data.rows[0])

    @classmethod
    def from_meta(cls, meta: Mapping[str, Any]) -> Self:
        """The benchmark of an existing run, without cases. `meta["options"]` holds the saved `options`."""
        saved = meta.get("options")
        options = {key: value for key, value in (saved if isinstance(saved, dict) else {}).items() if key in _OPTIONS}
        spec = options.pop("template", "paper")
        try:
            template = prompt_template(spec) if isinstance(spec, str) else msgspec.convert(spec, PromptTemplate)
        except msgspec.ValidationError:  # a custom template; not needed to read a run
            template = TEMPLATES["paper"]
        return cls({}, template=template, **options)

    @property
    def options(self) -> dict[str, Any]:
        """The options as JSON values, without the sets, for `from_meta`. A custom template is stored in full."""
        name, spec = self.template.name, dict(self.template.spec)
        known = name in TEMPLATES and TEMPLATES[name].spec == spec
        listed = {key: getattr(self, key) for key in _OPTIONS} | {"template": name if known else spec}
        return {key: list(value) if isinstance(value, tuple) else value for key, value in listed.items()}

    @property
    def question(self) -> dict[str, Any]:
        """What must not change on resume. The grid, the limit and the repeats may grow and are left out."""
        return {
            "benchmark": self.name,
            "version": self.version,
            "data": {"sha256": {name: data.sha256 for name, data in sorted(self.sets.items())}},
            "selection": self.selection,
            "passages": self.passages,
            "correct_rate": self.correct_rate,
            "seed": self.seed,
            "template": dict(self.template.spec),
        }

    @property
    def license(self) -> str:
        """The licence of the data; "" for the user's own data."""
        if self.data_name.startswith("fictional"):
            return GENERATED_LICENSE
        return "CC BY-NC-SA 4.0" if self.data_name == "official" else ""

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """All metrics that need no judge, in both scorings."""
        return (AnswerMatch(strict=True), RgbBinding(), Refusal(), ErrorDetection(), RgbOfficial())

    @property
    def warnings(self) -> list[str]:
        """Caveats about the data, one line each: testbeds without a set, questions with too few documents."""
        lines = []
        if self.sets and self.dataset is None:
            available_pairs = {(block.ability, block.data.language) for block in self._blocks}
            lines += [
                f"No {_TESTBEDS[ability][0]} set in {language!r}: {ability} is skipped there."
                for ability in self.abilities
                for language in self.languages
                if (ability, language) not in available_pairs and self._ratios_of(ability)
            ]
        for block in self._blocks:
            lines += self._shortages(block)
            if block.ability == "counterfactual" and not block.closed_book and (ids := _overlapping(block.data)):
                lines.append(
                    f"{block.data.name}: in {len(ids)} questions the false answer contains the true one, so an answer "
                    f"that repeats it counts as right (ids {_listed(ids)})."
                )
        return lines

    async def prepare(self, resources: Resources, /) -> str:
        """The hash of the data. There is nothing to prepare."""
        hashes = json.dumps(self.question["data"]["sha256"], sort_keys=True)
        return hashlib.sha256(hashes.encode()).hexdigest()

    @property
    def size(self) -> int:
        return sum(len(self._rows(block)) for block in self._blocks) * self.repeat

    def cases(self) -> Iterator[Case]:
        """The cases, streamed in a fixed order: by testbed, set, ratio, question, repeat."""
        for block in self._blocks:
            for index, row in enumerate(self._rows(block)):
                for repeat in range(self.repeat):
                    yield self._case(block, index, row, repeat)

    def judge_tokens(self, case: Case, /) -> int:
        """Tokens of the judge's request about a case and of its verdict; 0 if there is no request."""
        from ragstone.metrics.rgb_judge import RgbErrorJudge, RgbRejectionJudge, judge_turns  # noqa: PLC0415
        from ragstone.text import estimate_tokens  # noqa: PLC0415

        kinds = {"rejection": RgbRejectionJudge, "counterfactual": RgbErrorJudge}
        kind = kinds.get(str(case.condition["ability"]))
        if kind is None or case.condition["closed_book"]:
            return 0
        request_tokens = sum(estimate_tokens(turn.content) for turn in judge_turns(kind, case.query.question, ""))
        return request_tokens + _ANSWER_TOKENS + _VERDICT_TOKENS

    def summary(self, run: Run, /, *, language: str = "en") -> Mapping[str, Summary]:
        return summary.summaries(run, self, language)

    def tables(self, run: Run, /, *, language: str = "en") -> list[Table]:
        return tables.tables(run, self, language)

    def charts(self, run: Run, /, *, language: str = "en") -> list[Chart]:
        return charts.charts(run, self, language)

    def explain(self, record: Record, /, *, language: str = "en") -> Diagnosis:
        return diagnosis.explain(record, language, self.scoring)

    def classify(self, record: Record, /, *, language: str = "en") -> Diagnosis:
        return diagnosis.explain(record, language, self.scoring, marking=False)

    @cached_property
    def _blocks(self) -> list[_Block]:
        if self.dataset is not None and self.sets:
            return [self._single(self.dataset)]
        blocks = []
        for ability in self.abilities:
            for language in self.languages:
                for data in self._sets_for(language, _TESTBEDS[ability][0]):
                    blocks += [_Block(ability, data, ratio) for ratio in self._ratios_of(ability)]
                    if ability == "counterfactual" and self.closed_book and self.passages:
                        blocks.append(_Block(ability, data, 0.0, closed_book=True))
        return blocks

    def _single(self, name: str) -> _Block:
        check_name("data set", name, self.sets)
        if self.noise_ratios is not None and len(self.noise_ratios) != 1:
            raise UsageError(f"dataset={name!r} has one case per question: give a single noise ratio.")
        ratio = self.noise_ratios[0] if self.noise_ratios else 0.0
        data = self.sets[name]
        ability = "noise" if data.kind == "base" else data.kind
        return _Block("rejection" if ability == "noise" and ratio == 1 else ability, data, ratio)

    def _sets_for(self, language: str, kind: Kind) -> list[RGBSet]:
        sets = {name: data for name, data in self.sets.items() if (data.language, data.kind) == (language, kind)}
        if language in sets and f"{language}_refine" in sets:
            sets.pop(f"{language}_refine" if self.selection == "official" else language)
        return list(sets.values())

    def _ratios_of(self, ability: str) -> tuple[float, ...]:
        if self.noise_ratios is None or ability in ("rejection", "counterfactual"):
            return _TESTBEDS[ability][1]
        # A ratio of 1 is the rejection testbed.
        return tuple(ratio for ratio in self.noise_ratios if ratio < 1 or ability != "noise")

    def _rows(self, block: _Block) -> Sequence[RGBRow]:
        return block.data.rows[: self.limit]

    def _choice(self, block: _Block) -> PassageChoice:
        return PassageChoice(self.passages, block.ratio, self.correct_rate, self.seed)

    def _select(self, block: _Block, index: int, row: RGBRow) -> list[str]:
        if block.closed_book:
            return []
        select: Selection = SELECTIONS[self.selection]
        return select(row, block.data.kind, index, self._choice(block), block.data.name)

    def _case(self, block: _Block, index: int, row: RGBRow, repeat: int) -> Case:
        data = block.data
        passages = passages_of(row, data.kind, self._select(block, index, row))
        first = next((place for place, passage in enumerate(passages, start=1) if passage.relevant), 0)
        width = max(4, len(str(len(data.rows) - 1)))  # of the whole set: the limit may grow
        setting = "closed" if block.closed_book else f"{block.ratio:.12g}"
        return Case(
            id=f"{block.ability}/{data.name}/{setting}/{index:0{width}}" + (f"/r{repeat}" if repeat else ""),
            sample=Sample(
                id=f"{data.name}:{row.id}",
                question=row.query,
                references=row.slots,
                language=data.language,
                meta={"fake": list(row.fake), "kinds": dict(row.kinds)},
            ),
            condition={
                "ability": block.ability,
                "dataset": data.name,
                "language": data.language,
                "noise_ratio": block.ratio,
                "correct_rate": self.correct_rate,
                "passages": 0 if block.closed_book else self.passages,
                "documents": len(passages),
                "first_relevant": first,  # from 1; 0: no document states the answer
                "closed_book": block.closed_book or not self.passages,
                "selection": self.selection,
                "repeat": repeat,
            },
            query=Query(row.query, passages, language=data.language, repeat=repeat),
        )

    def _shortages(self, block: _Block) -> list[str]:
        """A warning about the questions of a block that have too few documents."""
        if block.closed_book or not self.passages:
            return []
        ids_by_shortage: dict[str, list[int | str]] = {"fewer": [], "filled": []}
        for index, row in enumerate(self._rows(block)):
            if min(available(row)) < self.passages:
                chosen = self._select(block, index, row)
                if kind := shortage(chosen, block.data.kind, self._choice(block), filling=self.selection == "official"):
                    ids_by_shortage[kind].append(row.id)
        total = len(self._rows(block))
        where = f"{block.data.name}, {block.ability} at noise {block.ratio:.12g}"
        descriptions = {
            "fewer": f"fewer than {self.passages} suitable documents and get fewer",
            "filled": "too few documents of one kind; the other kind fills the gap, which changes the noise ratio",
        }
        return [
            f"{where}: {len(ids)} of {total} questions have {descriptions[kind]} (ids {_listed(ids)})."
            for kind, ids in ids_by_shortage.items()
            if ids
        ]


_OPTIONS = tuple(field.name for field in dataclasses.fields(RGB) if field.name != "sets")


def _known_names(kind: str, names: Sequence[str], known: Collection[str]) -> tuple[Any, ...]:
    """The distinct names. Raises UnknownName for the first unknown one."""
    for name in names:
        check_name(kind, name, known)
    return tuple(dict.fromkeys(names))


def _checked_ratios(ratios: Sequence[float]) -> tuple[float, ...]:
    """The distinct ratios (as spelled in case ids), in order."""
    for ratio in ratios:
        PassageChoice(0, ratio)
    return tuple({f"{ratio:.12g}": float(ratio) for ratio in sorted(ratios, reverse=True)}.values())[::-1]


def _listed(ids: Sequence[int | str]) -> str:
    return ", ".join(map(str, ids[:_LISTED])) + (", …" if len(ids) > _LISTED else "")


def _overlapping(data: RGBSet) -> list[int | str]:
    """Questions whose false answer contains the true one, so that repeating it also states the true one."""
    return [
        row.id
        for row in data.rows
        if any(alias.lower() in fake.lower() for fake in row.fake for slot in row.slots for alias in slot if alias)
    ]
