"""Topics: clusters of questions, named by their words, in both languages, the same for the same questions."""

import random

from ragstone.analysis.topics import topics_of

WORDS = {
    "refund": ["refund", "invoice", "payment", "credit", "bank"],
    "parcel": ["parcel", "courier", "delivery", "warehouse", "tracking"],
    "login": ["password", "login", "profile", "username", "security"],
    "退款": ["退款", "发票", "付款", "银行", "账单"],
    "快递": ["快递", "包裹", "仓库", "物流", "配送"],
}
FORMS = ("How do I get the {} for {} and {}?", "When is the {} with {} or {} done?", "What does {} mean for {} or {}?")
FORMS_ZH = ("{}和{}以及{}怎么办理？", "{}的{}在{}什么时候完成？", "关于{}，{}和{}是什么意思？")


def questions(n: int, seed: int = 0) -> dict[str, str]:
    """Question → the key of `WORDS` from whose words it is made."""
    rng = random.Random(seed)
    made = {}
    for number in range(n):
        topic = list(WORDS)[number % len(WORDS)]
        forms = FORMS if topic.isascii() else FORMS_ZH
        made[rng.choice(forms).format(*rng.sample(WORDS[topic], 3))] = topic
    return made


def test_questions_of_a_topic_are_together_and_named_by_its_words() -> None:
    truth = questions(400)
    topics = topics_of(truth)
    names: dict[str, set[str]] = {}
    for question, topic in truth.items():
        names.setdefault(topic, set()).add(topics[question])
    assert sum(len(some) for some in names.values()) == len({*topics.values()})  # no topic has questions of two
    for topic, some in names.items():
        for name in some:
            assert {*name.split("+")} <= {*WORDS[topic]}, name


def test_topics_depend_on_the_questions_only_and_not_on_their_order() -> None:
    some = list(questions(300))
    assert topics_of(some) == topics_of(reversed(some)) == topics_of([*some, *some])


def test_few_questions_and_questions_without_topical_words_have_no_topic() -> None:
    assert topics_of([f"Who won game {number}?" for number in range(39)]) == {}
    assert topics_of([f"How are {number}?" for number in range(200)]) == {}
    topics = topics_of([*questions(300), "How is it?"])
    assert "How is it?" not in topics


def test_a_topic_is_made_of_all_questions_also_where_a_part_is_fitted() -> None:
    numbered = {f"{question} {number}": topic for number in range(60) for question, topic in questions(100).items()}
    topics = topics_of(numbered)
    assert len(numbered) > 2_500
    assert topics.keys() == numbered.keys()
    together: dict[str, set[str]] = {}
    for question, topic in numbered.items():
        together.setdefault(topics[question], set()).add(topic)
    assert all(len(some) == 1 for some in together.values())
