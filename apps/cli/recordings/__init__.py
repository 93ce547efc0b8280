"""Recorded conversations: reading, replay and reports."""
