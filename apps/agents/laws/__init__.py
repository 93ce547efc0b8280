"""The laws of agents."""
