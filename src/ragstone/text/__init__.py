"""English and Chinese text: language detection, sentences, words, folding, search for an answer, token estimates."""

from ragstone.text.folding import Folded, fold
from ragstone.text.language import detect
from ragstone.text.matching import find_answer
from ragstone.text.splitting import sentences
from ragstone.text.tokens import estimate_tokens, most_tokens
from ragstone.text.wording import Wording, words

__all__ = ["Folded", "Wording", "detect", "estimate_tokens", "find_answer", "fold", "most_tokens", "sentences", "words"]
