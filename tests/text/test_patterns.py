"""Regular expressions kept as text."""

import re

import pytest

from ragstone.text.patterns import pattern_lines


@pytest.mark.parametrize(("package", "name"), [("ragstone.metrics", "phrases.txt"), ("ragstone.systems", "cues.txt")])
def test_every_line_of_a_pattern_file_compiles_and_has_all_its_parts(package: str, name: str) -> None:
    sections = pattern_lines(package, name)
    assert sections
    for section, lines in sections.items():
        assert lines, section
        for line in lines:
            assert not re.search(r"\{[A-Z_]+\}", line)
            if not section.endswith("stop"):
                for pattern in line.split(" => "):
                    re.compile(pattern)
