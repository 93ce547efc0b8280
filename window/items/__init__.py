"""Context items: code, files and texts attached to a conversation (seed 000)."""
