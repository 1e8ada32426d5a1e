"""`build_questions`: test questions from the user's documents."""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from msgspec.structs import asdict, replace

from ragstone.construction.benchmarks import ConstructionPlugin
from ragstone.construction.builders.pipeline import PassYield, Pipeline, Rejected, State
from ragstone.construction.builders.questions.boilerplate import Cleaned, drop_boilerplate
from ragstone.construction.builders.questions.items import Draft, Fact, group_of
from ragstone.construction.builders.questions.pipeline import QuestionSettings, most_drafts, questions_pipeline
from ragstone.construction.builders.questions.places import with_headings
from ragstone.construction.builders.steps import Role, content_id
from ragstone.construction.built_files import CORPUS, QUESTIONS, chunk_row, question_row, write_rows
from ragstone.construction.construction import Constructed, construct, keep_report, output_folder
from ragstone.engine.execute import DEFAULTS, RunOptions, cache_folder
from ragstone.engine.public_functions import blocking, public
from ragstone.engine.run_result import RunResult
from ragstone.errors import DataError, UsageError
from ragstone.messages import messages, preferred_language
from ragstone.models import ModelOptions
from ragstone.retrieval.chunkers import chunk_passages
from ragstone.retrieval.corpus import read_corpus
from ragstone.storage import parse_json
from ragstone.text import sentences
from ragstone.text.quotes import find_quote
from ragstone.types import Model, Passage

_Row = Mapping[str, Any]
_TELLING = 12  # characters of a sentence that two documents do not share by chance
_CHUNK = 330  # tokens
_REJECTED = "rejected.jsonl"


@dataclass(frozen=True)
class EarlierSet:
    """`rows` are the questions that stay. `stale` ones have evidence that its document, which is among those read now,
    does not have any more. `chunks`: the rows of its corpus."""

    rows: Sequence[_Row] = ()
    stale: Sequence[_Row] = ()
    chunks: Sequence[_Row] = ()

    def chunks_beside(self, corpus: Sequence[Passage]) -> Iterator[_Row]:
        """The chunks that the questions that stay are from, and that the new corpus does not have."""
        known = {passage.id for passage in corpus}
        wanted = {str(one.get("passage")) for row in self.rows for one in _evidence_of(row)}
        return (chunk for chunk in self.chunks if chunk["id"] in wanted - known)


def earlier_set(path: Path, documents: Sequence[Passage]) -> EarlierSet:
    """Reads a test set: a folder that `build questions` wrote, or its file. Raises UsageError and DataError."""
    file = path / QUESTIONS if path.is_dir() else path
    if not file.exists():
        raise UsageError(f"{file} does not exist: --extend names a folder that `ragstone build questions` wrote.")
    rows, corpus = _rows(file, "question"), file.with_name(CORPUS)
    chunks = _rows(corpus, "id") if corpus.exists() else []
    texts = _same_documents(documents, chunks)
    stale = [row for row in rows if any(_is_gone(one, texts) for one in _evidence_of(row))]
    gone = {id(row) for row in stale}
    return EarlierSet([row for row in rows if id(row) not in gone], stale, chunks)


def _same_documents(documents: Sequence[Passage], chunks: Sequence[_Row]) -> dict[str, str]:
    """Id → text of the documents that still have a sentence of the earlier corpus: others share only the name with what
    was read then."""
    texts = {document.id: document.text for document in documents}
    same: dict[str, str] = {}
    for chunk in chunks:
        name = str(chunk["id"]).rpartition("#")[0]
        if name in same or name not in texts:
            continue
        parts = sentences(str(chunk.get("text", "")), "")
        if any(len(part.strip()) >= _TELLING and find_quote(part, texts[name]) is not None for part in parts):
            same[name] = texts[name]
    return same


def known_of(row: _Row) -> tuple[str, str | None]:
    """What a question of an earlier set asks, and its group; None where the row does not tell it."""
    question, reference = row["question"], row.get("reference")
    turns = question if isinstance(question, list) else [{"role": "user", "content": question}]
    texts = [str(turn.get("content", "")) for turn in turns if isinstance(turn, dict) and turn.get("role") == "user"]
    slots = [slot[0] for slot in reference if isinstance(slot, list) and slot] if isinstance(reference, list) else []
    subjects = [str(one["subject"]) for one in _evidence_of(row) if "subject" in one]
    return "\n".join(texts), group_of(map(str, slots), subjects) if subjects else None


def _evidence_of(row: _Row) -> list[_Row]:
    listed = row.get("evidence")
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def _is_gone(evidence: _Row, texts: Mapping[str, str]) -> bool:
    """Whether the document is there, and does not have the sentence. Lines may have been dropped inside of it."""
    text, sentence = texts.get(str(evidence.get("document"))), evidence.get("text")
    if text is None or not isinstance(sentence, str) or not sentence.strip():
        return False
    return any(find_quote(line, text) is None for line in sentence.splitlines() if any(map(str.isalnum, line)))


