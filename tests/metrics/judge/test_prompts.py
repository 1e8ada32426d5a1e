"""What every prompt of the judge promises, ours and a user's."""

import json
import re
import subprocess
import sys
import zipfile
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ragstone.datasets.fictional import fictional_rgb
from ragstone.errors import DataError, UnknownName, UsageError
from ragstone.metrics.judge.prompts import LANGUAGES, NAMES, Example, Prompt, Prompts, prompt_text, read_prompt
from ragstone.metrics.judge.request import turns_of
from ragstone.metrics.judge.schemas import INPUTS, OUTPUTS, problem_with
from ragstone.text import estimate_tokens, sentences, words

OURS = Prompts.load()
EVERY = [pytest.param(OURS.get(name, language), id=f"{name}/{language}") for name in NAMES for language in LANGUAGES]
HAN = re.compile(r"[㐀-鿿]")


def examples(name: str, language: str) -> list[tuple[Any, Any]]:
    """The input and the output of each example of ours."""
    return [(one.input, one.output) for one in OURS.get(name, language).shown_examples]


def numbers(listed: list[dict[str, Any]]) -> list[int]:
    return [item["id"] for item in listed]


def given(numbered: dict[str, Any]) -> list[int]:
    return [int(number) for number in numbered]


def said(prompt: Prompt) -> str:
    """Everything in the prompt, as one text."""
    shown = [json.dumps([one.input, one.output], ensure_ascii=False) for one in prompt.examples]
    return "\n".join([prompt.instruction, prompt.again, *shown])


def test_each_prompt_is_there_in_both_languages_and_nothing_else_is() -> None:
    folder = files("ragstone.metrics") / "prompts"
    for language in LANGUAGES:
        assert {file.name for file in (folder / language).iterdir()} == {f"{name}.toml" for name in NAMES}
    assert OURS.names() == NAMES
    assert set(OURS.spec) == {f"{name}/{language}" for name in NAMES for language in LANGUAGES}
    assert set(INPUTS) == set(OUTPUTS) == set(NAMES)


@pytest.mark.parametrize("prompt", EVERY)
def test_a_prompt_says_what_it_must(prompt: Prompt) -> None:
    assert prompt.version >= 1
    assert len(prompt.instruction) > 150
    assert prompt.again.count("{problem}") == 1
    assert prompt.examples
    assert "JSON" in prompt.instruction


# The replies of the others are spelled with numbers for keys, or by the rubric: their examples show them.
@pytest.mark.parametrize("prompt", [one for one in EVERY if not str(one.id).startswith(("verify", "rubric"))])
def test_a_prompt_names_every_key_of_the_reply(prompt: Prompt) -> None:
    for key in OUTPUTS[prompt.name]["properties"]:
        assert f'"{key}"' in prompt.instruction


@pytest.mark.parametrize("prompt", EVERY)
def test_each_example_has_the_form_that_the_judge_sends_and_expects(prompt: Prompt) -> None:
    for one in prompt.shown_examples:
        assert problem_with(one.input, INPUTS[prompt.name]) == ""
        assert problem_with(one.output, OUTPUTS[prompt.name]) == ""


@pytest.mark.parametrize("name", NAMES)
def test_each_reply_differs_between_the_examples_where_it_may_be_null(name: str) -> None:
    """What may be null is shown both ways: a judge copies what it saw."""
    for language in LANGUAGES:
        for schema, part in ((INPUTS[name], "input"), (OUTPUTS[name], "output")):
            for key, form in schema["properties"].items():
                shown = [getattr(one, part)[key] for one in OURS.get(name, language).examples]
                if "null" in form["type"] and (name, key) not in {
                    ("verify_reference", "reference"), ("rubric", "scale"), ("rubric", "score")
                }:  # fmt: skip
                    assert any(value is None for value in shown)
                    assert any(value is not None for value in shown)


