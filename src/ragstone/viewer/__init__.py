"""`ragstone view`: runs in a browser, case by case."""

COMMANDS = {
    "view": ("ragstone.viewer.command", "Show runs in a browser, case by case."),
}
