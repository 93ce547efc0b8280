"""What strict OpenAI providers with a memory share: the prompt cache."""

from attrs import define, field

from polycontext.testing.strict.scripted import Scripted

from .prefix_cache import PrefixCache


@define(eq=False)
class Remembering(Scripted):
    """A strict OpenAI provider with a prompt cache."""

    _cache: PrefixCache = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._cache = PrefixCache(self.clock)
