"""Well-known real facts in Chinese, each with a plausible false answer, and passages about them.

The sentences are in `patterns/facts_*.txt` (see `fictional.facts`; the subject is `what is asked for/subject`).
Passages combine them and are brought to a length with sentences of `patterns/facts_background.txt`; which with which
depends on the place of the fact in its file alone.
"""

import functools
from collections.abc import Sequence

from ragstone.datasets.fictional.facts import FactNotes, read_facts
from ragstone.datasets.fictional.parts import Fact
from ragstone.datasets.fictional.texts import read_sections
from ragstone.text import estimate_tokens

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


def lengthened(texts: Sequence[str], kind: str, number: int, forbidden: Sequence[str]) -> list[str]:
    """The texts of one row, each with background before and after until it is 62 to 130 tokens long.

    No background sentence stands twice in the row while others are left; none holds a forbidden word.
    """

    def fitting(sentences: Sequence[str]) -> list[str]:
        usable = [
            sentence
            for sentence in sentences
            if not any(word in sentence or sentence in "".join(texts) for word in forbidden)
        ]
        start = 5 * number % max(1, len(usable))
        return [*usable[start:], *usable[:start]]

    background_sentences = fitting(background()[kind])
    common = fitting([*background()["通用"], *patterns_of_all_facts()])
    result = list(texts)
    # The least first: every text reaches the lower bound before any gets its longer length.
    goals = [62 + (29 * number + 23 * i) % 69 for i in range(len(texts))]
    for aims in ([62] * len(texts), goals):
        for i, aim in enumerate(aims):
            while estimate_tokens(result[i]) < aim and (background_sentences or common):
                result[i] = (
                    background_sentences.pop(0) + result[i] if background_sentences else result[i] + common.pop(0)
                )
    return result


@functools.cache
def facts() -> tuple[Fact, ...]:
    """All facts, in a fixed order."""
    return tuple(make_fact(notes) for notes in read_facts("zh", [f"patterns/{file}" for file in FILES]))


def make_fact(notes: FactNotes) -> Fact:
    """The passages of the fact: six that state the answer, six that do not."""
    kind, number, answer = notes.kind, notes.number, notes.answer
    own_stating, own_silent, silent, stating = (notes.sentences[mark] for mark in "+-~*")
    subject, _, about = notes.subject.partition("/")
    for ending in ROLES:
        about = about or (subject.removesuffix(ending) if subject.endswith(ending) else "")
    about = about or subject
    silent_sentences = [silent[(number + i) % len(silent)].format(S=about) for i in range(7)]
    stating_sentences = [stating[(number + i) % len(stating)].format(S=subject, A=answer[0]) for i in range(3)]
    common = patterns_of_all_facts()
    common_sentences = [common[(5 * number + len(kind) + i) % len(common)] for i in range(12)]
    positive = (
        own_stating[0] + silent_sentences[0] + common_sentences[0],
        own_silent[0] + own_stating[1] + own_silent[1] + common_sentences[1],
        common_sentences[2] + stating_sentences[0] + own_silent[2],
        silent_sentences[1] + own_stating[2] + own_silent[3],
        silent_sentences[2] + common_sentences[3] + stating_sentences[1],
        own_silent[1] + stating_sentences[2] + common_sentences[4],
    )
    negative = (
        own_silent[0] + common_sentences[5] + silent_sentences[3],
        silent_sentences[4] + own_silent[1] + common_sentences[6],
        common_sentences[7] + own_silent[2] + silent_sentences[5],
        silent_sentences[6] + own_silent[3] + common_sentences[8],
        silent_sentences[0] + common_sentences[9] + silent_sentences[1] + silent_sentences[2],
        own_silent[3] + own_silent[0] + common_sentences[10] + own_silent[2],
    )
    texts = lengthened([*positive, *negative], kind, number, (*answer, notes.fake))
    return Fact(notes.question, answer, notes.fake, tuple(texts[: len(positive)]), tuple(texts[len(positive) :]), kind)
