"""The changes of a system that `diagnose --try` can make: what each needs, and which may help against a cause."""

import dataclasses
from collections.abc import Sequence
from typing import Any, get_args

from ragstone.diagnosis.diagnose import DiagnosisPlan, DiagnosisResult
from ragstone.diagnosis.interventions.advice import fixes
from ragstone.diagnosis.interventions.question import handed_over
from ragstone.engine.judge_tools import Judging
from ragstone.errors import UsageError
from ragstone.models import check_model
from ragstone.registry import is_place
from ragstone.retrieval import check_retriever
from ragstone.retrieval.variants import Variant, variants
from ragstone.systems import ACCEPTED
from ragstone.systems.altered import CHANGES, check_change
from ragstone.systems.rag import RagTarget

_LARGE = 1_000  # more passages than a change needs, while nobody knows how many a prompt has
_SEARCHES: tuple[Variant, ...] = get_args(Variant)
_OF_RAG = ("retriever", "model", "k", "chunk", "template")
# What may help against a cause, for `--try auto`.
_AGAINST = {
    "k_too_small": ("k", "reranked"), "ranking": ("k", "reranked", "fused"), "reranking": ("unranked", "k"),
    "rewriting": ("rewriting",), "not_retrieved": ("fused", "rewritten", "chunk", "k"),
    "prompt_cut": ("top",), "position": ("order", "top"), "noise": ("top", "order"), "generation": ("top", "order"),
    "refused_wrongly": ("template", "top"), "should_have_refused": ("template",), "reading": ("template", "top"),
    "integration": ("k", "rewritten"), "memory": ("template",),
}  # fmt: skip


def check_changes(changes: Sequence[str], system: Any) -> None:
    """Raises UsageError for a change that cannot be made of this system."""
    for change in changes:
        if change != "auto":
            changed_target(change, system)


def changed_target(change: str, system: Any) -> RagTarget | None:
    """The pipeline with this option, or None for a change from outside. Raises UsageError."""
    name, equals, value = change.partition("=")
    if not equals or not value:
        raise UsageError(f"--try {change}: expected NAME=VALUE, such as k=10, or auto.")
    if not isinstance(system, RagTarget) or name not in _OF_RAG:
        if name in _OF_RAG and name not in CHANGES:
            raise UsageError(f"--try {change} needs a system rag(…) over a --corpus: {name} is inside of yours.")
        check_change(name, value)
        return None
    if name in ("k", "chunk"):
        if not value.isdecimal():
            raise UsageError(f"--try {change}: {name} should be a whole number.")
        number: dict[str, Any] = {name: int(value)}
        return dataclasses.replace(system, **number)
    if name == "retriever":
        check_retriever(value)
    text: dict[str, Any] = {name: value}
    return dataclasses.replace(system, **text)


def proposed(result: DiagnosisResult, plan: DiagnosisPlan, accepts: frozenset[str]) -> list[str]:
    """The changes that may help against the causes that were found, the most frequent first."""
    firsts = [item.evidence.first for item in result.questions if item.evidence.first is not None]
    size = max((len(first.passages) for first in firsts), default=0)
    whole = max((len(handed_over(first)) for first in firsts), default=0)  # a prompt that is cut has fewer
    return _against([fix.cause for fix in fixes(result.questions)], size, max(size, whole), plan, accepts)


def proposable(plan: DiagnosisPlan) -> list[str]:
    """All changes that `proposed` may name, before anything is asked."""
    return _against([*_AGAINST], _LARGE, _LARGE, plan, frozenset(ACCEPTED))


def _against(causes: Sequence[str], size: int, whole: int, plan: DiagnosisPlan, accepts: frozenset[str]) -> list[str]:
    """The changes that may help against these causes. `size`: the passages of a prompt, `whole`: before it was cut."""
    rag = plan.system if isinstance(plan.system, RagTarget) else None
    searches: dict[str, list[str]] = {kind: _retrievers(rag, kind, plan.judging) for kind in _SEARCHES}
    values = {
        **searches,
        "k": [f"k={factor * (rag.k if rag else size)}" for factor in (2, 4) if size or rag],
        "top": [f"top={n}" for n in (1, 3) if n < whole],
        "order": ["order=reversed"] * (size > 1),
        "rewriting": ["rewriting=off"],
        "chunk": [f"chunk={size}" for size in (rag.chunk // 2, rag.chunk * 2)] if rag and rag.chunk else [],
        "template": [f"template={name}" for name in ("strict", "answer")] if rag else [],
    }
    names = [name for cause in causes for name in _AGAINST.get(cause, ())]
    known = [name for name in dict.fromkeys(names) if (rag and name not in CHANGES) or _allowed(name, accepts)]
    return [change for name in known for change in values[name]]


def _allowed(name: str, accepts: frozenset[str]) -> bool:
    return name in CHANGES and set(CHANGES[name][0]) <= accepts


def _retrievers(rag: RagTarget | None, kind: Variant, judging: Judging) -> list[str]:
    """Other retrievers of the pipeline; what needs a chat model has that of the pipeline, else the judge."""
    if rag is None or not isinstance(rag.retriever, str):
        return []
    model = next((name for name in (rag.model, judging.model) if isinstance(name, str) and _is_chat_model(name)), "")
    return [f"retriever={name}" for name in variants(rag.retriever, kind, model)]


def _is_chat_model(name: str) -> bool:
    """Whether this names a chat model of a provider, and not another kind of system."""
    try:
        check_model(name, "model")
    except UsageError:
        return False
    return not is_place(name)
