"""Pills: references to context in an input buffer, written [@name] (seed 001)."""
