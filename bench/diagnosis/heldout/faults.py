"""The faults, what a diagnosis should say of each, and the cases. Written before the first run of a diagnosis."""

from dataclasses import dataclass

from bench.diagnosis.heldout.world import CHUNKINGS, SCHEMES


@dataclass(frozen=True)
class Expected:
    """The right answer of a diagnosis: a stage and its causes (one, unless experts would accept either)."""

    stage: str
    causes: tuple[str, ...]
    index: bool = False  # whether the user hands over what the index holds


FAULTS = {
    "missing": Expected("index", ("not_in_index",), index=True),  # a third of the documents is not indexed
    "old": Expected("index", ("stale",), index=True),  # half of the documents is indexed as it was before
    "draft": Expected("index", ("contradiction",), index=True),  # half has an older draft beside the final text
    "halved": Expected("index", ("chunking",), index=True),  # sentences are cut in the middle
    "embedding": Expected("search", ("not_retrieved",)),  # half of the vectors is of another model
    "filter": Expected("search", ("filtered",)),  # a third of the documents has the wrong field
    "rewriter": Expected("search", ("rewriting",)),  # the query keeps its first words and loses the subject
    "reranker": Expected("ranking", ("reranking",)),  # the second stage keeps the worst
    "small_k": Expected("ranking", ("k_too_small",)),  # one passage
    "duplicates": Expected("ranking", ("duplicates",)),  # everything was indexed six times
    "cut": Expected("prompt", ("prompt_cut",)),  # the prompt ends before its best passages, which stand last
    "middle": Expected("prompt", ("position",)),  # the model reads the first and the last passage
    "noise": Expected("prompt", ("noise",)),  # the model answers from other passages that stand beside
    "history": Expected("prompt", ("history",)),  # the turn of another user stands in the prompt
    "memory": Expected("answer", ("memory",)),  # the model says what it learnt, whatever the passages say
    "half": Expected("answer", ("integration",)),  # of two things asked for, the model gives one
    "misread": Expected("answer", ("reading",)),  # the model gets the number wrong
    "brief": Expected("answer", ("instruction",)),  # the prompt demands yes or no
    "units": Expected("answer", ("units",)),  # the right number in the wrong unit
    "refuses": Expected("refusal", ("refused_wrongly",)),  # the model refuses although the passage is there
    "never": Expected("refusal", ("should_have_refused",)),  # the model makes something up
    "guard": Expected("answer", ("guard",)),  # a filter replaces the answer
    "cache": Expected("answer", ("cached_answer",)),  # answers of last year are kept by question
    "flaky": Expected("answer", ("unstable",)),  # another number at every other call
    "overload": Expected("error", ("error",)),  # the text of an error is given as the answer
    "notation": Expected("reference", ("metric",)),  # right, but written in another way than the reference
    "reference": Expected("reference", ("reference_in_doubt",)),  # the reference is wrong
}

# Over HTTP nothing but the question can be changed, so that the model's fault can only be named by exclusion; who
# compares the contexts with the answer may still call it reading.
HTTP = {"misread": Expected("answer", ("generation", "reading"))}

FIRST = """missing:chain:en old:graph:zh draft:plain:zh halved:chain:zh embedding:plain:en filter:graph:en
rewriter:plain:zh reranker:engine:en small_k:chain:en duplicates:engine:zh cut:plain:en middle:graph:en noise:chain:en
history:chain:zh memory:graph:en half:engine:en misread:graph:zh brief:plain:en units:engine:zh refuses:engine:en
never:graph:zh guard:plain:zh cache:chain:en flaky:plain:en overload:chain:zh notation:plain:zh reference:engine:zh"""
SECOND = """rewriter:graph:en cut:graph:zh misread:http:en draft:engine:en reranker:plain:zh noise:engine:zh
memory:chain:zh filter:chain:zh half:plain:zh duplicates:plain:en old:plain:en embedding:engine:zh middle:plain:zh
cache:plain:zh small_k:plain:zh history:plain:en units:graph:en missing:http:zh guard:graph:en notation:chain:en
never:plain:en brief:graph:zh flaky:engine:zh halved:plain:en overload:graph:en refuses:chain:zh reference:graph:en"""
SENTENCES = ("embedding", "small_k", "duplicates", "draft", "middle")  # faults that need small chunks


@dataclass(frozen=True)
class Case:
    """A fault in an application, over an index of one make."""

    fault: str
    app: str
    lang: str
    chunking: str
    scheme: str

    @property
    def name(self) -> str:
        """What `--only` selects by."""
        return f"{self.fault}:{self.app}:{self.lang}"

    @property
    def expected(self) -> Expected:
        """What a diagnosis should say."""
        return HTTP.get(self.fault, FAULTS[self.fault]) if self.app == "http" else FAULTS[self.fault]


def cases(quick: bool = False) -> list[Case]:
    """All cases, in the order in which they are run: first each fault once."""
    made = []
    for n, name in enumerate((FIRST if quick else FIRST + " " + SECOND).split()):
        fault, app, lang = name.split(":")
        chunking = "sentences" if fault in SENTENCES else "fixed" if fault == "halved" else CHUNKINGS[n % 3]
        made.append(Case(fault, app, lang, chunking, SCHEMES[n // 3 % 2]))
    return made
