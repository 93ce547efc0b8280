"""Prompts, assembled from templates, persona and constraints (seed 004 §3.3)."""
