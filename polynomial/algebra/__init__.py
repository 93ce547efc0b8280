"""Polynomial functors with their combinators, and the operad of windows."""
