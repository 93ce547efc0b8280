"""The laws of the window: a comonad, a store, a functor, honest sums, atoms, counters and formats.

The names and statements are those of Haskell's ``Control.Comonad`` and
``Control.Comonad.Store``. A store law takes a store
or a window at any focus; two stores count as the same when they show the same values at
every position, however deep, and have the same focus. A `position` is one of the store's
(``0..last``), a `turn` may come next in the window (``window.check_order(turn)`` accepts
it), unless the law says "any". Run them on your own by passing it in.
"""
