"""Two runs compared sample by sample, and runs followed over time."""

COMMANDS = {
    "compare": ("ragstone.comparison.commands.compare", "Compare two runs, sample by sample."),
    "trend": ("ragstone.comparison.commands.trend", "Follow runs over time: what changed, and when."),
}
