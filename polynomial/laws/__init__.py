"""The laws of what moves the context: agents and their combinators, the operad, the machine, sessions, projections.

A combinator, an engine, `project` are themselves inputs of their laws, so run them on your own by passing it in.
"""
