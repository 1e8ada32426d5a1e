"""The suites that `--suite` names. To add one, write its kinds in a module of its own and name it here."""

from collections.abc import Mapping

from ragstone.benchmarks.niah.ancestral import ANCESTRAL
from ragstone.benchmarks.niah.kinds import Suite
from ragstone.benchmarks.niah.latent import LATENT
from ragstone.benchmarks.niah.ruler import RULER

SUITES: Mapping[str, Suite] = {suite.name: suite for suite in (RULER, ANCESTRAL, LATENT)}
