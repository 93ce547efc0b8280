"""Bytes of a file as text: byte order marks are believed, UTF-8 is checked, nothing is guessed."""

import codecs

from polycontext.window.pills.errors import BinaryFileError, UndecodableError

# UTF-32's little-endian mark begins with UTF-16's.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def decoded(data: bytes, name: str, fallback: str | None = None) -> str:
    """Return `data` as text, in the encoding its mark names, or UTF-8, or `fallback`.

    Raises:
        BinaryFileError: NUL in it. UndecodableError: no text in any of these encodings.
    """
    marked = next((encoding for mark, encoding in _MARKS if data.startswith(mark)), None)
    if marked is None and b"\0" in data:
        raise BinaryFileError(name, "has NUL bytes", "a text file")
    text = _first([marked] if marked else ["utf-8", *([fallback] if fallback else [])], data, name)
    if "\0" in text:
        raise BinaryFileError(name, "has NUL characters", "a text file")
    return text


def _first(encodings: list[str], data: bytes, name: str) -> str:
    for encoding in encodings:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    tried = ", ".join(encodings)
    raise UndecodableError(name, f"is not {tried}", "UTF-8, UTF-16 or UTF-32 with a byte order mark, or the `encoding` you name")
