"""The laws of counters."""
