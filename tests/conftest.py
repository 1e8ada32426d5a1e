"""Settings that all tests share."""

from hypothesis import settings

pytest_plugins = ["pytester"]

# A shared machine stalls now and then: an example's time says nothing about the code.
settings.register_profile("ragstone", deadline=None)
settings.load_profile("ragstone")
