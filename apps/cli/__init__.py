"""The command line: one file a command, over what a reader could also call."""
