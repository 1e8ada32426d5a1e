"""The files that `ragstone init` writes: the configuration, example questions, example documents, a CI workflow."""

import csv
import dataclasses
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragstone.benchmarks.recorded.benchmark import RecordedRow
from ragstone.datasets.starter import (
    ExampleQuestion,
    example_documents,
    example_questions,
    unanswerable_questions,
)  # fmt: skip
from ragstone.datasets.tabular.eval_data import read_data
from ragstone.engine.judge_tools import Judging
from ragstone.engine.project_config import CONFIG
from ragstone.engine.trust import TRUST
from ragstone.errors import UsageError
from ragstone.evaluation.evaluate import default_metrics
from ragstone.messages import messages
from ragstone.models import PROVIDERS, check_model
from ragstone.registry import is_place
from ragstone.retrieval.corpus import read_corpus
from ragstone.systems import is_address, is_registered, open_system
from ragstone.systems.http import HttpTarget
from ragstone.systems.rag import RAG_TEMPLATE, RagTarget, rag_target

DOCUMENTS = Path("docs")
QUESTIONS = Path("questions.csv")
WORKFLOW = Path(".github/workflows/ragstone.yml")
# Left out of the default metrics: what needs an embedder, and what says the same again.
_SKIPPED = ("answer_relevancy", "exact_match", "rouge_l", "precision", "ndcg")
_GATES = {"answer_match": 0.5, "faithfulness": 0.7}  # the first that is scored


@dataclass(frozen=True)
class Starter:
    """What to set up. `system`: as in `run`, "" for BM25 over the documents. `documents`: a folder or file; None for
    invented ones, if the system needs documents. `questions`: a file; None for examples. `language`: of examples.
    `reader`: the language of comments and reports. `judge`: a model, or "". `http`: how to ask an address. `report`:
    whether `ragstone run` writes one."""

    system: str = ""
    documents: Path | None = None
    questions: Path | None = None
    language: str = "en"
    reader: str = "en"
    judge: str = ""
    http: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    report: bool = True

    @property
    def target(self) -> str | HttpTarget | RagTarget:
        """The system as it will be asked. Raises UsageError for a name that cannot be one."""
        if is_address(self.system):
            return HttpTarget(self.system, **{"name": "app", **self.http})
        if self.http:
            raise UsageError(f"--{next(iter(self.http)).removesuffix('s')} is for HTTP addresses.")
        if is_place(self.system) or (self.system and is_registered(self.system)):
            return self.system
        text = self.system or "rag()"
        if not text.startswith("rag("):  # a model, which answers from the documents
            check_model(text, "model")
            text = f"rag(model={text})"
        return rag_target(text, self.documents or DOCUMENTS)


async def check_opens(starter: Starter, *, asks: bool = True) -> None:
    """Opens the system and closes it again, unless it needs documents. `asks` False: it is not to be asked now, so its
    code is not run and its variables need not be set. Raises UsageError."""
    target = starter.target
    if isinstance(target, HttpTarget):
        target = target if asks else dataclasses.replace(target, headers={})
    elif isinstance(target, RagTarget) or not asks:
        return
    async with open_system(target, template=RAG_TEMPLATE):
        pass


def starter_files(starter: Starter) -> dict[Path, str]:
    """The files by path, nothing of which is written here. Raises UsageError and DataError for documents or questions
    that cannot be read, and for a system or judge that cannot be."""
    files: dict[Path, str] = {}
    target = starter.target
    if starter.questions is not None:
        rows: Any = starter.questions
    else:
        found: list[ExampleQuestion] = []
        if starter.documents is not None:
            found = example_questions(read_corpus(starter.documents).passages, starter.language)
        elif isinstance(target, RagTarget):
            documents, found = example_documents(starter.language)
            files |= {DOCUMENTS / name: text for name, text in documents.items()}
        rows = _rows([*found, *unanswerable_questions(starter.language)], starter.reader)
        files[QUESTIONS] = _csv(rows)
    if starter.judge:
        check_model(starter.judge, "model")
    judging = Judging.of([starter.judge] if starter.judge else None)
    items = read_data(rows).items
    metrics = default_metrics([RecordedRow(item.row, item.sample) for item in items], judging)
    metrics = tuple(name for name in metrics if name not in _SKIPPED)
    judging.check(metrics)
    files[CONFIG] = _config(starter, target, metrics)
    files[WORKFLOW] = _workflow(starter, target)
    return files


