"""Test sets made from documents and the web, and the data of RGB and MIRAGE."""

COMMANDS = {
    "build": (
        "ragstone.construction.commands.build",
        "Construct data sets: test questions, and the data of the benchmarks.",
    ),
}
