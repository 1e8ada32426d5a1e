"""`ragstone init`."""

import asyncio
import contextlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragstone.commands.options import PATH
from ragstone.commands.output import say
from ragstone.error_text import told
from ragstone.errors import UsageError
from ragstone.evaluation.commands.systems import http_of, http_options
from ragstone.messages import LANGUAGES, messages, preferred_language

if TYPE_CHECKING:
    from ragstone.evaluation.starter import Starter

_FIRST = 20  # questions that the first run asks
_FOLDERS = ("docs", "documents", "data", "knowledge")


@click.command(name="init")
@click.option("--system", metavar="NAME",
              help='file.py:name, an HTTP address, rag(…) or a model; "" for BM25 over the documents.')  # fmt: skip
@click.option("--documents", type=PATH, help="Folder of the documents.  [default: invented examples]")
@click.option("--questions", type=PATH, help="File of questions.  [default: examples]")
@click.option("--data-language", "data_language", type=click.Choice(LANGUAGES),
              help="Language of example questions.  [default: that of the documents]")  # fmt: skip
@click.option("--judge", metavar="PROVIDER/MODEL", help='Judge; "" for none.')
@http_options
@click.option("--force", is_flag=True, help="Replace files that exist.")
@click.option("--no-run", is_flag=True, help="Only write the files.")
def command(**values: Any) -> int:
    """Set up the evaluation of your own system, and run it once.

    Asks five questions on a terminal, or takes the options. Writes ragstone.toml, questions.csv with examples, and a
    workflow for GitHub Actions; checks the system, diagnoses its answers to the first questions, and writes a report.
    `ragstone diagnose` and `ragstone run` then need no arguments."""
    from ragstone.engine.project_config import CONFIG, consent_tables  # noqa: PLC0415
    from ragstone.engine.trust import trust  # noqa: PLC0415
    from ragstone.evaluation.starter import starter_files  # noqa: PLC0415

    texts = messages(__name__, preferred_language())
    _refuse_existing(_always(), values)
    starter = _answered(values, texts)  # checked one by one
    files = starter_files(starter)
    _refuse_existing([*files], values)
    with _written(files):  # and removed again if the system cannot even be opened
        trust(CONFIG, consent_tables(CONFIG))  # which holds what its user has just named
        _say_written(files, starter, texts)
        unanswered = "" if values["no_run"] else _checked(starter, texts)
    try:
        if unanswered:
            say(texts[unanswered].format(name=_name(starter), config=CONFIG))
            return 2 if unanswered == "refused" else 3
        return 0 if values["no_run"] else _first_run(starter, texts)
    finally:
        _say_next(starter, texts)


def _always() -> list[Path]:
    from ragstone.engine.project_config import CONFIG  # noqa: PLC0415
    from ragstone.evaluation.starter import WORKFLOW  # noqa: PLC0415

    return [CONFIG, WORKFLOW]


def _refuse_existing(paths: list[Path], values: Mapping[str, Any]) -> None:
    from ragstone.engine.project_config import CONFIG  # noqa: PLC0415
    from ragstone.evaluation.starter import QUESTIONS  # noqa: PLC0415

    existing = [path for path in paths if path.exists()]
    if not existing or values["force"]:
        return
    shown = ", ".join(map(str, existing[:5])) + ("…" if len(existing) > 5 else "")
    use = ""
    if CONFIG in existing:
        use = " `ragstone run` takes its options from ragstone.toml."
    elif existing == [QUESTIONS]:
        use = " --questions questions.csv asks its questions."
    raise UsageError(f"Nothing was written, as there is already {shown}.{use} --force replaces what is there.")


def _answered(values: Mapping[str, Any], texts: Mapping[str, str]) -> "Starter":
    """The options, and on a terminal the answers to the questions that they leave open."""
    from ragstone.evaluation.starter import QUESTIONS, Starter  # noqa: PLC0415
    from ragstone.systems import is_registered  # noqa: PLC0415

    on_terminal = sys.stdin is not None and sys.stdin.isatty()
    checks = _checks(values)
    enough = None not in (values["system"], values["documents"], values["questions"])  # the others have defaults

    def answer(name: str, text: str, default: str = "") -> str:
        if values[name] is None and on_terminal and not enough:
            return _ask(texts[text], default, checks[name], LANGUAGES if name == "data_language" else ())
        given = default if values[name] is None else str(values[name])
        checks[name](given)
        return given

    try:
        system = answer("system", "ask_system")
        own = bool(system) and is_registered(system)
        folder = next((name for name in _FOLDERS if Path(name).is_dir()), "")
        documents = answer("documents", "ask_no_documents" if own else "ask_documents", folder)
        there = str(QUESTIONS) if QUESTIONS.is_file() and on_terminal else ""
        questions = answer("questions", "ask_questions", there)
        language = values["data_language"] or answer("data_language", "ask_language", _language(documents))
        judge = answer("judge", "ask_judge")
    except click.Abort as error:
        if isinstance(error.__context__, EOFError):
            raise UsageError("The input ended at a question: nothing was written.") from None
        say(texts["stopped"], err=True)
        raise click.exceptions.Exit(130) from None
    return Starter(
        system, Path(documents) if documents else None, Path(questions) if questions else None, language,
        preferred_language(), judge, http_of(values), report=_has_report(),
    )  # fmt: skip


