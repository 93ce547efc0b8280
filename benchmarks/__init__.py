"""Benchmarks: commands that print ratios measured in one run; none of them is a test."""
