"""The laws of machines and of policies.

Engines are inputs of their laws, so you can run a law on your own implementation by passing it in.
"""
