"""An embedder whose weights ship in a wheel: no network, no GPU, half a millisecond a message."""

import logging
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from polycontext.base import require_extra


class WordLlamaEmbedder:
    """An embedder for `ContextSession`, by the static embeddings of WordLlama.

    The weights are loaded by the first search. English is what they know best.

    Raises:
        MissingExtraError: the extra `semantic` is not installed.
    """

    def __init__(self) -> None:
        require_extra("wordllama", extra="semantic", purpose="WordLlamaEmbedder")

    def embed(self, texts: Sequence[str]) -> Sequence[Any]:
        """Return a unit vector for each text."""
        # The empty text has no direction.
        return [*_model().embed([text or " " for text in texts], norm=True)]

    def compare(self, vectors: Sequence[Any], query: str) -> Sequence[float]:
        """Return the cosine of each vector with the one of `query`."""
        (asked,) = self.embed([query])
        similar: list[float] = (import_module("numpy").stack(vectors) @ asked).tolist()
        return similar


@cache
def _model() -> Any:
    root = logging.getLogger()
    handlers, level = [*root.handlers], root.level
    wordllama = import_module("wordllama")
    # It configures the logging of the whole process.
    root.handlers[:] = handlers
    root.setLevel(level)
    # Release 0.4 looks for its tokenizer elsewhere, and would download it.
    folder = Path(wordllama.__file__ or "").parent
    return wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
