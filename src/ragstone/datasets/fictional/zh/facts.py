"""Well-known real facts in Chinese, each with a plausible false answer, and passages about them.

The sentences are in `patterns/facts_*.txt`: `== ` starts a kind of fact, `* ` is a sentence for any fact of the kind
that states the answer, `~ ` one that does not, `? question | answer/other spelling | false answer | what is asked
for/subject` a fact, `+ ` a sentence of its own that states the answer and `- ` one that does not. Passages combine
them and are brought to a length with sentences of `patterns/facts_background.txt`; which with which depends on the
place of the fact in its file alone.
"""

import functools
from collections.abc import Iterator, Mapping, Sequence

from ragstone.datasets.fictional.parts import Fact
from ragstone.datasets.fictional.zh.reading import patterns
from ragstone.text import estimate_tokens

__all__ = ["FILES", "facts"]

FILES = ("facts_geography", "facts_culture", "facts_history", "facts_science")
CONTESTS = (
    "在一次知识竞赛中，主持人问：“{Q}”选手答道：“{A}。”评委判定回答正确。",
    "课堂上，老师念出题目：“{Q}”后排的一名学生站起来说：“{A}。”老师点了点头。",
    "读者来信问：{Q}编辑部答复如下：答案是{A}。",
    "问：{Q}　答：{A}。这道题在历年的试卷里出现过不止一次。",
    "广播里的问答环节，听众被问到“{Q}”，电话那头立刻传来回答：“{A}。”",
)


# Who is asked for; a general sentence is about what he did.
ROLES = ("的年份", "的提出者", "的发现者", "的发明者", "的作者", "的获得者", "的实现者", "的名称")


@functools.cache
def patterns_of_all_facts() -> list[str]:
    """Sentences for any fact."""
    return patterns("facts_common")


@functools.cache
def background() -> dict[str, list[str]]:
    """Background sentences by kind of fact; those under 通用 go with any."""
    found: dict[str, list[str]] = {}
    kind = ""
    for line in patterns("facts_background"):
        if line.startswith("== "):
            kind = line.removeprefix("== ")
        else:
            found.setdefault(kind, []).append(line)
    return found


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
    return tuple(fact for file in FILES for fact in read_facts(file))


def read_facts(file: str) -> Iterator[Fact]:
    """The facts of one file. ValueError: a line fits nowhere."""
    kind, stating, silent = "", list[str](), list[str]()
    head: list[str] = []
    own: dict[str, list[str]] = {"+": [], "-": []}
    count = 0
    for line in [*patterns(file), "== "]:
        mark, _, rest = line.partition(" ")
        if mark in ("==", "?") and head:
            yield make_fact(kind, count, head, own, stating=stating, silent=silent)
            count += 1
            head = []
        if mark == "==":
            kind, stating, silent, count = rest, [], [], 0
        elif mark == "?":
            head, own = [part.strip() for part in rest.split("|")], {"+": [], "-": []}
        elif mark == "*":
            stating.append(rest)
        elif mark == "~":
            silent.append(rest)
        elif mark in own and head:
            own[mark].append(rest)
        else:
            raise ValueError(f"{file}: no place for {line!r}")


def make_fact(
    kind: str,
    number: int,
    head: Sequence[str],
    own: Mapping[str, Sequence[str]],
    *,
    stating: Sequence[str],
    silent: Sequence[str],
) -> Fact:
    """The passages of the fact with this number of its kind: six that state the answer, six that do not."""
    question, answers, fake, called = head
    answer = tuple(answers.split("/"))
    subject, _, about = called.partition("/")
    for ending in ROLES:
        about = about or (subject.removesuffix(ending) if subject.endswith(ending) else "")
    about = about or subject
    yes, no = own["+"], own["-"]
    turn = [silent[(number + i) % len(silent)].format(S=about) for i in range(7)]
    tell = [stating[(number + i) % len(stating)].format(S=subject, A=answer[0]) for i in range(2)]
    contest = CONTESTS[number % len(CONTESTS)].format(Q=question, A=answer[0])
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
    texts = lengthened([*positive, *negative], kind, number, (*answer, fake))
    return Fact(question, answer, fake, tuple(texts[: len(positive)]), tuple(texts[len(positive) :]), kind)
