"""The laws of pressure: an order with meets, a Galois connection, plans and compressions.

To check an object of your own, pass it in. `projector` is anything with ``compress(window,
target)`` whose result has a ``window``; `summariser` is anything with the method of `Summariser`.
Laws that take a `planner`, a `ladder`, a `plan` or a `result` are about plans and need those of
`ContextProjector`. Views are passed as `first_view`, `second_view`, `third_view` and `ceiling`, all
over one log.
"""
