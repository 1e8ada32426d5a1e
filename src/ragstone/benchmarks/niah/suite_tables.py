"""The tables and charts of suites: a row for each task and their mean, a column for each length."""

from collections.abc import Iterator, Mapping

from ragstone.benchmarks.niah.aggregate import CellScores, NeedleKey, NeedleTally, needle_name
from ragstone.benchmarks.niah.effective import ruler_bar
from ragstone.benchmarks.niah.suite_scores import by_suite, suite_of
from ragstone.benchmarks.niah.tables import effective_text, name_of_length
from ragstone.benchmarks.table_builder import TableWriter, row
from ragstone.display import Chart, Point, Row, Series, Table
from ragstone.messages import messages

_NUMBERED = 12  # most columns for which the cells show their values


def suite_tables(groups: Mapping[NeedleKey, NeedleTally], language: str) -> list[Table]:
    """A table by our scoring and one by the suite's own, as far as they have rows."""
    writer = _SuiteTables(groups, language)
    return [table for table in (writer.table_of("suite"), writer.table_of("suite-official")) if table.rows]


class _SuiteTables(TableWriter):
    prefix = "niah"

    def __init__(self, groups: Mapping[NeedleKey, NeedleTally], language: str) -> None:
        super().__init__(messages(__name__, language))
        self.suites = by_suite(groups)
        varying = {
            "language": len({key.language for key in self.suites}), "suite": len({key.suite for key in self.suites}),
            "mode": len({(key.mode, key.retriever) for key in self.suites}),
        }  # fmt: skip
        self.varying = [name for name, values in varying.items() if values > 1]

    def table_of(self, name: str) -> Table:
        """The table `suite`, by our scoring, or `suite-official`."""
        all_tasks = [task for tasks in self.suites.values() for task in tasks.values()]
        lengths = sorted({length for task in all_tasks for length in _scores(task, name).lengths})
        rows = [row for key, tasks in self.suites.items() for row in self._rows(key, tasks, name, lengths)]
        columns = (
            *self.texts("system", *self.varying, "task"),
            *map(name_of_length, lengths),
            self.words["effective"],
        )
        notes = self.texts("suite_note" if name == "suite" else "official_note", "tasks_note")
        return self.table(name, columns, rows, notes, keys=2 + len(self.varying))

    def _rows(
        self, key: NeedleKey, tasks: Mapping[NeedleKey, NeedleTally], name: str, lengths: list[int]
    ) -> Iterator[Row]:
        mode = self.words.get(key.mode, key.mode)
        labels = {
            "language": self.words.get(key.language, key.language), "suite": key.suite,
            "mode": f"{mode} ({key.retriever})" if key.retriever else mode,
        }  # fmt: skip
        about = (key.system, *(labels[name] for name in self.varying))
        scored = {task_key: _scores(task, name) for task_key, task in tasks.items()}
        if not any(scores.values for scores in scored.values()):
            return
        for task_key, scores in scored.items():
            means = (scores.mean(lengths=[length]).cell("%", empty="") for length in lengths)
            yield row(*about, needle_name(task_key.needle, self.words), *means, "")
        whole = _scores(suite_of(tasks), name)
        means = (whole.mean(lengths=[length]).cell("%", empty="–") for length in lengths)
        label = self.words["mean_of_tasks"].format(n=len(tasks))
        yield row(*about, label, *means, effective_text(whole, ruler_bar(), self.words))


def _scores(task: NeedleTally, name: str) -> CellScores:
    return task.main if name == "suite" else task.matched


def suite_charts(groups: Mapping[NeedleKey, NeedleTally], language: str) -> list[Chart]:
    """A map of each suite: tasks from top to bottom and their mean, lengths from left to right."""
    words = messages(__name__, language)
    charts = []
    for number, (key, tasks) in enumerate(by_suite(groups).items()):
        whole = suite_of(tasks)
        lengths = whole.main.lengths
        rows = [(task_key.needle.removeprefix("niah_"), task.main) for task_key, task in tasks.items()]
        rows.append((words["mean"], whole.main))
        series = tuple(_series(name, scores, lengths) for name, scores in rows)
        if not any(one.points for one in series):
            continue
        parts = (key.suite, key.retriever, words.get(key.language, key.language))
        title = words["map"].format(system=key.system, what=words["comma"].join(part for part in parts if part))
        alt = "; ".join(f"{one.name}: " + ", ".join(f"{point.y:.0%}" for point in one.points) for one in series)
        charts.append(
            Chart(f"niah-suite-{number}", title, "heatmap", series, words["tokens"], "",
                  tuple(map(name_of_length, lengths)), alt=f"{title}. {alt}", numbers=len(lengths) <= _NUMBERED,
                  leading=not number)
        )  # fmt: skip
    return charts


def _series(name: str, scores: CellScores, lengths: list[int]) -> Series:
    means = [scores.mean(lengths=[length]).value for length in lengths]
    return Series(name, tuple(Point(column, mean) for column, mean in enumerate(means) if mean is not None))
