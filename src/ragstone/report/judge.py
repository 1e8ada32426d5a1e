"""The name of the judge and how far it can be trusted, in the same words throughout a report."""

from collections.abc import Mapping
from typing import Any

from ragstone.analysis.expert_agreement import ExpertFindings
from ragstone.messages import messages
from ragstone.report.expert_tables import judge_line
from ragstone.report.metadata import first


def judge_name(meta: Mapping[str, Any]) -> str:
    """The judge as the run file names it; "" where there is none."""
    return first(meta, "judge.id", "judge.model", "judge.name", "judge")


def judge_label(meta: Mapping[str, Any], language: str, experts: ExpertFindings | None = None) -> str:
    """The caveat for judged figures, or how far the judge agrees with experts where that is measured; "" where there is
    no judge."""
    name = judge_name(meta)
    if not name:
        return ""
    if experts is not None and (
        lines := [judge_line(agreement, language=language) for agreement in experts.judged if not agreement.part]
    ):
        return " ".join(lines)
    tiny = name.startswith("local/smollm2")
    return messages(__name__, language)["local_judge" if tiny else "unmeasured_judge"].format(name=name)
