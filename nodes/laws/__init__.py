"""The laws of nodes."""
