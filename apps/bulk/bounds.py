"""Confidence bounds that hold for any distribution, from independent draws of it.

- `share_bound`: Hoeffding, "Probability inequalities for sums of bounded random variables" (1963),
  theorem 1, solved for the mean.
- `count_bound`: Clopper and Pearson (1934), the exact bound of a binomial share.
"""

from collections.abc import Callable, Sequence
from math import exp, fsum, inf, lgamma, log

_STEPS = 60


def share_bound(shares: Sequence[float], level: float) -> float:
    """Return a bound that the mean of the shares' distribution exceeds in at most 1 - `level`.

    The shares are independent draws in 0..1. The bound holds for any number of them.

    >>> round(share_bound([0.0] * 59, 0.95), 3), share_bound([], 0.95)
    (0.05, 1.0)
    """
    if not shares:
        return 1.0
    size, mean, least = len(shares), fsum(shares) / len(shares), -log(1 - level)
    return _largest(mean, lambda share: size * _divergence(mean, share) <= least)


def count_bound(count: int, size: int, level: float) -> float:
    """Return the same bound for the chance of an event that `count` of `size` draws showed.

    >>> round(count_bound(0, 59, 0.95), 3), round(count_bound(3, 100, 0.95), 4)
    (0.05, 0.0757)
    """
    if count >= size:
        return 1.0
    return _largest(count / size, lambda share: _at_most(count, size, share) >= 1 - level)


def _divergence(mean: float, share: float) -> float:
    """Return the Kullback-Leibler divergence of two coins."""
    if share >= 1:
        return 0.0 if mean >= 1 else inf
    heads = mean * log(mean / share) if mean > 0 else 0.0
    return heads + ((1 - mean) * log((1 - mean) / (1 - share)) if mean < 1 else 0.0)


def _at_most(count: int, size: int, share: float) -> float:
    """Return the chance of at most `count` of `size` events of the chance `share`."""
    if share >= 1:
        return 0.0
    ways = lgamma(size + 1)
    return fsum(
        exp(
            ways
            - lgamma(each + 1)
            - lgamma(size - each + 1)
            + each * log(share)
            + (size - each) * log(1 - share)
        )
        for each in range(count + 1)
    )


def _largest(least: float, holds: Callable[[float], bool]) -> float:
    """Return the largest share from `least` to 1 for which `holds`, rounded up."""
    most = 1.0
    for _ in range(_STEPS):
        middle = (least + most) / 2
        least, most = (middle, most) if holds(middle) else (least, middle)
    return most
