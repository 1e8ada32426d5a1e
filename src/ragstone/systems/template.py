"""Prompt templates: how a question and its documents become messages, and the two prompts published with RGB.

`paper` is Figure 3 of Chen et al. 2024. `official` is the configuration file of the authors' program, which differs in
its quotes and, in Chinese, in wording and colons. Both send a system message, then one user message with the documents,
joined by line feeds, and the question. Without documents, as in the authors' program, there is no system message, and
the user message has an empty string for the documents. (The authors' ChatGPT client sent a fixed greeting instead of
the system message; the protocol reproduced here does not.)
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from ragstone.errors import UnknownName
from ragstone.structs import Frozen
from ragstone.text import detect
from ragstone.types import Query, Sampling, Turn


class PromptTemplate(Frozen, frozen=True):
    """System and user texts by language. User texts contain `{DOCS}` for the documents and `{QUERY}` for the question.

    `closed_book` has the user texts for questions without documents; for a missing language, `user` is used with empty
    documents. No system text is sent then. `joined` puts the system text, a blank line and the user text into one user
    message, as RGB's authors did for ChatGLM and Qwen. The language is the query's, or else detected from the question;
    if `user` does not have it, its first language is used.
    """

    name: str
    system: dict[str, str]
    user: dict[str, str]
    closed_book: dict[str, str] = msgspec.field(default_factory=dict)
    joiner: str = "\n"
    joined: bool = False
    sampling: Sampling = Sampling()

    @property
    def spec(self) -> Mapping[str, Any]:
        """Everything that determines the messages, as JSON: all fields except `sampling`, including defaults, so that a
        changed default is noticed. (`Reader.spec` has the sampling, which may differ from the template's.)"""
        return {name: msgspec.to_builtins(getattr(self, name)) for name in self.__struct_fields__ if name != "sampling"}

    def messages(self, query: Query, /) -> tuple[Turn, ...]:
        """The messages for this query, the user's last. A query with passages None, meant for a system that retrieves
        for itself, is treated as closed book."""
        language = query.language or detect(query.question)
        if language not in self.user:
            language = next(iter(self.user))
        passages = query.passages or ()
        user = self.user[language] if passages else self.closed_book.get(language, self.user[language])
        values = {"DOCS": self.joiner.join(passage.text for passage in passages), "QUERY": query.question}
        # In one pass, so that a literal "{QUERY}" in a document is not replaced.
        text = re.sub(r"\{(DOCS|QUERY)\}", lambda match: values[match[1]], user)
        system = self.system.get(language, "") if passages else ""
        if system and self.joined:
            return (*query.history, Turn("user", f"{system}\n\n{text}"))
        head = (Turn("system", system),) if system else ()
        return (*head, *query.history, Turn("user", text))


def joined(template: PromptTemplate) -> PromptTemplate:
    """The same template for models without a system role."""
    return msgspec.structs.replace(template, joined=True)


# The official program's readme uses temperature 0.2; the default in its code is 0.7. It sets no token limit for models
# behind an endpoint (256 for some models that ran in process).
_SAMPLING = Sampling(temperature=0.2)

PAPER = PromptTemplate(
    name="paper",
    system={
        "en": (
            "You are an accurate and reliable AI assistant that can answer questions with the help of external "
            "documents. Please note that external documents may contain noisy or factually incorrect information. "
            "If the information in the document contains the correct answer, you will give an accurate answer. "
            "If the information in the document does not contain the answer, you will generate "
            '"I can not answer the question because of the insufficient information in documents." '
            "If there are inconsistencies with the facts in some of the documents, please generate the response "
            '"There are factual errors in the provided documents," and provide the correct answer.'
        ),
        "zh": (
            "你是一个准确和可靠的人工智能助手，能够借助外部文档回答问题。请注意，外部文档可能包含噪声或事实性错误。"
            "如果文档中的信息包含了正确答案，你将进行准确的回答。"
            "如果文档中的信息不包含答案，你将生成“文档信息不足，因此我无法基于提供的文档回答该问题。”"
            "如果部分文档中存在与事实不一致的错误，请生成“提供的文档存在事实性错误。”，并生成正确答案。"
        ),
    },
    user={"en": "Document:\n{DOCS} \n\nQuestion:\n{QUERY}", "zh": "文档:\n{DOCS} \n\n问题:\n{QUERY}"},
    sampling=_SAMPLING,
)
"""Figure 3 of the paper."""

OFFICIAL = PromptTemplate(
    name="official",
    system={
        "en": (
            "You are an accurate and reliable AI assistant that can answer questions with the help of external "
            "documents. Please note that external documents may contain noisy or factually incorrect information. "
            "If the information in the document contains the correct answer, you will give an accurate answer. "
            "If the information in the document does not contain the answer, you will generate "
            "’I can not answer the question because of the insufficient information in documents.‘. "
            "If there are inconsistencies with the facts in some of the documents, please generate the response "
            "'There are factual errors in the provided documents.' and provide the correct answer."
        ),
        "zh": (
            "你是一个准确和可靠的人工智能助手，能够借助外部文档回答问题，请注意外部文档可能存在噪声事实性错误。"
            "如果文档中的信息包含了正确答案，你将进行准确的回答。"
            "如果文档中的信息不包含答案，你将生成“文档信息不足，因此我无法基于提供的文档回答该问题。”。"
            "如果部分文档中存在与事实不一致的错误，请先生成“提供文档的文档存在事实性错误。”，并生成正确答案。"
        ),
    },
    user={"en": "Document:\n{DOCS} \n\nQuestion:\n{QUERY}", "zh": "文档：\n{DOCS} \n\n问题：\n{QUERY}"},
    sampling=_SAMPLING,
)
"""`config/instruction.yaml` of the official program, verbatim, including its odd quotes."""

TEMPLATES: Mapping[str, PromptTemplate] = {"paper": PAPER, "official": OFFICIAL}


def prompt_template(name: str) -> PromptTemplate:
    """One of `TEMPLATES` by name. Raises UnknownName."""
    try:
        return TEMPLATES[name]
    except KeyError:
        raise UnknownName("template", name, TEMPLATES) from None
