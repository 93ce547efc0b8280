"""`polycontext inspect`: a conversation as one file that shows what the model saw."""

import json
import re
from base64 import b64decode
from gzip import decompress
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import EXAMPLE, Command, user

_DATA = re.compile(r'<script type="application/gzip" id="polycontext-report">(.*?)</script>')


def data_of(page: str) -> Any:
    """Return what is embedded, and check that the page loads nothing."""
    assert (
        re.search(r'(?:src|href)="(?!data:)', _DATA.sub("", page).partition("<script")[0]) is None
    )
    [text] = _DATA.findall(page)
    return json.loads(decompress(b64decode(text)))


def test_a_transcript_is_reported(polycontext: Command) -> None:
    """The report has the view, every message, and what came and went at every event."""
    ran = polycontext("inspect", EXAMPLE, "--max-tokens", "1200")
    assert (ran.code, ran.err) == (0, "")
    told = data_of(ran.out)
    assert told["inspection"]["readOnly"] is True
    texts = {each["id"]: each["text"] for each in told["turns"]["turns"]}
    assert {each["id"] for each in told["inspection"]["turns"]} <= {*texts}
    came = {key for entry in told["timeline"]["entries"] for key in entry["came"]}
    assert came == {*texts}
    assert told["receipts"]["receipts"]


def test_a_session_is_reported(polycontext: Command, tmp_path: Path) -> None:
    """Also into a file; what looks like markup stays text."""
    store = ("--store", tmp_path / "s.db")
    said = tmp_path / "said.json"
    said.write_text(json.dumps([user("Is </script><script>alert(1)</script> shown?")]))
    assert polycontext("session", "new", "trip", *store, "--max-tokens", "900").code == 0
    assert polycontext("session", "append", "trip", *store, "--from", said).code == 0
    ran = polycontext("inspect", "trip", *store, "-o", tmp_path / "report.html")
    assert ran.code == 0, ran.err
    page = (tmp_path / "report.html").read_text()
    assert "alert(1)" not in _DATA.sub("", page)
    told = data_of(page)
    assert told["title"] == "trip"
    assert told["turns"]["turns"][0]["text"] == "Is </script><script>alert(1)</script> shown?"


@pytest.mark.parametrize("name", ["nowhere", "nowhere.jsonl"])
def test_what_is_nowhere_is_refused(polycontext: Command, tmp_path: Path, name: str) -> None:
    """The error names it."""
    polycontext("session", "new", "trip", "--store", tmp_path / "s.db", "--max-tokens", "900")
    ran = polycontext("inspect", name, "--store", tmp_path / "s.db")
    assert ran.code == 1
    assert repr(name) in ran.complaint
    assert ("there is no file" in ran.complaint) == name.endswith("l")
