"""Metrics: one a file. Each is an immutable value that scores one case; aggregates over cases are made elsewhere.

`METRICS` finds them by name; a module of this package offers its own in `PLUGINS`, other people's come by the
entry-point group `ragstone.metrics`. Such a plugin is one of three things:

- a `Metric`, ready as it is;
- a class that needs tools: `uses` names them ("judge", "model", "embedder"), `make(tools)` makes the metric;
- a `Family`, a metric for every k: it is registered as `ndcg@k`, and `ndcg@10` is the metric.

A measure of a ranked list is also one of the list at a stage of the system: `ndcg@10 fetched`.

`make_metrics` turns the names that a user writes into metrics, whichever of the three they are.
"""

import importlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, cast, runtime_checkable

from ragstone.errors import UnknownName, UsageError
from ragstone.metrics.traits import Better, traits_of
from ragstone.registry import Registry, is_loaded, is_place
from ragstone.responses.stages import STAGE_WORDS
from ragstone.types import Embedder, Metric, Model

if TYPE_CHECKING:
    from ragstone.metrics.judge.claims import Judge
    from ragstone.metrics.judge.prompts import Prompts

__all__ = [
    "GROUPS", "METRICS", "Family", "Maker", "MetricPlugin", "Tools", "better", "check_metrics",
    "find_metric", "installed_metric", "is_own", "make_metrics", "scored_names", "steps_of",
]  # fmt: skip


@dataclass(frozen=True)
class Tools:
    """What metrics may be made of. `judge` gives claims and verdicts, shared by all metrics of a sample; `model` is
    the judge's chat model, for metrics with questions of their own; `rubrics` are files of the user's criteria;
    `language` is that of the prompts ("": each sample's own)."""

    judge: "Judge | None" = None
    model: Model | None = None
    embedder: Embedder | None = None
    prompts: "Prompts | None" = None
    rubrics: tuple[Path, ...] = ()
    language: str = ""


class Maker(Protocol):
    """A class of metrics that need tools. `uses`: which; `make` is called only where they are there."""

    uses: ClassVar[tuple[str, ...]]

    @classmethod
    def make(cls, tools: Tools, /) -> Metric: ...


@runtime_checkable
class Family(Protocol):
    """A metric for every k. `name` ends in "@k"; `at(k)` is the metric for a k of at least 1."""

    @property
    def name(self) -> str: ...
    def at(self, k: int, /) -> Metric: ...


@runtime_checkable
class Staged(Protocol):
    """A measure of a list, which may be that at a stage of the system (`STAGE_WORDS`); "": that of the answer."""

    stage: str


MetricPlugin: TypeAlias = Metric | type[Maker] | Family

METRICS: Registry[MetricPlugin] = Registry(
    "metric", "ragstone.metrics", "ragstone.metrics", hint="`ragstone metrics` lists them.",
    needs=["score:call|make:call|at:call|__call__"],
)  # fmt: skip

_FIVE = ("faithfulness", "answer_relevancy", "context_precision", "context_recall", "answer_correctness")
_RAGCHECKER = (
    "precision recall f1 claim_recall context_precision context_utilization noise_sensitivity_in_relevant"
    " noise_sensitivity_in_irrelevant hallucination self_knowledge faithfulness"
)
# A name for several metrics, wherever metrics are named.
GROUPS: dict[str, tuple[str, ...]] = {
    "five": _FIVE,
    "triad": ("groundedness", "context_relevance", "answer_relevance"),
    "citations": ("citation_precision", "citation_recall"),
    "ragchecker": tuple(f"ragchecker.{name}" for name in _RAGCHECKER.split()),
    "ragas": tuple(f"ragas.{name}" for name in _FIVE),
    "nuggets": tuple(f"nuggets.{name}" for name in ("all", "vital", "weighted", "strict_all", "strict_vital")),
    "lexical": ("exact_match", "answer_match", "token_f1", "rouge_l"),
    "rank": ("hit", "recall", "precision", "f1", "ndcg", "mrr", "map"),
}

_AT = re.compile(r"(?P<family>.+)@(?P<k>\d{1,9})")
_JUDGE = ("a judge", "--judge PROVIDER/MODEL")
_LACKING = {"judge": _JUDGE, "model": _JUDGE, "embedder": ("an embedder", "--embedder PROVIDER/MODEL")}


def make_metrics(names: Sequence[str | Metric], tools: Tools) -> tuple[Metric, ...]:
    """The metrics of these names, each once, in the order in which they are named.

    A name is a metric's (`faithfulness`, `ndcg@10`), a group's (`five`; see `GROUPS`) or `rubric:` with the name or
    the file of a rubric. A metric that is made already stands for itself. Raises `UnknownName` for a name that nothing
    has, and `UsageError` naming the metrics that need a judge or an embedder where there is none.
    """
    metrics_by_name: dict[str, Metric] = {}
    for plugin in _checked(names, {tool for tool in _LACKING if getattr(tools, tool) is not None}):
        # A metric that is made has the `make` of its class too, and is not made again.
        ready = hasattr(plugin, "score") and not isinstance(plugin, type)
        metric = plugin if ready else plugin.make(tools) if hasattr(plugin, "make") else plugin()
        metrics_by_name.setdefault(metric.name, metric)
    return tuple(metrics_by_name.values())


