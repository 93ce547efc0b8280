"""A browser for the tests of a file."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.server.browser.chromium import chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Return a browser for all tests of a file."""
    with chromium() as running:
        yield running
