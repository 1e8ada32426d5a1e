"""Systems by name in ragstone.toml."""

from pathlib import Path

import pytest

import ragstone
from ragstone.engine.gates import Gate, project_gates
from ragstone.engine.project_config import asked_system, configured_system, run_settings
from ragstone.error_text import told
from ragstone.errors import DataError, NotTrusted, UsageError
from ragstone.systems.http import HttpTarget
from ragstone.systems.rag import RagTarget
from ragstone.systems.with_retriever import SystemTarget


@pytest.fixture(autouse=True)
def consent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = (tmp_path / "ragstone.toml", tmp_path / "a" / "ragstone.toml")
    monkeypatch.setenv("RAGSTONE_TRUST", ",".join(map(str, files)))


def written(folder: Path, text: str) -> Path:
    (folder / "ragstone.toml").write_text(text, "utf-8")
    return folder


def test_a_table_is_a_system(tmp_path: Path) -> None:
    folder = written(
        tmp_path,
        '[systems.prod]\nurl = "https://app.example/ask"\nheaders = { Authorization = "Bearer $TOKEN" }\n'
        'variables = ["TOKEN"]\n'
        'answer = "a.b"\n[systems.local]\npython = "app.py:chain"\n',
    )
    headers = {"Authorization": "Bearer $TOKEN"}
    assert configured_system("prod", folder) == HttpTarget(
        "https://app.example/ask", headers=headers, answer="a.b", name="prod"
    )
    assert configured_system("local", folder) == f"{folder}/app.py:chain"


def test_a_table_may_name_its_retriever(tmp_path: Path) -> None:
    folder = written(
        tmp_path,
        '[systems.prod]\nurl = "https://app.example/ask"\n[systems.prod.retrieve]\nurl = "https://app.example/search"\n'
        'contexts = "hits"\n[systems.local]\npython = "app.py:chain"\nretrieve = "app.py:search"\n',
    )
    assert configured_system("prod", folder) == SystemTarget(
        HttpTarget("https://app.example/ask", name="prod"), "http(https://app.example/search,contexts=hits)"
    )
    assert configured_system("local", folder) == SystemTarget(f"{folder}/app.py:chain", f"{folder}/app.py:search")


def test_what_no_table_names_stays_as_it_is(tmp_path: Path) -> None:
    assert configured_system("app.py:chain", written(tmp_path, "[gates]\nx = 1\n")) == "app.py:chain"
    assert configured_system("app.py:chain", tmp_path / "missing") == "app.py:chain"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[systems.prod", "not TOML"),
        ("systems = 3", "found a number; expected a table"),
        ("[systems]\nprod = 3", "found a number; expected a table"),
        ('[systems.prod]\nulr = "x"', "Did you mean 'url'?"),
        ('[systems.prod]\nanswer = "x"', "it names no system: add url"),
        ("[systems.prod]\nurl = 3", "systems.prod.url': found a number; expected a text"),
        ('[systems.prod]\nurl = "x"\nheaders = "y"', "systems.prod.headers': found a text; expected a table"),
        ('[systems.prod]\nurl = "x"\nretrieve = 3', "found a number; expected a text or a table"),
        ('[systems.prod]\nurl = "x"\nretrieve = { ulr = "y" }', "entry of [systems.prod.retrieve]"),
        ('[systems.prod]\npython = "x"\nurl = "y"', "a Python system has just one entry"),
        ('[systems.prod]\nurl = "x"\nvariables = 3', "variables': found a number; expected a list of texts"),
        (
            '[systems.prod]\nurl = "x"\nheaders = { A = "$KEY" }',
            "names the variable KEY, which the table does not list",
        ),
        ('[systems.prod]\nurl = "x"\n[systems.prod.retrieve]\nurl = "y"\nheaders = { A = "${KEY}" }', "variable KEY"),
        (
            '[systems.prod]\nurl = "x"\nretrieve = \'http(http://127.0.0.1:9/s,headers={"A":"$KEY"})\'',
            "names the variable KEY, which the table does not list",
        ),
        (
            '[systems.prod]\npython = "a.py:f"\nretrieve = \'http(http://127.0.0.1:9/s,headers={"A":"${KEY}"})\'',
            "the variable KEY",
        ),
        (
            '[systems.prod]\ncorpus = "d"\nrag = \'rag(retriever=http(http://127.0.0.1:9/s,headers={"A":"$KEY"}))\'',
            "the variable KEY",
        ),
        ('[systems."openai/gpt-4o-mini"]\nurl = "x"', "a system is named in letters"),
        ('[systems."local/extractive"]\npython = "x.py:ask"', "a system is named in letters"),
        ('[systems."http://127.0.0.1"]\nurl = "x"', "a system is named in letters"),
        ("[systems.recorded]\nurl = 'x'", "a system is named in letters"),
    ],
)
def test_a_table_that_cannot_be_is_one_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        configured_system("prod", written(tmp_path, text))
    assert words in str(caught.value)
    assert "ragstone.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_documents_are_a_system(tmp_path: Path) -> None:
    folder = written(tmp_path, '[systems.docs]\ncorpus = "docs"\nrag = "rag(k=3)"\n[systems.other]\ncorpus = "x"\n')
    assert configured_system("docs", folder) == RagTarget(f"{folder}/docs", k=3)
    assert configured_system("other", folder) == RagTarget(f"{folder}/x")
    with pytest.raises(UsageError, match="a system over documents has corpus"):
        configured_system("docs", written(tmp_path, '[systems.docs]\ncorpus = "docs"\nurl = "x"\n'))