def check_metrics(names: Sequence[str | Metric], have: Collection[str]) -> None:
    """Raises what `make_metrics` would with the tools of these names ("judge", "model", "embedder"), none of which has
    to be there yet."""
    _checked(names, have)


def is_own(name: str) -> bool:
    """Whether this is the name of one of ragstone's metrics, which all are from 0 to 1."""
    known = name if name in METRICS else f"{name.partition('@')[0]}@k"
    return known in METRICS and METRICS.owner(known) is None


def steps_of(metrics: Iterable[Metric]) -> frozenset[str]:
    """The steps of the judge ("decompose", "verify", "similarities") that these metrics take between them."""
    return frozenset(step for metric in metrics for step in traits_of(metric).steps)


def better(name: str, meta: Mapping[str, Any] | None = None) -> Better:
    """Which values of the metric of this name are the better ones; "higher" for a name that is not known here. `meta`:
    of a run, which says it of metrics that are the user's own."""
    directions = (meta or {}).get("better")
    if isinstance(directions, Mapping) and directions.get(name) in ("higher", "lower", "neither"):
        return cast("Better", directions[name])
    return _better(name)


def _better(name: str) -> Better:
    return _installed_better(name) if not is_loaded(name) else traits_of(find_metric(name)).better


@lru_cache(maxsize=1_024)  # asked for every score of a run
def _installed_better(name: str) -> Better:
    try:
        return traits_of(installed_metric(name)).better
    except UsageError:
        return "higher"


def _checked(names: Sequence[str | Metric], have: Collection[str]) -> list[Any]:
    """The plugin of each name. UsageError where one needs a tool that is not among `have`."""
    plugins: list[Any] = []
    unmet: dict[tuple[str, str], list[str]] = {}
    for name in _spelled_out(names):
        if not (isinstance(name, str) or hasattr(name, "score")):
            raise UsageError(f"{name!r} is no metric: name one, or give an object with a `score`.")
        plugin = find_metric(name) if isinstance(name, str) else name
        # What is made already has its tools.
        missing = [tool for tool in traits_of(plugin).uses if tool not in have] if isinstance(name, str) else []
        for tool in missing[:1]:
            unmet.setdefault(_LACKING[tool], []).append(str(name))
        plugins.append(plugin)
    for (what, option), lack in unmet.items():
        raise UsageError(f"{', '.join(dict.fromkeys(lack))} need{'s' * (len(lack) == 1)} {what}: {option}.")
    return plugins


def _spelled_out(names: Sequence[str | Metric]) -> Iterator[str | Metric]:
    for name in names:
        if isinstance(name, str) and name in GROUPS and name not in METRICS:
            yield from GROUPS[name]
        else:
            yield name


def scored_names(names: Iterable[str | Metric]) -> list[str]:
    """The names under which these metrics are in a run: those of a group, of code and of a rubric's file, too.
    Raises as `make_metrics`."""
    plugins = [find_metric(name) if isinstance(name, str) else name for name in _spelled_out([*names])]
    return [str(plugin.name) for plugin in plugins]


def find_metric(name: str) -> Any:
    """The plugin of a metric's name that the user wrote: the metric, or the class that makes it. Raises as
    `make_metrics`."""
    if name.startswith("rubric:"):
        return importlib.import_module("ragstone.metrics.rubric").find_rubric(name.removeprefix("rubric:"))
    return METRICS.get(name) if is_place(name) else installed_metric(name)


def installed_metric(name: str) -> Any:
    """The same for a name that was read from a run file: nothing is loaded or read that is not part of an installed
    package. Raises `UnknownName`."""
    if name in METRICS:
        plugin: Any = METRICS.installed(name)
        if isinstance(plugin, Family):
            raise UsageError(f"{name!r} is a metric for every k. Write a number for k: {name[:-1]}10.")
        return plugin
    if (cutoff := _AT.fullmatch(name)) and (family := f"{cutoff['family']}@k") in METRICS:
        if not int(cutoff["k"]):
            raise UsageError(f"{name!r}: k counts passages from 1. Write a larger number: {cutoff['family']}@10.")
        return cast("Family", METRICS.get(family)).at(int(cutoff["k"]))
    measure, _, stage = name.rpartition(" ")
    if stage in STAGE_WORDS and measure.strip():
        return _at_stage(installed_metric(measure.strip()), stage)
    raise UnknownName("metric", name, [*METRICS.names(), *GROUPS], hint="`ragstone metrics` lists them.")


def _at_stage(metric: Any, stage: str) -> Any:
    """The measure of the list at a stage of the system. Raises UsageError for what is no measure of a list."""
    if not isinstance(metric, Staged):
        raise UsageError(f"{metric.name} has no stages: only measures of a ranked list do, such as recall@5 {stage}.")
    return replace(cast("Any", metric), stage=stage)
