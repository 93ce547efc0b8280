"""Loops through strict providers that summarise the conversations themselves, by the thousand."""
