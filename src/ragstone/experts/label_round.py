"""`label_round`: items of a run or of data into a file of labels, tasks and experts with them."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ragstone.analysis.fields import fields_of
from ragstone.datasets.tabular import EvalData, read_eval_data
from ragstone.datasets.tabular.items import Item
from ragstone.engine.open_run import benchmark_of, is_run_file, open_checked, viewed
from ragstone.engine.public_functions import public
from ragstone.errors import UsageError
from ragstone.experts.experts import TASKS as METRICS
from ragstone.experts.experts import next_to_label
from ragstone.experts.gold_export import samples_of
from ragstone.labels import LabelStore, Task, items_of, task_named
from ragstone.labels.items import RECORDED, Candidate, candidates, records_of_data
from ragstone.labels.sampling import By, assigned_evenly, draw
from ragstone.messages import preferred_language
from ragstone.metrics.judge.panel import by_judge
from ragstone.metrics.rubric import Rubric, find_rubric, rubric_names
from ragstone.retrieval.corpus import read_corpus
from ragstone.types import Passage, Record, Run

# The metrics whose scores say how uncertain an item of a task is, where they are not those of `METRICS`.
_UNCERTAIN = {"relevant": ("context_precision", "context_relevance"), "better": METRICS["correct"]}
COLUMN = "evidence"
"""The column of the evidence: a list of objects with `text`, and where it stands: `document`, `page`, `heading`, and
`passage`, the id of the chunk around it."""
_MOST = 20  # sentences of a question that are shown


@public
def label_round(
    labels: str | Path,
    source: str | Path | EvalData | None = None,
    *,
    tasks: Sequence[str] = (),
    experts: Sequence[str] = (),
    systems: Sequence[str] = (),
    sample: int | None = None,
    by: By = "random",
    strata: str = "language",
    per_item: int | None = None,
    seed: int = 0,
    rubrics: Sequence[str | Path] = (),
    mapping: Mapping[str, str] | None = None,
) -> LabelStore:
    """Opens a file of labels, and with a `source` (a run, or data in any format of `ragstone eval`) adds its items.

    `tasks`: correct, faithful, relevant, better, question, or rubric.NAME of one of `rubrics`; by default correct, and
    question for data without answers, such as the folder that `build questions` wrote. `sample`: so many
    answers, pairs or questions with passages, chosen `by` random, uncertainty, interval (answers whose labels narrow
    the interval of the calibrated mean most, by the labels that there are), or stratified by `strata`: "cause", a
    condition, a column or a derived field of the data. `systems`: of the run (all). `experts`: the team; each item
    goes to `per_item` of them (1), as evenly as possible. Without a team, everybody who labels gets what still lacks
    labels. Calling it again adds what is new and changes nothing else. Raises UsageError and DataError."""
    known = _rubrics(rubrics)
    if source is not None and not isinstance(source, EvalData) and not is_run_file(source):
        source = read_eval_data(source, mapping=mapping, whole=True)  # first: a wrong name leaves no file of labels
    with ExitStack() as undo:
        store = undo.enter_context(LabelStore.open(labels))
        names = list(tasks) or [task.name for task in store.tasks()] or [_default(source)]
        there = {task.name: task for task in store.tasks()}
        chosen = [there[name] if name in there and not known else task_named(name, known) for name in names]
        if source is not None:
            store.add_tasks(chosen)
            added = _add(store, source, chosen, systems, (sample, by, strata, seed), mapping)
            store.set("draw", {"sample": sample, "by": by, "strata": strata, "seed": seed, "added": added})
        elif not store.tasks():
            raise UsageError(f"{labels} has no items yet: name a run or a data file to label.")
        if per_item is not None:
            store.set("per_item", per_item)
        if experts:
            _assign(store, chosen, experts, seed)
        undo.pop_all()
        return store


def _default(source: Any) -> str:
    """The task of a round that names none."""
    answered = not isinstance(source, EvalData) or any(item.response is not None for item in source.items)
    return "correct" if answered else "question"


def _rubrics(names: Sequence[str | Path]) -> list[Rubric]:
    kinds = [find_rubric(name.removeprefix("rubric:")) for name in rubric_names(names)] if names else []
    return [kind.rubric for kind in kinds]  # type: ignore[attr-defined]


def _assign(store: LabelStore, tasks: Iterable[Task], experts: Sequence[str], seed: int) -> None:
    store.add_experts(experts)
    team = store.experts()
    per_item = store.get("per_item", 1)
    for task in tasks:
        items = [(item.id, item.sample_id) for item in store.items(task.name)]
        pairs = assigned_evenly(items, store.assigned(task.name), team, int(per_item), seed=seed)
        store.assign([(task.name, item, expert) for item, expert in pairs])


def _add(
    store: LabelStore, source: Any, tasks: Sequence[Task], systems: Sequence[str],
    drawing: tuple[int | None, By, str, int], mapping: Mapping[str, str] | None,
) -> int:  # fmt: skip
    """Adds the items of a source; returns how many are new."""
    count, by, strata, seed = drawing
    kinds = {task.kind for task in tasks}
    with ExitStack() as closing:
        if not isinstance(source, EvalData):
            run = closing.enter_context(open_checked(source))
            shown = viewed(run)
            _check_systems(source, systems, shown.systems)
            name, stratum = run.file_id, _stratum(shown, strata, source)
            columns = _mapping_of(run.meta)

            def records(cases: Collection[str] | None = None, *, texts: bool = True) -> Iterator[Record]:
                found = shown.records(cases=cases, texts=texts)
                return (record for record in found if not systems or record.system_id in systems)
        else:
            listed = list(records_of_data(source.items))
            name, stratum, columns = source.sha256, _stratum_of_data(listed, strata), source.mapping

            def records(cases: Collection[str] | None = None, *, texts: bool = True) -> Iterator[Record]:
                del cases, texts
                return iter(listed)

        there = set[str]()
        found = _noted(
            candidates(
                records(texts="passage" in kinds), kinds, rated=lambda record: _rated(record, tasks), stratum=stratum
            ),
            there,
        )
        if by == "interval":
            cases = _narrowing(store, source, tasks, systems, count, seed, records(texts=False))
            chosen = {one.key: one for one in found if one.key[0] == "answer" and one.key[2] in cases}
        else:
            chosen = draw(found, count, by, seed=seed)
        for task in tasks:
            if task.kind not in there:
                shown_as = source.name if isinstance(source, EvalData) else source
                raise UsageError(f"{shown_as} has nothing for the task {task.name}: {_LACKS[task.kind]}")
        store.add_samples(samples_of(source) if isinstance(source, EvalData) else _samples(records()))
        store.set("mapping", columns)
        more = {"evidence": _evidence(source)} if isinstance(source, EvalData) else {}
        by_case = count is not None and kinds <= {"answer", "pair"}  # their keys end with the case
        drawn = records({key[-1] for key in chosen} if by_case else None)
        return store.add_items(items_of(drawn, chosen, source=name, seed=seed, by=by if count else "", **more))


def _noted(found: Iterable[Candidate], kinds: set[str]) -> Iterator[Candidate]:
    """The candidates as they come; their kinds are added."""
    for candidate in found:
        kinds.add(candidate.key[0])
        yield candidate


def _evidence(data: EvalData) -> Callable[[Record], Sequence[Passage]]:
    """The source of a question's reference: its evidence in the data, with the chunks of the built set around it,
    and its gold passages."""
    beside = data.path.parent / "corpus.jsonl" if data.path is not None else None
    rest = {item.sample.id: item.rest for item in data.items if COLUMN in item.rest}
    known = beside is not None and rest and beside.is_file()
    chunks = {one.id: one for one in read_corpus(beside).passages} if known and beside is not None else {}
    return lambda record: [
        *evidence_passages(rest.get(record.case.sample.id, {}), chunks),
        *(passage for passage in record.case.sample.passages if passage.relevant and passage.text),
    ]


def _narrowing(
    store: LabelStore, source: Any, tasks: Sequence[Task], systems: Sequence[str], count: int | None, seed: int,
    records: Iterable[Record],
) -> set[str]:  # fmt: skip
    """The cases whose labels narrow the interval of the first task's calibrated mean most."""
    if count is None or not (isinstance(source, str | Path) and is_run_file(source)) or tasks[0].kind != "answer":
        raise UsageError("--by interval chooses answers of a run with scores: name a run, --sample N and such a task.")
    there = store.path if store.labels(tasks[0].name) else None
    _, plan = next_to_label(there, source, count, task=tasks[0].name, system=systems[0] if systems else None, seed=seed)
    questions = {*plan.ids}
    return {record.case.id for record in records if record.case.sample.id in questions}


