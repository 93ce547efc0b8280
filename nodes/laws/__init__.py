"""The laws of the readers: what leaves is valid, and nothing private reaches the props."""
