"""Who judged, and how far that can be trusted: the same words wherever a report names a judge."""

from collections.abc import Mapping
from typing import Any

from ragstone.messages import messages
from ragstone.report.metadata import first

__all__ = ["judge_label", "judge_name"]


def judge_name(meta: Mapping[str, Any]) -> str:
    """The judge as the run file names it; "" where nobody judged."""
    return first(meta, "judge.id", "judge.model", "judge.name", "judge")


def judge_label(meta: Mapping[str, Any], language: str) -> str:
    """What a reader has to know before believing a judged figure; "" where nobody judged."""
    name = judge_name(meta)
    if not name:
        return ""
    tiny = name.startswith("local/smollm2")
    return messages(__name__, language)["local_judge" if tiny else "unmeasured_judge"].format(name=name)