_LACKS = {
    "answer": "no answer is recorded. `--task relevant` labels passages without one.",
    "passage": "no passages are recorded.",
    "pair": "it needs the answers of two systems to the same questions.",
    "question": "there are no questions.",
}


def _mapping_of(meta: Mapping[str, Any]) -> dict[str, str]:
    """Field → column of the data of a run, as far as it says so."""
    options = meta.get("options")
    mapping = options.get("mapping") if isinstance(options, Mapping) else None
    return {str(word): str(column) for word, column in mapping.items()} if isinstance(mapping, Mapping) else {}


def _check_systems(path: object, systems: Sequence[str], known: Mapping[str, Any]) -> None:
    for name in systems:
        if name not in known:
            raise UsageError(f"{path} has no system {name!r}; it has: {', '.join(known)}.")


def _samples(records: Iterable[Record]) -> Iterator[Item]:
    """Each question once, in the order of the records. Data that have answers keep theirs."""
    seen: set[str] = set()
    for record in records:
        case = record.case
        if case.sample.id not in seen:
            seen.add(case.sample.id)
            recorded = record.system_id == RECORDED
            yield Item(
                case.sample, record.response if recorded else None, extra=case.condition if recorded else {},
                row=len(seen), history=case.query.history,
            )  # fmt: skip


