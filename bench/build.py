"""What the gates of `ragstone build questions` catch, and what the engine costs without a model's time.

    python -m bench.build                  # all tables; those of the types of questions are `bench.build_types`
    python -m bench.build --chunks 10000   # the second one alone, of this size

First table: documents with one fact each; a writer that spoils a tenth of its work in one way at a time, and a reader
that makes no mistakes. Recall is the share of the spoiled items that are rejected, false rejections the share of good
ones. Second table: seconds of CPU, beside those of the model, and peak memory of all passes of each construction over
many chunks."""

import argparse
import asyncio
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from bench import build_types
from ragstone.construction.builders.mirage.pipeline import MappedQuestion, mirage_pipeline
from ragstone.construction.builders.mirage.qa_sets import SourceQuestion
from ragstone.construction.builders.pipeline import Pipeline, State
from ragstone.construction.builders.questions.pipeline import QuestionSettings, questions_pipeline
from ragstone.construction.builders.rgb.pipeline import rgb_pipeline
from ragstone.construction.builders.template_model import TemplateModel
from ragstone.construction.construction import construct
from ragstone.engine.execute import RunOptions
from ragstone.models.scripted import Scripted
from ragstone.retrieval.chunkers import chunk_passages
from ragstone.text import detect
from ragstone.types import Completion, Passage, Request

Rule = Callable[[Mapping[str, Any], Any], Any]
_HEIGHT = re.compile(r"\d+(?: metres|米)")
ANY = "; ".join(f"{height} metres" for height in range(300, 1000))


def documents(count: int) -> list[Passage]:
    """Chunks with one fact each, half of them in Chinese."""
    found = []
    for number in range(count):
        name, height = f"{chr(65 + number % 26)}{_letters(number)}", 300 + number % 700
        text = (
            f"The tower of {name} was finished late. It is {height} metres tall, as all maps of {name} say."
            if number % 2 == 0
            else f"{name}塔建成得很晚，周围的居民都还记得当时的情形。塔高{height}米，{name}的地图都这样写。"
        )
        title = f"Tower {name}" if number % 2 == 0 else f"{name}塔"
        found.append(Passage(f"doc{number}#1", text, title, meta={"document": f"doc{number}"}))
    return found


def _letters(number: int) -> str:
    text = ""
    while number:
        number, rest = divmod(number, 26)
        text += chr(97 + rest)
    return text or "a"


class Spoiling:
    """`local/template`, whose replies to one step about every tenth document a rule changes."""

    def __init__(self, step: str, rule: Rule) -> None:
        self.step, self.rule, self.spoiled = step, rule, set[str]()
        self.template = TemplateModel()

    def is_spoiled(self, text: str) -> bool:
        """Whether the document that a request is about is one of those that are spoiled."""
        return sum(map(ord, _name_in(text))) % 10 == 0

    async def __call__(self, request: Request) -> Completion:
        turns = tuple(turn for turn in request.messages if turn.content[:1] == "{")
        request = replace(request, messages=turns[:-1] if turns[-1].role == "assistant" else turns)
        completion = await self.template.generate(request)
        text = request.messages[-1].content
        if request.schema_name != self.step or not self.is_spoiled(text):
            return completion
        reply = self.rule(json.loads(text), json.loads(completion.text))
        return replace(completion, text=json.dumps(reply))


class Timed(TemplateModel):
    """`local/template`, whose own time is told apart. `heights`: of the towers that it knows by heart."""

    def __init__(self, heights: Mapping[str, str]) -> None:
        self.seconds, self._heights = 0.0, heights

    async def generate(self, request: Request, /) -> Completion:
        started = time.process_time()
        completion = await super().generate(request)
        shown = request.messages[-1].content
        if request.schema_name == "read" and self._heights and not json.loads(shown)["passages"]:
            known = self._heights.get(_name_in(shown), "")
            completion = replace(completion, text=json.dumps({"answer": known, "found": bool(known)}))
        self.seconds += time.process_time() - started
        return completion


def _name_in(text: str) -> str:
    """The name of the tower that a request is about."""
    found = re.search(r"(?:Tower |tower of )([A-Z][a-z]+)|([A-Z][a-z]+)塔", text)
    return found[1] or found[2] if found else ""


def _each(key: str, name: str, value: Any) -> Rule:
    return lambda _, reply: {key: [{**one, name: value} for one in reply[key]]}


KINDS: Mapping[str, tuple[str, Rule]] = {
    "evidence that the document does not have": ("facts", _each("facts", "evidence", "No such sentence.")),
    "a value that the evidence does not state": ("facts", _each("facts", "value", "9 miles")),
    "an answer that the evidence does not state": ("question", lambda _, r: {**r, "answers": [["9 miles"]]}),
    "the answer in the question": (
        "question", lambda s, r: {**r, "question": f"{r['question']} {s['facts'][0]['value']}?"},
    ),
    "a question that cannot be answered from its passages": ("read", lambda s, r: {"answer": "", "found": False}),
    "known without documents": ("read", lambda s, r: r if s["passages"] else {"answer": ANY, "found": True}),
    "answered without its evidence": (
        "read", lambda s, r: {"answer": ANY, "found": True} if any("…" in t for t in s["passages"].values()) else r,
    ),
    "a paraphrase with another answer": (
        "read", lambda s, r: {"answer": "9", "found": True} if "“" in s["question"] else r,
    ),
    "the same fact twice": ("facts", lambda _, r: {"facts": [*r["facts"], *r["facts"]]}),
}  # fmt: skip


