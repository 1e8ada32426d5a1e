"""What runs in an environment of its own: other tools that name causes, and the system as a chain of LangChain."""

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs
from bench.diagnosis.measures import Verdict
from bench.diagnosis.trials import Case, Trial
from bench.peers.environment import environment

__all__ = ["PEERS", "langchain_figures", "peer_verdicts", "shown_to_peers"]

_ROOT = Path(__file__).resolve().parents[2]
_SCRIPT = _ROOT / "bench" / "peers" / "run_diagnosers.py"
_FEW = frozenset({"index", "search"})

PEERS: Mapping[str, Mapping[str, frozenset[str]]] = {
    "ragmortem": {
        "retrieval_miss": _FEW, "ranking_miss": frozenset({"ranking"}),
        "generation_ignored_context": frozenset({"answer"}), "should_abstain": frozenset({"refusal", "index"}),
    },
    "rag-doctor": {
        "retrieval_miss": _FEW, "query_mismatch": frozenset({"search"}),
        "context_position_bias": frozenset({"ranking", "answer"}), "hallucination": frozenset({"answer", "refusal"}),
        "chunk_fragmentation": frozenset(),
    },
    "ragxray": {
        "RETRIEVAL_FAILURE": _FEW, "LOW_RETRIEVAL_RELEVANCE": _FEW,
        "INSUFFICIENT_CONTEXT": frozenset({"index", "search", "ranking"}),
        "UNSUPPORTED_ANSWER": frozenset({"answer", "refusal"}),
        "CONTRADICTORY_ANSWER": frozenset({"answer", "refusal"}),
    },
}  # fmt: skip
"""By tool, the stages that each of its words may mean: all of them, so that a tool with few words is not counted wrong
for that. Words that are not here say that nothing is wrong, or that nothing is known."""


def peer_verdicts(name: str, trials: Sequence[Trial]) -> tuple[list[list[Verdict]], str]:
    """What a tool says about each trial, and a note; no verdicts, with the reason, where it cannot be installed."""
    python, reason = environment(name, Path(platformdirs.user_cache_dir("ragstone", appauthor=False)) / "peers")
    if python is None:
        return [], reason
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trials.json"
        path.write_text(json.dumps([shown_to_peers(trial) for trial in trials]), "utf-8")
        done = subprocess.run(
            [str(python), str(_SCRIPT), name, str(path)], capture_output=True, text=True, check=False, cwd=folder
        )
    if done.returncode:
        return [], f"it failed ({(done.stderr.strip().splitlines() or ['no reason given'])[-1][:200]})"
    labels = json.loads(done.stdout.splitlines()[-1])
    return [
        [_verdict(name, trial, case, label) for case, label in zip(_answered(trial), found, strict=True)]
        for trial, found in zip(trials, labels, strict=True)
    ], _note(name)


def langchain_figures(questions: int) -> tuple[dict[str, Any], str]:
    """What `langchain_chain` finds in an environment that has LangChain; nothing, with the reason, without one."""
    folder = Path(platformdirs.user_cache_dir("ragstone", appauthor=False)) / "peers"
    python, reason = environment("frameworks", folder)
    if python is None:
        return {}, reason
    paths = [_ROOT / "src", Path(np.__file__).parents[1], _ROOT]  # ragstone's own dependencies are beside numpy
    done = subprocess.run(
        [str(python), "-m", "bench.diagnosis.langchain_chain", str(questions)], capture_output=True, text=True,
        check=False, cwd=_ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths)), "LANGSMITH_TRACING": "false"},
    )  # fmt: skip
    if done.returncode:
        return {}, done.stderr.strip()[-300:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found, ""


def _answered(trial: Trial) -> list[Case]:
    return [case for case in trial.cases if case.response is not None]


def _verdict(name: str, trial: Trial, case: Case, label: str) -> Verdict:
    known = PEERS[name]
    return Verdict(trial, case, label if label in known else "healthy", known.get(label, frozenset()))


def _note(name: str) -> str:
    words = ", ".join(PEERS[name])
    extra = " Without its optional model of entailment, which has to be downloaded." if name == "ragmortem" else ""
    return f"knows {words}.{extra}"


def shown_to_peers(trial: Trial) -> dict[str, Any]:
    """A trial as the tools get it."""
    cases, documents = [], {passage.id: passage.text for passage in trial.corpus.passages}
    references = {row["id"]: row.get("reference", []) for row in trial.rows}
    for case in _answered(trial):
        response = case.response
        assert response is not None
        fetched = next(step.output for step in response.steps if step.name == "fetch")
        documents |= {passage.id: passage.text for passage in response.passages}
        documents |= {passage["id"]: passage["text"] for passage in fetched}
        cases.append({
            "question": case.question.text, "answer": response.answer,
            "reference": " and ".join(slot[0] for slot in references[case.question.id]),
            "contexts": [passage.id for passage in response.passages],
            "candidates": [passage["id"] for passage in fetched],
        })  # fmt: skip
    return {"documents": documents, "cases": cases}
