"""Tests that break a law on purpose, and the list of laws that were broken.

A law that no instance can fail says nothing. A test marked with `breaks` hands
the law a broken instance, and passes only if that very law objects:

    @breaks(laws.seek_to_the_focus_changes_nothing)
    def test_a_seek_that_is_off_by_one() -> None:
        laws.seek_to_the_focus_changes_nothing(OffByOne(...))
"""

from collections import defaultdict
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import pytest

from polycontext.linearity.law import LawViolation

P = ParamSpec("P")

_BROKEN: defaultdict[tuple[str, str], list[str]] = defaultdict(list)


def breaks(law: Callable[..., None]) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Mark a test as breaking `law`: it passes only if calling it raises a `LawViolation` in the name of that law."""

    def mark(test: Callable[P, None]) -> Callable[P, None]:
        _BROKEN[law.__module__, law.__name__].append(test.__name__)

        @wraps(test)
        def rejected(*args: P.args, **kwargs: P.kwargs) -> None:
            with pytest.raises(LawViolation, match=law.__name__) as caught:
                test(*args, **kwargs)
            assert caught.value.law == law.__name__

        return rejected

    return mark


def breaking_tests(law: Callable[..., None]) -> tuple[str, ...]:
    """Return the names of the tests, among the modules imported so far, that break `law`."""
    return tuple(_BROKEN.get((law.__module__, law.__name__), ()))
