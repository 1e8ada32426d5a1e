"""Core data types: frozen, typed, and converted to JSON and back without loss.

Nothing here computes. A benchmark yields `Case`s, a `System` answers them with `Response`s, a `Metric` turns both
into `Score`s, and the run file stores `Record`s. What is shown of them is in `display`.
"""

import operator
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, runtime_checkable

import msgspec

from ragstone.display import Chart, Diagnosis, Summary, Table
from ragstone.plans import Plan, RequestPlan, RetrievalCost
from ragstone.structs import JSON, Frozen

if TYPE_CHECKING:
    import numpy as np


class Passage(Frozen, frozen=True):
    """A piece of text that a system may be given. `id` is its source reference, `relevant` its label if known."""

    id: str
    text: str
    title: str = ""
    relevant: bool | None = None
    score: float | None = None
    meta: dict[str, Any] = {}


class Sample(Frozen, frozen=True):
    """A question with what is known about it.

    `references` has one slot for each part that an answer needs; a slot lists aliases of which any will do.
    `language` is "en", "zh" or "" (to be detected).
    """

    id: str
    question: str
    references: tuple[tuple[str, ...], ...] = ()
    passages: tuple[Passage, ...] = ()
    language: str = ""
    meta: dict[str, Any] = {}


class Turn(Frozen, frozen=True):
    """One chat message. If the last turn is the assistant's, the model continues it."""

    role: Literal["system", "user", "assistant"]
    content: str


class Query(Frozen, frozen=True):
    """What a system sees; never the references.

    `passages` None: the system retrieves for itself; (): closed book; otherwise: exactly these.
    `language` "" is detected. `repeat` numbers independent answers to one question, from 0. `k`: how many passages to
    retrieve; None: as many as the system does by itself. `retrieve_only`: search for the question exactly as it stands,
    and return the passages without an answer (`NO_ANSWER`).
    """

    question: str
    passages: tuple[Passage, ...] | None = None
    history: tuple[Turn, ...] = ()
    language: str = ""
    repeat: int = 0
    k: int | None = None
    retrieve_only: bool = False


class Case(Frozen, frozen=True):
    """A sample under one condition. Cases of one non-empty `lane` are asked in order, one at a time."""

    id: str
    sample: Sample
    condition: dict[str, str | int | float | bool]
    query: Query
    lane: str = ""


class Usage(Frozen, frozen=True):
    """Tokens as counted by the endpoint. `cached_tokens`, `written_tokens`: of the prompt tokens, those that the
    provider read from its prompt cache, and those that it wrote to it, where it counts them. `requests`: the number of
    calls; `cached`: how many more were answered from the cache of replies."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    requests: int = 0
    cached: int = 0
    written_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(*map(operator.add, msgspec.structs.astuple(self), msgspec.structs.astuple(other)))


class Step(Frozen, frozen=True):
    """One step of a system on its way to an answer (retrieval, rewriting, a model call), for traces."""

    name: str
    input: Any = None
    output: Any = None
    seconds: float | None = None
    usage: Usage | None = None


NO_ANSWER = "no_answer"
"""The `finish_reason` of a response with passages but no answer, such as a line of a TREC run. Its retrieval can be
scored; its answer ("") cannot, which differs from an answer that is empty."""


class Response(Frozen, frozen=True):
    """A system's answer. `reasoning` is kept apart and never scored; `model` is the provider's name for the model.
    `finish_reason` is the endpoint's ("stop", "length"…), or `NO_ANSWER`. `empty_retrieval`: the system retrieved and
    found nothing; otherwise no passages mean that nobody recorded any."""

    answer: str
    passages: tuple[Passage, ...] = ()
    steps: tuple[Step, ...] = ()
    usage: Usage | None = None
    seconds: float | None = None
    reasoning: str = ""
    finish_reason: str = ""
    model: str = ""
    empty_retrieval: bool = False


class Score(Frozen, frozen=True):
    """A metric's result for one case. `value` is None, with a status and a reason, if it could not be scored; "unsure"
    is of a rule that knows that it cannot tell."""

    value: float | None
    status: Literal["scored", "not_applicable", "unsure", "failed"] = "scored"
    reason: str = ""
    evidence: Any = None

    @classmethod
    def of(cls, value: float, *, evidence: JSON = None, reason: str = "") -> "Score":
        return cls(float(value), "scored", reason, evidence)

    @classmethod
    def not_applicable(cls, reason: str, *, evidence: JSON = None) -> "Score":
        return cls(None, "not_applicable", reason, evidence)

    @classmethod
    def unsure(cls, reason: str, *, evidence: JSON = None) -> "Score":
        return cls(None, "unsure", reason, evidence)

    @classmethod
    def failed(cls, reason: str, *, evidence: JSON = None) -> "Score":
        return cls(None, "failed", reason, evidence)


class Record(Frozen, frozen=True):
    """One case answered by one system: a response or an error, and the scores."""

    system_id: str
    case: Case
    response: Response | None = None
    error: str | None = None
    scores: dict[str, Score] = {}


class Sampling(Frozen, frozen=True):
    """Sampling parameters. None leaves the choice to the endpoint."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()


