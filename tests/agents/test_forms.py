"""Forms: JSON Schema, strict reading, and which of their texts are words."""

import json
from collections.abc import Iterable, Sequence
from enum import Enum, StrEnum
from pathlib import Path
from typing import Any, Literal

import pytest
from attrs import field, frozen

from polycontext.agents import Form, Ref
from polycontext.agents.answers import Deed, Plan, Understanding
from polycontext.agents.forms import data_of, parameters_of, read_answer, schema_of, without_words
from polycontext.base import InvalidDataError, InvalidOptionError

ANSWERS = json.loads(Path(__file__).with_name("broken_answers.json").read_text(encoding="utf-8"))


class Mood(StrEnum):
    """A mood."""

    GOOD = "good"
    BAD = "bad"


@frozen
class Inner:
    """A record inside a form."""

    ref: Ref
    words: str


@frozen
class Sample(Form):
    """A form with a field of every kind."""

    words: str
    ref: Ref
    number: float
    mood: Mood | None = None
    parts: tuple[Inner, ...] = ()
    note: str | None = None


SAMPLE = {"words": "a b", "ref": "recipe_1", "number": 1.5, "mood": "good"}


ANSWER = '{"words": "a b", "ref": "recipe_1", "number": 1.5}'


@pytest.mark.parametrize(
    "text",
    [
        f"Sure: {ANSWER} Is it right?",
        f"```json\n{ANSWER}\n```",
        f"Of {{soups}}, {{{{0}}}} and {{'a': 1}}: {ANSWER}",
        f"{ANSWER}}} Is it right?",
    ],
)
def test_an_answer_is_found_among_other_words(text: str) -> None:
    """Whatever is unfinished around it."""
    assert read_answer(Sample, text).words == "a b"


@pytest.mark.parametrize(
    "text",
    ANSWERS["with an empty object"],
)
def test_nothing_is_read_out_of_a_broken_object(text: str) -> None:
    """An empty object within is no answer, though it fits a form of optional fields."""
    with pytest.raises(InvalidDataError, match="no JSON object"):
        read_answer(Deed, text)


