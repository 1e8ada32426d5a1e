"""RGB as a benchmark: its four testbeds as cases.

| ability | sets | noise ratio | documents |
|---|---|---|---|
| noise | base | 0, 0.2, 0.4, 0.6, 0.8 | some state the answer, the rest mislead |
| rejection | base | 1 | none states the answer: the right reply is that it cannot be answered |
| integration | integration | 0, 0.2, 0.4 | each part of the answer in another document |
| counterfactual | counterfactual | 0 | all state a false answer; and once without documents, for what the model knows |

Source: Chen et al. 2024, sections 2.2 and 3.1; how documents are chosen is in `selection`.
"""

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self, TypeAlias

import msgspec

from ragstone.benchmarks.base import BaseBenchmark
from ragstone.benchmarks.rgb.selection import SELECTIONS, Choice, Selection, available, passages_of, shortage
from ragstone.datasets.rgb import Kind, RGBRow, RGBSet
from ragstone.errors import UnknownName, UsageError
from ragstone.metrics.answer_match import AnswerMatch
from ragstone.metrics.error_detection import ErrorDetection
from ragstone.metrics.refusal import Refusal
from ragstone.metrics.rgb_official import RgbOfficial
from ragstone.systems.template import TEMPLATES, PromptTemplate, prompt_template
from ragstone.types import (
    Case,
    Chart,
    Diagnosis,
    Metric,
    Query,
    Record,
    Resources,
    Run,
    Sample,
    Table,
    Template,
)

__all__ = ["ABILITIES", "RGB", "Ability"]

Ability: TypeAlias = Literal["noise", "rejection", "integration", "counterfactual"]

ABILITIES: tuple[Ability, ...] = ("noise", "rejection", "integration", "counterfactual")
LANGUAGES = ("en", "zh")

_KINDS: Mapping[Ability, Kind] = {
    "noise": "base",
    "rejection": "base",
    "integration": "integration",
    "counterfactual": "counterfactual",
}
_RATIOS: Mapping[Ability, tuple[float, ...]] = {
    "noise": (0.0, 0.2, 0.4, 0.6, 0.8),
    "rejection": (1.0,),
    "integration": (0.0, 0.2, 0.4),
    "counterfactual": (0.0,),
}
_OPTIONS = (
    "languages", "abilities", "noise_ratios", "passages", "correct_rate", "selection", "scoring", "template", "limit",
    "repeat", "closed_book", "seed", "dataset", "data_name",
)  # fmt: skip
_NAMED = 5  # ids that a warning names
_VERDICT_TOKENS = 10  # {"verdict": "…"}
_ANSWER_TOKENS = 60  # of the answer that the judge reads


@dataclass(frozen=True)
class _Block:
    """The questions of one set under one condition."""

    ability: Ability
    data: RGBSet
    ratio: float
    closed_book: bool = False


