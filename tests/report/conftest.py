"""Opens pages of the report in a browser."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest


@dataclass
class Opened:
    """A page in Chromium, with all that it did besides being shown."""

    page: Any
    url: str
    console: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def dismiss(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def quiet(self) -> bool:
        """Nothing in the console, no dialog, and no request but for the page itself and its empty icon."""
        fetched = [url for url in self.requests if url.split("#")[0] != self.url and not url.startswith("data:")]
        return not (self.console or self.dialogs or fetched)


Open = Callable[..., Opened]


@pytest.fixture
def opened(chromium: Any, tmp_path: Path) -> Iterator[Open]:
    """Opens HTML from a file, as a reader does: opened(html, width=1280, scheme="light", scripts=True, policy=True).

    `policy=False` takes the content security policy out of the page first.
    """
    contexts: list[Any] = []

    def open_page(
        html: str, *, width: int = 1280, scheme: str = "light", scripts: bool = True, policy: bool = True
    ) -> Opened:
        if not policy:
            html, count = re.subn(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", html)
            assert count == 1
        path = tmp_path / f"report{len(contexts)}.html"
        path.write_text(html, encoding="utf-8")
        context = chromium.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, java_script_enabled=scripts, offline=True
        )
        contexts.append(context)
        seen = Opened(context.new_page(), path.as_uri())
        seen.page.on("console", lambda message: seen.console.append(message.text))
        seen.page.on("pageerror", lambda error: seen.console.append(str(error)))
        seen.page.on("request", lambda request: seen.requests.append(request.url))
        seen.page.on("dialog", seen.dismiss)
        seen.page.goto(seen.url)
        return seen

    yield open_page
    for context in contexts:
        context.close()
