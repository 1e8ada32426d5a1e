"""`tune_prompts`: demonstrations for the judge's prompts out of its disagreements with experts, kept only where they
help on labels that they were not chosen from.

The labelled questions of each language are split in halves. In the first half, answers on which judge and experts find
different things become demonstrations (`metrics.judge.corrections`); on the second half the judge scores with and
without them, and they are kept where its mean distance from the labels falls and a paired test says so at 95% (Holm's
correction over the languages). Equal questions are in the same half."""

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec.structs import replace as changed

from ragstone.engine.execute import cache_folder
from ragstone.engine.judge_tools import Judging, open_tools
from ragstone.engine.open_run import open_checked, viewed
from ragstone.engine.public_functions import blocking, public
from ragstone.errors import UsageError
from ragstone.evaluation.estimate import without_models
from ragstone.evaluation.prompts import prompt_file
from ragstone.experts.expert_labels import read_labels
from ragstone.experts.experts import metric_of, scores_of, side_of
from ragstone.metrics import find_metric, steps_of
from ragstone.metrics.judge.corrections import corrected
from ragstone.metrics.judge.envelope import opened as taken_out
from ragstone.metrics.judge.prompts import LANGUAGES, Example, Prompts
from ragstone.metrics.judge.reply import read_reply
from ragstone.metrics.traits import estimate_of
from ragstone.models import ModelOptions, open_model
from ragstone.runs.scoring import score
from ragstone.stats import decide, holm
from ragstone.storage import write_file
from ragstone.text import detect
from ragstone.types import Completion, Model, Record, Request, Usage

LEAST_TESTED = 10
"""Fewer labels of the second half cannot show at 95% that anything is better."""

_LEVEL = 0.05
_TRIED = 4  # disagreements that are looked at for each demonstration
_AT_ONCE = 16
_HALF = 0.5


@dataclass(frozen=True)
class TuningPlan:
    """The subject of tuning: a `metric` by the labels of a `task`. `first`, `second`: the answers of the halves, by
    question; `labels`: of both; `scores`: the run's; `judging`: with the prompts that are changed; `examples`:
    demonstrations that each language may get."""

    metric: str
    task: str
    first: Mapping[str, Record]
    second: Mapping[str, Record]
    labels: Mapping[str, float]
    scores: Mapping[str, float]
    judging: Judging
    examples: int = 2
    comments: Mapping[str, str] = field(default_factory=dict)

    def tried(self, language: str) -> list[str]:
        """The disagreements of the first half that are looked at, the largest first, too kind and too strict ones by
        turns."""
        apart = {
            item: self.scores[item] - self.labels[item]
            for item, record in self.first.items()
            if _language(record) == language and (self.scores[item] >= _HALF) != (self.labels[item] >= _HALF)
        }
        kind, strict = (
            sorted((item for item, gap in apart.items() if (gap > 0) == side), key=lambda item: -abs(apart[item]))
            for side in (True, False)
        )
        turns = [item for pair in zip(kind, strict, strict=False) for item in pair]
        least = min(len(kind), len(strict))
        return [*turns, *kind[least:], *strict[least:]][: _TRIED * self.examples]


@dataclass(frozen=True)
class Tuned:
    """The trial of a language. `examples`: prompt → demonstrations that were tried, from the questions `ids`. `before`,
    `after`: the mean distance of judge and label on `n` answers of the second half; `p`: of the paired test, corrected.
    `kept`: they are better at 95%. `tried`: disagreements that were looked at; `n` is 0 where nothing was tested."""

    language: str
    tried: int
    ids: tuple[str, ...] = ()
    examples: Mapping[str, tuple[Example, ...]] = field(default_factory=dict)
    n: int = 0
    before: float = 0.0
    after: float = 0.0
    p: float = 1.0
    kept: bool = False


@dataclass(frozen=True)
class Tuning:
    """The trials by language, and the files that were written (none where nothing was better)."""

    metric: str
    task: str
    trials: tuple[Tuned, ...]
    files: tuple[Path, ...] = ()


def halves(questions: Mapping[str, tuple[str, str]]) -> tuple[set[str], set[str]]:
    """The ids of both halves of the questions (id → text, language). Equal texts, but for blanks and case, are in the
    same half; the halves of a language differ by one text at most. They depend on the texts only."""
    groups: dict[str, list[str]] = {}
    for item, (text, _) in questions.items():
        groups.setdefault(" ".join(text.casefold().split()), []).append(item)
    first, second = set[str](), set[str]()
    turns: dict[str, int] = {}
    for text in sorted(groups, key=lambda text: sha256(text.encode("utf-8", "surrogatepass")).digest()):
        language = min(questions[item][1] for item in groups[text])
        turns[language] = turns.get(language, 0) + 1
        (first if turns[language] % 2 else second).update(groups[text])
    return first, second


