"""The Chinese half of the fictional data, written for Chinese."""

from ragstone.datasets.fictional.zh.domains import NAMES as DOMAINS
from ragstone.datasets.fictional.zh.items import base, integration

__all__ = ["DOMAINS", "base", "integration"]
