"""Tokenizer families: how many tokens a model counts where OpenAI's vocabulary counts one.

Vendors of open models use tokenizers of their own. Some split numbers into digits, which doubles
the tokens of a table; some split the words of every language but English. So a family has a margin
for each kind of character beside a factor for the rest, and the sum is an upper bound of what the
family's tokenizer counts. tokenizer_families.json holds the margins, the date of the measurement
and the names of the models; ``just bench margins`` measures again (docs/models.md).

With the extra `tokenizers`, models whose vocabulary splintr-rs carries are counted with it.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

from attrs import frozen

from .tokens.counter import OPENAI_FRAME, Frame, TokenCounter
from .tokens.open_vocabulary import OpenVocabulary, has_open_vocabularies

_TURN, _CALL = 6, 18
"""The most that the templates of Qwen 3, Llama 3.1, DeepSeek V3, Gemma 3 and Mistral add.

They add this to a turn, and to a call with its result. What they say about tools has a column.
"""

_DIGITS = "0123456789"
_CHARACTERS = tuple(
    re.compile(f"[{ranges}]")
    for ranges in (
        "\u0080-\u024f\u1e00-\u1eff",  # Latin letters with accents, as of Vietnamese
        "\u0400-\u052f\u0600-\u06ff",  # Cyrillic and Arabic
        "\u0900-\u097f",  # of Hindi
        "\u2e80-\ua4cf\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef",
        (
            "\u0250-\u03ff\u0530-\u05ff\u0700-\u08ff\u0980-\u1dff\u1f00-\u2dff\ua4d0-\uabff\ufb00-\ufe2f"
            "\ufe50-\ufeff\ufff0-\U0010ffff"
        ),
    )
)


class Margins(NamedTuple):
    """Tokens of a family for each token of o200k_base, and in addition for each character.

    >>> Margins(1.2, digit=0.6).bound("1234 plums", 4)
    7
    """

    words: float
    digit: float = 0
    accented: float = 0
    alphabet: float = 0
    devanagari: float = 0
    ideograph: float = 0
    other: float = 0

    def bound(self, text: str, tokens: int) -> int:
        """Return an upper bound for a text that has `tokens` of o200k_base."""
        total = self.words * tokens
        if self.digit:
            total += self.digit * sum(map(text.count, _DIGITS))
        if not text.isascii():
            for margin, characters in zip(self[2:], _CHARACTERS, strict=True):
                total += margin * len(characters.findall(text)) if margin else 0
        return max(1, round(total)) if tokens else 0


class Family(NamedTuple):
    """The tokenizer of a model: the name of its family, and its vocabulary in splintr-rs."""

    name: str
    vocabulary: str = ""


def family_of(model: str) -> Family:
    """Return the family of a model by its name, or the one of unknown models.

    >>> family_of("groq/qwen3-32b"), family_of("my-model")
    (Family(name='qwen', vocabulary='qwen3'), Family(name='unknown', vocabulary=''))
    """
    plain = model.lower().rpartition("/")[2]
    rows = _models()
    return next((family for name, family in rows if name.search(plain)), Family("unknown"))


@cache
def families() -> Mapping[str, Margins]:
    """Return the margins of every family."""
    return {name: Margins(*row["margins"]) for name, row in _table()["families"].items()}


def measured_vocabularies() -> Sequence[tuple[str, str]]:
    """Return the families with a vocabulary in splintr-rs, by each of their vocabularies."""
    found = {family for _, family in _models() if family.vocabulary}
    return sorted((family.name, family.vocabulary) for family in found)


@frozen
class FamilyCounter:
    """A token counter of a family: its own vocabulary if there is one, or else an upper bound.

    `base` counts by o200k_base; `factor` is the margin of its tokens.
    """

    family: Family
    base: TokenCounter
    factor: float

    @property
    def exact(self) -> bool:
        """Return whether the model's own vocabulary counts."""
        return self._own is not None

    @property
    def frame(self) -> Frame:
        """Return the most that chat templates of the family add; OpenAI's for closed vendors."""
        tools = _table()["families"][self.family.name].get("tools")
        return OPENAI_FRAME if tools is None else Frame(_TURN, _CALL, tools, tools_as_json=True)

    def count(self, text: str) -> int:
        """Return the tokens of `text`, or the most that they may be."""
        own = self._own
        return self._margins.bound(text, self.base.count(text)) if own is None else own.count(text)

    @cached_property
    def _own(self) -> OpenVocabulary | None:
        vocabulary = self.family.vocabulary
        return OpenVocabulary(vocabulary) if vocabulary and has_open_vocabularies() else None

    @cached_property
    def _margins(self) -> Margins:
        return families()[self.family.name]._replace(words=self.factor)


@cache
def _models() -> Sequence[tuple[re.Pattern[str], Family]]:
    return [(re.compile(name), Family(*rest)) for name, *rest in _table()["models"]]


@cache
def _table() -> Mapping[str, Any]:
    table: Mapping[str, Any] = json.loads(
        Path(__file__).with_name("tokenizer_families.json").read_text(encoding="utf-8")
    )
    return table
