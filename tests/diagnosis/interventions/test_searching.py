"""Copies that fill the prompt, a filter that keeps a passage out of every search, and a question in another language
than the documents: each is named where its own observation shows it, in English and Chinese, and not elsewhere."""

from collections.abc import Callable, Sequence

import pytest
from msgspec.structs import replace
from tests.diagnosis.interventions.evidence import examined

from ragstone.diagnosis.interventions.causes import cause_of
from ragstone.diagnosis.interventions.evidence import facts_of
from ragstone.diagnosis.interventions.fields.search import distinct
from ragstone.diagnosis.interventions.shared import Shared, shared_of
from ragstone.responses.stages import stage_step
from ragstone.types import NO_ANSWER, Passage, Query, Response, Sample

WORLDS = {
    "en": ("How much does the Belka pump weigh?", "317 kg",
           "The Belka pump weighs 317 kg, as its plate in hall 3 of the north works says.",
           "A note on the doors of hall {n} in the south works, which are painted every {n} years."),
    "zh": ("贝卡泵有多重？", "317公斤", "贝卡泵重317公斤，这是北厂三号车间里的铭牌上写着的，铭牌每年检查一次。",
           "关于南厂{n}号车间大门的说明：每隔{n}年重新油漆一次，由后勤部门负责安排和验收。"),
}  # fmt: skip
Search = Callable[[str, Sequence[Passage]], list[Passage]]


def sample(language: str, question: str = "") -> Sample:
    asked, reference, gold, _ = WORLDS[language]
    meta = {"in_index": "yes"}
    return Sample("q", question or asked, ((reference,),), (Passage("gold", gold, relevant=True),), language, meta)


def cause(
    one: Sample, search: Callable[[str], list[Passage]], k: int = 4, shared: Shared | None = None, depth: int = 10
) -> str:
    """The cause for a system that answers rightly if the gold is in its prompt: the first `k` of `depth` that it
    finds."""

    def ask(query: Query) -> Response:
        if query.retrieve_only:
            found = tuple(search(query.question)[: query.k])
            return Response("", found, (stage_step("fetch", found),), finish_reason=NO_ANSWER)
        size = query.k or k
        fetched = search(query.question)[: max(depth, size)]
        prompt = fetched[:size] if query.passages is None else query.passages
        right = any(one.references[0][0] in item.text for item in prompt)
        steps = () if query.passages is not None else (stage_step("fetch", fetched), stage_step("prompt", prompt))
        return Response(one.references[0][0] if right else "450", tuple(prompt), steps)

    return cause_of(examined(one, ask, shared=shared or Shared())).name


def others(language: str, count: int = 60) -> list[Passage]:
    return [Passage(f"other{n}", WORLDS[language][3].format(n=n)) for n in range(2, count + 2)]


def own_first(text: str, passages: list[Passage]) -> list[Passage]:
    """The passages, first the one whose own words are searched for."""
    return sorted(passages, key=lambda item: item.text[:40] not in text)


@pytest.mark.parametrize("language", WORLDS)
@pytest.mark.parametrize("gold_at", [2, 7])
def test_copies_that_push_the_passage_out_are_named_and_other_passages_are_not(language: str, gold_at: int) -> None:
    """At place 7 of the distinct passages, it would not be in the prompt without the copies."""
    one, notes = sample(language), others(language)
    for copies in (True, False):
        ranked: list[Passage] = []
        for n, note in enumerate(notes):
            ranked += list(one.passages) if n == gold_at else []
            copied = [f"{note.text}\n({m})" for m in range(3)] if copies else []
            copied += [note.text.replace(note.text[:3], note.text[:3].upper() + " ")] if copies else []
            ranked += [note, *(replace(note, id=f"{note.id}/{m}", text=text) for m, text in enumerate(copied))]
        if not copies:
            ranked = [item for item in ranked if item.id != "gold"]
            ranked.insert(8, *one.passages)

        def search(text: str, ranked: list[Passage] = ranked) -> list[Passage]:
            return own_first(text, ranked)

        found = cause(one, search)
        assert (found == "duplicates") == (copies and gold_at == 2), found


