"""What goes wrong in the third set, what a diagnosis should say about it, and the cases.

Written before the first diagnosis: the stages and causes that a person would call right for each fault.
"""

from dataclasses import dataclass

CHUNKINGS = ("packed", "windows", "path", "sections")
SCHEMES = ("numbers", "none", "uuid", "offset")


@dataclass(frozen=True)
class Expected:
    """What a person would say: any of these stages and causes. A fault by chance does not fail every time."""

    happened: str
    stages: tuple[str, ...]
    causes: tuple[str, ...]
    chance: bool = False


def _is(happened: str, stages: str, causes: str, chance: bool = False) -> Expected:
    return Expected(happened, tuple(stages.split()), tuple(causes.split()), chance)


FAULTS = {
    "forgotten": _is("the job that fills the index skipped a folder", "index", "not_in_index"),
    "backup": _is("half of the index was restored from last year's backup", "index", "stale"),
    "editions": _is("the old edition of some documents was indexed beside the new one", "index", "contradiction"),
    "misread": _is("scanned documents: digits were read as letters", "index", "not_in_index stale"),
    "columns": _is("pages in two columns were read from left to right over both", "index", "chunking not_in_index"),
    "tiny": _is("chunks of 44 characters (15 in Chinese)", "index", "chunking"),
    "crawl": _is("a crawler indexed each page under seven addresses", "ranking", "duplicates"),
    "old_embedder": _is("queries are embedded by an older version of the model", "search", "not_retrieved"),
    "tenant": _is("a filter on the tenant hides documents that everybody may read", "search", "filtered"),
    "scrub": _is("names and topics are taken out of the query for privacy", "search", "rewriting"),
    "translated": _is("the query is translated, the documents are not", "search", "rewriting language"),
    "analyzer": _is("the query is split into words in another way than the index", "search", "not_retrieved"),
    "shortest": _is("the reranker prefers short passages and keeps two", "ranking", "reranking"),
    "text_sort": _is("scores are sorted as texts, so that 8 is more than 12", "ranking", "reranking ranking"),
    "top1": _is("one passage is fetched", "ranking", "k_too_small"),
    "budget": _is("the passages are cut at a number of characters", "prompt", "prompt_cut"),
    "middle": _is("six passages, and the model reads the first and the last", "prompt", "position"),
    "crowd": _is("six passages, and the model takes values of other ones", "prompt", "noise"),
    "shared_chat": _is("all guests share a conversation; its last answer is given", "prompt", "history", True),
    "word": _is("the prompt asks for two words at most", "answer", "instruction"),
    "strict": _is("the prompt asks to refuse unless all words match", "answer refusal", "instruction refused_wrongly"),
    "remembers": _is("the model prefers last year's values that it knows", "answer", "memory"),
    "loose_cache": _is("a cache answers with the answer of a similar question", "answer", "cached_answer", True),
    "guard": _is("a filter withholds answers with prices and times", "answer", "guard"),
    "short_output": _is("the limit of the output ends the answer early", "answer", "generation integration"),
    "units": _is("a step after the model converts units", "answer", "units"),
    "busy": _is("a time limit becomes a polite text", "error answer", "error integration", True),
    "rows": _is("the model takes the row below in tables", "answer", "reading"),
    "feverish": _is("the temperature is too high", "answer", "unstable", True),
    "style": _is("the house style writes amounts in another notation", "reference answer", "metric units"),
    "old_references": _is("the references are of the earlier edition", "reference", "reference_in_doubt"),
    "always": _is("the prompt forbids to say that the answer is unknown", "refusal", "should_have_refused"),
}

# Each fault in the applications where it can happen: the first in English, the second in Chinese.
PLACES = """
forgotten chain desk | backup graph front | editions desk chain | misread engine script | columns front pipeline
tiny desk chain | crawl script front | old_embedder graph module | tenant pipeline engine | scrub chain script
translated front pipeline | analyzer desk script | shortest engine graph | text_sort chain front
top1 pipeline engine | budget script desk | middle graph chain | crowd front script
shared_chat pipeline desk | word engine front | strict desk engine | remembers module graph | loose_cache front desk
guard graph chain | short_output script module | units chain engine | busy pipeline module
rows engine pipeline | feverish script engine | style module desk | old_references pipeline chain
forgotten+always graph front | tenant+word script chain | scrub+guard front pipeline
"""


@dataclass(frozen=True)
class Case:
    """One or two faults in one application."""

    fault: str
    app: str
    lang: str
    chunking: str
    scheme: str
    labelled: bool
    indexed: bool
    noise: float

    @property
    def name(self) -> str:
        """Its name in tables."""
        return f"{self.fault}:{self.app}:{self.lang}"

    @property
    def parts(self) -> tuple[str, ...]:
        """The faults, each by itself."""
        return tuple(self.fault.split("+"))


def cases(quick: bool = False) -> list[Case]:
    """Every fault twice, or once."""
    made, n = [], 0
    for at, line in enumerate(PLACES.strip().replace("\n", " | ").split(" | ")):
        fault, english, chinese = line.split()
        first = FAULTS[fault.split("+")[0]]
        for lang, app in (("en", english), ("zh", chinese)):
            n += 1
            kinds = CHUNKINGS[(n + at // 2) % 4], SCHEMES[(n + at + at // 4) % 4]
            labelled, indexed = (n + at) % 2 == 0, "index" in first.stages or n % 3 > 0
            noisy = 0.2 if (n + at) % 3 == 1 and not first.chance else 0.0
            if not quick or (at % 2 == 0) == (lang == "en"):
                made.append(Case(fault, app, lang, *kinds, labelled, indexed, noisy))
    return made
