"""RAGChecker: faithfulness and claim recall, with RefChecker's extractor and checker that ask a chat model.

Claim recall is `context_recall` here. RefChecker also imports two checkers that run models of their own (NLI and
AlignScore, with torch, transformers and Lightning: gigabytes, with CUDA). They are never called, so that they and what
they need are left out: names stand for them, and the packages are installed without their dependencies.
"""

import re
import sys
from types import ModuleType
from typing import Any

DISTRIBUTION, VERSION = "ragchecker", "0.1.9"
PACKAGES = ("ragchecker", "refchecker==0.2.17", "dataclasses-json<0.7", "loguru<0.8", "litellm<2", "numpy", "spacy<4",
            "tqdm")  # fmt: skip
ALONE = ("ragchecker", "refchecker")
# litellm sends nothing home and fetches no list of prices.
ENVIRONMENT = {"OPENAI_API_KEY": "none", "LITELLM_TELEMETRY": "False", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
METRICS = ("faithfulness", "context_recall")

_CLAIM = re.compile(r'\("(.*)", "states", "yes"\)')


def score(metrics: list[str], sample: dict[str, Any], url: str) -> dict[str, Any]:
    """As `RAGChecker.evaluate` computes them for one answer, before it rounds their means."""
    for module, name in (("nli_checker", "NLIChecker"), ("alignscore.alignscore_checker", "AlignScoreChecker")):
        absent: Any = ModuleType(f"refchecker.checker.{module}")
        setattr(absent, name, None)
        sys.modules[absent.__name__] = absent
        if "." in module:
            package: Any = ModuleType("refchecker.checker.alignscore")
            package.__path__ = []
            sys.modules[package.__name__] = package
    from ragchecker import RAGChecker, RAGResult, RAGResults
    from ragchecker.container import RetrievedDoc

    names = {"faithfulness": "faithfulness", "context_recall": "claim_recall"}
    result = RAGResult(
        query_id="1", query=sample["question"], gt_answer=(sample["references"] or [""])[0],
        response=sample["answer"], retrieved_context=[RetrievedDoc(str(n), text)
                                                      for n, text in enumerate(sample["contexts"])],
    )  # fmt: skip
    checker = RAGChecker("openai/judge", "openai/judge", extractor_api_base=url, checker_api_base=url)
    checker.evaluate(RAGResults(results=[result]), [names[metric] for metric in metrics])
    return {metric: result.metrics[names[metric]] for metric in metrics}


def reply(
    asked: dict[str, Any], sample: dict[str, Any], verdicts: dict[str, Any]
) -> tuple[tuple[str, ...], Any] | None:
    """RAGChecker has a text turned into triplets, and asks about all of them with one context at a time."""
    text = asked["texts"][-1]
    _, mark, rest = text.rpartition("### Reference:\n")
    if not mark:
        extracted = text.rpartition("### Candidate Answer:\n")[2].partition("\n\n### KG:")[0]
        side = "statements" if extracted.strip() == sample["answer"].strip() else "reference_statements"
        return ("statements",), "\n".join(f'("{claim}", "states", "yes")' for claim in verdicts[side])
    reference, mark, listed = rest.partition("\n\n### Claims:\n")
    reference = reference.strip()
    if reference not in sample["contexts"]:
        return None
    claims = _CLAIM.findall(listed)
    for side, step, by in (("statements", "supported", "by"), ("reference_statements", "attributed", "attributed_by")):
        if claims and set(claims) <= set(verdicts[side]):
            places = [verdicts[side].index(claim) for claim in claims]
            labels = [_label(verdicts, step, by, at, sample["contexts"], reference)
                      for at in places if at < len(verdicts[step])]  # fmt: skip
            return (step,), "\n".join(labels)
    return None


def _label(verdicts: dict[str, Any], step: str, by: str, at: int, contexts: list[str], reference: str) -> str:
    """The judge's label for a claim and one context: the verdict, if it is that context which supports the claim."""
    verdict, place = verdicts[step][at], verdicts[by][at]
    if verdict not in (0, 1):
        return str(verdict)
    supports = verdicts.get("forged") or (place and contexts[place - 1] == reference)
    return "Entailment" if verdict and supports else "Neutral"


PLUGINS = {"ragchecker": sys.modules[__name__]}