def _rows(questions: Sequence[ExampleQuestion], language: str) -> list[dict[str, str]]:
    note = messages(__name__, language)["note"]
    return [
        {"id": f"example-{number:02}", "question": item.question, "reference": item.reference,
         "answerable": "yes" if item.reference else "no", "gold_ids": item.document, "note": note}
        for number, item in enumerate(questions, 1)
    ]  # fmt: skip


def _csv(rows: Sequence[Mapping[str, str]]) -> str:
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def _config(starter: Starter, target: Any, metrics: Sequence[str]) -> str:
    """`ragstone.toml`."""
    texts = messages(__name__, starter.reader)
    lines = [f"# {texts['config']}", ""]
    name = starter.system
    if (table := _system_table(target)) is not None:
        name = "documents" if isinstance(target, RagTarget) else "app"
        lines += [f"[systems.{name}]", *(f"{key} = {_toml(value)}" for key, value in table.items()), ""]
    lines += ["[run]", f"# {texts['run']}"]
    options = {
        "questions": (starter.questions or QUESTIONS).as_posix(), "system": name, "metrics": list(metrics),
        "language": starter.reader, **({"judge": [starter.judge]} if starter.judge else {}),
        **({"report": "report.html"} if starter.report else {}),
    }  # fmt: skip
    lines += [f"{key} = {_toml(value)}" for key, value in options.items()]
    if starter.documents is not None and not isinstance(target, RagTarget):  # which has its own
        lines += ["", "[diagnose]", f"# {texts['diagnose']}", f"corpus = {_toml(starter.documents.as_posix())}"]
    lines += ["", "[gates]", f"# {texts['gates']}"]
    lines += [f"{metric} = {limit}" for metric, limit in _GATES.items() if metric in metrics][:1]
    return "\n".join(lines) + "\n"


def _system_table(target: Any) -> dict[str, Any] | None:
    """The entries of `[systems.NAME]`; None for a system that another package registers."""
    if isinstance(target, RagTarget):
        return {"corpus": Path(str(target.corpus)).as_posix(), "rag": target.name}
    if isinstance(target, HttpTarget):
        fields = {item.name: getattr(target, item.name) for item in dataclasses.fields(target) if item.name != "name"}
        written = ("url", "body")  # the body even if it is the default: it is what users change first
        default = HttpTarget("")
        table = {key: value for key, value in fields.items() if key in written or value != getattr(default, key)}
        return table | ({"variables": variables} if (variables := _variables(target)) else {})
    return {"python": target} if is_place(target) else None


def _variables(target: Any) -> list[str]:
    """The variables that the headers of an address name."""
    headers = target.headers.values() if isinstance(target, HttpTarget) else ()
    return list(dict.fromkeys(re.findall(r"\$\{?(\w+)", " ".join(headers))))


def _toml(value: Any) -> str:
    """A value as TOML, whose texts are written as in JSON."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_toml(key)} = {_toml(item)}" for key, item in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _workflow(starter: Starter, target: Any) -> str:
    """A workflow of GitHub Actions that asks, scores and gates, and keeps the report."""
    texts = messages(__name__, starter.reader)
    variables = _variables(target)
    for model in (starter.judge, target.model if isinstance(target, RagTarget) else ""):
        name = model.partition("/")[0]
        if name in PROVIDERS and (key := getattr(PROVIDERS.get(name), "key", "")):
            variables.append(key)
    secrets = [f"          {name}: ${{{{ secrets.{name} }}}}" for name in dict.fromkeys(variables)]
    start = [f"      # {texts['start']}"] if isinstance(target, HttpTarget) else []
    environment = "\n".join(["", "        env:", f"          {TRUST}: {CONFIG}", *secrets])
    return _WORKFLOW.format(
        header=texts["workflow"], cache=texts["cache"], ask=texts["ask"],
        start="".join(f"{line}\n" for line in start), environment=environment,
    )  # fmt: skip


_WORKFLOW = """\
# {header}
name: ragstone
on: [push, pull_request]

jobs:
  answers:
    runs-on: ubuntu-latest
    permissions:
      contents: read
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      # {cache}
      - uses: actions/cache@v4
        with:
          path: ~/.cache/ragstone
          key: ragstone-${{{{ github.run_id }}}}
          restore-keys: ragstone-
      - run: pip install "ragstone[documents,local,report] @ git+https://github.com/ragstone/ragstone"
      - run: if [ -f requirements.txt ]; then pip install -r requirements.txt; fi
{start}      - name: "{ask}"{environment}
        run: ragstone run --run answers.run --report report.html
      - name: JUnit
        if: always()
        run: ragstone export answers.run --format junit -o junit.xml
      - uses: actions/upload-artifact@v4
        if: always()
        with:
          name: answers
          path: |
            report.html
            junit.xml
            answers.run
"""
