"""Layer 3: what the models decided and discovered (seed 003)."""
