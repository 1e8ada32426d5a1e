"""Well-known real facts in Chinese, each with a plausible false answer, and passages about them.

The sentences are in `patterns/facts_*.txt` (see `fictional.facts`; the subject is `what is asked for/subject`).
Passages combine them and are brought to a length with sentences of `patterns/facts_background.txt`; which with which
depends on the place of the fact in its file alone.
"""

import functools
from collections.abc import Sequence

from ragstone.datasets.fictional.facts import FactNotes, read_facts
from ragstone.datasets.fictional.parts import Fact
from ragstone.datasets.fictional.texts import read_sections, read_toml
from ragstone.text import estimate_tokens

__all__ = ["FILES", "facts"]

FILES = ("facts_geography", "facts_culture", "facts_history", "facts_science")
# Who is asked for; a general sentence is about what he did.
ROLES = ("的年份", "的提出者", "的发现者", "的发明者", "的作者", "的获得者", "的实现者", "的名称")


@functools.cache
def patterns_of_all_facts() -> list[str]:
    """Sentences for any fact."""
    return read_sections("zh", "patterns/facts_common")[""]


@functools.cache
def background() -> dict[str, list[str]]:
    """Background sentences by kind of fact; those under 通用 go with any."""
    return read_sections("zh", "patterns/facts_background")


@functools.cache
def contests() -> list[str]:
    """Ways to put a question and to give its answer."""
    return list(read_toml("zh", "frames")["contests"])


def lengthened(texts: Sequence[str], kind: str, number: int, forbidden: Sequence[str]) -> list[str]:
    """The texts of one row, each with background before and after until it is 62 to 130 tokens long.

    No background sentence stands twice in the row while others are left; none holds a forbidden word.
    """

    def fitting(sentences: Sequence[str]) -> list[str]:
        left = [one for one in sentences if not any(word in one or one in "".join(texts) for word in forbidden)]
        start = 5 * number % max(1, len(left))
        return [*left[start:], *left[:start]]

    own = fitting(background()[kind])
    common = fitting([*background()["通用"], *patterns_of_all_facts()])
    result = list(texts)
    # The least first: every text reaches the lower bound before any gets its longer length.
    goals = [62 + (29 * number + 23 * i) % 69 for i in range(len(texts))]
    for aims in ([62] * len(texts), goals):
        for i, aim in enumerate(aims):
            while estimate_tokens(result[i]) < aim and (own or common):
                result[i] = own.pop(0) + result[i] if own else result[i] + common.pop(0)
    return result


@functools.cache
def facts() -> tuple[Fact, ...]:
    """All facts, in a fixed order."""
    return tuple(make_fact(notes) for notes in read_facts("zh", [f"patterns/{file}" for file in FILES]))


def make_fact(notes: FactNotes) -> Fact:
    """The passages of the fact: six that state the answer, six that do not."""
    kind, number, answer = notes.kind, notes.number, notes.answer
    yes, no, silent, stating = (notes.sentences[mark] for mark in "+-~*")
    subject, _, about = notes.subject.partition("/")
    for ending in ROLES:
        about = about or (subject.removesuffix(ending) if subject.endswith(ending) else "")
    about = about or subject
    turn = [silent[(number + i) % len(silent)].format(S=about) for i in range(7)]
    tell = [stating[(number + i) % len(stating)].format(S=subject, A=answer[0]) for i in range(2)]
    contest = contests()[number % len(contests())].format(Q=notes.question, A=answer[0])
    common = patterns_of_all_facts()
    extra = [common[(5 * number + len(kind) + i) % len(common)] for i in range(12)]
    positive = (
        yes[0] + turn[0] + extra[0],
        no[0] + yes[1] + no[1] + extra[1],
        extra[2] + tell[0] + no[2],
        turn[1] + yes[2] + no[3],
        turn[2] + extra[3] + tell[1],
        contest + no[1] + extra[4],
    )
    negative = (
        no[0] + extra[5] + turn[3],
        turn[4] + no[1] + extra[6],
        extra[7] + no[2] + turn[5],
        turn[6] + no[3] + extra[8],
        turn[0] + extra[9] + turn[1] + turn[2],
        no[3] + no[0] + extra[10] + no[2],
    )
    texts = lengthened([*positive, *negative], kind, number, (*answer, notes.fake))
    return Fact(notes.question, answer, notes.fake, tuple(texts[: len(positive)]), tuple(texts[len(positive) :]), kind)
