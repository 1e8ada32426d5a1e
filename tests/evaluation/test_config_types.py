"""Every key of `ragstone.toml` takes values of its type: any other is one line that names file, key and type."""

from collections.abc import Callable
from pathlib import Path

import click
import pytest
from tests.cli.tools import Told, one_line
from tests.examples import naming

from ragstone.commands.gates import Threshold
from ragstone.commands.options import NameList, Pairs
from ragstone.diagnosis.command import command as diagnose
from ragstone.engine.gates import project_gates
from ragstone.engine.project_config import configured_system
from ragstone.error_text import told, untranslated
from ragstone.errors import DataError, RagstoneError
from ragstone.evaluation.commands.run import command as run

VALUES = {
    "a text": '"local/extractive"', "an integer": "1", "a number": "0.5", "true or false": "true",
    "a list": '["local/extractive"]', "a table": '{ a = "b" }', "a date or time": "2024-01-01",
}  # fmt: skip
NEVER = {
    "a list of lists": "[[1]]", "a list of numbers": "[1]", "a list of tables": "[{ a = 1 }]",
    "a table of tables": "{ a = { b = 1 } }", "a time": "10:00:00", "nothing": '""', "no list": "[]", "no table": "{}",
}  # fmt: skip


def taken(parameter: click.Parameter) -> set[str]:
    """The types of values that an option takes."""
    if isinstance(parameter.type, Pairs | Threshold):
        return {"a table"}
    if getattr(parameter, "is_flag", False):
        return {"true or false"}
    if isinstance(parameter.type, click.types.IntParamType):
        return {"an integer"}
    if isinstance(parameter.type, click.types.FloatParamType):
        return {"an integer", "a number"}
    many = getattr(parameter, "multiple", False) or isinstance(parameter.type, NameList)
    return {"a text", "a list"} if many else {"a text"}


def refused(path: Path, text: str, where: str) -> str:
    """The error of reading the options of a file with this text."""
    path.write_text(text, "utf-8")
    command = run if "[run]\nquestions" not in text else diagnose
    with pytest.raises(DataError) as caught:
        command.make_context("ragstone", [])
    message = str(caught.value)
    assert message.startswith(f"ragstone.toml, field '{where}"), message
    assert "\n" not in message
    assert not untranslated(message, "zh"), told(message, "zh")
    return message


@pytest.mark.parametrize(("command", "table"), [(run, "run"), (diagnose, "diagnose")], ids=["run", "diagnose"])
def test_every_option_refuses_every_other_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: click.Command, table: str
) -> None:
    monkeypatch.chdir(tmp_path)
    start = '[run]\nquestions = "q.csv"\n[diagnose]\n' if table == "diagnose" else "[run]\n"
    counted = 0
    for parameter in command.params:
        key = parameter.opts[0].removeprefix("--")
        for kind, value in ({kind: VALUES[kind] for kind in VALUES.keys() - taken(parameter)} | NEVER).items():
            with naming(key, kind):
                message = refused(tmp_path / "ragstone.toml", f"{start}{key} = {value}\n", f"{table}.{key}")
                if kind in VALUES:
                    assert f"found {'a number' if kind == 'an integer' else kind}; expected " in message
                else:
                    assert "; expected " in message or "is empty" in message
                counted += 1
    assert counted > 700


