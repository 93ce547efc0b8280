"""The laws of the readers."""
