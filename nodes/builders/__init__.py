"""The node builders: what each node of an agent gets to read (seed 003)."""
