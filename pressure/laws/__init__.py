"""The laws of pressure: compressions and summaries.

To check an object of your own, pass it in. `projector` is anything with ``compress(window,
target)`` whose result has a ``window``; `summariser` is anything with the method of `Summariser`.
"""
