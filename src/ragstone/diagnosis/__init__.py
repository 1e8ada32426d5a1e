"""Why a system's answers are wrong, and what fixing each cause would buy."""
