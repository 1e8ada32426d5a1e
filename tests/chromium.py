"""A real Chromium for the tests of pages; they have the marker `browser`."""

import asyncio
import shutil
from collections.abc import Generator, Iterator
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run", "--disable-dev-shm-usage",
]  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")


def _without_the_loop(browser: bool) -> Generator[None, Any, Any]:
    """A synchronous Playwright holds the loop of this thread open until its module ends. What opens no browser sees
    none, in whatever order the workers run the tests of a module."""
    loop = None if browser else asyncio._get_running_loop()
    if loop is None:
        return (yield)
    asyncio._set_running_loop(None)
    try:
        return (yield)
    finally:
        asyncio._set_running_loop(loop)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    return (yield from _without_the_loop(browser="chromium" in getattr(item, "fixturenames", ())))


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, Any, Any]:
    names = request.fixturenames if fixturedef.scope == "function" else (fixturedef.argname, *fixturedef.argnames)
    return (yield from _without_the_loop(browser="chromium" in names))


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """The browser, or a skip that says why. Of module scope: a synchronous Playwright holds an event loop open."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()