@dataclass(frozen=True, init=False)
class RGB(BaseBenchmark):
    """The cases of RGB over these `sets` (by name, as `datasets.rgb.read_rgb_dir` or `rgb_set` give them).

    - `languages`, `abilities`: which testbeds. `noise_ratios`: of noise and integration, instead of the paper's.
    - `passages`: documents a question; 0 asks without any. `correct_rate`: in counterfactual sets, the share of
      documents that state the true answer. `selection`: "balanced" or "official" (see `selection`), with `seed`.
    - `scoring`: which of two scorings the tables show, "default" or "official"; both are always computed.
    - `template`: "paper", "official", or a template. `limit`: the first so many questions of each set.
    - `repeat`: how many times each case is asked. `closed_book`: ask counterfactual questions without documents too.
    - `dataset`: this set alone, one case a row, at `noise_ratios[0]` (default 0), nothing closed book.
    - `data_name`: what the data are called in a run: "fictional", "official", or a path.

    Where both base sets of a language are there, the corrected one (`en_refine`, `zh_refine`) is asked; with the
    official selection, which is for comparing with the paper, the one that the paper asked (`en`, `zh`).
    Raises UsageError or UnknownName where an option is wrong. Without sets there are no cases, but runs can be read.
    """

    name: ClassVar[str] = "rgb"
    version: ClassVar[int] = 1
    citation: ClassVar[str] = (
        "Jiawei Chen, Hongyu Lin, Xianpei Han, Le Sun: Benchmarking Large Language Models in Retrieval-Augmented "
        "Generation. AAAI 2024. arXiv:2309.01431."
    )
    # Options that a later command on the same run file may widen.
    axes: ClassVar[tuple[str, ...]] = (
        "ability", "language", "dataset", "closed_book", "noise_ratio", "correct_rate",
    )  # fmt: skip
    leads: ClassVar[tuple[str, ...]] = ("rgb-summary", "rgb-table1", "rgb-table3", "rgb-table5", "rgb-table7")
    growing: ClassVar[tuple[str, ...]] = ("languages", "abilities", "noise_ratios", "limit", "repeat")

    sets: Mapping[str, RGBSet]
    languages: tuple[str, ...]
    abilities: tuple[Ability, ...]
    noise_ratios: tuple[float, ...] | None
    passages: int
    correct_rate: float
    selection: str
    scoring: str
    template: Template
    limit: int | None
    repeat: int
    closed_book: bool
    seed: int
    dataset: str | None
    data_name: str

    def __init__(
        self,
        sets: Mapping[str, RGBSet],
        *,
        languages: Sequence[str] = LANGUAGES,
        abilities: Sequence[str] = ABILITIES,
        noise_ratios: Sequence[float] | None = None,
        passages: int = 5,
        correct_rate: float = 0.0,
        selection: str = "balanced",
        scoring: str = "default",
        template: str | Template = "paper",
        limit: int | None = None,
        repeat: int = 1,
        closed_book: bool = True,
        seed: int = 2333,
        dataset: str | None = None,
        data_name: str = "fictional",
    ) -> None:
        self.__dict__.update(
            sets=dict(sets),
            languages=_known("language", languages, LANGUAGES),
            abilities=_known("ability", abilities, ABILITIES),
            noise_ratios=None if noise_ratios is None else _checked(noise_ratios),
            passages=passages,
            correct_rate=float(correct_rate),
            selection=_known("selection", [selection], SELECTIONS)[0],
            scoring=_known("scoring", [scoring], ("default", "official"))[0],
            template=prompt_template(template) if isinstance(template, str) else template,
            limit=limit,
            repeat=repeat,
            closed_book=closed_book,
            seed=seed,
            dataset=dataset,
            data_name=data_name,
        )
        Choice(passages, 0.0, self.correct_rate, seed)  # raises where one of them is out of range
        if limit is not None and limit < 1:
            raise UsageError(f"A limit of {limit} questions: expected 1 or more.")
        if repeat < 1:
            raise UsageError(f"{repeat} repeats: expected 1 or more.")
        if self.sets and not self._blocks():
            asked = f"{', '.join(self.abilities)} in {', '.join(self.languages)}"
            raise UsageError(f"Nothing to ask: no data set for {asked} (there are: {', '.join(sorted(self.sets))}).")
        for block in self._blocks():  # shares that do not fit together are told now, not at the first case
            if block.data.rows:
                self._select(block, 0, block.data.rows[0])

    @classmethod
    def from_meta(cls, meta: Mapping[str, Any]) -> Self:
        """The benchmark of a run, to read it: `meta["options"]` is what `options` was. Without sets it has no cases."""
        found = meta.get("options")
        options = {key: value for key, value in (found if isinstance(found, dict) else {}).items() if key in _OPTIONS}
        if isinstance(spec := options.get("template"), dict):
            try:
                options["template"] = msgspec.convert(spec, PromptTemplate)
            except msgspec.ValidationError:  # somebody's own kind of template; to read a run it is not needed
                del options["template"]
        try:
            return cls({}, **options)
        except TypeError as error:
            raise UsageError(f"The options of this run are not those of RGB ({error}).") from None

    @property
    def options(self) -> dict[str, Any]:
        """How it was made, as JSON, without the sets, for `from_meta`. A template that is neither of the published two
        is there with all it says."""
        name, spec = self.template.name, dict(self.template.spec)
        known = name in TEMPLATES and TEMPLATES[name].spec == spec
        listed = {key: getattr(self, key) for key in _OPTIONS} | {"template": name if known else spec}
        return {key: list(value) if isinstance(value, tuple) else value for key, value in listed.items()}

    @property
    def question(self) -> dict[str, Any]:
        """What must be equal for two runs to be one. The grid, the limit and the repeats may grow, and are not here."""
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
        """The licence of the data asked about; "" where the data are the user's own."""
        if self.data_name.startswith("fictional"):
            return "Generated by ragstone; no licence applies to it."
        return "CC BY-NC-SA 4.0" if self.data_name == "official" else ""

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Everything that needs no judge, in both scorings."""
        return (AnswerMatch(), Refusal(), ErrorDetection(), RgbOfficial())

    @property
    def warnings(self) -> list[str]:
        """What a reader of the results should know about the data: testbeds without a set, questions that have too few
        documents. One line each."""
        lines = []
        if self.sets and self.dataset is None:
            there = {(block.ability, block.data.language) for block in self._blocks()}
            lines += [
                f"No {_KINDS[ability]} set in {language!r}: {ability} is not asked there."
                for ability in self.abilities
                for language in self.languages
                if (ability, language) not in there and self._ratios_of(ability)
            ]
        for block in self._blocks():
            lines += self._shortages(block)
            if block.ability == "counterfactual" and not block.closed_book and (ids := _overlapping(block.data)):
                lines.append(
                    f"{block.data.name}: in {len(ids)} questions the false answer contains the true one, so that "
                    f"repeating it counts as stating the true one (ids {_named(ids)})."
                )
        return lines

    async def prepare(self, resources: Resources, /) -> str:
        """The hash of the data. There is nothing to prepare."""
        hashes = json.dumps(self.question["data"]["sha256"], sort_keys=True)
        return hashlib.sha256(hashes.encode()).hexdigest()

    @property
    def size(self) -> int:
        return sum(len(self._rows(block)) for block in self._blocks()) * self.repeat

    def cases(self) -> Iterator[Case]:
        """The cases, made as they are asked for, in a fixed order: by testbed, set, ratio, question, repeat."""
        for block in self._blocks():
            for index, row in enumerate(self._rows(block)):
                for repeat in range(self.repeat):
                    yield self._case(block, index, row, repeat)

    def judge_tokens(self, case: Case, /) -> int:
        """The tokens of what the judge is asked about a case, and of its verdict; 0 where it is not asked."""
        from ragstone.metrics.rgb_judge import RgbErrorJudge, RgbRejectionJudge, judge_turns  # noqa: PLC0415
        from ragstone.text import estimate_tokens  # noqa: PLC0415

        kinds = {"rejection": RgbRejectionJudge, "counterfactual": RgbErrorJudge}
        kind = kinds.get(str(case.condition["ability"]))
        if kind is None or case.condition["closed_book"]:
            return 0
        asked = sum(estimate_tokens(turn.content) for turn in judge_turns(kind, case.query.question, ""))
        return asked + _ANSWER_TOKENS + _VERDICT_TOKENS

    def tables(self, run: Run, /, *, language: str = "en") -> list[Table]:
        from ragstone.benchmarks.rgb.tables import tables  # noqa: PLC0415  (numpy: only where a run is read)

        return tables(run, self, language)

    def charts(self, run: Run, /, *, language: str = "en") -> list[Chart]:
        from ragstone.benchmarks.rgb.charts import charts  # noqa: PLC0415

        return charts(run, self, language)

    def explain(self, record: Record, /, *, language: str = "en") -> Diagnosis:
        from ragstone.benchmarks.rgb.diagnosis import explain  # noqa: PLC0415

        return explain(record, language, self.scoring)

    def _blocks(self) -> list[_Block]:
        if self.dataset is not None and self.sets:
            return [self._single(self.dataset)]
        blocks = []
        for ability in self.abilities:
            for language in self.languages:
                for data in self._sets_for(language, _KINDS[ability]):
                    blocks += [_Block(ability, data, ratio) for ratio in self._ratios_of(ability)]
                    if ability == "counterfactual" and self.closed_book and self.passages:
                        blocks.append(_Block(ability, data, 0.0, closed_book=True))
        return blocks

    def _single(self, name: str) -> _Block:
        if name not in self.sets:
            raise UnknownName("data set", name, self.sets)
        if self.noise_ratios is not None and len(self.noise_ratios) != 1:
            raise UsageError(f"With dataset={name!r} there is one case a question: give one noise ratio.")
        ratio = self.noise_ratios[0] if self.noise_ratios else 0.0
        data = self.sets[name]
        ability: Ability = "noise" if data.kind == "base" else data.kind
        return _Block("rejection" if ability == "noise" and ratio == 1 else ability, data, ratio)

    def _sets_for(self, language: str, kind: Kind) -> list[RGBSet]:
        found = {name: data for name, data in self.sets.items() if (data.language, data.kind) == (language, kind)}
        if language in found and f"{language}_refine" in found:
            found.pop(f"{language}_refine" if self.selection == "official" else language)
        return list(found.values())

    def _ratios_of(self, ability: Ability) -> tuple[float, ...]:
        if self.noise_ratios is None or ability in ("rejection", "counterfactual"):
            return _RATIOS[ability]
        # Nothing but noise is the rejection testbed.
        return tuple(ratio for ratio in self.noise_ratios if ratio < 1 or ability != "noise")

    def _rows(self, block: _Block) -> Sequence[RGBRow]:
        return block.data.rows[: self.limit]

    def _choice(self, block: _Block) -> Choice:
        return Choice(self.passages, block.ratio, self.correct_rate, self.seed)

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
        """What to know about the questions of a block that have too few documents for what is asked."""
        if block.closed_book or not self.passages:
            return []
        found: dict[str, list[int | str]] = {"fewer": [], "filled": []}
        for index, row in enumerate(self._rows(block)):
            if min(available(row)) < self.passages:
                chosen = self._select(block, index, row)
                if lack := shortage(chosen, block.data.kind, self._choice(block), filling=self.selection == "official"):
                    found[lack].append(row.id)
        total = len(self._rows(block))
        where = f"{block.data.name}, {block.ability} at noise {block.ratio:.12g}"
        says = {
            "fewer": f"too few documents for {self.passages}; they are asked with fewer",
            "filled": "too few documents of one kind; the other kind fills them up, at another noise ratio",
        }
        return [
            f"{where}: {len(ids)} of {total} questions have {says[lack]} (ids {_named(ids)})."
            for lack, ids in found.items()
            if ids
        ]


def _known(kind: str, asked: Sequence[str], known: Collection[str]) -> tuple[Any, ...]:
    """The names, each once; `UnknownName` for the first that is not known."""
    for name in asked:
        if name not in known:
            raise UnknownName(kind, name, known)
    return tuple(dict.fromkeys(asked))


def _checked(ratios: Sequence[float]) -> tuple[float, ...]:
    """The ratios, each once (as a case's id spells it), in order."""
    for ratio in ratios:
        Choice(0, ratio)
    return tuple({f"{ratio:.12g}": float(ratio) for ratio in sorted(ratios, reverse=True)}.values())[::-1]


def _named(ids: Sequence[int | str]) -> str:
    return ", ".join(map(str, ids[:_NAMED])) + (", …" if len(ids) > _NAMED else "")


def _overlapping(data: RGBSet) -> list[int | str]:
    """Questions of which a false answer contains a true one: who repeats it states the true one too."""
    return [
        row.id
        for row in data.rows
        if any(alias.lower() in fake.lower() for fake in row.fake for slot in row.slots for alias in slot if alias)
    ]
