"""The Chinese half of the fictional data, written for Chinese."""

from collections.abc import Sequence

from ragstone.datasets.fictional.parts import Fact
from ragstone.datasets.fictional.zh.collect import SOURCES, collect
from ragstone.datasets.fictional.zh.domains import NAMES as DOMAINS
from ragstone.datasets.fictional.zh.facts import facts
from ragstone.datasets.fictional.zh.items import base, integration

__all__ = ["DOMAINS", "FACTS", "SOURCES", "base", "collect", "integration"]

FACTS: Sequence[Fact] = facts()
