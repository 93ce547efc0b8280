"""Limits of speed and size with their measurements: ``python -m benchmarks.budget --help``."""
