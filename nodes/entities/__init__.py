"""Layer 1: what things exist, and their status (seed 003)."""