class Request(Frozen, frozen=True):
    """One call of a chat model. `schema` is a JSON schema that the reply must match; `sample` numbers independent
    replies to the same messages, and is part of the cache key. `renew`: no cached reply is of use."""

    messages: tuple[Turn, ...]
    sampling: Sampling = Sampling()
    schema: dict[str, Any] | None = None
    schema_name: str = "reply"
    sample: int = 0
    renew: bool = False


class Completion(Frozen, frozen=True):
    """The reply to one request. `text` excludes the reasoning; `cached` means that no call was made."""

    text: str
    reasoning: str = ""
    finish_reason: str = ""
    usage: Usage = Usage()
    model: str = ""
    seconds: float | None = None
    cached: bool = False


class Need(StrEnum):
    """What a metric needs of a case and its response."""

    ANSWER = "answer"
    REFERENCES = "references"
    PASSAGES = "passages"
    LABELS = "labels"


@runtime_checkable
class System(Protocol):
    """The system under test. `id` names it in the run file; `spec` is everything that determines its answers (model,
    template, sampling…), as JSON. The run file refuses the same id with a different spec. A system may have `accepts`,
    what it takes besides the question (`systems.ACCEPTED`), `printed()`, the last line that its code printed, and
    `repeatable`, True if asking again costs nothing and brings the same answer; `systems.accepted` reads them."""

    @property
    def id(self) -> str: ...
    @property
    def spec(self) -> Mapping[str, Any]: ...
    async def answer(self, query: Query, /) -> Response: ...


class Metric(Protocol):
    """Scores one case. An immutable value; `name` is its spelling everywhere; a new `version` causes rescoring."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def needs(self) -> frozenset[Need]: ...
    def score(self, case: Case, response: Response, /) -> Score | Awaitable[Score]: ...


class Aggregate(Protocol):
    """Scores that span cases (adaptability, effective length)."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> int: ...
    def over(self, records: Iterable[Record], /) -> dict[str, Score]: ...


class Model(Protocol):
    """A chat model. Raises `errors.ModelError` if the call ends without a value."""

    @property
    def id(self) -> str: ...
    async def generate(self, request: Request, /) -> Completion: ...


class Embedder(Protocol):
    """Turns texts into vectors: (n, dim) float32 with rows of unit length."""

    @property
    def id(self) -> str: ...
    async def embed(self, texts: Sequence[str], /, *, kind: Literal["query", "passage"]) -> "np.ndarray[Any, Any]": ...


class Retriever(Protocol):
    """Finds passages for queries, best first, at most `k` each."""

    @property
    def id(self) -> str: ...
    async def retrieve(self, queries: Sequence[str], /, *, k: int) -> list[list[Passage]]: ...


class Template(Protocol):
    """How a question and its passages become messages, with the sampling that the protocol publishes.

    `spec` is everything that determines the messages, as JSON; it is part of a run file's settings."""

    @property
    def name(self) -> str: ...
    @property
    def sampling(self) -> Sampling: ...
    @property
    def spec(self) -> Mapping[str, Any]: ...
    def messages(self, query: Query, /) -> tuple[Turn, ...]: ...


class Resources(Frozen, frozen=True):
    """What a benchmark may use to prepare itself. `cache` is a folder for files that can be recreated."""

    cache: str = ""


class Run(Protocol):
    """A run to read: what was asked (`meta`), of whom (`systems`: id to spec), and every record, streamed in a fixed
    order (by system id, then by case id) that does not depend on when each was finished.

    `records`: all, or those of one system or of these cases. For those who do not read the texts of passages (`texts`
    False), a long one may be replaced by a short one, the same for the same text: reading is then several times faster.
    `plans` has, by system, what was to be asked; systems of which the file does not say it are missing. `unasked`
    streams the planned cases of a system that have no record: their ids, and what people know their samples by."""

    @property
    def meta(self) -> Mapping[str, Any]: ...
    @property
    def systems(self) -> Mapping[str, Mapping[str, Any]]: ...
    def records(
        self, *, system: str | None = None, cases: Collection[str] | None = None, texts: bool = True
    ) -> Iterator[Record]: ...
    def plans(self) -> Mapping[str, Plan]: ...
    def unasked(self, system: str, /) -> Iterator[tuple[str, str]]: ...


Expand: TypeAlias = Callable[[Query], Awaitable[Query]]


