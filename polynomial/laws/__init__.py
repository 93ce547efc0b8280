"""The laws of machines, alone and beside others, and of policies.

The operad and engines are inputs of their laws, so you can run a law on your own implementation by
passing it in.
"""
