"""Many machines: the workers of a Ray cluster, and run files of several machines joined."""

COMMANDS = {
    "merge": ("ragstone.cluster.command", "Join run files of the same settings into one."),
}