class Benchmark(Protocol):
    """What to ask, and how the published protocol tabulates the answers. The engine, the command line and reports read
    only these members; `benchmarks.base.BaseBenchmark` has the defaults.

    - `question`: the settings that must be equal to continue a run (data revision, selection…; not the limit or the
      grid, which may grow), as JSON. `options`: how the benchmark was created, as JSON, for `Plugin.from_meta`; a later
      command on the same run file may widen the `growing` ones.
    - `axes`: the fields of a case's condition that span the grid. `leads`: ids of the tables shown first (empty: all).
    - `cases` streams; the same options give the same ids and bytes. `size`: the number of cases, if known.
    - `reads_texts`: whether `explain` and `classify` read the texts of passages.
    - `gives_passages`: a system must answer from the passages of the query; one that retrieves for itself is refused.
    - `prepare` runs before the first case (retrieval…) and returns a hash of the data. If it takes long (`prepares`),
      `planned` yields the cases as far as they are known before it, and `preparation` reports what it took.
    - `expand`: turns the query of a case into its full text when it is asked, if cases are recipes. `plan`: how to send
      long prompts.
    - `prompt_tokens`, `judge_tokens` of a case (0: the judge is not asked) and `retrieval_cost`: for cost estimates.
      `cached_tokens`: of the prompt, those with which one before it in its lane begins, too.
    - `intervention`: the condition of a diagnosis that a case is ("as_is", "gold_only", "closed_book"; "" for none),
      and what tells one set of such cases from another, such as a retriever ("": of all sets).
    - `view`: the run as gates, slices and trends read it; by default the run itself. `observed`: passes on the records
      of the whole run, so that `summary`, `tables` and `charts` need not read what passed by; also without the texts of
      passages. `observes`: whether it does so.
    - `summary`: what pages and the terminal open with, by system; under "" what concerns all of them. By default the
      means of the metrics.
    - `explain`: why an answer is right or wrong, with the stretches of text that show it. `classify`: the same, for
      those who count causes over a whole run; its reason and stretches may be empty. By default `explain`.
    - `compare`, `compare_charts`: tables and charts of two systems beside each other, as (run, system id, label)."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def license(self) -> str: ...
    @property
    def citation(self) -> str: ...
    @property
    def template(self) -> Template: ...
    @property
    def metrics(self) -> tuple[Metric, ...]: ...
    @property
    def aggregates(self) -> tuple[Aggregate, ...]: ...
    @property
    def question(self) -> Mapping[str, Any]: ...
    @property
    def options(self) -> Mapping[str, Any]: ...
    @property
    def growing(self) -> tuple[str, ...]: ...
    @property
    def axes(self) -> tuple[str, ...]: ...
    @property
    def leads(self) -> tuple[str, ...]: ...
    @property
    def warnings(self) -> Sequence[str]: ...
    @property
    def size(self) -> int | None: ...
    @property
    def plan(self) -> RequestPlan | None: ...
    @property
    def expand(self) -> Expand | None: ...
    @property
    def prepares(self) -> bool: ...
    @property
    def gives_passages(self) -> bool: ...
    @property
    def reads_texts(self) -> bool: ...
    @property
    def observes(self) -> bool: ...
    @property
    def preparation(self) -> Mapping[str, Mapping[str, Any]]: ...
    async def prepare(self, resources: Resources, /) -> str: ...
    def cases(self) -> Iterable[Case]: ...
    def planned(self) -> Iterable[Case]: ...
    def prompt_tokens(self, case: Case, /) -> int: ...
    def cached_tokens(self, case: Case, /) -> int: ...
    def judge_tokens(self, case: Case, /) -> int: ...
    def retrieval_cost(self) -> Sequence[RetrievalCost]: ...
    def intervention(self, case: Case, /) -> tuple[str, str]: ...
    def view(self, run: Run, /) -> Run: ...
    def observed(self, run: Run, records: Iterable[Record], /) -> Iterable[Record]: ...
    def summary(self, run: Run, /, *, language: str = "en") -> Mapping[str, Summary]: ...
    def tables(self, run: Run, /, *, language: str = "en") -> list[Table]: ...
    def charts(self, run: Run, /, *, language: str = "en") -> list[Chart]: ...
    def explain(self, record: Record, /, *, language: str = "en") -> Diagnosis: ...
    def classify(self, record: Record, /, *, language: str = "en") -> Diagnosis: ...
    def compare(self, a: tuple[Run, str, str], b: tuple[Run, str, str], /, *, language: str = "en") -> list[Table]: ...
    def compare_charts(
        self, a: tuple[Run, str, str], b: tuple[Run, str, str], /, *, language: str = "en"
    ) -> list[Chart]: ...
