"""What strict OpenAI providers with a memory share: known models, options and the prompt cache."""

from collections.abc import Iterable

from attrs import define, field

from polycontext.testing.strict.provider import Request, invalid_request
from polycontext.testing.strict.scripted import Scripted

from .prefix_cache import PrefixCache


def _names(given: Iterable[str]) -> frozenset[str]:
    return frozenset(given)


@define(eq=False)
class Remembering(Scripted):
    """A strict OpenAI provider with a prompt cache.

    Args:
        models: The known model names; with none, every name is accepted.
    """

    models: frozenset[str] = field(default=frozenset(), converter=_names, kw_only=True)
    _cache: PrefixCache = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._cache = PrefixCache(self.clock)

    def known_model(self, request: Request, message: str, param: str | None) -> None:
        """Reject an unknown model with the vendor's `message`, a template of ``{model}``."""
        model = request.get("model")
        if self.models and model is not None and model not in self.models:
            message, legal = message.format(model=model), ", ".join(sorted(self.models))
            code = "model_not_found"
            raise invalid_request(
                message, "unknown-model", None, legal, code, param=param, status=404
            )
