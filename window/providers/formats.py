"""The one place that knows all message formats, each loaded when it is first asked for."""

from polycontext.linearity import UnknownNameError
from polycontext.window.providers.wire import Provider, WireFormat

_formats: dict[str, WireFormat] = {}


def get_format(provider: Provider | str) -> WireFormat:
    """Return the message format of `provider`.

    Raises:
        UnknownNameError: no such format; the error names the legal ones.

    >>> get_format("openai").provider
    <Provider.OPENAI: 'openai'>
    """
    try:
        return _formats[provider]
    except KeyError:
        return _formats.setdefault(provider, _loaded(provider))


def _loaded(provider: Provider | str) -> WireFormat:
    try:
        known = Provider(provider)
    except ValueError:
        raise UnknownNameError("provider", str(provider), tuple(Provider)) from None
    match known:
        case Provider.OPENAI:
            from polycontext.window.providers import openai  # noqa: PLC0415 - most readers need one format only

            return WireFormat(known, openai.parse, openai.render, openai.check, openai.rebuild, openai.render_turn)
        case Provider.ANTHROPIC:
            from polycontext.window.providers import anthropic  # noqa: PLC0415 - as above

            return WireFormat(known, anthropic.parse, anthropic.render, anthropic.check, anthropic.rebuild)
