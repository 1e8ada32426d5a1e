"""How to reproduce the run: the command, all settings with their hashes, and the versions."""

import shlex

from markupsafe import Markup

from ragstone.messages import messages
from ragstone.report.metadata import flattened
from ragstone.report.named_run import id_of
from ragstone.report.section import Section, View

_SHOWN_ELSEWHERE = ("command", "question", "notices", "warnings", "citation", "license")


def _body(view: View) -> Markup:
    w = messages(__name__, view.language)
    meta = view.run.meta
    command = meta.get("command") or ""
    rest = {key: value for key, value in meta.items() if key not in _SHOWN_ELSEWHERE}
    blocks = [
        (w["question"], w["question_note"], flattened(meta.get("question") or view.benchmark.question)),
        (w["systems"], "", flattened({id_of(view.run, name): spec for name, spec in view.run.systems.items()})),
        (w["versions"], "", flattened(rest)),
    ]
    return view.html(
        "report/reproduce.html", w=w,
        command=shlex.join(map(str, command)) if isinstance(command, list | tuple) else str(command),
        blocks=[block for block in blocks if block[2]],
    )  # fmt: skip


PLUGINS = {"reproduce": Section(70, {"en": "How to reproduce", "zh": "如何复现"}, _body, folded=True)}
