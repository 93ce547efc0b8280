"""Recorded conversations: read from files, replayed through the machine, reported."""
