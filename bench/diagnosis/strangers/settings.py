"""What an application is built with: the fault that is switched on, the language, chunks, ids and the random state."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

LANGUAGES = ("en", "zh")
CHUNKINGS = ("fixed", "sentences", "headings", "whole")
IDS = ("file", "uuid", "row")


@dataclass(frozen=True)
class Settings:
    """One build of an application."""

    language: str = "en"
    chunking: str = "headings"
    ids: str = "file"
    fault: str = ""
    seed: int = 13
    app: str = ""

    def has(self, *faults: str) -> bool:
        """Whether one of these faults is switched on."""
        return self.fault in faults


def share(*words: object) -> float:
    """A number in [0, 1) that depends on nothing but the words."""
    digest = hashlib.sha256("|".join(str(word) for word in words).encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


INSTRUCTIONS = {
    "told_brief": {
        "en": "Be brief: your whole reply has at most 15 characters.",
        "zh": "务必简短：整个回复不超过5个字符。",
    },
    "section_only": {
        "en": "Reply only with the topic area that the question belongs to, nothing else.",
        "zh": "只回复问题所属的主题领域，不要回复其他内容。",
    },
    "rounds_figures": {
        "en": "Never quote exact figures or names; speak of them in general words.",
        "zh": "不要给出确切的数字或姓名，只作大概的描述。",
    },
    "refuses_often": {
        "en": "If you are not absolutely certain, say that you do not know.",
        "zh": "如果不是绝对确定，就说不知道。",
    },
    "never_refuses": {
        "en": "Always give an answer. Never say that you do not know.",
        "zh": "必须给出答案，绝不能说不知道。",
    },
}


def instruction(settings: Settings) -> str:
    """The extra line in the application's prompt, empty without such a fault."""
    return INSTRUCTIONS.get(settings.fault, {}).get(settings.language, "")
