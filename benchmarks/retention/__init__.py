"""What is left of a recorded conversation where it is needed next: ``python -m benchmarks.retention --help``.

The recordings stand in ``shared/data`` beside the project's folder; ``docs/retention.md`` tells
what is measured.
"""
