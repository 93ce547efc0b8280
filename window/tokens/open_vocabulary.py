"""Exact counts for open models, by the vocabularies that the extra `tokenizers` brings."""

from collections.abc import Callable, Sized
from functools import cache
from importlib import import_module

from attrs import frozen

from polycontext.base import is_installed

from .tokenizer import CHUNK, chunks


def has_open_vocabularies() -> bool:
    """Return whether the extra `tokenizers` is installed."""
    return is_installed("splintr")


@frozen
class OpenVocabulary:
    """A token counter with one of the vocabularies in splintr-rs, such as `qwen3`.

    The vocabulary is loaded when the first text is counted (about 0.1 seconds, once in a process).
    """

    exact = True
    name: str

    def count(self, text: str) -> int:
        """Return the tokens of `text`, with special tokens counted as plain text."""
        encode = _encoder(self.name)
        pieces = (text,) if len(text) <= CHUNK else chunks(text, CHUNK)
        return sum(len(encode(_readable(piece))) for piece in pieces)


@cache
def _encoder(name: str) -> Callable[[str], Sized]:
    encode: Callable[[str], Sized] = (
        import_module("splintr").Tokenizer.from_pretrained(name).encode_ordinary
    )
    return encode


def _readable(text: str) -> str:
    """Return `text` with half a surrogate pair replaced, as tiktoken does."""
    return (
        text
        if text.isascii()
        else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    )
