"""Layer 2: what user and assistant said (seed 003)."""
