"""The removed package `polycontext.bill`; `polycontext.cost` replaces it."""

_NOTE = (
    "polycontext.bill was removed with its simulation of prompt caches. Import Meter, prices_of "
    "and SpendingError from polycontext.cost, which adds up what providers reported."
)
raise ImportError(_NOTE, name=__name__)
