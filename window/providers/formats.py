"""The one place that knows all message formats, each loaded when it is first asked for."""

from functools import cache

from polycontext.linearity import UnknownNameError
from polycontext.window.providers.wire import Provider, WireFormat


def get_format(provider: Provider | str) -> WireFormat:
    """Return the message format of `provider`.

    Raises:
        UnknownNameError: no such format; the error names the legal ones.

    >>> get_format("openai").provider
    <Provider.OPENAI: 'openai'>
    """
    try:
        known = Provider(provider)
    except ValueError:
        raise UnknownNameError("provider", str(provider), tuple(Provider)) from None
    return _loaded(known)


@cache
def _loaded(known: Provider) -> WireFormat:
    match known:
        case Provider.OPENAI:
            from polycontext.window.providers import openai, openai_write  # noqa: PLC0415 - most readers need one format only

            return WireFormat(known, openai.parse, openai.render, openai.check, openai_write.Writer, adds_nothing=True)
        case Provider.ANTHROPIC:
            from polycontext.window.providers import anthropic, anthropic_write  # noqa: PLC0415 - as above

            return WireFormat(known, anthropic.parse, anthropic.render, anthropic.check, anthropic_write.Writer)
