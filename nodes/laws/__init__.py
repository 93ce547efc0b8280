"""The laws of nodes and registries."""