@pytest.mark.parametrize("language", LANGUAGES)
def test_examples_of_decompose_are_right_in_themselves(language: str) -> None:
    for shown, reply in examples("decompose", language):
        assert {claim["sentence"] for claim in reply["answer_claims"]} <= set(given(shown["answer"]))
        assert bool(reply["reference_claims"]) == (shown["reference"] is not None)
        assert len(reply["questions"]) == len(set(reply["questions"])) <= 3
        for text in shown["answer"].values():
            assert len(sentences(text)) == 1
        for claim in [*reply["answer_claims"], *reply["reference_claims"]]:
            pronouns = r"\b(?:it|its|he|she|they|there|this)\b|它|他|她|该|这|那"
            assert not re.search(pronouns, claim["text"], re.IGNORECASE)
            assert "[" not in claim["text"]
    verdicts = [reply["noncommittal"] for _, reply in examples("decompose", language)]
    assert set(verdicts) == {True, False}


@pytest.mark.parametrize("language", LANGUAGES)
def test_examples_of_verify_are_right_in_themselves(language: str) -> None:
    for shown, reply in examples("verify", language):
        passages = shown["passages"]
        assert numbers(reply["passages"]) == given(passages)
        for side in ("answer_claims", "reference_claims"):
            assert numbers(reply[side]) == given(shown[side])
            for claim in reply[side]:
                assert set(claim["supported_by"]) | set(claim["contradicted_by"]) <= set(given(passages))
                assert not set(claim["supported_by"]) & set(claim["contradicted_by"])
                check_quote(claim["quote"], [passages[str(number)] for number in claim["supported_by"]], language)
        assert {verdict["useful"] is None for verdict in reply["passages"]} == {shown["reference"] is None}
        assert {claim["in_reference"] is None for claim in reply["answer_claims"]} == {shown["reference"] is None}
        assert all(claim["in_answer"] is not None for claim in reply["reference_claims"])


def check_quote(quote: str, supporting: list[str], language: str) -> None:
    assert bool(quote) == bool(supporting)
    if quote:
        assert any(quote in text for text in supporting)
        assert len(words(quote)) <= 15 if language == "en" else len(quote) <= 30


@pytest.mark.parametrize("language", LANGUAGES)
def test_examples_of_the_separate_steps_say_the_same_as_the_joint_ones(language: str) -> None:
    for shown, reply in examples("verify_passage", language):
        assert (reply["useful"] is None) == (shown["reference"] is None)
        for side in ("answer_claims", "reference_claims"):
            assert numbers(reply[side]) == given(shown[side])
            for claim in reply[side]:
                supporting = [shown["passage"]] if claim["verdict"] == "supported" else []
                check_quote(claim["quote"], supporting, language)
    for shown, reply in examples("verify_reference", language):
        for side in ("answer_claims", "reference_claims"):
            assert numbers(reply[side]) == given(shown[side])


