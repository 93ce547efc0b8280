"""The door for LLM gateways: /v1/compress and /v1/retrieve."""

import asyncio
import json
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from hashlib import shake_128
from itertools import count
from math import inf
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from polycontext.base import InvalidOptionError
from polycontext.polynomial import ContextSession, StoreError
from polycontext.polynomial.stores import InMemoryStore, SQLiteStore
from polycontext.server import Access, Gateway, Originals, create_app, create_gateway
from polycontext.server import gateway as routes
from polycontext.server.rows import RequestCompressor, hash_of
from tests.cli.command import assistant, result, user
from tests.server.contract_client import TOOL, ContractClient
from tests.vendors import StrictChat

LOG = "begin\n" + "waiting for the lock\n" * 300 + "Error: no key in vault.py:31\nend"
MINE, OTHER = "a-token-of-mine-and-long", "a-token-of-another-caller"


def _client(gateway: Gateway, **headers: str) -> TestClient:
    access = Access((MINE, OTHER))
    headers = {"Authorization": f"Bearer {MINE}", **headers}
    return TestClient(create_gateway(gateway, access), "http://localhost", headers=headers)


def _rows(*texts: str) -> list[dict[str, Any]]:
    rows = [user("Fix the build.")]
    for number, text in enumerate(texts):
        rows += [assistant(None, f"c{number}"), result(f"c{number}", text)]
    return rows


def _compressed(client: Any, *texts: str) -> dict[str, Any]:
    body = json.dumps({"messages": _rows(*texts), "model": "gpt-5"})
    answer = client.post("/v1/compress", content=body)
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    assert len(told["messages"]) == 1 + 2 * len(texts)
    return told


def test_rows_come_back_shortened_with_figures() -> None:
    """As many, in the same order; the figures are those that gateways record."""
    with _client(Gateway()) as client:
        told = _compressed(client, LOG)
    assert "×300" in told["messages"][-1]["content"]
    assert told["messages"][:-1] == _rows(LOG)[:-1]
    assert told["ccr_hashes"] == [hash_of(LOG)]
    assert told["transforms_applied"] == ["excerpt"]
    assert told["tokens_before"] > 1_000
    assert 20 < told["tokens_after"] < 100
    assert told["tokens_saved"] == told["tokens_before"] - told["tokens_after"]
    assert told["compression_ratio"] == round(told["tokens_after"] / told["tokens_before"], 4)
    assert "warning" not in told


def test_an_original_is_found_with_the_callers_token_alone() -> None:
    """Whole, or what it says about a query; it is erased on demand."""
    place, odd = f"/v1/retrieve/{hash_of(LOG)}", f"\ud800 {LOG}"
    with _client(Gateway()) as client:
        _compressed(client, LOG)
        assert client.get(place).json() == {"hash": hash_of(LOG), "original_content": LOG}
        _compressed(client, odd)
        assert client.get(f"/v1/retrieve/{hash_of(odd)}").json()["original_content"] == odd
        long = "".join(f"step {n} is done\n" for n in range(3_000))
        _compressed(client, long)
        asked = {"query": "What of step 1512?"}
        told = client.get(f"/v1/retrieve/{hash_of(long)}", params=asked).json()["original_content"]
        assert "step 1512 is done" in told
        assert len(told) < len(long) / 5
        others = {"Authorization": f"Bearer {OTHER}"}
        assert client.get(place, headers=others).status_code == 404
        assert client.delete(place, headers=others).status_code == 204
        assert client.delete("/v1/retrieve", headers=others).status_code == 204
        assert client.get(place, headers={"Authorization": "Bearer no"}).status_code == 401
        assert client.get(place).status_code == 200
        assert client.delete(place).status_code == 204
        assert client.get(place).status_code == 404
        assert client.get(f"/v1/retrieve/{hash_of(long)}").status_code == 200
        assert client.delete("/v1/retrieve").status_code == 204
        assert client.get(f"/v1/retrieve/{hash_of(long)}").status_code == 404
        assert client.get("/v1/retrieve/x").status_code == 422
        _compressed(client, LOG)
        assert client.get(place).status_code == 200


class Broken(RequestCompressor):
    """A compressor that fails, or that takes too long."""

    def __init__(self, fail: Callable[[], None]) -> None:
        super().__init__()
        self.fail = fail

    def compress(self, rows: Any, until: float = inf) -> Any:
        """Fail."""
        self.fail()
        return super().compress(rows, until)


def _raise() -> None:
    raise ZeroDivisionError


