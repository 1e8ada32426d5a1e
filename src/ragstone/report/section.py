"""Sections of the report, and the view of a run that they render.

A section is a plug-in of the group `ragstone.report_sections`: a `Section` value. Built-in sections are the modules of
`ragstone.report.sections`; their templates are in `ragstone/report/templates`.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
from markupsafe import Markup

from ragstone.analysis.expert_agreement import ExpertFindings
from ragstone.analysis.slices import SliceReader
from ragstone.display import Chart, Diagnosis, Summary, Table
from ragstone.messages import messages
from ragstone.registry import Registry
from ragstone.report.digest import CaseKey, Digest, digest
from ragstone.report.judged import JUDGED_CASES, JudgedDigest, JudgedReader
from ragstone.report.named_run import named_run
from ragstone.report.opening import opening
from ragstone.report.sanitize import readable
from ragstone.report.unfinished import tables_of
from ragstone.types import Benchmark, Record, Run

_LONGEST = 4_000  # characters of a text that a template prints; longer texts go through `html.marked`


def _shown(value: object) -> object:
    """Make a value readable and cut it, for every value that a template prints; the template then escapes it."""
    if isinstance(value, Markup):
        return value
    text = str(value)
    return readable(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… (+{len(text) - _LONGEST})")


def _coded(text: object) -> object:
    """A text in which what stands between backticks, a command, is code. A backtick alone stays."""
    pieces = str(_shown(text)).split("`")
    if isinstance(text, Markup) or len(pieces) % 2 == 0:
        return text
    return Markup().join(
        Markup("<code>{}</code>").format(piece) if at % 2 else piece for at, piece in enumerate(pieces)
    )


def _source(name: str) -> str:
    """The text of `PACKAGE/NAME.html`: a file in the folder `templates` of that package."""
    package, _, file = name.partition("/")
    return files(f"ragstone.{package}").joinpath("templates", file).read_text("utf-8")


_ENVIRONMENT = Environment(
    autoescape=True, undefined=StrictUndefined, finalize=_shown, trim_blocks=True, lstrip_blocks=True,
    loader=FunctionLoader(_source),
)  # fmt: skip
_ENVIRONMENT.filters["coded"] = _coded
_FILE = re.compile(r"\w+/\w+\.html")


@lru_cache(maxsize=256)
def _compiled(template: str) -> Template:
    if _FILE.fullmatch(template):
        return _ENVIRONMENT.get_template(template)
    return _ENVIRONMENT.from_string(template)


@dataclass(frozen=True)
class Canvas:
    """Renders the templates of a page in one language."""

    language: str

    @property
    def words(self) -> Mapping[str, str]:
        """The texts that all pages share."""
        return messages(__name__, self.language)

    def html(self, template: str, /, **values: Any) -> Markup:
        """Fill in a Jinja2 template: a file of ours ("report/table.html"), or a text. Values are escaped unless they
        are Markup; an unknown name is an error."""
        return Markup(_compiled(template).render(**values))


@dataclass(frozen=True)
class View(Canvas):
    """A run, for the sections. `tables` and `charts` of the benchmark are computed once; `cases_shown` and `case_bytes`
    limit the wrong answers that are shown. `shared`: what one section computes and another one needs. `experts`: what
    labels of experts say of the run. `judged`: what was judged, and the samples that are worst by it. `slices`: what is
    searched for slices, None if that is not the run itself."""

    run: Run
    benchmark: Benchmark
    digest: Digest
    judged: JudgedDigest
    slices: SliceReader | None
    cases_shown: int
    case_bytes: int
    shared: dict[str, Any] = field(default_factory=dict)
    experts: ExpertFindings | None = None
    case_list: Callable[[Sequence[tuple[str, str]]], str] | None = None
    """The address of the list of cases that a filter (parameters, values) finds; None in a file, which has no list."""

    @cached_property
    def tables(self) -> list[Table]:
        return tables_of(self.run, self.benchmark, language=self.language)

    @cached_property
    def summaries(self) -> Mapping[str, Summary]:
        """What the page opens with, by system, that of all systems under ""; empty if nothing was scored."""
        return opening(
            self.run, self.benchmark, lambda: self.digest, language=self.language, experts=self.experts
        )  # fmt: skip

    @cached_property
    def charts(self) -> list[Chart]:
        return self.benchmark.charts(self.run, language=self.language)

    def records(self, keys: Collection[CaseKey]) -> Iterator[tuple[CaseKey, Record]]:
        """Streams the records of these cases, system by system."""
        for system in sorted({system for system, _ in keys}):
            for record in self.run.records(system=system, cases={case for name, case in keys if name == system}):
                yield (system, record.case.id), record


def view_of(
    run: Run, benchmark: Benchmark, *, language: str, cases_shown: int, case_bytes: int,
    experts: ExpertFindings | None = None, case_list: Callable[[Sequence[tuple[str, str]]], str] | None = None,
) -> View:  # fmt: skip
    """Reads a run, once for all sections; its systems have short labels. Arguments as the fields of `View`."""
    run = named_run(run)
    judged = JudgedReader(max(0, min(JUDGED_CASES, cases_shown)))
    plans = run.plans()
    known = benchmark.view(run) is run and plans.keys() == run.systems.keys()
    searched = SliceReader(sum(plan.asked for plan in plans.values())) if known else None

    def read(record: Record, diagnosis: Diagnosis) -> None:
        judged.add(record)
        if searched is not None:
            searched.add(record, None if record.response is None else diagnosis.right)

    counts = digest(run, benchmark, language=language, cases_shown=cases_shown, readers=[read])
    if searched is not None and searched.total != counts.total:  # somebody is writing
        searched = None
    return View(language, run, benchmark, counts, judged.digest(), searched, cases_shown, case_bytes, experts=experts,
                case_list=case_list)  # fmt: skip


@dataclass(frozen=True)
class Section:
    """A part of the report. Sections are sorted by `order`; `title` is by language, with at least "en".

    `body` returns HTML as Markup (a plain str is escaped), or None to leave the section out. It must depend only on
    the view. `folded`: a page that opens with a summary has it at its end, folded, under how it was made. `question`:
    what all answers of a system to one question show together, for the page of a case; empty for a benchmark that is
    not the section's.
    """

    order: int
    title: Mapping[str, str]
    body: Callable[[View], Markup | str | None]
    folded: bool = False
    question: Callable[[Canvas, Benchmark, Sequence[Record], Run | None], Markup] | None = None


SECTIONS: Registry[Section] = Registry(
    "report section",
    "ragstone.report.sections",
    "ragstone.report_sections",
    needs=["order:number", "title:table", "body:call", "folded", "question"],
    part="sections",
)


def question_html(canvas: Canvas, benchmark: Benchmark, answers: Sequence[Record], run: Run | None = None) -> Markup:
    """What the sections say of one question, from all its records. `run`: has the answers to all questions."""
    told = [
        section.question(canvas, benchmark, answers, run) for _, section in SECTIONS if section.question is not None
    ]
    return Markup().join(told)