def test_the_nearest_file_upward_is_used_and_its_paths_start_at_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    written(tmp_path, '[systems.docs]\ncorpus = "docs"\n[systems.app]\npython = "app.py:ask"\n[run]\nlimit = 3\n')
    written(tmp_path / "a", '[run]\nlimit = 4\nquestions = "q.csv"\n')
    monkeypatch.chdir(inner)
    assert configured_system("docs") == RagTarget("../../docs")
    assert configured_system("app") == "../../app.py:ask"
    assert run_settings() == (Path("../ragstone.toml"), {"limit": 4, "questions": "q.csv"})
    monkeypatch.chdir(tmp_path)
    assert configured_system("app") == "app.py:ask"
    assert run_settings() == (Path("ragstone.toml"), {"limit": 3})


def test_gates_beside_the_systems_are_those_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.ragstone.gates]\nmrr = 0.2\n", "utf-8")
    assert project_gates(tmp_path)[0] == [Gate("mrr", 0.2, "under")]
    written(tmp_path, "[gates]\ntoken_f1 = 0.5\nsettings = { gate = 'point' }\n")
    assert project_gates(tmp_path) == ([Gate("token_f1", 0.5, "under")], {"gate": "point"})
    written(tmp_path, "[gates]\ntoken_f1 = true\n")
    with pytest.raises(UsageError, match=r"ragstone.toml, field 'gates.token_f1'"):
        project_gates(tmp_path)


def test_a_table_is_a_system_from_python_as_it_is_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, '[systems.prod]\npython = "app.py:ask"\nretrieve = "app.py:search"\n')
    (tmp_path / "app.py").write_text(
        "FOUND = ['Tea costs 5 crowns.']\n"
        "def search(question, k=1):\n    return FOUND[:k]\n"
        "def ask(question, passages=None):\n"
        "    found = search(question) if passages is None else passages\n"
        "    return {'answer': found[0] if found else 'I do not know.', 'contexts': found}\n",
        "utf-8",
    )
    monkeypatch.chdir(tmp_path)
    data = [{"id": "1", "question": "How much is tea?", "reference": "5 crowns", "gold": ["Tea costs 5 crowns."]}]
    assert ragstone.run(data, "prod", run=tmp_path / "a.run").summary["answer_match"]["mean"] == 1.0
    diagnosed = ragstone.diagnose(data, "prod", run=tmp_path / "b.run")
    assert [cause.name for cause in diagnosed.causes().values()] == ["healthy"]
    assert diagnosed.system == "app.py:ask"


def test_a_found_file_needs_the_consent_from_python_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, '[systems.prod]\npython = "app.py:ask"\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RAGSTONE_TRUST")
    with pytest.raises(NotTrusted):
        ragstone.run([{"question": "How much is tea?", "reference": "5"}], "prod", run=tmp_path / "a.run")


