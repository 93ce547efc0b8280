"""Conversations whose past the provider summarises itself, through strict providers by the thousand."""
