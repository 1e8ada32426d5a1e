"""What may be shown of addresses and keys."""

from pathlib import Path

import pytest

from ragstone.text.redaction import redact, redact_all, secrets_of, shown_url

SECRET = "S3cr3t/Key+1"


@pytest.mark.parametrize(
    "address",
    [
        "https://h.example/v1?key={}",
        "https://h.example/v1?version=2&api-key={}&x=1",
        "https://h.example/v1?{}",
        "https://h.example/v1?a=1;key={}",
        "https://user:{}@h.example/v1",
        "https://{}@h.example/v1",
        "https://user:p,w)@{}@h.example/v1",
        "https://h.example/v1#{}",
        "https://h.example/v1?key=#{}",
        "HTTPS://h.example/v1?key={}",
        "https://h.example/v1?a=https://other.example/?key={}",
        "h.example/v1?key={}",
        "user:{}@h.example/v1",
    ],
)
def test_no_place_of_an_address_shows_a_key(address: str) -> None:
    secret = "S3cr3tKey1"
    shown = shown_url(address.format(secret))
    assert secret not in shown
    assert "h.example/v1" in shown
    within = f"rerank(bm25,x/y,url={address.format(secret)},depth=50): GET '{address.format(secret)}' failed."
    if "://" in address:
        assert secret not in redact(within)
        assert "failed." in redact(within)


@pytest.mark.parametrize("address", ["https://u:S3cr3tKey1@h.example/v1", "http://h.example/v1?key=S3cr3tKey1"])
def test_an_address_that_was_taken_for_a_path_shows_no_key(address: str) -> None:
    shown = redact(f"{Path(address)}: no such file.")
    assert "S3cr3tKey1" not in shown
    assert "h.example/v1" in shown
    assert "no such file." in shown


def test_what_is_no_secret_of_an_address_stays() -> None:
    assert shown_url("https://h:8443/a/b/v1") == "https://h:8443/a/b/v1"
    assert shown_url("https://h/v1?api-version=2024-10-21&key=abc") == "https://h/v1?api-version=***&key=***"
    assert redact("Is 3 > 2? See https://h/v1 (or ask a@b.example).") == (
        "Is 3 > 2? See https://h/v1 (or ask a@b.example)."
    )
    assert redact("hybrid(bm25,local/e5-small,url=http://h:1/v1,k=3)") == (
        "hybrid(bm25,local/e5-small,url=http://h:1/v1,k=3)"
    )


def test_a_clause_around_an_address_keeps_its_punctuation() -> None:
    assert (
        redact("http://h/v1?key=abc: refused. See http://h?a=b.") == "http://h/v1?key=***: refused. See http://h?a=***."
    )
    assert redact("http://h/v1?key=a:b.c&x=y") == "http://h/v1?key=***&x=***"


def test_secrets_are_hidden_wherever_they_stand_and_keys_where_asked() -> None:
    assert redact(f"GET /v1?x={SECRET} HTTP/1.1", [SECRET]) == "GET /v1?x=*** HTTP/1.1"
    assert redact("Incorrect key sk-abc***def9", keys=True) == "Incorrect key ***"
    assert redact("compat/hf-internal-testing/tiny") == "compat/hf-internal-testing/tiny"


def test_every_text_within_a_value_is_redacted() -> None:
    held = {"endpoint": "http://h/v1?key=abc", "more": [("http://u:p@h", 1), None], "n": 2.5}
    assert redact_all(held) == {"endpoint": "http://h/v1?key=***", "more": [["http://h", 1], None], "n": 2.5}


def test_the_secrets_of_an_address_are_those_whose_names_say_so() -> None:
    address = "https://user:pass%2Fword@h/v1?key=S3cr3t%2FKey&api-version=2024-10-21&sig=abcdef"
    assert set(secrets_of(address)) == {"S3cr3t/Key", "S3cr3t%2FKey", "abcdef", "pass%2Fword", "pass/word"}
    assert secrets_of("https://h/v1?key=1") == ()
    assert secrets_of("https://h/v1?S3cr3tKey") == ("S3cr3tKey",)
    assert secrets_of("https://[bad") == ()