@pytest.mark.parametrize(
    ("fail", "problem"),
    [(_raise, "failed"), (lambda: time.sleep(0.3), "took too long")],
)
def test_a_failure_returns_the_rows_unchanged(
    fail: Callable[[], None],
    problem: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """With a warning, and the reason in the log; 503 if the gateway is strict."""
    monkeypatch.setattr(routes, "COMPRESS_SECONDS", 0.1)
    with _client(Gateway(compressor=Broken(fail))) as client:
        told = _compressed(client, LOG)
        assert told["messages"] == _rows(LOG)
        assert told["warning"] == f"Compressing {problem}; the rows are unchanged."
        assert told["ccr_hashes"] == []
    assert "were not shortened" in caplog.text
    with _client(Gateway(compressor=Broken(fail), strict=True)) as client:
        answer = client.post("/v1/compress", json={"messages": _rows(LOG)})
        assert answer.status_code == 503
        assert problem in answer.json()["detail"]


def test_rows_are_answered_in_time_while_all_threads_are_busy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Unchanged: the answers wait for no thread that compresses."""
    monkeypatch.setattr(routes, "COMPRESS_SECONDS", 0.01)
    over = Event()

    def hold() -> None:
        over.wait(60)

    ask = partial(_asked, create_gateway(Gateway(compressor=Broken(hold))), _rows(LOG))

    async def ask_many() -> list[httpx.Response]:
        return await asyncio.gather(*(ask() for _ in range(40)))

    try:
        answers = asyncio.run(asyncio.wait_for(ask_many(), 30))
    finally:
        over.set()
    assert {answer.json()["warning"] for answer in answers} == {
        "Compressing took too long; the rows are unchanged."
    }


async def _asked(app: Any, rows: list[dict[str, Any]]) -> httpx.Response:
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        return await client.post("/v1/compress", json={"messages": rows})


def test_a_body_that_is_too_long_is_told_the_limit() -> None:
    """Whether its length is declared or not."""
    long = b"x" * 16_000_001
    with _client(Gateway()) as client:
        for content in (long * 2, iter((long, long))):
            answer = client.post("/v1/compress", content=content)
            assert answer.status_code == 413
            assert answer.json()["detail"] == "more than 32,000,000 bytes. Send fewer rows."


def test_rows_do_not_depend_on_the_store(tmp_path: Path) -> None:
    """Without it they are the same, and a warning says that nothing can be retrieved."""
    kept = Originals(tmp_path / "originals.db")
    with _client(Gateway(kept)) as client:
        before = _compressed(client, LOG)
        kept.close()
        after = _compressed(client, LOG)
        assert after["messages"] == before["messages"]
        assert after["ccr_hashes"] == []
        assert "could not be stored" in after["warning"]
        failed = client.get(f"/v1/retrieve/{hash_of(LOG)}")
        assert failed.status_code == 503
        assert failed.json()["detail"].startswith("the store failed")
    with _client(Gateway(kept, strict=True)) as client:
        assert client.post("/v1/compress", json={"messages": _rows(LOG)}).status_code == 503


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{", "is not JSON"),
        (b'{"messages": {}}', "not a list"),
        (b'{"messages": ["x"]}', "not a list of objects"),
        (b'{"messages": [{"n": -1e999}]}', "finite numbers"),
        (b'{"messages": [' + b"{}," * 1_000_000 + b"{}]}", "too many"),
    ],
)
def test_a_body_that_is_no_request_is_refused(body: bytes, words: str) -> None:
    """With 422 and what is wrong, also if the gateway is not strict."""
    with _client(Gateway()) as client:
        answer = client.post("/v1/compress", content=body)
    assert answer.status_code == 422
    assert words in answer.json()["detail"]


def test_what_is_not_shortened_comes_back_exactly() -> None:
    """Numbers of any size, lone surrogates and unknown rows too."""
    rows = '[{"role": "x", "n": [1e300, 123456789012345678901234567890, 1.50], "t": "\\ud800"}, {}]'
    with _client(Gateway()) as client:
        answer = client.post("/v1/compress", content=f'{{"messages": {rows}}}')
    assert answer.json()["messages"] == json.loads(rows)


def test_the_routes_are_described() -> None:
    """In the OpenAPI document, with the schemas of the bodies; chats have the routes too."""
    chats = create_app(InMemoryStore(), gateway=Gateway(), max_tokens=8_000)
    for document in (create_gateway(Gateway()).openapi(), chats.openapi()):
        described = document["paths"]["/v1/compress"]["post"]
        assert {*document["paths"]} >= {"/v1/compress", "/v1/retrieve/{name}", "/v1/retrieve"}
        for place in (described["requestBody"], described["responses"]["200"]):
            name = place["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
            assert "messages" in document["components"]["schemas"][name]["properties"]
    assert "ChatProps" in chats.openapi()["components"]["schemas"]
    assert "/v1/compress" not in create_app(InMemoryStore()).openapi()["paths"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the file of originals."""
    return tmp_path / "originals.db"


def test_originals_have_limits(path: Path) -> None:
    """The least recently used ones go first, and old ones."""
    now = [0.0]
    texts = {f"{n:024}": f"{n} " + "".join(map(chr, range(300, 3_300))) for n in range(60)}
    kept = Originals(path, megabytes=0.1, days=1, clock=lambda: now[0])
    for name, text in texts.items():
        kept.keep(MINE, {name: text})
        now[0] += 60
        kept.keep(MINE, {f"{0:024}": texts[f"{0:024}"]})
    found = [name for name in texts if kept.find(MINE, name) is not None]
    assert 5 < len(found) < 40
    assert found[0] == f"{0:024}"
    assert found[1:] == [*texts][-len(found) + 1 :]
    assert all(kept.find(MINE, name) == texts[name] for name in found)
    now[0] += 86_400
    assert kept.find(MINE, found[-1]) is None
    kept.keep(OTHER, {"a" * 24: "new"})
    now[0] -= 86_400
    assert kept.find(MINE, found[-1]) is None  # it was deleted, not only hidden
    assert kept.erase(OTHER) == 1
    kept.close()
    with pytest.raises(StoreError):
        kept.find(MINE, found[-1])


def test_what_came_last_is_not_deleted_for_room(path: Path) -> None:
    """However few and large the texts are; one goes at a time."""
    texts = {f"{n:024}": shake_128(bytes(n)).hexdigest(280_000) for n in range(4)}
    last = {f"{n:024}": shake_128(bytes(n)).hexdigest(700_000) for n in (4, 5)}
    now = count().__next__
    kept = Originals(path, megabytes=1, clock=now)
    for name, text in texts.items():
        kept.keep(MINE, {name: text})
    assert [name for name in texts if kept.find(MINE, name)] == [*texts][1:]
    kept.keep(OTHER, last)
    assert not [name for name in texts if kept.find(MINE, name)]
    assert {name: kept.find(OTHER, name) for name in last} == last
    kept.close()


def test_an_original_that_is_read_is_kept_longer(path: Path) -> None:
    """As one that is sent again."""
    now = [0.0]
    kept = Originals(path, days=1, clock=lambda: now[0])
    kept.keep(MINE, {"a" * 24: LOG, "b" * 24: LOG})
    now[0] = 80_000
    assert kept.find(MINE, "a" * 24) == LOG
    now[0] = 90_000
    assert kept.find(MINE, "a" * 24) == LOG
    assert kept.find(MINE, "b" * 24) is None
    kept.close()


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    """Unchanged; an empty one is used."""
    foreign, empty = tmp_path / "sessions.db", tmp_path / "empty.db"
    with closing(SQLiteStore(foreign)):
        ContextSession(8_000, store=SQLiteStore(foreign), session_id="a").add_user_turn("Hello.")
    before = foreign.read_bytes()
    foreign.chmod(0o644)
    with pytest.raises(StoreError, match=r"belongs to something else\. Name another file"):
        Originals(foreign)
    assert (foreign.read_bytes(), foreign.stat().st_mode & 0o777) == (before, 0o644)
    empty.touch(0o644)
    Originals(empty).close()
    assert empty.stat().st_mode & 0o777 == 0o600
    Originals(empty).close()


def test_a_file_of_originals_is_private_and_holds_no_tokens(tmp_path: Path) -> None:
    """It outlives the server; what is erased is overwritten."""
    path, secret = tmp_path / "originals.db", "".join(map(chr, range(5_000, 5_900)))
    kept = Originals(path)
    kept.keep(MINE, {"a" * 24: secret, "b" * 24: LOG})
    kept.close()
    assert path.stat().st_mode & 0o777 == 0o600
    kept, beside = Originals(path), Originals(path)
    assert beside.find(MINE, "a" * 24) == secret
    [(packed,)] = sqlite3.connect(path).execute("SELECT text FROM originals WHERE hash < 'b'")
    assert packed[20:60] in path.read_bytes()
    assert MINE.encode() not in path.read_bytes()
    assert kept.erase(MINE, "a" * 24) == 1
    assert packed[20:60] not in path.read_bytes()
    assert beside.find(MINE, "b" * 24) == LOG
    kept.close()
    beside.close()


def test_bad_places_and_limits_are_refused(tmp_path: Path) -> None:
    """With what to do."""
    with pytest.raises(StoreError, match="Name another file"):
        Originals(tmp_path / "no" / "originals.db")
    (tmp_path / "text").write_text("no database " * 100)
    with pytest.raises(StoreError, match="not a database"):
        Originals(tmp_path / "text")
    with pytest.raises(InvalidOptionError, match="megabytes"):
        Originals(megabytes=0)
    with pytest.raises(InvalidOptionError, match="days"):
        Originals(days=-1)


@given(st.lists(st.sampled_from(["ok", LOG, LOG * 2, "x" * 3_000, "[]"]), max_size=6))
def test_the_contracts_client_can_go_on(texts: list[str]) -> None:
    """Whichever results its agent gets: each request is valid, and all rows come back."""
    vendor = StrictChat(lambda _: "Fine.")
    with _client(Gateway()) as http:
        client, rows = ContractClient(http), _rows(*texts)
        for length in range(1, len(rows) + 1, 2):
            sent = client.sent(rows[:length])
            vendor.create({"model": "gpt-5", "messages": sent, "tools": [TOOL]})
            for name in client.hashes:
                assert client.found(json.dumps({"hash": name})) in texts
