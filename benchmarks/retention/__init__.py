"""Measure what compression leaves of recordings: ``python -m benchmarks.retention --help``.

The recordings are in ``shared/data`` beside the project's folder; ``docs/retention.md`` describes
what is measured.
"""
