"""The laws of pressure: an order with meets, a Galois connection, a chain of plans, and compressions that lose nothing preserved.

Who brings an object of their own passes it in. `projector` is anything with ``compress(window,
target)`` whose result has a ``window``; `summariser` anything with the method of `Summariser`. What
takes a `planner`, a `ladder`, a `plan` or a `result` is about plans and asks for those of
`ContextProjector`. Views are passed as `first_view`, `second_view`, `third_view` and `ceiling`, all
over one log.
"""
