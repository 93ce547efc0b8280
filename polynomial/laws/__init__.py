"""The laws of agents and their combinators, the operad, the machine, sessions and projections.

Combinators, engines and `project` are inputs of their laws, so you can run a law on your own
implementation by passing it in.
"""
