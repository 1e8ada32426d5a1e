"""Readable text and its highlights, over any text and any spans."""

from hypothesis import given
from hypothesis import strategies as st

from ragstone.display import Span
from ragstone.report.sanitize import fragments, one_line, pieces, readable

ANY = st.text(alphabet=st.characters(codec=None), max_size=300)
SPANS = st.lists(
    st.builds(
        Span,
        st.just("answer"),
        st.integers(-5, 320),
        st.integers(-5, 320),
        st.sampled_from(["match", "wrong", "refusal"]),
    ),
    max_size=8,
)


@given(ANY)
def test_readable_text_is_utf8_and_xml_and_stays_so(text: str) -> None:
    shown = readable(text)
    assert shown.encode("utf-8").decode("utf-8") == shown
    assert not any(ord(c) < 32 and c not in "\t\n" for c in shown)
    assert readable(shown) == shown


@given(ANY)
def test_every_piece_of_readable_text_says_what_it_stands_for(text: str) -> None:
    found = list(pieces(text))
    assert "".join(shown for shown, _ in found) == readable(text)
    place = 0
    for shown, size in found:
        original = text[place : place + (size or len(shown))]
        assert readable(original) == shown
        assert (original == shown) == (size == 0)
        place += len(original)
    assert place == len(text)


@given(ANY, st.integers(2, 60))
def test_one_line_is_one_short_line(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line) <= limit
    assert "\n" not in line


@given(ANY, SPANS, st.integers(20, 400))
def test_pieces_lose_nothing_that_they_do_not_count(text: str, spans: list[Span], limit: int) -> None:
    found = fragments(text, spans, limit=limit)
    position = 0
    for fragment in found:
        if fragment.left_out:
            assert fragment.text == ""
            position += fragment.left_out
        else:
            assert text.startswith(fragment.text, position)
            position += len(fragment.text)
    assert position == len(text)
    assert sum(len(fragment.text) for fragment in found) <= limit


@given(ANY, SPANS)
def test_every_character_is_highlighted_exactly_as_its_gravest_span(text: str, spans: list[Span]) -> None:
    shown = [kind for fragment in fragments(text, spans, limit=1000) for kind in [fragment.kind] * len(fragment.text)]
    for index, kind in enumerate(shown):
        kinds = {span.kind for span in spans if span.start <= index < span.end}
        assert kind == next((name for name in ("wrong", "refusal", "match") if name in kinds), "")


def test_a_highlight_far_from_the_beginning_is_shown_with_what_surrounds_it() -> None:
    text = "x" * 5_000 + "needle" + "y" * 5_000
    found = fragments(text, [Span("p", 5_000, 5_006)], limit=600)
    assert [fragment.text for fragment in found if fragment.kind] == ["needle"]
    assert found[1].left_out == 5_000 - 300 - 140
    assert sum(fragment.left_out for fragment in found) + sum(len(fragment.text) for fragment in found) == len(text)


def test_windows_line_ends_become_lines() -> None:
    assert readable("a\r\nb\rc") == "a\nb␍c"