@pytest.mark.parametrize(
    "unit",
    [*ANSWERS["begun again and again"], '{"a":' * 900 + "x "],
)
def test_a_broken_answer_is_read_about_once(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many objects it begins, none is decoded anew inside of one that was."""
    read, decode = list[int](), json.JSONDecoder.raw_decode

    def counting(decoder: json.JSONDecoder, text: str, start: int = 0) -> Any:
        try:
            data, end = decode(decoder, text, start)
        except json.JSONDecodeError as error:
            read.append(error.pos - start)
            raise
        except RecursionError:
            read.append(1_000)
            raise
        read.append(end - start)
        return data, end

    monkeypatch.setattr(json.JSONDecoder, "raw_decode", counting)
    text = unit * (200_000 // len(unit))
    with pytest.raises(InvalidDataError):
        read_answer(Sample, text)
    assert sum(read) <= 2 * len(text)
    assert len(read) <= 1_001


def test_a_schema_is_what_strict_structured_output_takes() -> None:
    """Every property is required, no other is allowed, and optional ones may be null."""
    schema = schema_of(Sample)
    assert schema["required"] == [*schema["properties"]]
    assert schema["additionalProperties"] is False
    mood = {"type": "string", "enum": ["good", "bad"]}
    assert schema["properties"]["mood"] == {"anyOf": [mood, {"type": "null"}]}
    assert schema["properties"]["parts"]["items"]["required"] == ["ref", "words"]


BROKEN = [*ANSWERS["broken"], "{" * 100_000]


@pytest.mark.parametrize("said", BROKEN)
def test_a_broken_answer_is_refused_with_its_fault(said: Any) -> None:
    """Coercing nothing: a model's `"high"` is no number."""
    with pytest.raises(InvalidDataError):
        read_answer(Understanding, said)


def test_words_are_told_apart_from_refs_enums_and_numbers() -> None:
    """Erasure blanks words alone, and the rest is read as before."""
    form = read_answer(Sample, SAMPLE | {"parts": [{"ref": "recipe_2", "words": "c"}], "note": "d"})
    left = without_words(Sample, data_of(form), lambda _: True)
    assert read_answer(Sample, left) == Sample(
        "[forgotten]",
        Ref("recipe_1"),
        1.5,
        Mood.GOOD,
        (Inner(Ref("recipe_2"), "[forgotten]"),),
        "[forgotten]",
    )
    assert without_words(Sample, data_of(form), lambda text: text == "c")["words"] == "a b"


@pytest.mark.parametrize("form", [Understanding, Plan, Deed])
def test_arguments_of_tools_are_words(form: type[Form]) -> None:
    """Nobody knows what the arguments of a call hold."""
    deed = {"calls": [{"tool": "plan", "arguments": {"recipe": "recipe_1", "days": ["Monday"]}}]}
    left = without_words(Deed, deed, lambda _: True)
    assert left["calls"][0]["tool"] == "plan"
    assert left["calls"][0]["arguments"] == {"recipe": "[forgotten]", "days": ["[forgotten]"]}
    assert schema_of(form)["type"] == "object"


def test_common_types_have_a_schema_and_others_are_refused() -> None:
    """An argument with a default may be null, and the key is none of the model's."""

    def look(
        a: Literal["x", "y"],
        b: list[Any],
        c: Any,
        d: Sequence[int],
        servings: int = 2,
        *,
        idempotency_key: str,
        **more: Any,
    ) -> None: ...

    assert parameters_of(look)["properties"] == {
        "a": {"type": "string", "enum": ["x", "y"]},
        "b": {"type": "array", "items": {}},
        "c": {},
        "d": {"type": "array", "items": {"type": "integer"}},
        "servings": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    }
    with pytest.raises(InvalidOptionError, match="attrs class"):
        schema_of(Path)


class Size(Enum):
    """Members that have no text as value."""

    SMALL = 1


@frozen
class Rich(Form):
    """A form with the kinds of fields that a schema takes beside those of `Sample`."""

    verdict: Literal["good", "bad"]
    parts: Sequence[Inner] = ()
    refs: frozenset[Ref] = frozenset()
    said: set[str] = field(factory=set[str])
    loose: list = field(factory=list)  # type: ignore[type-arg]
    held: dict = field(factory=dict)  # type: ignore[type-arg]
    value: int | str | None = None
    either: Inner | Literal["none"] | list[str] | None = None
    size: Size = Size.SMALL


RICH: list[dict[str, Any]] = [
    {"verdict": "bad"},
    {"verdict": "good", "parts": [{"ref": "recipe_1", "words": "a"}], "refs": ["recipe_1"]},
    {"verdict": "good", "said": ["a", "b"], "loose": ["a", 1, None], "held": {"a": ["b"]}},
    *({"verdict": "good", "value": value} for value in (1, "a", None)),
    *(
        {"verdict": "good", "either": value}
        for value in ("none", None, ["a"], {"ref": "recipe_1", "words": "a"})
    ),
    {"verdict": "good", "size": "SMALL"},
]


@pytest.mark.parametrize("said", RICH)
def test_whatever_has_a_schema_is_read_and_its_words_are_forgotten(said: Any) -> None:
    """An answer without its words is still an answer, with the same literals, refs and numbers."""
    form = read_answer(Rich, said)
    data = json.loads(json.dumps(data_of(form)))
    assert read_answer(Rich, data) == form
    left = without_words(Rich, data, lambda _: True)
    kept = read_answer(Rich, left)
    assert (kept.verdict, kept.refs, kept.size) == (form.verdict, form.refs, form.size)
    assert [part.ref for part in kept.parts] == [part.ref for part in form.parts]
    assert not {"a", "b"} & {*_texts(left)}


def _texts(data: Any) -> Iterable[str]:
    if isinstance(data, str):
        yield data
    for each in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        yield from _texts(each)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("verdict", "fine"),
        ("parts", "ab"),
        ("said", "ab"),
        ("loose", "ab"),
        ("held", ["ab"]),
        ("value", 1.5),
        ("either", "some"),
        ("size", 1),
    ],
)
def test_a_field_of_another_type_is_refused(field: str, value: Any) -> None:
    """The error names the field."""
    with pytest.raises(InvalidDataError, match=field):
        read_answer(Rich, {"verdict": "good", field: value})


def test_an_enum_is_shown_as_it_is_read() -> None:
    """By its value if that is a text, or by its name."""
    assert schema_of(Size) == {"type": "string", "enum": ["SMALL"]}
    assert schema_of(Mood) == {"type": "string", "enum": ["good", "bad"]}
