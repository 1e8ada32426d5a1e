"""What is told about extras that are not installed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ragstone.optional import install_command

ROOT = Path(__file__).parent.parent


def test_all_of_the_package_tells_how_to_install_an_extra_in_one_place() -> None:
    known = re.findall(
        r"^(\w+) = \[", (ROOT / "pyproject.toml").read_text().partition("optional-dependencies")[2], re.M
    )
    places = [
        (path.name, extra)
        for path in (ROOT / "src").rglob("*.py")
        for extra in re.findall(r"ragstone\[(\w+)\]", path.read_text("utf-8"))
    ]
    assert {name for name, _ in places} <= {"bm25.py", "optional.py"}, places  # a message that is translated whole
    used = {
        extra
        for path in (ROOT / "src").rglob("*.py")
        for extra in re.findall(r"""(?:extra=|install_command\()"(\w+)\"""", path.read_text("utf-8"))
    }
    assert len(used) >= 10
    assert used <= set(known)


@pytest.mark.slow
def test_the_command_adds_an_extra_to_an_installation_from_a_checkout() -> None:
    """Without an index: pip takes the ragstone that is here and asks for nothing but what the extra adds."""
    line = install_command("tantivy").replace("'", "").split()[1:]
    done = subprocess.run(
        [sys.executable, "-m", "pip", *line, "--dry-run", "--no-index", "--disable-pip-version-check"],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Requirement already satisfied: ragstone[tantivy]" in done.stdout
    assert "Would install" not in done.stdout
