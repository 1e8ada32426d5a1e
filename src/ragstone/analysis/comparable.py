"""Which metrics of two runs measure the same: verdicts of another judge, with other prompts, are another measure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ragstone.analysis.pairing import Held, Side
from ragstone.errors import UsageError
from ragstone.metrics import find_metric

__all__ = ["Reason", "question_of", "refused"]

_JUDGE = ("model", "protocol", "version", "verify", "budget", "language")
# Prompts by their names → the metrics, by theirs, that alone rest on them; the rest belong to the matrix.
_OWN_PROMPTS = {"ragas_": "ragas.", "rubric/": "rubric.", "needle/": "needle."}


@dataclass(frozen=True)
class Reason:
    """Why a metric is not compared: `what` differs, which is `a` in the first and `b` in the second."""

    kind: Literal["version", "judge", "prompts", "rubrics", "embedder"]
    what: str
    a: str = ""
    b: str = ""

    def __str__(self) -> str:
        return {
            "version": f"its version differs: {self.a} there, {self.b} here",
            "judge": f"the judge's {self.what} differs: {self.a!r} and {self.b!r}",
            "prompts": f"the judge's prompts differ: {self.what}",
            "rubrics": f"the rubric {self.what} differs",
            "embedder": f"the embedder differs: {self.a!r} and {self.b!r}",
        }[self.kind]


def question_of(side: Side) -> Mapping[str, Any]:
    """What a run says it asked."""
    question = side.run.meta.get("question", {})
    return question if isinstance(question, Mapping) else {}


def refused(a: Side, b: Side, one: Held, other: Held) -> dict[str, Reason]:
    """The metrics of both sides that are not the same measure, each with the first reason."""
    versions = [side.run.meta.get("metrics", {}) for side in (a, b)]
    judges = [_judge(side) for side in (a, b)]
    found: dict[str, Reason] = {}
    for name in sorted(one.metrics & other.metrics):
        old, new = (held.get(name) for held in versions)
        if old is not None and new is not None and old != new:
            found[name] = Reason("version", name, str(old), str(new))
        elif reason := _differs(name, name in one.judged | other.judged, judges[0], judges[1]):
            found[name] = reason
    return found


def _judge(side: Side) -> Mapping[str, Any]:
    """Who judged and how. RGB's own judge and the judge of the matrix stand apart in a run file; here they are one."""
    parts = [side.run.meta.get("matrix"), side.run.meta.get("judge"), question_of(side).get("judge")]
    held = [part for part in parts if isinstance(part, Mapping)]
    joined: dict[str, Any] = {key: value for part in held for key, value in part.items()}
    for key in ("prompts", "rubrics"):
        joined[key] = {
            name: value for part in held if isinstance(part.get(key), Mapping) for name, value in part[key].items()
        }
    return joined


def _differs(name: str, judged: bool, a: Mapping[str, Any], b: Mapping[str, Any]) -> Reason | None:
    uses = _uses(name)
    if "embedder" in uses and (pair := _both(a, b, "embedder")):
        return Reason("embedder", name, *pair)
    if not judged and not uses & {"judge", "model"}:
        return None
    for key in _JUDGE:
        if pair := _both(a, b, key):
            return Reason("judge", key, *pair)
    if name in a["rubrics"] and name in b["rubrics"] and a["rubrics"][name] != b["rubrics"][name]:
        return Reason("rubrics", name)
    told = [
        prompt
        for prompt in sorted(a["prompts"].keys() & b["prompts"].keys())
        if a["prompts"][prompt] != b["prompts"][prompt]
        and (name == prompt if name in a["prompts"] else _rests_on(name, prompt))
    ]
    return Reason("prompts", ", ".join(told[:5])) if told else None


def _both(a: Mapping[str, Any], b: Mapping[str, Any], key: str) -> tuple[str, str] | None:
    """The values where both sides have one and they differ."""
    old, new = a.get(key), b.get(key)
    return None if old is None or new is None or old == new else (str(old), str(new))


def _uses(name: str) -> set[str]:
    if name.startswith("rubric."):
        return {"model"}
    try:
        return set(getattr(find_metric(name), "uses", ()))
    except UsageError:  # a metric of the user's own
        return set()


def _rests_on(name: str, prompt: str) -> bool:
    """Whether a metric may rest on a prompt, by their names. Each of RGB's judges has one prompt, called as it is."""
    for prompts, metrics in _OWN_PROMPTS.items():
        if prompt.startswith(prompts):
            return name.startswith(metrics)
    return "/" in prompt and not name.startswith(tuple(_OWN_PROMPTS.values()))