@pytest.mark.parametrize("language", LANGUAGES)
def test_examples_of_rubric_are_right_in_themselves(language: str) -> None:
    statuses = set()
    for shown, reply in examples("rubric", language):
        steps = given(shown["scale"])
        assert numbers(reply["elements"]) == given(shown["elements"])
        assert min(steps) <= reply["score"] <= max(steps)
        for element in reply["elements"]:
            statuses.add(element["status"])
            assert bool(element["quote"]) == (element["status"] == "present")
            assert element["quote"] in shown["answer"]
            assert element["status"] != "unknown" or shown["elements"][str(element["id"])]["if_known"]
    assert statuses == {"present", "missing", "unknown"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_examples_of_the_ragas_steps_are_right_in_themselves(language: str) -> None:
    for shown, reply in examples("ragas_faithfulness", language):
        assert numbers(reply["verdicts"]) == given(shown["statements"])
    for shown, reply in examples("ragas_correctness", language):
        for side in ("answer", "ground_truth"):
            assert numbers(reply[side]) == given(shown[side])
    for name, key in (("ragas_question", "noncommittal"), ("ragas_context_precision", "verdict")):
        assert {reply[key] for _, reply in examples(name, language)} == {0, 1}


@pytest.mark.parametrize("prompt", EVERY)
def test_no_prompt_speaks_the_other_language(prompt: Prompt) -> None:
    if prompt.language == "en":
        assert not HAN.search(said(prompt))
        return
    plain = re.sub(r'"[A-Za-z_0-9]+"|\{problem\}', "", said(prompt))  # keys and fixed words of the reply
    assert set(re.findall("[A-Za-z]+", plain)) <= {"JSON", "true", "false", "null"}
    for text in (prompt.instruction, prompt.again):
        assert len(HAN.findall(text)) > len(re.findall("[A-Za-z]", text))


@pytest.mark.parametrize("prompt", EVERY)
def test_no_example_is_taken_from_ragas(prompt: Prompt) -> None:
    theirs = "Einstein|爱因斯坦|John|Everest|珠穆朗玛|photosynthesis|光合作用|cricket|板球|boiling|沸点|frog|青蛙的皮肤"
    assert not re.search(theirs, said(prompt), re.IGNORECASE)


def test_the_judge_is_told_to_take_usefulness_for_a_verdict() -> None:
    """The Chinese text of the seed says "if there is JSON output, the verdict is 1"."""
    told = OURS.get("ragas_context_precision", "zh").instruction
    assert "有助于得出该答案为 1" in told
    assert "如果有 JSON" not in told


CHANGES = [
    {"instruction": "Other words."},
    {"again": "{problem}!"},
    {"examples": ()},
    {"examples": (Example({"a": 1}, {"b": 3}),)},
    {"examples": (Example({"a": 1}, {"b": 2}), Example({"a": 1}, {"b": 2}))},
]
SMALL = Prompt("verify", "en", 1, "Words.", (Example({"a": 1}, {"b": 2}),), "Again: {problem}")


@pytest.mark.parametrize("change", CHANGES)
def test_the_hash_changes_with_everything_that_is_said(change: dict[str, Any]) -> None:
    assert replace(SMALL, **change).hash != SMALL.hash
    assert re.fullmatch("[0-9a-f]{64}", SMALL.hash)


@pytest.mark.parametrize("part", ["instruction", "again"])
def test_the_hash_changes_with_every_byte_of_a_text(part: str) -> None:
    prompt = OURS.get("verify_reference", "en")
    text = getattr(prompt, part)
    hashes = {replace(prompt, **{part: text[:place] + "~" + text[place + 1 :]}).hash for place in range(len(text))}
    assert len(hashes - {prompt.hash}) == len(text) - text.count("~")


def test_the_hash_is_that_of_the_words_not_of_the_file(tmp_path: Path) -> None:
    assert replace(SMALL, version=2).hash == SMALL.hash
    path = tmp_path / "en" / "verify.toml"
    path.parent.mkdir()
    text = prompt_text("verify", "en")
    path.write_text("# another comment\n" + text.replace("version = 2", "version = 7") + "\n\n# the end\n", "utf-8-sig")
    assert read_prompt(path, "verify", "en").hash == OURS.get("verify", "en").hash
    assert read_prompt(path, "verify", "en").version == 7
    path.write_bytes(text.replace("\n", "\r\n").encode())
    assert read_prompt(path, "verify", "en").hash == OURS.get("verify", "en").hash


def test_the_spec_of_the_run_file_has_a_short_hash_of_each() -> None:
    assert OURS.spec["verify/zh"] == OURS.get("verify", "zh").hash[:12]
    assert len(set(OURS.spec.values())) == len(NAMES) * len(LANGUAGES)


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_said_in_each_request_stays_small(language: str) -> None:
    for name in NAMES:
        assert OURS.get(name, language).tokens <= (1_400 if name in ("decompose", "verify") else 1_200)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_prefix_of_the_judges_two_requests_is_long_enough_for_the_caches_of_providers(language: str) -> None:
    """OpenAI's begin at 1,024 tokens. Our estimate is up to 12% above GPT-4o's count of these prompts."""
    for name in ("decompose", "verify"):
        assert sum(estimate_tokens(turn.content) for turn in OURS.get(name, language).opening) >= 1.12 * 1_024


@pytest.mark.parametrize("prompt", EVERY)
def test_requests_of_a_step_differ_only_in_their_last_message(prompt: Prompt) -> None:
    """What is the same for all samples stands first, byte by byte; providers' caches begin there."""
    first, second = (turns_of(prompt, {"question": question}, nonce=question) for question in ("a", "b"))
    assert first[:-1] == second[:-1] == prompt.opening
    assert first[-1] != second[-1]
    assert first[-1].role == "user"


def test_unknown_names_are_told_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'verify'"):
        OURS.get("verfy", "en")
    with pytest.raises(UnknownName, match="en, zh"):
        OURS.get("verify", "fr")


def test_a_folder_changes_the_instruction_or_the_examples_or_both(tmp_path: Path) -> None:
    (tmp_path / "en").mkdir()
    (tmp_path / "zh").mkdir()
    (tmp_path / "README.md").write_text("Our prompts.")
    (tmp_path / "en" / "verify.toml").write_text('instruction = "Be strict."')
    (tmp_path / "zh" / "verify.toml").write_text("examples = []")
    example = 'input = \'{"answer": "九月"}\'\noutput = \'{"question": "几月？", "noncommittal": 0}\'\n'
    (tmp_path / "zh" / "ragas_question.toml").write_text(
        f'instruction = "写出问题。"\n[[examples]]\n{example}', encoding="utf-8"
    )
    prompts = Prompts.load(tmp_path)
    assert prompts.get("verify", "en") == replace(OURS.get("verify", "en"), instruction="Be strict.")
    assert prompts.get("verify", "zh") == replace(OURS.get("verify", "zh"), examples=())
    both = prompts.get("ragas_question", "zh")
    assert (both.instruction, both.examples[0].output) == ("写出问题。", {"question": "几月？", "noncommittal": 0})
    assert both.again == OURS.get("ragas_question", "zh").again
    unchanged = set(OURS.spec.items()) & set(prompts.spec.items())
    assert len(unchanged) == len(OURS.spec) - 3
    assert Prompts.load() == OURS


WRONG = [
    ("en/verify.toml", "version = [", ("verify.toml", "not TOML")),
    ("en/verify.toml", 'instructions = "x"', ("verify.toml", "'instructions'", "no such key")),
    ("en/verify.toml", 'instruction = " "', ("'instruction'", "something in it")),
    ("en/verify.toml", "instruction = 3", ("'instruction'",)),
    ("en/verify.toml", "version = 0", ("'version'", "whole number")),
    ("en/verify.toml", 'again = "Once more."', ("'again'", "{problem}")),
    ("en/verify.toml", 'examples = "none"', ("'examples'", "[[examples]]")),
    ("en/verify.toml", '[[examples]]\ninput = "{}"', ("'examples[1]'", "an output")),
    ("en/verify.toml", "[[examples]]\ninput = '{'\noutput = '{}'", ("'examples[1].input'", "not JSON")),
    ("en/verify.toml", "[[examples]]\ninput = {a = 1}\noutput = '{}'", ("'examples[1].input'", "as a text")),
    ("en/ragas_question.toml", "[[examples]]\ninput = '{}'\noutput = '{}'", ("examples[1].input.answer is missing",)),
    (
        "zh/ragas_question.toml",
        '[[examples]]\ninput = \'{"answer": "x"}\'\noutput = \'{"question": "x", "noncommittal": 5}\'',
        ("ragas_question.toml", "examples[1].output.noncommittal is 5, expected 0 or 1"),
    ),
    ("en/verfy.toml", "version = 1", ("'verfy'", "'verify'", "verfy.toml")),
    ("fr/verify.toml", "version = 1", ("fr/verify.toml", "NAME.toml")),
    ("verify.toml", "version = 1", ("verify.toml", "NAME.toml")),
    ("en/notes.txt", "", ("holds no prompt",)),
]


@pytest.mark.parametrize(("file", "text", "told"), WRONG)
def test_what_is_wrong_in_a_folder_is_told_in_one_line(
    file: str, text: str, told: tuple[str, ...], tmp_path: Path
) -> None:
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as error:
        Prompts.load(tmp_path)
    message = str(error.value)
    assert "\n" not in message
    for part in told:
        assert part in message


def test_a_folder_that_is_not_there_or_no_text_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such folder"):
        Prompts.load(tmp_path / "none")
    (tmp_path / "en").mkdir()
    (tmp_path / "en" / "verify.toml").write_bytes("instruction = '核对'".encode("gb18030"))
    with pytest.raises(DataError, match="not UTF-8"):
        Prompts.load(tmp_path)


VALUES: list[tuple[Any, Any, str]] = [
    ({"type": "integer"}, 1, ""),
    ({"type": "integer"}, True, "x is not a whole number"),
    ({"type": "integer"}, 1.0, "x is not a whole number"),
    ({"type": ["integer", "null"]}, None, ""),
    ({"type": ["integer", "null"]}, "1", "x is not a whole number or null"),
    ({"type": "integer", "enum": [0, 1]}, 5, "x is 5, expected 0 or 1"),
    ({"type": "integer", "enum": [0, 1]}, True, "x is not a whole number"),
    ({"type": "array", "items": {"type": "string"}}, ["a", 2], "x[2] is not a text"),
    ({"type": "object", "additionalProperties": {"type": "string"}}, {"1": "a", "2": None}, "x.2 is not a text"),
    (OUTPUTS["verify_reference"], {"answer_claims": []}, "x.reference_claims is missing"),
    (OUTPUTS["ragas_statements"], {"statements": [], "score": 1}, "x.score is not asked for"),
    (OUTPUTS["ragas_statements"], [], "x is not an object"),
]


@pytest.mark.parametrize(("schema", "value", "problem"), VALUES)
def test_a_value_of_another_form_is_told_with_its_place(schema: dict[str, Any], value: object, problem: str) -> None:
    assert problem_with(value, schema, at="x") == problem


@pytest.mark.parametrize("schema", OUTPUTS.values())
def test_every_object_of_a_reply_is_closed_so_that_strict_endpoints_take_it(schema: dict[str, Any]) -> None:
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        if one["type"] == "object":
            assert one["additionalProperties"] is False
            assert one["required"] == list(one["properties"])
            waiting.extend(one["properties"].values())
        if one["type"] == "array":
            waiting.append(one["items"])


def request(prompt: Prompt, shown: object) -> int:
    """About how many tokens one request costs: what is said, and what is judged between its delimiters."""
    assert problem_with(shown, INPUTS[prompt.name]) == ""
    judged = f"<judged 0f1e2d3c4b5a6978>\n{json.dumps(shown, ensure_ascii=False)}\n</judged 0f1e2d3c4b5a6978>"
    return prompt.tokens + estimate_tokens(judged)


def cost(language: str, size: int) -> int:
    """Tokens of both requests for five passages of `size` words (en) or characters (zh), with 6 + 4 claims."""
    facts = list(fictional_rgb(f"{language}_refine", seed=5, size=12, difficulty="easy"))
    texts = [text for fact in facts for text in (*fact["positive"], *fact["negative"])]
    joined = " ".join(texts) if language == "en" else "".join(texts)
    units = joined.split() if language == "en" else list(joined)
    glue = " " if language == "en" else ""
    pieces = [glue.join(units[start : start + size]) for start in range(0, 5 * size, size)]
    claims = [one for piece in pieces for one in sentences(piece)][:10]
    numbered = {str(place): text for place, text in enumerate(claims, start=1)}
    answer = dict(list(numbered.items())[:6])
    rest = {str(place): text for place, text in enumerate(claims[6:], start=1)}
    question, reference = facts[0]["query"], glue.join(rest.values())
    passages = {str(place): piece for place, piece in enumerate(pieces, start=1)}
    first = request(OURS.get("decompose", language), {"question": question, "answer": answer, "reference": reference})
    shown = {"question": question, "reference": reference, "answer_claims": answer, "reference_claims": rest}
    return first + request(OURS.get("verify", language), {**shown, "passages": passages})


def test_both_requests_of_a_sample_with_five_passages_stay_under_4100_tokens() -> None:
    assert 3_000 < cost("en", 120) <= 4_100
    assert 3_000 < cost("zh", 200) <= 4_100


def test_the_wheel_carries_every_prompt(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="the build backend is not installed")
    told = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(told, cwd=Path(__file__).parents[3], check=True, capture_output=True, timeout=120)
    (wheel,) = tmp_path.glob("*.whl")
    packed = set(zipfile.ZipFile(wheel).namelist())
    assert {f"ragstone/metrics/prompts/{lang}/{name}.toml" for lang in LANGUAGES for name in NAMES} <= packed