def test_passages_that_share_a_form_are_no_copies() -> None:
    pumps = [
        f"The {name} pump stands in hall 3. It weighs {n} kg." for n, name in enumerate(("Arvo", "Belka", "Cirro"))
    ]
    assert len(distinct([Passage(text, text) for text in pumps])) == 3
    assert len(distinct([Passage("a", pumps[0]), Passage("b", pumps[0].upper()), Passage("c", pumps[0] + " [1]")])) == 1
    assert len(distinct([Passage("a", "它重317公斤。 在三号车间。"), Passage("b", "它重317公斤，在三号车间")])) == 1
    assert len(distinct([Passage("a", "它重317公斤。"), Passage("b", "它重324公斤。")])) == 2


@pytest.mark.parametrize(
    ("text", "addresses", "number"),
    [
        ("The kiln reaches 317 °C.", ("(https://a.example/kilns/1)", "(https://b.example/kilns?session=77)"), "324"),
        ("窑炉温度为317度。", ("（kilns.html?page=1）", "（kilns.html?page=24）"), "324"),
    ],
)
def test_pages_that_a_crawler_found_under_several_addresses_are_copies(
    text: str, addresses: tuple[str, str], number: str
) -> None:
    copies = [Passage(address, f"{text}\n{address}") for address in addresses]
    assert len(distinct(copies)) == 1
    assert len(distinct([*copies, Passage("c", f"{text.replace('317', number)}\n{addresses[0]}")])) == 2


@pytest.mark.parametrize("language", WORLDS)
def test_a_filter_is_named_if_others_are_found_by_their_words_and_the_index_is_known_to_have_the_passage(
    language: str,
) -> None:
    one, notes = sample(language), others(language)

    def broken(text: str) -> list[Passage]:
        return notes[sum(map(ord, text)) % 7 :] + notes[: sum(map(ord, text)) % 7]

    def deep(text: str) -> list[Passage]:
        return [*own_first(text, notes), *one.passages] if one.passages[0].text[:40] in text else own_first(text, notes)

    assert cause(one, lambda text: own_first(text, notes)) == "filtered"
    assert cause(one, broken) == "not_retrieved"
    assert cause(one, deep) == "not_retrieved"
    unknown = replace(one, meta={})  # it may be missing there
    assert cause(unknown, lambda text: own_first(text, notes)) == "not_retrieved"


@pytest.mark.parametrize("language", WORLDS)
def test_a_passage_below_the_cut_that_its_own_words_find_is_not_one_that_no_search_finds(language: str) -> None:
    """The reference leads to passages about the same number."""
    one, notes = sample(language), others(language)
    reference = one.references[0][0]

    def search(text: str) -> list[Passage]:
        if text.startswith(reference):
            return notes
        return own_first(text, [notes[0], *one.passages, *notes[1:]])

    assert cause(one, search, k=1, depth=1) == "k_too_small"


@pytest.mark.parametrize("language", WORLDS)
def test_where_the_gold_stood_at_an_end_that_order_is_not_asked_again(language: str) -> None:
    """A reader that trusts the last passage, with the gold in front."""
    one, notes = sample(language), others(language)
    reference = one.references[0][0]

    def ask(query: Query) -> Response:
        prompt = (*one.passages, *notes[:3]) if query.passages is None else query.passages
        right = bool(prompt) and reference in prompt[-1].text
        return Response(reference if right else "450", tuple(prompt), (stage_step("prompt", prompt),))

    evidence = examined(one, ask, "repeat passages")
    assert cause_of(evidence).name == "position"
    assert "gold_last" in evidence.records
    assert "gold_first" not in evidence.records


@pytest.mark.parametrize("language", WORLDS)
def test_a_search_that_stops_at_a_score_and_one_that_does_not_see_the_subject_are_told_apart(language: str) -> None:
    one, notes = sample(language), others(language)
    asked, gold = one.question, one.passages[0].text[:40]

    def stops(text: str) -> list[Passage]:  # a short question scores low
        return [*one.passages, *notes] if gold in text else notes[:2] if asked in text else own_first(text, notes)

    def deaf(text: str) -> list[Passage]:  # it keeps the words that ask
        start = 3 if len(text) < 60 and not text.startswith(one.references[0][0]) else 9
        return notes[start:] + notes[:start]

    assert cause(one, stops) == "filtered"
    assert cause(one, deaf) == "rewriting"


