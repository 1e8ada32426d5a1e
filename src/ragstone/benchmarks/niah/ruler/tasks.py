"""The thirteen tasks of RULER with the parameters of its `synthetic.yaml`."""

from functools import partial

from ragstone.benchmarks.niah.kinds import Kind, Maker, Source, Suite
from ragstone.benchmarks.niah.ruler.counting_words import (
    COMMON_SOURCES,
    FREQUENT_SOURCE,
    common_words,
    frequent_words,
)
from ragstone.benchmarks.niah.ruler.documents import document_source, question_on_documents
from ragstone.benchmarks.niah.ruler.needle_tasks import NeedleTask, needle_lines, noise_lines
from ragstone.benchmarks.niah.ruler.texts import template
from ragstone.benchmarks.niah.ruler.tracking import track_variables
from ragstone.benchmarks.niah.sources import TextSource
from ragstone.benchmarks.niah.templates import NeedleTemplate
from ragstone.metrics.ruler_match import RulerMatch

_STARTS = 8  # different texts of needles, one for each repeat
_NIAH, _VT, _CWE, _FWE, _QA = map(template, ("niah", "vt", "cwe", "fwe", "qa"))
_NOISE = ((0, TextSource("noise", noise_lines)),)
_WORDS = ((0, TextSource("needles", partial(needle_lines, "words", "number"), starts=_STARTS)),)
_UUIDS = ((0, TextSource("uuids", partial(needle_lines, "uuid", "uuid"), starts=_STARTS)),)


def _kind(
    name: str, make: Maker, sources: tuple[tuple[int, Source], ...] = (), template: NeedleTemplate = _NIAH, *,
    placed: bool = False, fresh: bool = True,
) -> Kind:  # fmt: skip
    return Kind(
        name, make, fresh=fresh, placed=placed, controls=False, template=template, sources=sources, suite="ruler"
    )  # fmt: skip


def _qa(name: str, hops: int) -> Kind:
    make = partial(question_on_documents, hops)
    return _kind(name, make, ((0, document_source(hops)),), _QA, placed=hops == 1, fresh=False)


RULER = Suite(
    "ruler",
    (
        _kind("niah_single_1", NeedleTask(), _NOISE, placed=True),
        _kind("niah_single_2", NeedleTask(), placed=True),
        _kind("niah_single_3", NeedleTask(value="uuid"), placed=True),
        _kind("niah_multikey_1", NeedleTask(keys=4, exact=True), placed=True),
        _kind("niah_multikey_2", NeedleTask(exact=True), _WORDS, placed=True),
        _kind("niah_multikey_3", NeedleTask(key="uuid", value="uuid", exact=True), _UUIDS, placed=True),
        _kind("niah_multivalue", NeedleTask(values=4, exact=True)),
        _kind("niah_multiquery", NeedleTask(queries=4, exact=True)),
        _kind("vt", track_variables, _NOISE, _VT),
        _kind("cwe", common_words, COMMON_SOURCES, _CWE),
        _kind("fwe", frequent_words, ((0, FREQUENT_SOURCE),), _FWE),
        _qa("qa_1", 1),
        _qa("qa_2", 2),
    ),
    "Hsieh et al. 2024: RULER, arXiv:2404.06654",
    (RulerMatch(),),
    "4Ki,8Ki,16Ki,32Ki",
)
