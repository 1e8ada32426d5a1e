"""Memory and CPU of `diagnose` with many questions: python -m bench.diagnosis_scale [--questions 1000 10000]

Each size runs in a process of its own, on a scripted system in that process that costs next to nothing: what is
measured is the diagnosis. A fifth of the searches lose the gold passage, a tenth of the passages are misread. The
summary and all tables are made, too.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

GOAL_MIB, GOAL_SECONDS = 250, 60  # at 10,000 questions
_SENTENCES, _FETCHED, _PROMPT = 12, 10, 5


def document(number: int) -> str:
    """A passage of about 120 words; the value of its pump stands in its middle."""
    filler = [f"Section {place} of file {number} tells of valve {place * 7 + number} and its seals." for place in
              range(_SENTENCES)]  # fmt: skip
    filler.insert(_SENTENCES // 2, f"The pump P{number} weighs {value(number)} kg.")
    return " ".join(filler)


def value(number: int) -> int:
    """The weight of a pump."""
    return 100_000 + 37 * number


def system_of(size: int) -> Any:
    """Looks up documents by the number in the question."""
    from ragstone.responses.stages import stage_step  # noqa: PLC0415
    from ragstone.types import NO_ANSWER, Passage, Query, Response  # noqa: PLC0415

    class Scripted:
        id, accepts = "scripted", frozenset({"passages", "k", "retrieve", "language"})

        @property
        def spec(self) -> Mapping[str, Any]:
            return {"kind": "scripted"}

        async def answer(self, query: Query, /) -> Response:
            digits = "".join(filter(str.isdigit, query.question.split("?")[0][:24]))
            number = int(digits or 0) % size
            if query.passages is not None:
                return Response(self._read(number, query.passages), query.passages)
            lost = number % 5 == 0 and "weighs" not in query.question
            fetched = tuple(
                Passage(f"d{n}", document(n))
                for n in ((number + place + lost) % size for place in range(query.k or _FETCHED))
            )
            if query.retrieve_only:
                return Response("", fetched, (stage_step("fetch", fetched),), finish_reason=NO_ANSWER)
            prompt = fetched[: query.k or _PROMPT]
            steps = (stage_step("fetch", fetched), stage_step("prompt", prompt))
            return Response(self._read(number, prompt), prompt, steps)

        def _read(self, number: int, passages: tuple[Passage, ...]) -> str:
            if number % 10 == 3 or not any(passage.id == f"d{number}" for passage in passages):
                return "The documents do not contain the answer."
            return f"It weighs {value(number)} kg."

    return Scripted()


def measured(size: int) -> dict[str, float]:
    """The CPU seconds and the MiB at the peak of a diagnosis of so many questions, in this process."""
    from ragstone.diagnosis.diagnose import diagnose  # noqa: PLC0415
    from ragstone.retrieval.corpus import Corpus  # noqa: PLC0415
    from ragstone.types import Passage  # noqa: PLC0415

    rows = [
        {"id": f"q{n}", "question": f"How much does P{n} weigh?", "reference": str(value(n)),
         "reference_context_ids": [f"d{n}"], "reference_contexts": [document(n)]}
        for n in range(size)
    ]  # fmt: skip
    corpus = Corpus("files", tuple(Passage(f"d{n}", document(n)) for n in range(size)), "0")
    given, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        result = diagnose(rows, system_of(size), "answer_match", corpus=corpus, run=Path(folder) / "d.run")
        asked = time.process_time()
        causes = {name: sum(cause.name == name for cause in result.causes().values())
                  for name in ("healthy", "not_retrieved", "refused_wrongly")}  # fmt: skip
        with result.open() as run:
            run.summaries()
            run.tables(language="en")
        ended = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"questions": size, "given MiB": given / 1024, "peak MiB": peak / 1024, "asking s": asked - started,
            "reading s": ended - asked, "CPU s": ended - started, **causes}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.diagnosis_scale", description=__doc__)
    parser.add_argument("--questions", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--here", action="store_true", help="Measure in this process and print JSON.")
    options = parser.parse_args()
    if options.here:
        print(json.dumps(measured(options.questions[0])))
        return 0
    missed = False
    for size in options.questions:
        command = [sys.executable, "-m", "bench.diagnosis_scale", "--here", "--questions", str(size)]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        print(", ".join(f"{name} {amount:,.0f}" for name, amount in found.items()), flush=True)
        missed |= size <= 10_000 and (found["peak MiB"] > GOAL_MIB or found["CPU s"] > GOAL_SECONDS)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
