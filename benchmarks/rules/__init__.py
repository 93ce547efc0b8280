"""Training and measuring the classifier of rules (docs/linearity.md)."""