@public
def plan_tuning(
    labels: str | Path | Sequence[Mapping[str, Any]], run: str | Path, judging: Judging, *, task: str = "",
    system: str | None = None, scale: tuple[float, float] = (0.0, 1.0), examples: int = 2,
) -> TuningPlan:  # fmt: skip
    """The subject of tuning. Raises UsageError where no label has a metric of a judge."""
    if judging.model is None or judging.others:
        raise UsageError("Prompts are tuned for one judge: name it with --judge PROVIDER/MODEL.")
    name, source = side_of(Path(run), system)
    scores = scores_of(Path(run), name)
    read = read_labels(labels, scale, system=name, source=source)
    tasks = [task] if task else sorted(read.by_task)
    found = [(one, metric) for one in tasks if one in read.by_task and (metric := metric_of(one, scores)) is not None]
    if not found:
        raise UsageError(f"{run} has no metric for the labels ({', '.join(read.by_task)}; --task {task or 'NAME'}).")
    one, metric = found[0]
    rubric = metric.startswith("rubric.")
    judging.check([] if rubric else [metric])
    if rubric and metric not in [getattr(find_metric(str(name)), "name", "") for name in judging.names([])]:
        raise UsageError(f"{metric} is scored by a rubric: name its file with --rubric.")
    means, values = read.means(one), scores[metric].values
    with open_checked(run) as opened:
        records = {
            record.case.sample.id: record
            for record in viewed(opened).records(system=name)
            if record.case.sample.id in means and record.case.sample.id in values and record.response is not None
        }
    first, second = halves({item: (record.case.sample.question, _language(record)) for item, record in records.items()})
    return TuningPlan(
        metric, one, {item: records[item] for item in records if item in first},
        {item: records[item] for item in records if item in second}, means, values, judging, examples,
        read.comments.get(one, {}),
    )  # fmt: skip


def _language(record: Record) -> str:
    return record.case.sample.language or detect(record.case.sample.question)


async def estimate_tuning(plan: TuningPlan) -> Usage:
    """The requests and tokens of the judge that a tuning takes at most, ignoring the cache and the demonstrations' own
    tokens: disagreements of the first half once, answers of the second half twice."""
    usage = Usage()
    async with open_tools(without_models(plan.judging), _metrics(plan), ModelOptions()) as tools:
        (metric,) = (one for one in tools.metrics if one.name == plan.metric)
        tried = [plan.first[item] for language in LANGUAGES for item in plan.tried(language)]
        again = [record for record in plan.second.values() if plan.tried(_language(record))]
        for record in [*tried, *again, *again]:
            assert record.response is not None
            if tools.tools.judge is not None and (steps := steps_of([metric])):
                usage += tools.tools.judge.estimate(record.case, record.response, steps=steps)
            usage += estimate_of(metric, record.case, record.response)
    return usage


def _metrics(plan: TuningPlan) -> list[str]:
    return [] if plan.metric.startswith("rubric.") else [plan.metric]


class _Recorder:
    """A model whose requests and replies are remembered."""

    def __init__(self, model: Model) -> None:
        self.model, self.id = model, model.id
        self.seen: list[tuple[Request, Completion]] = []

    async def generate(self, request: Request, /) -> Completion:
        completion = await self.model.generate(request)
        self.seen.append((request, completion))
        return completion


@public
async def tune_prompts_async(
    plan: TuningPlan, folder: str | Path, *, model_options: ModelOptions | None = None
) -> Tuning:
    """Tries demonstrations and writes the prompts that are better into `folder` as LANGUAGE/NAME.toml, for `--prompts`;
    writes nothing where none is. Raises UsageError where a file is there already."""
    options = model_options or ModelOptions(cache=cache_folder())
    base = Prompts.load(plan.judging.prompts)
    languages = sorted({_language(record) for record in (*plan.first.values(), *plan.second.values())})
    async with _judge(plan.judging, options) as judging:
        trials = [await _tried(plan, judging, base, language, options) for language in languages]
    tested = [trial for trial in trials if trial.n]
    corrected_p = dict(zip((trial.language for trial in tested), holm([trial.p for trial in tested]), strict=True))
    decided = [
        replace(trial, p=p, kept=trial.after < trial.before and p < _LEVEL)
        if (p := corrected_p.get(trial.language)) is not None
        else trial
        for trial in trials
    ]
    files = _write(base, [trial for trial in decided if trial.kept], Path(folder))
    return Tuning(plan.metric, plan.task, tuple(decided), tuple(files))


tune_prompts = blocking(tune_prompts_async, name="tune_prompts")


