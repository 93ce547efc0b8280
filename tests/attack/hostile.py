"""Texts that make careless parsers slow: 98 kinds, each of any length."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_RUNS = {
    "letter": "a",
    "capitals": "A",
    "digits": "0",
    "spaces": " ",
    "newlines": "\n",
    "tabs": "\t",
    "carriage returns": "\r\n",
    "no-break spaces": "\u00a0",
    "zero-width spaces": "\u200b",
    "NUL": "\x00",
    "combining marks": "\u0301",
    "dots": ".",
    "commas": ",",
    "slashes": "/",
    "backslashes": "\\",
    "double quotes": '"',
    "single quotes": "'",
    "backticks": "`",
    "dashes": "-",
    "underscores": "_",
    "hashes": "#",
    "stars": "*",
    "tildes": "~",
    "pipes": "|",
    "equals signs": "=",
    "at signs": "@",
    "colons": ":",
    "exclamation marks": "!",
    "question marks": "?",
    "quotations": ">",
    "less-than signs": "<",
    "open brackets": "[",
    "open braces": "{",
    "open parentheses": "(",
    "closing brackets": "]",
    "line separators": "\u2028",
}
_PAIRS = {
    "star and letter": "*a",
    "letter and slash": "a/",
    "letter and dot": "a.",
    "letter and dash": "a-",
    "letter and underscore": "a_",
    "letter and comma": "a,",
    "letter and colon": "a:",
    "letter and equals sign": "a=",
    "letter and semicolon": "a;",
    "parenthesis and letter": "(a",
    "camel case": "aA",
    "letter and digit": "a1",
    "empty brackets": "[]",
    "empty braces": "{}",
    "bracket and quote": '["',
    "quoted letters": '"a" ',
    "links": "](",
    "spaced quotations": "> ",
    "double stars": "**a",
    "letter and newline": "a\n",
    "letter and form feed": "a\f",
    "letter and line separator": "a\u2028",
}
_STRUCTURES = {
    "nested JSON": '{"a":',
    "nested lists": "[1,",
    "nested XML": "<a>",
    "nested markdown": "- [ ] ",
    "minified JSON": '{"k":1,"v":[2,3]},',
    "JSON lines": '{"a": 1}\n',
    "CSV": "a,b,c\n1,2,3\n",
    "table": "| a | b |\n",
    "headings": "# a\n",
    "fences": "```\na\n",
    "indented keys": '    "key": "value",\n',
    "numbered list": "1. Read the page.\n",
    "key=value": "k=v ",
    "log": "2024-01-01 12:00:00 ERROR x failed\n",
    "tracebacks": 'File "a.py", line 1, in f\n  x = 1\n',
    "errors": "ValueError: x\n",
    "failed lines": "E \n",
    "ANSI escapes": "\x1b[31mred\x1b[0m",
    "special tokens": "<|endoftext|>",
    "surrogate escapes": "\\ud800",
    "URLs": "https://a.bc/d?e=f&g=h ",
    "e-mail addresses": "a@b.co ",
    "paths": "/usr/lib/x.py ",
    "UUIDs": "550e8400-e29b-41d4-a716-446655440000 ",
    "hashes of commits": "a94a8fe5ccb19ba61c4c0873d391e987982fbbd3 ",
    "hex": "deadbeef0",
    "base64": "QUJDRGVm+/",
    "numbers with commas": "1,234,567.89 ",
}
_WORDS = {
    "emoji": "\U0001f469\u200d\U0001f469\u200d\U0001f467",
    "Chinese": "\u6f22\u5b57",
    "Hebrew": "\u05e9\u05dc\u05d5\u05dd ",
    "words of one letter": "a b c ",
    "sentences of one letter": "A. ",
    "ellipses": "a... ",
    "no stop": "the cat sat on the mat and ",
    "must never": "must never ",
    "prohibitions": "Never delete files. ",
    "from now on": "from now on ",
    "decisions": "we decided ",
    "questions": "what did we say? ",
}
KINDS: Final[Mapping[str, str]] = MappingProxyType(_RUNS | _PAIRS | _STRUCTURES | _WORDS)
"""The text that each kind of hostile text repeats, by the kind's name."""


def hostile_text(kind: str, characters: int) -> str:
    """Return a text of that kind and of that many characters.

    >>> hostile_text("star and letter", 5), len(KINDS)
    ('*a*a*', 98)
    """
    unit = KINDS[kind]
    return (unit * (characters // len(unit) + 1))[:characters]
