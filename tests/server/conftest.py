"""Fixtures of the server's tests: the event loop, and a chat of an application."""

from collections.abc import AsyncGenerator

import pytest

from tests.server.front import Front, chatting


@pytest.fixture
def anyio_backend() -> str:
    """Run tests that are coroutines on asyncio."""
    return "asyncio"


@pytest.fixture
async def front() -> AsyncGenerator[Front]:
    """Return a new chat of an application."""
    async with chatting() as made:
        yield made