def test_an_object_keeps_its_retriever_and_another_takes_the_place_of_that_of_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(
        tmp_path, '[systems.prod]\npython = "app.py:ask"\nretrieve = "app.py:search"\n[systems.docs]\ncorpus = "docs"\n'
    )
    monkeypatch.chdir(tmp_path)
    assert asked_system("prod") == SystemTarget("app.py:ask", "app.py:search")
    assert asked_system("prod", "other.py:find") == SystemTarget("app.py:ask", "other.py:find")
    assert asked_system("local/extractive") == "local/extractive"
    assert asked_system(print, "app.py:search") == SystemTarget(print, "app.py:search")
    assert asked_system("docs", corpus="others").corpus == "others"


def test_a_file_that_is_no_text_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "ragstone.toml").write_bytes(b"[run]\nname = '\xff'\n")
    with pytest.raises(UsageError, match=r"ragstone\.toml: is not UTF-8 \(byte 14\)\. Save it as UTF-8\."):
        run_settings(tmp_path)


@pytest.mark.parametrize("table", ["run", "diagnose"])
@pytest.mark.parametrize(
    "entry",
    [
        'header = { A = "Bearer $KEY" }',
        'retriever = \'http(http://127.0.0.1:9/s,headers={"A":"$KEY"})\'',
        'system = \'rag(retriever=rerank(http(http://127.0.0.1:9/s,headers={"A":"${KEY}"}),local/e5-small))\'',
    ],
)
def test_headers_of_run_name_only_variables_that_the_table_lists(tmp_path: Path, table: str, entry: str) -> None:
    folder = written(tmp_path, f"[{table}]\n{entry}\n")
    with pytest.raises(UsageError, match=f"field '{table}'.*variable KEY, which the table does not list"):
        run_settings(folder, name=table)
    (folder / "ragstone.toml").write_text(f'[{table}]\nvariables = ["KEY"]\n{entry}\n')
    _, settings = run_settings(folder, name=table)
    assert "variables" not in settings
    assert len(settings) == 1


def test_documents_and_code_with_a_listed_variable_are_systems(tmp_path: Path) -> None:
    rag = 'rag(retriever=http(http://127.0.0.1:9/s,headers={"A":"$KEY"}))'
    folder = written(tmp_path, f'[systems.docs]\ncorpus = "docs"\nrag = \'{rag}\'\nvariables = ["KEY"]\n')
    assert isinstance(configured_system("docs", folder), RagTarget)
    retrieve = 'http(http://127.0.0.1:9/s,headers={"A":"$KEY"})'
    text = f'[systems.code]\npython = "a.py:f"\nretrieve = \'{retrieve}\'\nvariables = ["KEY"]\n'
    assert isinstance(configured_system("code", written(tmp_path, text)), SystemTarget)


@pytest.mark.parametrize("key", ["answer", "contexts", "ids", "usage"])
def test_an_expression_of_a_table_that_is_not_jmespath_is_named_with_its_file(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ragstone.toml").write_text(f'[systems.app]\nurl = "http://localhost:1/ask"\n{key} = "a[["\n')
    with pytest.raises(DataError) as caught:
        configured_system("app")
    begin = f"ragstone.toml, field 'systems.app.{key}': 'a[[' is not a JMESPath expression ("
    assert str(caught.value).startswith(begin)
    assert str(caught.value).endswith("). Write a path such as data.answer.")
    assert "请写成 data.answer 这样的路径。" in told(str(caught.value), "zh")


@pytest.mark.parametrize(
    ("table", "field", "example"),
    [("url = 'http://a/'\nbody = '{'\n", "body", "question"),
     ("python = 'app.py:ask'\nretrieve = { url = 'http://a/', body = 'query' }\n", "retrieve.body", "query")],
)  # fmt: skip
def test_a_body_that_is_not_json_is_named_with_file_and_field(
    tmp_path: Path, table: str, field: str, example: str
) -> None:
    written(tmp_path, f"[systems.prod]\n{table}")
    with pytest.raises(DataError) as caught:
        configured_system("prod", tmp_path)
    message = str(caught.value)
    assert f"ragstone.toml, field 'systems.prod.{field}': body is not JSON (" in message
    assert message.endswith(f'Write it like {{"{example}": "{{{example}}}"}}.')
    assert "body 不是 JSON（" in told(message, "zh")
