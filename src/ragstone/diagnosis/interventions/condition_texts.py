"""The fixed texts of conditions, in both languages: passages that say nothing, and questions that ask for nothing else,
for more, or otherwise."""

import hashlib
from collections.abc import Sequence

from ragstone.text import detect
from ragstone.types import Passage

_FILLERS = {"en": "Page {n} is blank.", "zh": "第{n}页空白。"}
_OPEN = {"en": "What do these documents say?", "zh": "这些文档讲了什么？"}
# Words before and after a question, others for each: keys are made of its beginning, its end, or all of its words.
_FRAMES = {
    "en": (
        "{code}: good morning, please look this up in the documents for me: {question} Many thanks in advance, {code}.",
        "{code}, a colleague writes and wants to know the following: “{question}” That is all from {code}.",
    ),
    "zh": (
        "{code}，早上好，有一件事想在文档里查一下：{question}先谢谢了，{code}。",
        "{code}，一位同事写信来，想了解下面这件事，请帮忙看看：“{question}”就这些，{code}。",
    ),
}
_CODE = ("BCDFGHKMPRTVWX", "0123456789") * 2  # a mark that no document has
_EXPLICIT = {
    "en": "Answer in full sentences, with every name, date, number and detail that this question asks for, in the unit"
    " and number format of the documents, and in {language}.",
    "zh": "请用完整的句子作答，给出这个问题所问的每个名称、日期、数字和细节，保持文档中的单位和数字格式，"
    "并用{language}回答。",
}
_NEUTRAL = {
    "en": "This question was sent in by a reader of these documents, who wrote it down on a day of last week in the"
    " office and has read each of them more than once.",
    "zh": "这个问题由这些文档的一位读者提出，他上周在办公室里把它写了下来，并且这些文档他每一篇都读过不止一遍，"
    "对内容很熟悉。",
}
_NAMES = {"en": {"en": "English", "zh": "Chinese"}, "zh": {"en": "英文", "zh": "中文"}}


def fillers(like: str, lengths: Sequence[int]) -> list[Passage]:
    """Passages that say nothing, in the language of a text, each at least this long."""
    text = _FILLERS[detect(like)]
    return [
        Passage(f"filler{number}", " ".join([text.format(n=number)] * max(1, length // len(text))))
        for number, length in enumerate(lengths, 1)
    ]


def open_question(question: str) -> str:
    """What to ask about the documents in place of the question, in its language."""
    return _OPEN[detect(question)]


def in_other_words(question: str, number: int) -> str:
    """The question, word for word, with other words around it that ask for nothing else."""
    digest = hashlib.sha256(f"{question}\0{number}".encode("utf-8", "surrogatepass")).digest()
    code = "".join(letters[byte % len(letters)] for letters, byte in zip(_CODE, digest, strict=False))
    return _FRAMES[detect(question)][number].format(code=code, question=question)


def explicit_question(question: str, reference: str) -> str:
    """The question with the request for all that an answer may lack, in the language of the reference."""
    language = detect(question)
    return f"{question}\n\n{_EXPLICIT[language].format(language=_NAMES[language][detect(reference)])}"


def neutral_question(question: str) -> str:
    """The question with as many words that ask for nothing."""
    return f"{question}\n\n{_NEUTRAL[detect(question)]}"
