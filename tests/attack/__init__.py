"""Attacks on everything that reads from outside, bounded and on this machine alone."""