def _rated(record: Record, tasks: Sequence[Task]) -> list[float]:
    """The scores, from 0 to 1, of the metrics that the tasks are compared with; those of several judges one by one."""
    apart = by_judge(record)
    names = [
        name for task in tasks for name in (*_UNCERTAIN.get(task.name, METRICS.get(task.name, ())), task.metric) if name
    ]
    found: list[float] = []
    for name in dict.fromkeys(names):
        if name in apart:
            found += apart[name].values()
        elif (score := record.scores.get(name)) is not None and score.value is not None:
            found.append(score.value)
    return [value for value in found if 0.0 <= value <= 1.0]


def _stratum(run: Run, strata: str, path: object) -> Callable[[Record], str]:
    """Reads the stratum of a record: its cause of failure, or a field of its case."""
    if strata == "cause":
        benchmark = benchmark_of(run.meta, path)
        language = preferred_language()
        return lambda record: benchmark.explain(record, language=language).cause
    fields = fields_of(run, [strata])
    return lambda record: fields(record.case).get(strata, "")


def _stratum_of_data(records: Sequence[Record], strata: str) -> Callable[[Record], str]:
    if strata == "cause":
        raise UsageError("--strata cause needs a run: only a run says why answers are wrong.")
    if strata != "language" and not any(strata in record.case.condition for record in records):
        raise UsageError(f"--strata {strata}: the data have no such column.")
    return lambda record: str(record.case.condition.get(strata, record.case.sample.language))


def evidence_passages(columns: Mapping[str, Any], chunks: Mapping[str, Passage]) -> list[Passage]:
    """The sentences, each titled with its place, then the chunks around them, as far as they are known."""
    listed = columns.get(COLUMN)
    found = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
    texts = [(one, text) for one in found[:_MOST] if isinstance(text := one.get("text"), str) and text.strip()]
    sentences = [Passage(f"evidence-{number}", text, _place(one)) for number, (one, text) in enumerate(texts, 1)]
    around = [chunks[name] for name in dict.fromkeys(str(one.get("passage")) for one, _ in texts) if name in chunks]
    return [*sentences, *around]


def _place(one: Mapping[str, Any]) -> str:
    """The place as a title: document, page, heading."""
    page = one.get("page")
    parts = (one.get("document"), f"p. {page}" if isinstance(page, int) else "", one.get("heading"))
    return " · ".join(str(part) for part in parts if part)