def planted(count: int) -> None:
    """Prints recall and false rejections for each kind of bad item."""
    print(f"{'spoiled':54} {'recall':>12} {'false rejections':>18}")
    for kind, (step, rule) in KINDS.items():
        spoiling = Spoiling(step, rule)
        state = _run(count, Scripted(spoiling, id="scripted/spoiling"))
        docs = documents(count)
        bad = {one.id for one in docs if spoiling.is_spoiled(f"{one.title} {one.text}")}
        accepted = [draft.facts[0].chunk.id for draft in state.items]
        through = len(bad & set(accepted)) if "twice" not in kind else len(accepted) - len(set(accepted))
        good = {one.id for one in docs} - bad
        lost = len(good - set(accepted))
        print(f"{kind:54} {len(bad) - through:>5} of {len(bad):<4} {lost:>10} of {len(good)}")


def _run(count: int, model: Any) -> Any:
    settings = QuestionSettings(2 * count, {"single": 1.0})
    with tempfile.TemporaryDirectory() as folder:
        pipeline = questions_pipeline(documents(count), settings)
        models: Any = dict.fromkeys(("writer", "checker"), model)
        return asyncio.run(
            construct(pipeline, models, how=RunOptions(run=Path(folder) / "b.run", concurrency=64))
        ).state


def questions_of(chunks: int) -> Pipeline:
    """A fifth of the chunks become questions."""
    return questions_pipeline(documents(chunks), QuestionSettings(max(1, chunks // 5)))


def rgb_of(chunks: int) -> Pipeline:
    """Each chunk is an article with an event."""
    articles = documents(chunks)
    return rgb_pipeline(articles, chunk_passages(articles, size=300), size=chunks)


def mirage_of(chunks: int) -> Pipeline:
    """Articles of five chunks, with a question about each."""
    mapped = []
    for number, document in enumerate(documents(2 * (chunks // 5))[::2]):
        name, value = _name_in(document.title), f"{300 + 2 * number % 700} metres"
        others = "\n".join(f"{line} of {name}. " + f"{line} has no figures at all. " * 42 for line in _PARTS)
        text = f"The tower of {name} is {value} tall.\n{others}"
        asked = f"Fill in the blank ({name}): The tower of {name} is _____ tall."
        question = SourceQuestion(f"q{number}", "bench", asked, (value,), document.title)
        mapped.append(MappedQuestion(question, Passage(f"doc{number}", text, document.title)))
    return mirage_pipeline(mapped, size=chunks)


_PARTS = ("History", "Geography", "Climate", "Economy")
PIPELINES = {"questions": questions_of, "rgb": rgb_of, "mirage": mirage_of}


async def _all_parts(pipeline: Pipeline, models: Any, path: Path) -> State:
    """The state after the construction and those that follow it."""
    state = (await construct(pipeline, models, how=RunOptions(run=path, concurrency=64))).state
    for later in pipeline.then(state.items):
        after = (await construct(later, models, before=state, how=RunOptions(run=path, concurrency=64))).state
        state = State(state.items, after.rejected, after.yields)
    return state


def engine(kind: str, chunks: int) -> None:
    """Prints seconds of CPU and peak memory of all passes over so many chunks."""
    started, wall = time.process_time(), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        known = documents(chunks)[::3] if kind == "rgb" else []
        model = Timed({_name_in(one.title): found[0] for one in known if (found := _HEIGHT.search(one.text))})
        pipeline = PIPELINES[kind](chunks)
        models: Any = dict.fromkeys(("writer", "checker"), model)
        state = asyncio.run(_all_parts(pipeline, models, Path(folder) / "b.run"))
        size = (Path(folder) / "b.run").stat().st_size
    asked = sum(one.asked for one in state.yields)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    cpu = time.process_time() - started - model.seconds
    print(
        f"{kind:10} {chunks:>7,} {asked:>9,} {cpu:>8.0f} {model.seconds:>9.0f}"
        f" {time.perf_counter() - wall:>7.0f} {peak:>9.0f} {size / 2**20:>9.0f} {len(state.items):>9,}"
    )


def engines(sizes: Sequence[int]) -> None:
    """Prints the table, a process for each row: peak memory is that of a process."""
    print(f"{'build':10} {'chunks':>7} {'requests':>9} {'CPU, s':>8} {'model, s':>9} {'all, s':>7} {'peak, MiB':>9} "
          f"{'file, MiB':>9} {'accepted':>9}")  # fmt: skip
    for kind in PIPELINES:
        for size in sizes:
            command = [sys.executable, "-m", "bench.build", "--engine", kind, "--chunks", str(size)]
            subprocess.run(command, check=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int)
    parser.add_argument("--documents", type=int, default=300)
    parser.add_argument("--engine", choices=list(PIPELINES))
    arguments = parser.parse_args()
    assert detect("塔高300米") == "zh"
    if arguments.engine:
        engine(arguments.engine, arguments.chunks or 1_000)
    else:
        if arguments.chunks is None:
            planted(arguments.documents)
            build_types.table()
        engines([arguments.chunks] if arguments.chunks else [1_000, 2_000])
