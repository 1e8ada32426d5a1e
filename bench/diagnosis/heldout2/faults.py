"""The faults, what a diagnosis should say of each, and the cases. Fixed before the first run of a diagnosis."""

from dataclasses import dataclass

CHUNKINGS = ("fixed", "sentences", "paragraphs", "headings")
SCHEMES = ("file", "hash", "running")


@dataclass(frozen=True)
class Expected:
    """The right answer of a diagnosis: stages and causes; several where experts would accept either."""

    stages: tuple[str, ...]
    causes: tuple[str, ...]
    index: bool = False  # whether it takes the contents of the index to know


def _expected(text: str) -> Expected:
    stages, causes, *index = text.split()
    return Expected(tuple(stages.split("|")), tuple(causes.split("|")), bool(index))


FAULTS = {
    name: _expected(text)
    for name, text in {
        "unparsed": "index not_in_index index",  # the parser loses every table
        "first_page": "index not_in_index index",  # the loader reads the first part of each document alone
        "last_year": "index stale index",  # half of the documents is indexed as it was a year ago
        "forum": "index contradiction index",  # posts of members with old values stand beside the documents
        "flattened": "index chunking index",  # tables became columns of cells, so that no row holds together
        "clauses": "index chunking index",  # the splitter ends a piece at each comma, and after a few words
        "mismatch": "search not_retrieved",  # the index is split into words in another way than the query
        "members_only": "search filtered",  # a third of the documents is for another group of readers
        "threshold": "search|ranking filtered|reranking",  # what is found is dropped below a score that is too high
        "spelling": "search rewriting",  # a spelling correction replaces the rare words of the question
        "untranslated": "search language",  # questions in another language are no longer translated
        "recency": "ranking ranking|reranking",  # the newest documents are put first, and k is cut after that
        "skims": "ranking reranking",  # the reranker reads the first characters of a passage alone
        "stingy": "ranking k_too_small",  # one passage goes to the model
        "mirrors": "ranking duplicates",  # five mirrors of the site were indexed, each with words of its own
        "snippets": "prompt prompt_cut",  # each passage is cut after some characters in the prompt
        "primacy": "prompt position",  # the model reads the first passage and no other
        "pinned": "prompt noise",  # a notice is put above all passages, and the model answers from it
        "thread": "prompt history",  # all users share one conversation, and the model repeats its last answer
        "prior": "answer memory",  # the model says what it learnt in training, whatever the passages say
        "one_source": "answer integration",  # of two documents that a question needs the model reads one
        "neighbour": "answer reading",  # the model takes the value of the next row or sentence
        "titles": "answer instruction",  # the prompt demands the title of the section as the answer
        "decimals": "answer units|reading",  # the model loses decimal points and separators of thousands
        "policy": "refusal refused_wrongly",  # the model refuses a kind of questions although the passage is there
        "insists": "refusal should_have_refused",  # after a refusal the application demands an answer
        "redacted": "answer guard",  # a privacy filter masks numbers and names in the answer
        "lookalike": "answer cached_answer",  # a cache gives the answer of a question that looks alike
        "shards": "answer|search unstable|not_retrieved",  # half of the searches go to half of the index
        "blank": "error error",  # the gateway returns nothing, or the text of an error
        "spelled": "reference metric",  # right, but numbers and names are written in another way
        "shuffled": "reference reference_in_doubt",  # references were moved to the wrong rows
    }.items()
}
SEEN = ("last_year", "members_only", "stingy", "prior", "spelled")  # forms that the former set has, too

FIRST = """unparsed:joiner:en first_page:ensemble:zh last_year:desk:en forum:messages:zh flattened:steps:zh
clauses:router:en mismatch:desk:zh members_only:ensemble:en threshold:router:zh spelling:messages:en
untranslated:steps:zh recency:joiner:zh skims:ensemble:zh stingy:messages:en mirrors:steps:en snippets:joiner:en
primacy:desk:zh pinned:router:en thread:messages:zh prior:service:en one_source:ensemble:en neighbour:desk:en
titles:joiner:zh decimals:router:zh policy:messages:en insists:steps:en redacted:ensemble:zh lookalike:steps:zh
shards:desk:en blank:joiner:en spelled:service:zh shuffled:router:en"""
SECOND = """unparsed:steps:zh first_page:messages:en last_year:router:zh forum:joiner:en flattened:service:en
clauses:ensemble:zh mismatch:service:en members_only:messages:zh threshold:desk:en spelling:joiner:zh
untranslated:service:zh recency:desk:en skims:steps:en stingy:router:zh mirrors:service:zh snippets:messages:zh
primacy:joiner:en pinned:ensemble:zh thread:steps:en prior:router:zh one_source:messages:zh neighbour:joiner:zh
titles:service:en decimals:messages:en policy:ensemble:zh insists:router:zh redacted:service:en lookalike:ensemble:en
shards:steps:zh blank:messages:zh spelled:joiner:en shuffled:desk:zh members_only+policy:steps:en
neighbour+skims:joiner:zh"""
FORCED = {  # chunkings that a fault needs to show
    "clauses": ("sentences",),
    "flattened": ("paragraphs", "sentences"),
    "recency": ("sentences",),
    "skims": ("headings",),
    "stingy": ("sentences",),
    "mirrors": ("sentences", "paragraphs"),
    "primacy": ("sentences", "paragraphs"),
    "snippets": ("headings", "fixed"),
    "neighbour": ("headings", "paragraphs"),
    "neighbour+skims": ("headings",),
}


@dataclass(frozen=True)
class Case:
    """One or two faults in an application, over an index of one make."""

    fault: str
    app: str
    lang: str
    chunking: str
    scheme: str
    labelled: bool  # whether the questions name their document

    @property
    def name(self) -> str:
        """What `--only` selects by."""
        return f"{self.fault}:{self.app}:{self.lang}"

    @property
    def parts(self) -> tuple[str, ...]:
        """The faults."""
        return tuple(self.fault.split("+"))

    @property
    def indexed(self) -> bool:
        """Whether the user hands over what the index holds."""
        return any(FAULTS[part].index for part in self.parts) or self.scheme == "hash"


def cases(quick: bool = False) -> list[Case]:
    """All cases, in the order in which they are run: first each fault once."""
    made: list[Case] = []
    for n, name in enumerate((FIRST if quick else FIRST + " " + SECOND).split()):
        fault, app, lang = name.split(":")
        earlier = sum(case.fault == fault for case in made)
        options = FORCED.get(fault, CHUNKINGS[n % 4 :] + CHUNKINGS[: n % 4])
        chunking = options[earlier % len(options)]
        made.append(Case(fault, app, lang, chunking, SCHEMES[n % 3], n % 2 == 0))
    return made