def _rows(file: Path, field: str) -> list[_Row]:
    rows: list[_Row] = []
    for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
        try:
            row = parse_json(line)
            rows.append({field: row[field], **row})
        except (ValueError, TypeError, KeyError) as error:
            raise DataError(file, f"this is no row of a test set ({error}).", line=number) from None
    return rows


@dataclass(frozen=True)
class QuestionBuild:
    """A construction before anything is asked. `cleaned`: the documents and the lines that were dropped from them.
    `earlier`: the test set that it extends. `warnings`: about the documents, one line each."""

    pipeline: Pipeline
    settings: QuestionSettings
    models: Mapping[Role, str | Model]
    output: Path
    documents: str
    cleaned: Cleaned
    earlier: EarlierSet = field(default_factory=EarlierSet)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class BuiltQuestions(RunResult):
    """A constructed test set. `questions`: its file, None if the construction is unfinished. `accepted` counts the new
    questions, `rejected` the others by reason."""

    questions: Path | None = None
    accepted: int = 0
    rejected: Mapping[str, int] | None = None


def plan_question_build(
    documents: str | Path | Sequence[str | Path],
    output: str | Path,
    models: Mapping[Role, str | Model],
    settings: QuestionSettings,
    *,
    chunk: int = _CHUNK,
    extend: str | Path | None = None,
) -> QuestionBuild:
    """Checks everything that can be checked before a model is opened. Raises UsageError and DataError."""
    settings.check()
    folder = output_folder(output)
    corpora = [read_corpus(path) for path in ([documents] if isinstance(documents, str | Path) else documents)]
    if not corpora:
        raise UsageError("Name the documents: a folder or a file.")
    passages = [
        replace(one, id=f"{corpus.name}/{one.id}") if len(corpora) > 1 else one
        for corpus in corpora
        for one in with_headings(corpus.passages, corpus.headings)
    ]
    earlier = EarlierSet() if extend is None else earlier_set(Path(extend), passages)
    settings = dataclasses.replace(settings, known=tuple(map(known_of, earlier.rows)))
    cleaned = drop_boilerplate(passages)
    pipeline = questions_pipeline(chunk_passages(cleaned.passages, size=chunk), settings)
    names = ", ".join(one.name for one in corpora)
    warnings = tuple(warning for one in corpora for warning in one.warnings)
    return QuestionBuild(pipeline, settings, models, folder, names, cleaned, earlier, warnings)


async def run_question_build(
    plan: QuestionBuild, how: RunOptions = DEFAULTS, *, retriever: str = "bm25"
) -> BuiltQuestions:
    """Runs the plan and writes the test set: `questions.jsonl`, which `run`, `diagnose` and `eval` read, `corpus.jsonl`
    with the chunks, and `rejected.jsonl` with every rejected item and its reason. By default the run file stands in
    the folder, too."""
    plan.output.mkdir(parents=True, exist_ok=True)
    path, before = how.path(lambda: plan.output / "build.run"), State(yields=(_lines_kept(plan.cleaned),))
    how = dataclasses.replace(how, run=path)
    done = await construct(plan.pipeline, plan.models, before=before, retriever=retriever, how=how)
    plugin = ConstructionPlugin()
    if not done.complete:
        return BuiltQuestions(path, done.outcome, benchmark=plugin)
    keep_report(path, done.state, len(done.state.items), _covered(plan, done), plan.cleaned.lines)
    _write(plan, done)
    reasons = Counter(item.reason for item in done.state.rejected)
    return BuiltQuestions(
        path, done.outcome, _warnings(plan, done), plugin, plan.output / QUESTIONS, len(done.state.items), reasons
    )


def _lines_kept(cleaned: Cleaned) -> PassYield:
    """What dropping the boilerplate left, in lines."""
    return PassYield("boilerplate", cleaned.total, cleaned.total - sum(cleaned.lines.values()))


def _covered(plan: QuestionBuild, done: Constructed) -> dict[str, tuple[int, int]]:
    """How many of the facts and of the documents some question is asked of."""
    used = [fact for draft in done.state.items for fact in draft.facts]
    facts = next((one.kept for one in done.state.yields if one.name == "facts"), 0)
    documents = {str(chunk.meta.get("document", chunk.id)) for chunk in plan.pipeline.corpus}
    return {
        "facts": (len({fact.id for fact in used}), facts),
        "documents": (len({fact.document for fact in used}), len(documents)),
    }


