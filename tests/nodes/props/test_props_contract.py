"""The contract of the props: what is shipped is what the renderer gives, in both languages."""

import json
import re
from pathlib import Path
from typing import Annotated, TypedDict

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator, ValidationError

from polycontext.nodes.props.component_renderer import DECLARATION, SCHEMA, read_contract
from polycontext.polynomial import ContextSession
from tests.house import script
from tests.sessions import sessions

contract = script("props_contract")


class Inner(TypedDict):
    """A part."""

    seen: bool


class Outer(TypedDict):
    """A whole."""

    parts: Annotated[list[Inner], "its parts"]
    first: Inner


def test_the_shipped_files_are_up_to_date(tmp_path: Path) -> None:
    """Writing the contract anew changes neither file."""
    contract.write_contract(tmp_path)
    for name in (DECLARATION, SCHEMA):
        assert (tmp_path / name).read_text() == read_contract(name), (
            "run `just write props_contract`"
        )


@given(sessions())
def test_props_of_any_session_fit_the_schema(session: ContextSession) -> None:
    """Whatever a session has been through, its props have the shape that was promised."""
    assert list(Draft202012Validator(contract.props_schema()).iter_errors(session.render())) == []


def test_the_schema_is_a_schema_and_refuses() -> None:
    """The schema refuses an extra key, a missing key and an unknown status."""
    Draft202012Validator.check_schema(contract.props_schema())
    props = ContextSession(1000).render()
    broken = [
        {**props, "system": "x"},
        {**props, "status": "idle"},
        {key: props[key] for key in props if key != "actions"},
    ]
    for document in broken:
        with pytest.raises(ValidationError):
            Draft202012Validator(contract.props_schema()).validate(document)


def test_the_declaration_names_every_key_that_the_schema_has() -> None:
    """Both files are of one source: interfaces and definitions agree key by key."""
    interfaces = dict(
        re.findall(r"export interface (\w+) \{\n(.*?)\n\}", contract.props_declaration(), re.DOTALL)
    )
    schema = contract.props_schema()
    objects = {**schema["$defs"], schema["title"]: schema}
    assert {
        name: re.findall(r"^  (\w+):", body, re.MULTILINE) for name, body in interfaces.items()
    } == {name: list(part["properties"]) for name, part in objects.items()}


def test_a_part_is_declared_once_and_before_its_whole() -> None:
    """A TypedDict used in two fields is declared once, before the type that uses it."""
    text = contract.props_declaration(Outer)
    assert re.findall(r"export interface (\w+)", text) == ["Inner", "Outer"]
    assert "parts: Inner[];" in text
    assert json.dumps(contract.props_schema(Outer)).count('"type": "object"') == 2
