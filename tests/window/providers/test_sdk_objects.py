"""Objects of the vendors' SDKs are read like their data, as messages and inside them."""

import pytest

from polycontext.window.errors import InvalidMessagesError
from polycontext.window.providers import get_format


def test_whatever_else_is_no_message() -> None:
    """A class, and an object that dumps to no object, are refused like everything that is none."""

    class Odd:
        def model_dump(self, **_: object) -> list[int]:
            return [1]

    for odd in (Odd(), Odd, object()):
        with pytest.raises(InvalidMessagesError, match=r"not-an-object|not-json"):
            get_format("openai").parse([odd])
        with pytest.raises(InvalidMessagesError):
            get_format("openai").parse([{"role": "user", "content": [odd, {1, 2}]}])