def _warnings(plan: QuestionBuild, done: Constructed) -> tuple[str, ...]:
    """What was left out of the documents and of the earlier set, and whether the set is smaller than was wanted."""
    texts, found = messages(__name__, preferred_language()), [*plan.warnings]
    if plan.earlier.stale:
        found.append(texts["stale"].format(count=len(plan.earlier.stale)))
    got, wanted = len(done.state.items), plan.settings.size
    if got < wanted:
        yields = {one.name: one for one in done.state.yields}
        sample, drafts = yields["sample"], yields["select"].kept
        read_all = sample.kept == sample.entered and drafts < most_drafts(wanted)
        found.append(texts["fewer" if read_all else "tried"].format(got=got, wanted=wanted, drafts=drafts))
    return tuple(found)


def _write(plan: QuestionBuild, done: Constructed) -> None:
    drafts: Sequence[Draft] = done.state.items
    rows = [*plan.earlier.rows, *map(_row, drafts)]
    write_rows(plan.output / QUESTIONS, rows)
    write_rows(
        plan.output / CORPUS, [*map(chunk_row, plan.pipeline.corpus), *plan.earlier.chunks_beside(plan.pipeline.corpus)]
    )
    repeated = [
        Rejected(content_id(line), "boilerplate", "repeated_line", line, {"documents": count})
        for line, count in plan.cleaned.lines.items()
    ]
    stale = [
        Rejected(str(row.get("id", "")), "extend", "document_changed", "", dict(row)) for row in plan.earlier.stale
    ]
    write_rows(plan.output / _REJECTED, [_rejected_row(item) for item in (*repeated, *stale, *done.state.rejected)])


def _row(draft: Draft) -> dict[str, Any]:
    """A question as `ragstone run` reads it; a conversation ends with it."""
    question: Any = draft.question
    if draft.history:
        turns = [{"role": role, "content": text} for pair in draft.history for role, text in zip(
            ("user", "assistant"), pair, strict=True)]  # fmt: skip
        question = [*turns, {"role": "user", "content": draft.question}]
    gold = draft.gold if draft.answerable else ()
    evidence = [_evidence(fact) for fact in draft.facts]
    first = evidence[0] if evidence else {}
    return {
        **question_row(draft.id, question, draft.references, draft.language, gold), "answerable": draft.answerable,
        "type": draft.type, "style": draft.style, "persona": draft.persona, "difficulty": draft.difficulty,
        "page": first.get("page"), "heading": first.get("heading", ""), "evidence": evidence,
        "marks": list(draft.marks),
    }  # fmt: skip


def _evidence(fact: Fact) -> dict[str, Any]:
    """A sentence that states a part of the answer, and where it stands; `passage` is its chunk in `corpus.jsonl`."""
    place = (
        {} if fact.place is None else {name: value for name, value in asdict(fact.place).items() if value is not None}
    )
    return {"text": fact.evidence, "subject": fact.subject, "passage": fact.chunk.id, **place}


def _rejected_row(item: Rejected) -> dict[str, Any]:
    return {"id": item.id, "pass": item.at, "reason": item.reason, "detail": item.detail, "item": item.item}


@public
async def build_questions_async(
    documents: str | Path | Sequence[str | Path],
    output: str | Path,
    model: str | Model = "local/template",
    *,
    checker: str | Model | None = None,
    size: int = 200,
    types: Mapping[str, float] | None = None,
    styles: Sequence[str] = ("plain",),
    personas: Sequence[str] = (),
    contaminated: Literal["drop", "mark"] = "drop",
    chunk: int = _CHUNK,
    seed: int = 0,
    extend: str | Path | None = None,
    run: str | Path | None = None,
    retriever: str = "bm25",
    model_options: ModelOptions | None = None,
    concurrency: int | None = None,
) -> BuiltQuestions:
    """Construct test questions from documents: facts, questions about them, and gates that each question has to pass.

    `documents`: folders or files. `output`: the folder of the test set. `model` writes facts and questions, `checker`
    (by default the same) reads and judges them; "local/template" works by rules. `types`: the shares of the types of
    questions. `styles`: "plain", "search", "long", "typos". `personas`: descriptions of who asks. `contaminated`: what
    becomes of questions that the checker answers without documents. `chunk`: tokens of a passage. `extend`: a test set
    to add to. The same call resumes; a larger size goes on. Raises `RagstoneError`s, one line each.
    """
    settings = QuestionSettings(size, types, tuple(styles), tuple(personas) or ("",), seed, contaminated)
    models: dict[Role, str | Model] = {"writer": model, "checker": checker or model}
    plan = plan_question_build(documents, output, models, settings, chunk=chunk, extend=extend)
    options = model_options or ModelOptions(cache=cache_folder())
    return await run_question_build(plan, RunOptions(run, options, concurrency), retriever=retriever)


build_questions = blocking(build_questions_async, name="build_questions")
"""`ragstone build questions`."""
