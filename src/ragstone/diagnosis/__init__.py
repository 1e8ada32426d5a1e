"""Why a system's answers are wrong, and what fixing each cause would buy."""

COMMANDS = {
    "diagnose": ("ragstone.diagnosis.command", "Why a system's answers are wrong, and what fixing it would buy."),
}