def test_every_option_takes_its_own_types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A value that is refused is so for what it says (a choice, an address), not for its type."""
    monkeypatch.chdir(tmp_path)
    told_types: dict[tuple[str, str], str] = {}
    for parameter in run.params:
        key = parameter.opts[0].removeprefix("--")
        for kind in taken(parameter) - {"a table"}:
            (tmp_path / "ragstone.toml").write_text(f"[run]\n{key} = {VALUES[kind]}\n")
            try:
                run.make_context("ragstone", [])
            except (RagstoneError, click.UsageError) as error:
                told_types[key, kind] = str(error)
    assert not {case: text for case, text in told_types.items() if "found" in text or "; expected a" in text}


@pytest.mark.parametrize("key", ["url", "method", "headers", "body", "answer", "contexts", "ids", "usage", "variables",
                                 "python", "corpus", "rag", "retrieve"])  # fmt: skip
def test_every_entry_of_a_system_refuses_every_other_type(tmp_path: Path, key: str) -> None:
    right = {"headers": {"a table"}, "variables": {"a list"}, "retrieve": {"a text", "a table"}}.get(key, {"a text"})
    values = {kind: VALUES[kind] for kind in VALUES.keys() - right} | NEVER
    beside = {"python": "", "corpus": "", "rag": 'corpus = "docs"\n'}.get(key, 'url = "http://x"\n')
    beside = "" if key == "url" else beside
    if key == "retrieve":
        del values["a table of tables"]  # whose entries are refused by their names
    for kind, value in values.items():
        with naming(kind):
            (tmp_path / "ragstone.toml").write_text(f"[systems.a]\n{beside}{key} = {value}\n")
            with pytest.raises(DataError) as caught:
                configured_system("a", tmp_path, trusted=True)
            assert f"ragstone.toml, field 'systems.a.{key}" in str(caught.value)
            assert "expected a" in str(caught.value) or "is empty" in str(caught.value)


@pytest.mark.parametrize("table", ["systems", "systems.a", "run", "diagnose", "gates"])
def test_a_table_refuses_every_other_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str) -> None:
    monkeypatch.chdir(tmp_path)
    readers: dict[str, Callable[[], object]] = {
        "gates": project_gates,
        "run": lambda: run.make_context("ragstone", []),
        "diagnose": lambda: diagnose.make_context("ragstone", []),
    }
    for kind, value in VALUES.items() - {("a table", VALUES["a table"])}:
        (tmp_path / "ragstone.toml").write_text(f"{table} = {value}\n")
        with naming(kind), pytest.raises(DataError, match=f"field '{table}': found .*; expected a table"):
            readers.get(table, lambda: configured_system("a", trusted=True))()


@pytest.mark.parametrize("value", ['"x"', "true", "[1979-05-27]", "1979-05-27", "[[1]]", "nan", '{ min = "x" }', "{}",
                                   "{ min = 0.5, where = 3 }", "{ min = 0.5, where = { a = [1] } }", '""'])  # fmt: skip
def test_a_gate_refuses_what_is_no_threshold(tmp_path: Path, value: str) -> None:
    (tmp_path / "ragstone.toml").write_text(f"[gates]\nanswer_match = {value}\n")
    with pytest.raises(DataError, match=r"ragstone\.toml, field 'gates.answer_match'"):
        project_gates(tmp_path)


@pytest.mark.parametrize("value", ["3", "[1]", '{ gate = 3 }', "{ gate = [1] }", '{ min_coverage = "x" }',
                                   "{ min_coverage = true }", "1979-05-27"])  # fmt: skip
def test_settings_of_gates_refuse_other_types(tmp_path: Path, value: str) -> None:
    (tmp_path / "ragstone.toml").write_text(f"[gates]\nsettings = {value}\n")
    with pytest.raises(DataError, match=r"ragstone\.toml, field 'gates.settings'"):
        project_gates(tmp_path)


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("[run]\nquestions = 5\n", ("run",)),
        ("[run]\nquestions = 'q.csv'\nsystem = [1]\n", ("diagnose",)),
        ("[diagnose]\nlimit = [1]\n", ("diagnose",)),
        ("[gates]\nanswer_match = [1979-05-27]\n", ("eval", "q.csv")),
        ("[systems.a]\nurl = 'http://127.0.0.1:9'\nheaders = { A = 5 }\n", ("run", "q.csv", "--system", "a")),
        ("[systems.a]\nurl = 'http://127.0.0.1:9'\nheaders = { A = 5 }\n", ("bench", "rgb", "--system", "a")),
        ("[systems.a]\nurl = 'http://127.0.0.1:9'\nheaders = { A = 5 }\n", ("system", "check", "a")),
    ],
)
def test_every_command_tells_it_in_a_line(
    ragstone: Callable[..., Told], tmp_path: Path, text: str, arguments: tuple[str, ...]
) -> None:
    (tmp_path / "q.csv").write_text("question,reference,answer\nWho?,Me,Me\n")
    (tmp_path / "ragstone.toml").write_text(text)
    one_line(ragstone(*arguments), "ragstone.toml, field '")
