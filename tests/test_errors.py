"""Errors name the item, the cause and the next step, in one line."""

from ragstone.errors import DataError, MissingKey, ModelError, RagstoneError, RunMismatch, UnknownName


def test_a_data_error_names_file_line_and_field() -> None:
    error = DataError("a.json", "is a number; expected a text.", line=3, field="query")
    assert str(error) == "a.json, line 3, field 'query': is a number; expected a text."


def test_an_unknown_name_without_a_near_one_lists_what_there_is() -> None:
    assert str(UnknownName("language", "qqq", ["en", "zh"])) == "No language named 'qqq'. There are: en, zh."


def test_the_nearest_name_is_found_whatever_its_case() -> None:
    assert UnknownName("ability", "NOISE", ["noise", "rejection"]).suggestion == "noise"


def test_a_missing_key_names_the_variable() -> None:
    assert "OPENAI_API_KEY" in str(MissingKey("openai", "OPENAI_API_KEY"))


def test_another_question_is_told_by_its_differences() -> None:
    error = RunMismatch("a.run", {"question.seed": (1, 2)})
    assert str(error).startswith("a.run was made with different settings (question.seed: 1 in the file, 2 now)")


def test_many_long_differences_fit_into_a_line() -> None:
    texts = {f"data.sha256.{at}": (f"{at}" * 60, "f" * 60) for at in range(6)} | {"options.prompt": ("a " * 400, None)}
    error = RunMismatch("a.run", dict(texts))
    assert "data.sha256.0: '000000000000…' in the file, 'ffffffffffff…' now; " in str(error)
    assert "; and 4 more). Name another file with --run." in str(error)
    assert len(str(RunMismatch("a.run", {"options.prompt": texts["options.prompt"]}))) < 200
    assert error.differences == texts


def test_a_path_with_a_character_that_does_not_print_is_quoted() -> None:
    assert str(DataError("a\0b", "is no file.")) == r"'a\x00b': is no file."
    assert str(DataError("数据 1.csv", "is empty.")) == "数据 1.csv: is empty."


def _all(kind: type[RagstoneError]) -> list[type[RagstoneError]]:
    return [kind, *(found for child in kind.__subclasses__() for found in _all(child))]


def test_kinds_of_model_errors_have_names_of_their_own() -> None:
    kinds = [
        kind.kind for kind in _all(ModelError) if issubclass(kind, ModelError) and kind.__module__ == "ragstone.errors"
    ]
    assert len(kinds) == len(set(kinds)) == 13


def test_every_error_has_an_exit_code_that_means_something() -> None:
    assert {kind.exit_code for kind in _all(RagstoneError)} == {2, 3}