def _checks(values: Mapping[str, Any]) -> dict[str, Callable[[str], Any]]:
    """What tells at once whether an answer can be used: it raises UsageError."""
    from ragstone.datasets.tabular.eval_data import read_data  # noqa: PLC0415
    from ragstone.evaluation.starter import Starter, check_opens  # noqa: PLC0415
    from ragstone.models import check_model  # noqa: PLC0415
    from ragstone.retrieval.corpus import read_corpus  # noqa: PLC0415

    def system(name: str) -> None:
        asyncio.run(check_opens(Starter(name, http=http_of(values)), asks=not values["no_run"]))

    def judge(name: str) -> None:
        if name:
            check_model(name, "model")

    return {
        "system": system,
        "documents": lambda path: path and read_corpus(path),
        "questions": lambda path: path and read_data(path),
        "data_language": lambda language: None,
        "judge": judge,
    }


def _ask(text: str, default: str, check: Callable[[str], Any], choices: tuple[str, ...]) -> str:
    """The answer typed, asked for again until it can be used."""
    kind: Any = click.Choice(choices) if choices else str
    while True:
        typed = click.prompt(text, default=default, show_default=bool(default), show_choices=False, type=kind, err=True)
        answer = str(typed).strip()
        try:
            check(answer)
        except UsageError as error:
            say(f"ragstone: {told(str(error), preferred_language())}", err=True)
        else:
            return answer


def _language(documents: str) -> str:
    """The language of the first document, else of the session."""
    from ragstone.retrieval.corpus import read_corpus  # noqa: PLC0415
    from ragstone.text import detect  # noqa: PLC0415

    return detect(read_corpus(documents).passages[0].text) if documents else preferred_language()


def _has_report() -> bool:
    return all(importlib.util.find_spec(name) for name in ("jinja2", "matplotlib"))


@contextlib.contextmanager
def _written(files: Mapping[Path, str]) -> Iterator[None]:
    """Writes the files; if the block or the writing fails, all are as they were."""
    from ragstone.storage import write_file  # noqa: PLC0415

    before: dict[Path, bytes | None] = {}
    try:
        for path, text in files.items():
            before[path] = path.read_bytes() if path.exists() else None
            write_file(path, text, parents=True)
        yield
    except BaseException:
        for path, content in before.items():
            if content is not None:
                write_file(path, content)
                continue
            path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # a folder that is not empty was there before
                for folder in [*path.parents][:-1]:
                    folder.rmdir()
        raise


def _say_written(files: Mapping[Path, str], starter: "Starter", texts: Mapping[str, str]) -> None:
    from ragstone.evaluation.starter import DOCUMENTS, QUESTIONS  # noqa: PLC0415

    invented = any(path.parent == DOCUMENTS for path in files)
    names = [str(path) for path in files if path.parent != DOCUMENTS] + [f"{DOCUMENTS}/"] * invented
    say(texts["wrote"].format(names=", ".join(names)))
    if invented:
        say(texts["invented"].format(path=f"{DOCUMENTS}/"))
    if starter.questions is None:
        say(texts["made"].format(path=QUESTIONS))


def _checked(starter: "Starter", texts: Mapping[str, str]) -> str:
    """What is wrong with the system: nothing if it answered at least one of two questions, else "unanswered", or
    "refused" where its address answers nobody. Raises UsageError if it cannot be opened."""
    from ragstone.evaluation.commands.system import say_check  # noqa: PLC0415
    from ragstone.evaluation.starter import QUESTIONS  # noqa: PLC0415
    from ragstone.evaluation.system_check import check_system  # noqa: PLC0415

    say(texts["checking"])
    found = asyncio.run(check_system(starter.target, starter.questions or QUESTIONS))
    passages = [len(item.response.passages) for item in found.checked if item.response is not None]
    if len(passages) == len(found.checked) and all(passages):
        say(texts["answers"].format(n=max(passages), name=_name(starter)))
    else:
        say_check(found, preferred_language())
    say("")
    return "" if passages else "refused" if found.refused else "unanswered"


def _first_run(starter: "Starter", texts: Mapping[str, str]) -> int:
    """Asks the first questions as `ragstone diagnose` does, or `ragstone run` where no question has a reference, with
    the options that were just written."""
    from ragstone.diagnosis.command import command as diagnose  # noqa: PLC0415
    from ragstone.evaluation.commands.run import command as run  # noqa: PLC0415

    say(texts["running"].format(count=_FIRST))
    arguments, command, name = ["--limit", str(_FIRST)], run, "run"
    if _has_references(starter):
        command, name = diagnose, "diagnose"
        arguments += ["--report", "diagnosis.html"] if starter.report else []
    code = command.main(arguments, prog_name=f"ragstone {name}", standalone_mode=False, obj=[name, *arguments])
    return code if isinstance(code, int) else 0


def _has_references(starter: "Starter") -> bool:
    from ragstone.datasets.tabular.eval_data import read_data  # noqa: PLC0415
    from ragstone.evaluation.starter import QUESTIONS  # noqa: PLC0415

    return any(item.sample.references for item in read_data(starter.questions or QUESTIONS).items)


def _name(starter: "Starter") -> str:
    from ragstone.engine.project_config import run_settings  # noqa: PLC0415

    return str(run_settings()[1].get("system", starter.system))


def _say_next(starter: "Starter", texts: Mapping[str, str]) -> None:
    from ragstone.evaluation.starter import QUESTIONS, WORKFLOW  # noqa: PLC0415

    say("")
    diagnosed = ("next_diagnose",) if _has_references(starter) else ()
    for line in ("next", *diagnosed, "next_run", "next_compare", "next_files"):
        say(texts[line].format(questions=starter.questions or QUESTIONS, workflow=WORKFLOW))
