"""Settings that all tests share."""

import os

from hypothesis import settings

pytest_plugins = ["pytester", "tests.chromium"]

# What a test sees does not depend on whose terminal it runs in; one that is about these sets them.
TERMINAL = (
    "TERM", "COLORTERM", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE",
    "TTY_COMPATIBLE", "TTY_INTERACTIVE", "PYTHONUNBUFFERED", "PYTEST_ADDOPTS",
)  # fmt: skip
for name in TERMINAL:
    os.environ.pop(name, None)
os.environ["RAGSTONE_LANGUAGE"] = "en"
os.environ["RAGSTONE_TRUST"] = "ragstone.toml"  # the one in the folder of a test; tests of consent leave it out

# A shared machine stalls now and then: an example's time says nothing about the code.
settings.register_profile("ragstone", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=20)
settings.load_profile("ragstone")
