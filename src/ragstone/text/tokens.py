"""Estimates the number of tokens in a text, without a tokenizer."""

import math
import re

from ragstone.text.characters import HAN

_UNITS = re.compile(rf"[{HAN}]+|([^\W\d_{HAN}]+)|\d+|([^\S ]+|  +)|[^\w\s]|_")
_BLANK = re.compile(r"[^\S ]+|  +")
_TWO_BLANKS = re.compile(b"  ")
# Tables that turn ASCII characters other than letters (or digits) into blanks; and what is deleted to leave only signs,
# or all but letters.
_LETTERS = {code: code if chr(code).isalpha() else 32 for code in range(128)}
_DECIMALS = {code: code if chr(code).isdecimal() else 32 for code in range(128)}
_NO_SIGNS = bytes(code for code in range(128) if chr(code).isalnum() or chr(code).isspace())
_NO_LETTERS = bytes(code for code in range(128) if chr(code).isalpha())
# Fitted jointly to the vocabularies of Qwen2.5, Qwen3.5 and GPT-4o (o200k) on English and Chinese news.
_HAN_CHARACTER, _WORD, _LONG_WORD, _DIGITS, _BLANKS, _SIGN = 0.67, 1.03, 0.38, 1.75, 1.9, 0.8


def estimate_tokens(text: str) -> int:
    """Estimated tokens of `text` in a typical current byte-pair vocabulary, for budgets and `--dry-run`.

    Calibrated on English and Chinese news passages against the tokenizers of Qwen2.5, Qwen3.5 and GPT-4o: the sum over
    many passages is within 12 % of each, and nine in ten single passages are within 25 %. Older vocabularies use more
    tokens for Chinese (GPT-4's cl100k 1.6 times as many), English-only ones even more.
    """
    return math.ceil(_ascii(text) if text.isascii() else _any(text))


def most_tokens(text: str) -> float:
    """At least `estimate_tokens` of `text`, at a fraction of its cost; infinity where only counting tells."""
    if not text.isascii():
        return math.inf
    data = text.encode("ascii")
    ends = data.translate(None, _NO_LETTERS)  # the blanks and all else that ends a word
    others = ends.translate(None, b" ")
    signs = len(others.translate(None, _NO_SIGNS))
    blanks = len(others) - signs + len(_TWO_BLANKS.findall(data))
    return 1 + _WORD * (len(ends) + 1) + _LONG_WORD * len(text) / 7 + _SIGN * signs + _BLANKS * blanks


def _ascii(text: str) -> float:
    """As `_any`, but several times faster: judges and their budgets count every passage."""
    words, digits = text.translate(_LETTERS).split(), text.translate(_DECIMALS).split()
    plain = text.isprintable() and "  " not in text  # only single blanks between words
    return (
        _WORD * len(words)
        + _LONG_WORD * sum([(len(word) - 1) // 7 for word in words])
        + _DIGITS * sum([-(-len(number) // 3) for number in digits])
        + _SIGN * len(text.encode("ascii").translate(None, _NO_SIGNS))
        + (0.0 if plain else _BLANKS * len(_BLANK.findall(text)))
    )


def _any(text: str) -> float:
    total = 0.0
    for unit in _UNITS.finditer(text):
        piece = unit.group()
        if unit.group(1):
            total += _WORD + _LONG_WORD * ((len(piece) - 1) // 7)
        elif unit.group(2):
            total += _BLANKS
        elif piece[0].isdecimal():
            total += _DIGITS * -(-len(piece) // 3)
        elif piece[0] > "\u2fff" and piece[0].isalnum():
            total += _HAN_CHARACTER * len(piece)
        else:
            total += _SIGN
    return total
