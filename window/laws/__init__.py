"""The laws of the window: the comonad, the store, the functor, token sums, atoms and counters.

The names and statements follow Haskell's ``Control.Comonad`` and ``Control.Comonad.Store``. A store
law takes a store or a window with any focus. Two stores are equal if they have the same focus and
show the same values at every position, at any depth. Unless the law says "any", a `position` is one
of the store's (``0..last``) and a `turn` may come next in the window (``window.check_order(turn)``
accepts it). To test your own store, pass it to the laws.
"""
