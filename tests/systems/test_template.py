"""RGB's two instructions, to the character, and how documents and questions are put into them."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragstone.errors import UnknownName
from ragstone.systems.template import OFFICIAL, PAPER, TEMPLATES, PromptTemplate, joined, prompt_template
from ragstone.types import Passage, Query, Sampling, Template, Turn

SEED = Path(__file__).parents[3] / "shared" / "seeds" / "000_c908d596f1365580.txt"
PROTOCOLS = Path(__file__).parents[3] / "shared" / "PROTOCOLS.md"


def ask(*documents: str, question: str = "Who?", language: str = "en") -> Query:
    return Query(question, tuple(Passage(str(i), text) for i, text in enumerate(documents)), language=language)


def test_the_official_message_is_the_programs_to_the_character() -> None:
    assert OFFICIAL.messages(ask("One.", "Two."))[1:] == (Turn("user", "Document:\nOne.\nTwo. \n\nQuestion:\nWho?"),)
    assert OFFICIAL.messages(ask("一。", "二。", question="谁？", language="zh"))[1:] == (
        Turn("user", "文档：\n一。\n二。 \n\n问题：\n谁？"),
    )
    system = OFFICIAL.messages(ask("One."))[0]
    assert system.role == "system"
    assert system.content.endswith(
        "you will generate ’I can not answer the question because of the insufficient information in documents.‘. If "
        "there are inconsistencies with the facts in some of the documents, please generate the response 'There are "
        "factual errors in the provided documents.' and provide the correct answer."
    )


@pytest.mark.skipif(not SEED.is_file(), reason="the seed documents are not beside the repository")
def test_the_paper_template_is_figure_3() -> None:
    lines = SEED.read_text(encoding="utf-8").splitlines()
    start = lines.index("English\tChinese") + 1
    for line, what in zip(lines[start : start + 2], ("system", "user"), strict=True):
        for language, cell in zip(("en", "zh"), line.split("\t"), strict=True):
            text = re.sub(r"^<b>.*?</b> ", "", cell).replace("\\n", "\n")
            assert getattr(PAPER, what)[language] == text


@pytest.mark.skipif(not PROTOCOLS.is_file(), reason="the protocols are not beside the repository")
def test_the_official_chinese_text_is_the_protocols() -> None:
    assert f"`{OFFICIAL.system['zh']}`" in PROTOCOLS.read_text(encoding="utf-8")


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=TEMPLATES)
@pytest.mark.parametrize("passages", [(), None])
def test_without_documents_the_users_instruction_stands_alone(
    template: PromptTemplate, passages: tuple[Passage, ...] | None
) -> None:
    messages = template.messages(Query("Who?", passages, language="en"))
    assert messages == (Turn("user", "Document:\n \n\nQuestion:\nWho?"),)


def test_a_closed_book_text_of_ones_own_is_used() -> None:
    mine = PromptTemplate("mine", {"en": "S"}, {"en": "{DOCS}|{QUERY}"}, closed_book={"en": "Only {QUERY}"})
    assert mine.messages(ask()) == (Turn("user", "Only Who?"),)
    assert mine.messages(ask("d")) == (Turn("system", "S"), Turn("user", "d|Who?"))


def test_joined_puts_system_and_user_text_into_one_message() -> None:
    (only,) = joined(PAPER).messages(ask("One."))
    assert only == Turn("user", f"{PAPER.system['en']}\n\nDocument:\nOne. \n\nQuestion:\nWho?")
    assert joined(PAPER).messages(ask()) == PAPER.messages(ask())
    assert joined(PAPER).spec != PAPER.spec


@settings(deadline=None)
@given(st.lists(st.text(), min_size=1), st.text())
def test_documents_and_questions_are_put_in_as_they_are(documents: list[str], question: str) -> None:
    documents = [*documents, "{QUERY} {DOCS} {0} %s \\1"]
    (_, user) = OFFICIAL.messages(ask(*documents, question=question))
    assert user.content == "Document:\n" + "\n".join(documents) + " \n\nQuestion:\n" + question


def test_the_language_is_the_querys_and_otherwise_the_questions() -> None:
    assert PAPER.messages(ask("d", question="谁赢了比赛？", language=""))[1].content.startswith("文档:")
    assert PAPER.messages(ask("d", question="谁赢了比赛？", language="en"))[1].content.startswith("Document:")
    assert PAPER.messages(ask("d", language="fr"))[1].content.startswith("Document:")


def test_earlier_turns_stand_between_system_and_user() -> None:
    history = (Turn("user", "Hello."), Turn("assistant", "Hello!"))
    messages = PAPER.messages(Query("Who?", (Passage("0", "d"),), history, language="en"))
    assert [turn.role for turn in messages] == ["system", "user", "assistant", "user"]


def test_the_spec_is_json_and_tells_templates_apart() -> None:
    template: Template = PAPER
    assert json.loads(json.dumps(template.spec))["name"] == "paper"
    assert PAPER.spec != OFFICIAL.spec
    assert PAPER.sampling == OFFICIAL.sampling == Sampling(temperature=0.2)


def test_templates_are_found_by_name() -> None:
    assert prompt_template("official") is OFFICIAL
    with pytest.raises(UnknownName, match="Did you mean 'official'"):
        prompt_template("oficial")
