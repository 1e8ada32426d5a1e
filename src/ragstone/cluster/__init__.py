"""Many machines: the workers of a Ray cluster, and run files of several machines joined."""
