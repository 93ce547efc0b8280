"""The provider behind a framework's fake model: it follows a script and the vendor's rules."""

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import define, field

from polycontext.adapters import Dialect
from polycontext.window import Role, Turn
from polycontext.window.providers import get_format
from polycontext.window.tokens.counter import count_tools
from polycontext.window.tokens.tiktoken_counter import default_counter
from tests.adapters.models import Looking
from tests.strict.transport import STRICT
from tests.strict.vendors import VENDORS, Vendor
from tests.window.tokens.what_leaves import tokens_leaving

TOOL = {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}
"""The parameters of the tool `look`; each framework declares them in its own form."""

_TOOLS: Mapping[str, Any] = {
    "anthropic": {"name": "look", "description": "Look something up.", "input_schema": TOOL},
    "openai": {
        "type": "function",
        "function": {"name": "look", "description": "Look something up.", "parameters": TOOL},
    },
    "openai-responses": {
        "type": "function",
        "name": "look",
        "description": "Look something up.",
        "parameters": TOOL,
    },
    "gemini": {
        "functionDeclarations": [
            {"name": "look", "description": "Look something up.", "parameters": TOOL}
        ]
    },
}

_DROPS: Mapping[str, Any] = {
    "anthropic": {
        "thinking": {
            "type": "adaptive",
            "block_binding": {"prefix_mismatch_behavior": "drop_block"},
        },
        "max_tokens": 200,
    }
}
_BETAS = ["thinking-binding-controls-2026-08-01"]


@define
class Judge:
    """Check and record each request as `provider` would, and return the scripted answer.

    If we have no format for a framework, its dialect reads the request, which is then sent in the
    nearest format.
    """

    dialect: Dialect[Any]
    provider: str
    script: Looking = field(factory=Looking)
    faults: int = 0
    """How many of the next requests fail before anybody looks at them."""
    sent: list[list[Turn]] = field(factory=list)
    largest: int = 0
    """Tokens of the largest request, with system prompt and tools, as they leave."""
    refused: int = 0
    """Requests that the vendor would not take, also where a framework says nothing of them."""
    url: str = ""
    """The URL, if requests arrive over HTTP."""
    strict: Any = field(init=False, repr=False)
    _vendor: Vendor = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._vendor = next(vendor for vendor in VENDORS if vendor.provider == self.provider)
        said = {
            "anthropic": self.script.anthropic,
            "openai": self.script.chat,
            "openai-responses": self.script.responses,
            "gemini": self.script.gemini,
        }
        self.strict = STRICT[self.provider](said[self.provider])

    def asked(self, natives: Sequence[Any], system: str | None = None) -> Turn:
        """Return what the model says to what a framework sends it.

        Raises:
            RequestRefusedError: the vendor would refuse it. ConnectionError: it was to fail.
        """
        self.fail_if_asked_to()
        try:
            answer = self._answered(natives, system)
        except Exception:
            self.refused += 1
            raise
        self.remember(natives, system)
        return get_format(self.provider).parse(self._vendor.reply(answer)).turns[0]

    def _answered(self, natives: Sequence[Any], system: str | None) -> Any:
        rendered = get_format(self.provider).render(self._turns(natives, system))
        request = (
            self._vendor.asks(rendered)
            | {"tools": [_TOOLS[self.provider]]}
            | _DROPS.get(self.provider, {})
        )
        betas = {"betas": _BETAS} if self.provider == "anthropic" else {}
        answer = self.strict.create(request, **betas)
        assert not answer.get("input_transformations"), "a thought was sent that the vendor drops"
        return answer

    def fail_if_asked_to(self) -> None:
        """Fail before anybody looks at the request, as often as was asked for."""
        if self.faults:
            self.faults -= 1
            raise ConnectionError("the model cannot be reached")

    def remember(self, natives: Sequence[Any], system: str | None) -> None:
        """Remember a request that was taken, and how large it was."""
        turns = self._turns(natives, system)
        self.sent.append(turns)
        rendered = get_format(self.provider).render(turns)
        tools = count_tools(default_counter(), [_TOOLS[self.provider]])
        self.largest = max(
            self.largest,
            tokens_leaving(default_counter(), self.provider, rendered.inline()) + tools,
        )

    def _turns(self, natives: Sequence[Any], system: str | None) -> list[Turn]:
        return [
            *([Turn(Role.SYSTEM, system)] if system else []),
            *(piece.turn for piece in self.dialect.split(natives)),
        ]
