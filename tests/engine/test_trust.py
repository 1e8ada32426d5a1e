"""A `ragstone.toml` that was found is used as far as its user has consented to what it names."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.tools import environment, one_line, process

from ragstone.engine import trust
from ragstone.engine.project_config import configured_system, consent_tables, run_settings
from ragstone.errors import DataError, NotTrusted

NAMES = '[systems.prod]\nurl = "https://evil.example/ask"\nheaders = { A = "$KEY" }\nvariables = ["KEY"]\n'
CODE = '[systems.app]\npython = "app.py:ask"\n'


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user without consents, in a folder of their own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("RAGSTONE_TRUST")
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")


def write(text: str, place: str = "ragstone.toml") -> Path:
    path = Path(place)
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize(("name", "text"), [("prod", NAMES), ("app", CODE)])
def test_what_a_found_file_names_is_used_after_one_consent(name: str, text: str) -> None:
    path = write(text)
    with pytest.raises(NotTrusted, match=r"^ragstone.toml names code, variables or addresses .*ragstone trust"):
        configured_system(name)
    trust.trust(path, consent_tables(path))
    assert configured_system(name) != name
    assert trust.revoke(path)
    with pytest.raises(NotTrusted):
        configured_system(name)


def test_a_consent_is_to_names_and_not_to_bytes() -> None:
    path = write(CODE)
    trust.trust(path, consent_tables(path))
    write(CODE + "[run]\nlimit = 3\nmetrics = ['token_f1']\n[gates]\ntoken_f1 = 0.5\n")
    assert configured_system("app") == "app.py:ask"
    write(CODE + '[run]\nbase-url = ["https://evil.example/v1"]\n')
    with pytest.raises(NotTrusted, match=r"https://evil.example/v1"):
        run_settings()
    with pytest.raises(NotTrusted):
        configured_system("app")


def test_a_variable_that_moves_to_the_table_of_another_address_needs_a_new_consent() -> None:
    tables = '[systems.a]\nurl = "https://a.example/ask"\n{}[systems.b]\nurl = "https://b.example/ask"\n{}'
    header = '[systems.{}.headers]\nAuthorization = "$TOKEN"\n'
    path = write(tables.format(header.format("a"), ""))
    trust.trust(path, consent_tables(path))
    assert configured_system("b") is not None
    write(tables.format("", header.format("b")))
    with pytest.raises(NotTrusted, match="TOKEN"):
        configured_system("b")


@pytest.mark.parametrize(
    "value",
    [
        '"app.py:ask"', '"pkg.module:ask"', '"rag(retriever=mine.py:search)"', '["answer_match", "helper.py:m"]',
        '"https://evil.example"', '"local/model.gguf"', '"/etc/passwd"', '"../../up.csv"', '"~/x.run"', '"A=$KEY"',
        '"postgresql://evil.example/db"', '"rubric:/etc/passwd"', '"docs/../../up.csv"',
        '"rag(retriever=rerank(bm25,openai/m,url=evil.example))"', '"chroma(./x,embedder_url=evil.example:80)"',
    ],
)  # fmt: skip
def test_code_variables_addresses_and_paths_outside_need_a_consent(value: str) -> None:
    write(f"[run]\nsystem = {value}\n")
    with pytest.raises(NotTrusted):
        run_settings()


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("judge-base-url", '"evil.example/v1"'), ("judge_base_url", '["evil.example:80"]'), ("cluster", '"evil:6379"'),
        ("embedder-base-url", '"127.0.0.1:9"'), ("otlp", '"evil:4318"'),
    ],
)  # fmt: skip
def test_an_address_without_a_scheme_needs_a_consent_as_its_option_is_told(option: str, value: str) -> None:
    write(f"[run]\n{option} = {value}\n")
    with pytest.raises(NotTrusted, match=f"{option}="):
        run_settings()


@pytest.mark.parametrize("value", ["auto", "local"])
def test_a_cluster_of_this_machine_needs_none(value: str) -> None:
    write(f'[run]\ncluster = "{value}"\n')
    assert run_settings()[1] == {"cluster": value}


@pytest.mark.parametrize(
    "value",
    ['"openai/gpt-4o-mini"', '"rag(retriever=hybrid(bm25,local/e5-small), k=3)"', '"questions.csv"', '"a: b"', "3",
     '["ndcg@10 fetched", "rubric.tone"]', '"results[].text"', '"./docs/a.md"',
     '"a..b"', '"rubric:tone.toml"'],
)  # fmt: skip
def test_names_that_ragstone_knows_need_none(value: str) -> None:
    write(f"[run]\nsystem = {value}\n")
    assert run_settings()[1]


def test_a_variable_of_the_environment_allows_one_file(monkeypatch: pytest.MonkeyPatch) -> None:
    write(CODE)
    monkeypatch.setenv("RAGSTONE_TRUST", "x.py:PLUGIN, ragstone.toml")
    assert configured_system("app") == "app.py:ask"
    monkeypatch.setenv("RAGSTONE_TRUST", "other/ragstone.toml")
    with pytest.raises(NotTrusted):
        configured_system("app")


def test_the_search_ends_at_the_repository_and_at_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ragstone.toml").write_text("[run]\nlimit = 1\n")
    inner = tmp_path / "project" / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert run_settings()[1] == {}  # in no repository and not below the home folder: this folder alone
    (tmp_path / "project" / ".git").mkdir()
    assert run_settings()[1] == {}
    (tmp_path / "project" / "ragstone.toml").write_text("[run]\nlimit = 2\n")
    assert run_settings()[1] == {"limit": 2}
    (tmp_path / "project" / ".git").rmdir()
    assert run_settings()[1] == {}
    monkeypatch.setenv("HOME", str(tmp_path / "project" / "a"))
    assert run_settings()[1] == {}
    monkeypatch.setenv("HOME", str(tmp_path))
    assert run_settings()[1] == {"limit": 2}


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_a_file_of_another_user_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("[run]\nlimit = 1\n")
    os.chown(path, 1234, 1234)
    with pytest.raises(DataError, match="belongs to another user"):
        run_settings()
    monkeypatch.setenv("SUDO_UID", "1234")
    assert run_settings()[1] == {"limit": 1}
    monkeypatch.delenv("SUDO_UID")
    monkeypatch.setenv("RAGSTONE_TRUST", "ragstone.toml")
    assert run_settings()[1] == {"limit": 1}


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="Windows has no owners of this kind")
def test_a_file_of_another_user_is_refused_whoever_runs_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("[run]\nlimit = 1\n")
    own = path.stat().st_uid
    assert run_settings()[1] == {"limit": 1}
    monkeypatch.setattr("os.geteuid", lambda: own + 1)
    with pytest.raises(DataError, match="belongs to another user"):
        run_settings()
    monkeypatch.setenv("SUDO_UID", str(own))  # which only root may say
    with pytest.raises(DataError, match="belongs to another user"):
        run_settings()
    monkeypatch.setenv("RAGSTONE_TRUST", "ragstone.toml")
    assert run_settings()[1] == {"limit": 1}


def test_a_damaged_list_of_consents_holds_none(tmp_path: Path) -> None:
    path = write(CODE)
    trust.trust(path, consent_tables(path))
    (written,) = (tmp_path / "config").rglob("trusted.json")
    written.write_text("{")
    with pytest.raises(NotTrusted):
        configured_system("app")


def test_the_command_records_lists_and_revokes(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    (folder / "app.py").write_text("def ask(question):\n    return 'yes'\n")
    (folder / "q.csv").write_text("question,reference\nIs it?,yes\n")
    write(CODE + '[run]\nquestions = "q.csv"\nsystem = "app"\n')

    def ragstone(*words: str) -> tuple[int, str, str]:
        told = process(*words, folder=folder, RAGSTONE_TRUST="", XDG_CONFIG_HOME=str(tmp_path / "c"))
        return told.code, told.out, told.err

    refused = process("run", "--quiet", folder=folder, RAGSTONE_TRUST="", XDG_CONFIG_HOME=str(tmp_path / "c"))
    one_line(refused, "app.py:ask", "ragstone trust ragstone.toml", "RAGSTONE_TRUST=ragstone.toml")
    code, out, _ = ragstone("trust")
    assert (code, "app.py:ask" in out) == (0, True)
    assert ragstone("run", "--quiet")[0] == 0
    assert str(folder / "ragstone.toml") in ragstone("trust", "--list")[1]
    assert ragstone("trust", "--revoke")[0] == 0
    assert ragstone("run", "--quiet")[0] == 2
    assert one_line(process("trust", "none.toml", folder=folder), "There is no file none.toml")


def test_who_sits_at_a_terminal_is_asked(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    (folder / "app.py").write_text("def ask(question):\n    return 'yes'\n")
    (folder / "q.csv").write_text("question,reference\nIs it?,yes\n")
    write(CODE)
    program = (
        "import pty, os, sys\n"
        "def read(fd):\n    data = os.read(fd, 1024)\n"
        "    os.write(fd, b'y\\n') if b'Allow these?' in data else None\n    return data\n"
        "sys.exit(os.waitstatus_to_exitcode(pty.spawn([sys.executable, '-m', 'ragstone', 'run', 'q.csv', '--system', "
        "'app', '--quiet'], read)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env=environment(tmp_path, RAGSTONE_TRUST=""),
        capture_output=True, timeout=100, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert (done.returncode, b"app.py:ask" in done.stdout) == (0, True), done.stdout


@pytest.mark.parametrize(
    "text",
    [
        "a .py:ask", "a,.py:ask", "a(.py:ask", "a=.py:ask", "a=b.py:ask", "x).py:ask", "evil app.py:ask",
        "rag(retriever=r .py:ask)", "rag(model=r .py:ask, k=2)", "rag(retriever=a=b.py:ask)",
        "@/../../../victim/x.run", "(/../../x.html",
    ],
)  # fmt: skip
def test_code_and_paths_under_any_name_of_a_file_need_a_consent_to_that_name(tmp_path: Path, text: str) -> None:
    names = trust.named_in({"run": {"system": text}}, tmp_path)
    assert text in names


def test_a_consent_to_one_file_is_none_to_another_whose_name_ends_alike(tmp_path: Path) -> None:
    asked = [trust.named_in({"python": name}, tmp_path) for name in ("app.py:ask", "evil app.py:ask", "x=app.py:ask")]
    assert len(set(asked)) == 3


@pytest.mark.parametrize("text", ["out.run", "dl/x.html", "dl", "rag(corpus=dl, k=3)"])
def test_a_link_that_leads_out_of_the_folder_needs_a_consent(tmp_path: Path, text: str) -> None:
    folder, victim = tmp_path / "cloned", tmp_path / "victim"
    folder.mkdir()
    victim.mkdir()
    (folder / "dl").symlink_to(victim)
    (folder / "out.run").symlink_to(victim / "new.run")
    (folder / "data").mkdir()
    (folder / "inside").symlink_to(folder / "data")
    assert trust.named_in({"run": {"corpus": text}}, folder)
    assert trust.named_in({"run": {"corpus": "inside", "questions": "q.csv", "note": "a, b (c)"}}, folder) == ()
