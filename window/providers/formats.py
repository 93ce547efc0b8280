"""The one place that knows all message formats."""

from typing import Final

from polycontext.window.providers import anthropic, openai
from polycontext.window.providers.errors import UnknownProviderError
from polycontext.window.providers.wire import Provider, WireFormat

_FORMATS: Final = {
    Provider.OPENAI: WireFormat(Provider.OPENAI, openai.parse, openai.render, openai.check, openai.rebuild, openai.render_turn),
    Provider.ANTHROPIC: WireFormat(Provider.ANTHROPIC, anthropic.parse, anthropic.render, anthropic.check, anthropic.rebuild),
}


def get_format(provider: Provider | str) -> WireFormat:
    """Return the message format of `provider`.

    Raises:
        UnknownProviderError: no such format; the error names the legal ones.

    >>> get_format("openai").provider
    <Provider.OPENAI: 'openai'>
    """
    try:
        return _FORMATS[Provider(provider)]
    except ValueError:
        raise UnknownProviderError(str(provider), ", ".join(Provider)) from None
