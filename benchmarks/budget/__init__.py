"""What was promised of speed and size, each row with its limit and what is measured now: ``python -m benchmarks.budget --help``."""
