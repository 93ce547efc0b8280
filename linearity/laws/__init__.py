"""The law of classification."""
