"""The plugin of RGB: its options, its construction, and re-scoring of the official program's predictions."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from ragstone.benchmarks.plugin import Context, DataReport, Option, Plugin, Rescored, Rescoring
from ragstone.errors import UnknownName, UsageError
from ragstone.types import Template

if TYPE_CHECKING:
    from ragstone.benchmarks.rgb.benchmark import RGB

_MOST_PASSAGES = 10_000
_MOST_QUESTIONS = 1_000_000
_PROTOCOLS = ("default", "official")


def _named_template(value: Any) -> Any:
    if not isinstance(value, str) and not hasattr(value, "messages"):
        raise ValueError(f"{value!r} is not a template: pass paper, official, or an object with `messages`.")
    return value


@dataclass(frozen=True, kw_only=True)
class RgbOptions:
    """The options of RGB."""

    data: Annotated[str, Option(
        "Generated data, what `ragstone data pull rgb` fetched, or files in the official format.",
        metavar="fictional|official|DIR|FILE",
    )] = "fictional"  # fmt: skip
    dataset: Annotated[str | None, Option(
        "Use only this set (zh_refine…), with one case per question and no closed-book cases.", metavar="NAME"
    )] = None  # fmt: skip
    data_languages: Annotated[
        tuple[str, ...], Option("Languages of the data: en, zh or both.", flag="--data-language")
    ] = ("en", "zh")
    abilities: Annotated[tuple[str, ...], Option("Testbeds to run.", flag="--ability")] = (
        "noise", "rejection", "integration", "counterfactual",
    )  # fmt: skip
    noise_ratios: Annotated[tuple[float, ...] | None, Option(
        "Override the paper's noise ratios.", flag="--noise", metavar="RATIO,…", low=0, high=1
    )] = None  # fmt: skip
    passages: Annotated[int, Option("Number of passages per question.", low=0, high=_MOST_PASSAGES)] = 5
    correct_rate: Annotated[float, Option(
        "Share of the passages in counterfactual sets that state the true answer.", low=0, high=1
    )] = 0.0  # fmt: skip
    selection: Annotated[str | None, Option(
        "How passages are chosen.", metavar="balanced|official", default="balanced"
    )] = None  # fmt: skip
    scoring: Annotated[str | None, Option(
        "Scoring shown first; both are always computed.", metavar="default|official"
    )] = None  # fmt: skip
    protocol: Annotated[str | None, Option(
        "official means --selection official --scoring official.", metavar="official"
    )] = None  # fmt: skip
    template: Annotated[str | Template | None, Option(
        "The published prompt to use.", metavar="paper|official", default="paper", parse=_named_template
    )] = None  # fmt: skip
    merge_system: Annotated[bool, Option(
        "Send system and user text as one message, as the official program does for models without a system role."
    )] = False  # fmt: skip
    limit: Annotated[int | None, Option("Ask only the first N questions of each set.", low=1)] = None
    repeat: Annotated[int, Option("Number of answers per case.", low=1)] = 1
    closed_book: Annotated[bool, Option("Do not ask counterfactual questions without passages.")] = True
    seed: Annotated[int, Option("Seed of the selection of passages.", flag="--selection-seed")] = 2333
    difficulty: Annotated[str, Option(
        "Fictional data: one report in a passage (easy), or passages cut from pages that also tell of other events, "
        "with guesses and earlier results beside the answer (news), on every page (adversarial).",
        metavar="easy|news|adversarial",
    )] = "news"  # fmt: skip
    fictional_seed: Annotated[int, Option("Seed of the fictional data.")] = 0
    fictional_size: Annotated[int | None, Option(
        "Questions in each fictional set.", low=1, high=_MOST_QUESTIONS
    )] = None  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class RescoreOptions:
    """The predictions to score, and the data and replies that scoring needs."""

    files: Annotated[tuple[Path, ...], Option("Prediction files (JSON lines).", positional=True)]
    dataset: Annotated[str, Option("Data set: en, zh, en_refine, zh_refine, en_int, …, zh_fact.", metavar="NAME")]
    judge_replies: Annotated[Path | None, Option("Replies of a judge: JSON lines with id and evaluation.")] = None
    data: Annotated[str | None, Option("The data, for files whose rows have no `ans`.", metavar="DIR")] = None


class RgbRescoring(Rescoring):
    """FILES: predictions as the official program writes them, JSON lines."""

    summary: ClassVar[str] = "Predictions as the official program writes them, JSON lines."
    Options: ClassVar[type[Any]] = RescoreOptions

    def score(self, options: RescoreOptions, /) -> Rescored:
        from ragstone.benchmarks.rgb.data import load_rgb  # noqa: PLC0415
        from ragstone.benchmarks.rgb.rescore import rescore  # noqa: PLC0415

        dataset, data = options.dataset, options.data
        known = None if data is None else load_rgb(data, dataset=dataset)[1][dataset]
        results = rescore(options.files, dataset=dataset, judge_replies=options.judge_replies, data=known)
        lines, notes = [], []
        for result in results:
            lines.append(f"{result['file']} ({result['dataset']})")
            for key, value in result.items():
                if key not in ("file", "dataset", "warnings"):
                    shown = value if not isinstance(value, dict) else json.dumps(value, ensure_ascii=True)
                    lines.append(f"  {key}: {shown}")
            notes += result.get("warnings", ())
        return Rescored(results, lines, notes)


class RgbPlugin(Plugin):
    """RGB: noise robustness, negative rejection, information integration, counterfactual robustness.

    Chen et al. 2024, in English and Chinese. The default data are invented, so no model has seen them."""

    name: ClassVar[str] = "rgb"
    summary: ClassVar[str] = "Noise, rejection, integration, counterfactual (Chen et al. 2024)."
    Options: ClassVar[type[Any] | None] = RgbOptions
    judged: ClassVar[tuple[str, ...]] = (
        "rgb.judge.rejection", "rgb.judge.error_detection", "rgb.judge.binding", "rgb.judge.confusion",
    )  # fmt: skip
    own_metrics: ClassVar[tuple[str, ...]] = ("error_detection", "rgb.binding", "rgb.official", *judged)
    rescoring: ClassVar[Rescoring | None] = RgbRescoring()
    # `documents`: the passages it got; `first_relevant`: the position of the first relevant one, from 1, or 0.
    condition_types: ClassVar[Mapping[str, Any]] = {
        "ability": str, "dataset": str, "language": str, "noise_ratio": float, "correct_rate": float, "passages": int,
        "documents": int, "first_relevant": int, "closed_book": bool, "selection": str, "repeat": int,
    }  # fmt: skip
    note_types: ClassVar[Mapping[str, Any]] = {"fake": str | list[str], "kinds": dict[str, str]}

    async def make(self, options: RgbOptions, context: Context, /) -> "RGB":
        from ragstone.benchmarks.rgb.benchmark import RGB  # noqa: PLC0415
        from ragstone.benchmarks.rgb.data import load_rgb  # noqa: PLC0415

        selection, scoring, template = _protocol(options)
        if options.dataset is not None and options.abilities != RgbOptions.abilities:
            raise UsageError(f"--dataset {options.dataset} is one set of one ability: leave --ability out.")
        data_name, sets = load_rgb(
            options.data, languages=options.data_languages or ("en", "zh"), dataset=options.dataset,
            seed=options.fictional_seed, size=options.fictional_size, difficulty=options.difficulty,
        )  # fmt: skip
        return RGB(
            sets, data_name=data_name, languages=options.data_languages, abilities=options.abilities,
            noise_ratios=options.noise_ratios, passages=options.passages, correct_rate=options.correct_rate,
            selection=selection, scoring=scoring, template=template, limit=options.limit, repeat=options.repeat,
            closed_book=options.closed_book, seed=options.seed, dataset=options.dataset,
        )  # fmt: skip

    def from_meta(self, meta: Mapping[str, Any], /) -> "RGB":
        from ragstone.benchmarks.rgb.benchmark import RGB  # noqa: PLC0415

        return RGB.from_meta(meta)

    def check_data(self, path: Path, /) -> DataReport | None:
        from ragstone.benchmarks.rgb.data import is_rgb  # noqa: PLC0415
        from ragstone.datasets.rgb_check import check_rgb  # noqa: PLC0415

        return DataReport(problems=list(check_rgb([path]))) if is_rgb(path) else None


def _protocol(options: RgbOptions) -> tuple[str, str, Template]:
    """Selection, scoring and template, as given or as set by the protocol."""
    from ragstone.systems.template import PromptTemplate, joined, prompt_template  # noqa: PLC0415

    protocol = options.protocol
    if protocol not in (None, *_PROTOCOLS):
        raise UnknownName("protocol", protocol, _PROTOCOLS)
    official = protocol == "official"
    for name, value in (("selection", options.selection), ("scoring", options.scoring)):
        if official and value not in (None, "official"):
            raise UsageError(f"--protocol official conflicts with --{name} {value}. Leave one of them out.")
    template = options.template or ("official" if official else "paper")
    if isinstance(template, str):
        template = prompt_template(template)
    if options.merge_system:
        if not isinstance(template, PromptTemplate):
            raise UsageError("merge_system works only with the published templates. Leave it out for a custom one.")
        template = joined(template)
    selection = options.selection or ("official" if official else "balanced")
    return selection, options.scoring or ("official" if official else "default"), template
