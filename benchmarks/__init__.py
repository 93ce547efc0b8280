"""Benchmarks: commands that print ratios measured in one run. Nothing here is a test."""