@pytest.mark.parametrize(("asked", "language"), [("zh", "en"), ("en", "zh")])
def test_a_language_barrier_is_named_where_a_translation_finds_the_passage(asked: str, language: str) -> None:
    question = WORLDS[asked][0]
    columns = {"question_translated": WORLDS[language][0]}
    one, notes = replace(sample(language, question), meta={"in_index": "yes", "columns": columns}), others(language)

    def search(text: str, finds: bool = True) -> list[Passage]:
        found = (finds and text == WORLDS[language][0]) or one.passages[0].text[:40] in text
        return [*one.passages, *notes] if found else own_first(text, notes)

    assert cause(one, search) == "language"
    assert cause(one, lambda text: search(text, False)) == "not_retrieved"  # its translation does not find it, either
    plain = replace(one, meta={"in_index": "yes"})
    assert cause(plain, search) == "not_retrieved"
    assert cause(plain, search, shared=Shared(barrier=True)) == "language"
    own = replace(plain, question=WORLDS[language][0])
    assert cause(own, lambda text: search(text, False), shared=Shared(barrier=True)) == "not_retrieved"


def test_without_translations_the_questions_of_a_run_show_a_barrier_by_their_contrast() -> None:
    def evidences(foreign_found: int, own_found: int) -> Shared:
        found = []
        for language, question, count in (("en", "贝卡泵有多重？", foreign_found), ("en", "", own_found)):
            one, notes = sample(language, question), others(language)
            for n in range(6):
                ranked = tuple([*one.passages, *notes] if n < count else notes)[:10]
                response = Response("450", ranked[:4], (stage_step("fetch", ranked),))
                found.append(examined(one, lambda _, response=response: response, takes=""))  # type: ignore[misc]
        return shared_of(map(facts_of, found))

    assert evidences(0, 6).barrier
    assert not evidences(5, 6).barrier
    assert not evidences(0, 2).barrier


@pytest.mark.parametrize("language", WORLDS)
def test_a_step_after_the_search_that_never_lets_a_passage_pass_is_a_filter_and_one_that_reorders_is_not(
    language: str,
) -> None:
    one, notes = sample(language), others(language)
    gold, beginning = one.passages[0], one.passages[0].text[:40]

    def asked_of(later: Callable[[str, list[Passage]], list[Passage]]) -> str:
        def ask(query: Query) -> Response:
            fetched = own_first(query.question, [*notes[:2], gold, *notes[2:]])[: max(10, query.k or 4)]
            kept = later(query.question, fetched)[: query.k or 4]
            if query.retrieve_only:
                return Response("", tuple(kept), (stage_step("fetch", fetched),), finish_reason=NO_ANSWER)
            prompt = kept if query.passages is None else query.passages
            steps = () if query.passages is not None else (stage_step("fetch", fetched), stage_step("prompt", prompt))
            right = any(one.references[0][0] in item.text for item in prompt)
            return Response(one.references[0][0] if right else "450", tuple(prompt), steps)

        return cause_of(examined(one, ask)).name

    assert asked_of(lambda text, found: [item for item in found if item.text != gold.text]) == "filtered"
    by_words = asked_of(lambda text, found: [item for item in found if item.text != gold.text or beginning in text])
    assert by_words == "reranking"


@pytest.mark.parametrize("language", WORLDS)
def test_another_answer_beside_which_the_missing_passage_rights_the_answer_is_no_contradiction(language: str) -> None:
    one = sample(language)
    gold, notes = one.passages[0], others(language, 8)
    rival = Passage("rival", gold.text.replace("317", "450"))

    def cause_where(*, misled: bool) -> str:
        def ask(query: Query) -> Response:
            found = (rival, *notes)
            if query.retrieve_only:
                return Response("", found[: query.k], (stage_step("fetch", found),), finish_reason=NO_ANSWER)
            prompt = found[:4] if query.passages is None else query.passages
            steps = () if query.passages is not None else (stage_step("fetch", found), stage_step("prompt", prompt))
            texts = " ".join(item.text for item in prompt)
            right = "317" in texts and not (misled and "450" in texts)
            return Response(
                one.references[0][0] if right else one.references[0][0].replace("317", "450"), prompt, steps
            )

        return cause_of(examined(one, ask)).name

    assert cause_where(misled=True) == "contradiction"
    assert cause_where(misled=False) not in ("contradiction", "unknown")
