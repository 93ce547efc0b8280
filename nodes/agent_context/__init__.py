"""AgentContext: the agents' shared, guarded store (seed 002)."""
