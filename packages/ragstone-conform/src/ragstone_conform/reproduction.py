"""A failure as a script of its own: the library, the recorded replies and the sample, and nothing of ragstone."""

import ast
import re
from pathlib import Path
from pprint import pformat
from typing import Any

from ragstone.storage import write_file
from ragstone_conform.cases import Case
from ragstone_conform.outcome import Outcome
from ragstone_conform.running import Conformance

_REPLAY = Path(__file__).with_name("replay.py")


def reproduction(found: Conformance, case: Case, outcome: Outcome) -> str:
    """A script that shows the failure. It needs the library only."""
    source = Path(found.target.place).read_text(encoding="utf-8")
    exchange = found.exchanges[case.id, outcome.metric]
    head = f'"""{found.target.name} {found.version}, {outcome.metric}, case {case.id}\n\n{case.why["en"]}\n'
    head += f"Right: {_listed(outcome.expected)}. Here: {_given(outcome)}.\n"
    head += f'Source: {case.source}\n"""\n'
    texts = {name: list(value) if isinstance(value, tuple) else value for name, value in case.sample.items()}
    parts = [
        head, _body(_REPLAY.read_text(encoding="utf-8")), _needed(source, "score"),
        f"REPLIES = {_literal(list(exchange.chat))}", f"VECTORS = {_literal(dict(exchange.vectors))}",
        f"SAMPLE = {_literal(texts)}", _ending(source, outcome.metric),
    ]  # fmt: skip
    return "\n\n".join(part.strip() for part in parts) + "\n"


def write_reproductions(found: Conformance, cases: dict[str, Case], folder: Path) -> list[Path]:
    """A script for each failure that is not of the process alone, in `folder`. Raises StorageError."""
    paths = []
    for outcome in found.outcomes:
        if outcome.kind == "right" or not found.exchanges[outcome.case, outcome.metric].chat:
            continue
        name = re.sub(r"[^\w.-]", "-", f"{found.target.name}-{outcome.case}-{outcome.metric}")
        path = write_file(folder / f"{name}.py", reproduction(found, cases[outcome.case], outcome), parents=True)
        paths.append(path)
    return paths


def _listed(expected: list[Any]) -> str:
    return " or ".join("no score" if value == "none" else f"{value:g}" for value in expected)


def _given(outcome: Outcome) -> str:
    if outcome.value is not None:
        return f"{outcome.value:g}"
    return f"{outcome.kind} {outcome.reason}".strip().replace('"""', "'''").replace("\\", "/")


def _literal(value: Any) -> str:
    """The value as Python. Repr writes NaN as a name."""
    return re.sub(r"\bnan\b(?=[,\]])", 'float("nan")', pformat(value, width=116, sort_dicts=False))


def _body(source: str) -> str:
    """A module without its docstring."""
    return _joined([ast.get_source_segment(source, node) or "" for node in ast.parse(source).body[1:]])


def _needed(source: str, name: str) -> str:
    """A function of a library's file with the imports of the file, and its environment set first."""
    tree = ast.parse(source)
    kept = [
        ast.get_source_segment(source, node) or ""
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        or (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "ENVIRONMENT")
        or (isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name)
    ]
    if any(text.startswith("ENVIRONMENT") for text in kept):
        kept.append("os.environ.update(ENVIRONMENT)")
    return _joined(["import os", *kept])


def _joined(statements: list[str]) -> str:
    """Statements with two empty lines before a function."""
    return "\n".join(f"\n\n{text}" if text.startswith(("def ", "async ")) else text for text in statements)


def _ending(source: str, metric: str) -> str:
    call = f"score([{metric!r}], SAMPLE, served(REPLIES, VECTORS))"
    if "async def score(" in source:
        call = f"__import__('asyncio').run({call})"
    return f"print({call}, flush=True)\nos._exit(0)  # threads of the library would be waited for"