@contextlib.asynccontextmanager
async def _judge(judging: Judging, options: ModelOptions) -> AsyncIterator[Judging]:
    """The same judging with its model open."""
    assert judging.model is not None
    async with open_model(judging.model, replace(options, base_url=judging.base_urls[0])) as model:
        yield replace(judging, model=model, base_url=None)


async def _tried(plan: TuningPlan, judging: Judging, base: Prompts, language: str, options: ModelOptions) -> Tuned:
    tried = plan.tried(language)
    ids, examples = await _demonstrations(plan, judging, base, language, options)
    second = {item: record for item, record in plan.second.items() if _language(record) == language}
    if not examples or len(second) < LEAST_TESTED:
        return Tuned(language, len(tried), ids, examples)
    with tempfile.TemporaryDirectory() as place:
        trial = Tuned(language, len(tried), ids, examples)
        _write(base, [trial], Path(place), others=True)
        before = await _scored(plan, judging, second, options)
        after = await _scored(plan, replace(judging, prompts=Path(place)), second, options)
    both = sorted(item for item in second if item in before and item in after)
    if len(both) < LEAST_TESTED:
        return trial
    apart = [[abs(values[item] - plan.labels[item]) for item in both] for values in (before, after)]
    means = [sum(values) / len(both) for values in apart]
    return replace(trial, n=len(both), before=means[0], after=means[1], p=decide(*apart).p)


async def _demonstrations(
    plan: TuningPlan, judging: Judging, base: Prompts, language: str, options: ModelOptions
) -> tuple[tuple[str, ...], dict[str, tuple[Example, ...]]]:
    """Demonstrations from the disagreements of the first half: the questions, and prompt → demonstrations."""
    found: dict[str, list[Example]] = {}
    ids: list[str] = []
    assert not isinstance(judging.model, str | None)
    for item in plan.tried(language):
        if len(ids) == plan.examples:
            break
        recorder = _Recorder(judging.model)
        await _scored(plan, replace(judging, model=recorder), {item: plan.first[item]}, options)
        for request, completion in recorder.seen:
            if request.schema_name not in {name.split("/")[0] for name in base.spec}:
                continue
            made = _example(plan, item, request, completion, language)
            if made is not None and base.get(request.schema_name, language).opening[0] == request.messages[0]:
                found.setdefault(request.schema_name, []).append(made)
                ids += [item] if item not in ids else []
    return tuple(ids), {name: tuple(examples) for name, examples in found.items()}


def _example(plan: TuningPlan, item: str, request: Request, completion: Completion, language: str) -> Example | None:
    try:
        shown = taken_out(request.messages[-1].content)
    except ValueError:  # a request that says what was wrong with the reply before
        return None
    form, ended = dict(request.schema or {}), completion.finish_reason
    reply, problem, _ = read_reply(completion.text, form, finish_reason=ended, shown=shown)
    if problem:
        return None
    return corrected(
        request.schema_name, shown, reply, task=plan.task, label=plan.labels[item], language=language,
        comment=plan.comments.get(item, ""),
    )  # fmt: skip


async def _scored(
    plan: TuningPlan, judging: Judging, records: Mapping[str, Record], options: ModelOptions
) -> dict[str, float]:
    """The metric of these answers by this judge; those that could not be scored are left out."""
    limit = asyncio.Semaphore(_AT_ONCE)
    async with open_tools(judging, _metrics(plan), options) as tools:
        (metric,) = (one for one in tools.metrics if one.name == plan.metric)

        async def one(item: str, record: Record) -> tuple[str, float | None]:
            assert record.response is not None
            async with limit:
                return item, (await score(metric, record.case, record.response)).value

        scores = await asyncio.gather(*(one(item, record) for item, record in records.items()))
    return {item: value for item, value in scores if value is not None}


def _write(base: Prompts, trials: Sequence[Tuned], folder: Path, *, others: bool = False) -> list[Path]:
    """Writes the prompts of these trials with their demonstrations after the old ones. `others`: all other prompts,
    too, as they are."""
    texts: dict[Path, str] = {}
    for name in base.names() if others else ():
        for language in LANGUAGES:
            texts[folder / language / f"{name}.toml"] = prompt_file(base.get(name, language))
    for trial in trials:
        for name, examples in trial.examples.items():
            prompt = base.get(name, trial.language)
            prompt = changed(prompt, version=prompt.version + 1, examples=(*prompt.examples, *examples))
            note = (
                f"Tuned on {len(trial.ids)} disagreements with experts. Mean distance from the labels of {trial.n} "
                f"other answers: {trial.before:.3f} before, {trial.after:.3f} now (p = {trial.p:.3g})."
            )
            texts[folder / trial.language / f"{name}.toml"] = prompt_file(prompt, note=note)
    for path in () if others else texts:
        if path.exists():
            raise UsageError(f"{path} already exists: name another folder with -o.")
    return [write_file(path, text, parents=True) for path, text in texts.items()]
